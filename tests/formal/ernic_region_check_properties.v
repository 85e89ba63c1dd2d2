// hdl/ernic/ernic_region_check.v: an allowed access touches no octet outside its region, and none that fits is refused.
//
// Written with one octet, any, of the access instead of its end: no sum here can hide a wrap.

`timescale 1ns / 1fs
`default_nettype none

module ernic_region_check_properties #(
    // 0: without the helping invariants.
    parameter HELP = 1
) (
    input wire        clk,
    input wire        s_valid,
    input wire [23:0] s_region_domain,
    input wire [63:0] s_region_virtual,
    input wire [63:0] s_region_buffer,
    input wire [7:0]  s_region_key,
    input wire [47:0] s_region_length,
    input wire [3:0]  s_region_access,
    input wire [23:0] s_domain,
    input wire [63:0] s_address,
    input wire [31:0] s_key,
    input wire [31:0] s_length,
    input wire        s_is_read
);

    wire        m_allowed;
    wire [63:0] m_address;

    ernic_region_check dut (
        .clk(clk),
        .s_valid(s_valid),
        .s_region_domain(s_region_domain),
        .s_region_virtual(s_region_virtual),
        .s_region_buffer(s_region_buffer),
        .s_region_key(s_region_key),
        .s_region_length(s_region_length),
        .s_region_access(s_region_access),
        .s_domain(s_domain),
        .s_address(s_address),
        .s_key(s_key),
        .s_length(s_length),
        .s_is_read(s_is_read),
        .m_allowed(m_allowed),
        .m_address(m_address)
    );

    localparam [3:0] READ_ONLY = 4'd0;
    localparam [3:0] WRITE_ONLY = 4'd1;
    localparam [3:0] BOTH = 4'd2;

    // How long ago an access was given, 3 for never; it stays until its answer, and what is asked for with it.
    reg  [1:0]  age = 2'd3;
    reg  [23:0] domain;
    reg  [63:0] first;
    reg  [63:0] buffer;
    reg  [7:0]  key;
    reg  [47:0] room;
    reg  [3:0]  rights;
    reg  [23:0] held_domain;
    reg  [63:0] held_address;
    reg  [31:0] held_key;
    reg  [31:0] held_length;
    reg         held_is_read;

    always @(posedge clk) begin
        if (s_valid) begin
            domain <= s_region_domain;
            first <= s_region_virtual;
            buffer <= s_region_buffer;
            key <= s_region_key;
            room <= s_region_length;
            rights <= s_region_access;
            held_domain <= s_domain;
            held_address <= s_address;
            held_key <= s_key;
            held_length <= s_length;
            held_is_read <= s_is_read;
        end
        age <= s_valid ? 2'd1 : age == 2'd3 ? 2'd3 : age + 2'd1;
    end

    always @* begin
        if (age == 2'd1) assume (!s_valid && s_length == held_length);
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    // Any octet of the access, and how far behind the region's start it is; addresses go round at 2^64.
    (* anyconst *) wire [31:0] octet;
    wire [63:0] behind = held_address + {32'd0, octet} - first;
    wire        inside = behind < {16'd0, room};
    wire        last = octet == held_length - 32'd1;
    wire        start_inside = held_address - first < {16'd0, room};
    wire        may = domain == held_domain && {16'd0, 8'd0, key} == {held_key[31:16], 8'd0, held_key[7:0]}
        && (rights == BOTH || rights == (held_is_read ? READ_ONLY : WRITE_ONLY));

    always @* begin
        if (age == 2'd2) begin
            if (held_length == 32'd0) assert (m_allowed);
            if (m_allowed && octet < held_length) begin
                assert (may && inside);
                // It goes as far behind the buffer's start.
                assert (m_address + {32'd0, octet} - buffer == behind);
            end
            // First and last octet inside, and not by way of 2^64: all are.
            if (may && last && start_inside && inside && behind >= held_address - first) assert (m_allowed || held_length == 32'd0);
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire        \dut.second_valid ;
    (* hierconn *) wire        \dut.fits ;
    (* hierconn *) wire [63:0] \dut.offset ;
    (* hierconn *) wire [63:0] \dut.buffer ;
    (* hierconn *) wire [47:0] \dut.length ;

    always @* begin
        if (HELP != 0) assert (age != 2'd0);
        if (HELP != 0 && age == 2'd1) begin
            assert (\dut.second_valid && \dut.fits == may && \dut.offset == held_address - first);
            assert (\dut.buffer == buffer && \dut.length == room);
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (age == 2'd2 && m_allowed && held_length == 32'hffffffff && last && octet != 32'd0);
        cover (age == 2'd2 && m_allowed && held_address < first && held_length != 32'd0);
        cover (age == 2'd2 && !m_allowed && may && start_inside);
    end

endmodule

`default_nettype wire
