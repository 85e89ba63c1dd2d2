// Is a remote access allowed, and where does it go? Two cycles behind the table's answer.
//
// The key's index has chosen the entry; protection domain, key, access and range must fit. The range is compared as an offset,
// so that nothing can wrap around the end of the address space.

`timescale 1ns / 1fs
`default_nettype none

module ernic_region_check (
    input  wire        clk,

    // Entry of the table, in the cycle behind its load.
    input  wire        s_valid,
    input  wire [23:0] s_region_domain,
    input  wire [63:0] s_region_virtual,
    input  wire [63:0] s_region_buffer,
    input  wire [7:0]  s_region_key,
    input  wire [47:0] s_region_length,
    input  wire [3:0]  s_region_access,

    // What is asked for; stays until the answer. The key's index has 24 bits, the table 256 entries.
    input  wire [23:0] s_domain,
    input  wire [63:0] s_address,
    // verilator lint_off UNUSEDSIGNAL
    // The low bits of the index have chosen the entry.
    input  wire [31:0] s_key,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [31:0] s_length,
    input  wire        s_is_read,

    // Allowed; address of the first octet in memory. An access to nothing is always allowed.
    output reg         m_allowed,
    output reg  [63:0] m_address
);

    localparam [3:0] ACCESS_READ = 4'd0;
    localparam [3:0] ACCESS_WRITE = 4'd1;
    localparam [3:0] ACCESS_BOTH = 4'd2;

    reg         second_valid;
    reg         fits;
    reg  [63:0] offset;
    reg  [63:0] buffer;
    reg  [47:0] length;
    wire [48:0] behind = {1'b0, offset[47:0]} + {17'd0, s_length};

    always @(posedge clk) begin
        second_valid <= s_valid;
        if (s_valid) begin
            fits <= s_region_domain == s_domain && s_region_key == s_key[7:0] && s_key[31:16] == 16'd0
                && (s_region_access == ACCESS_BOTH || s_region_access == (s_is_read ? ACCESS_READ : ACCESS_WRITE));
            offset <= s_address - s_region_virtual;
            buffer <= s_region_buffer;
            length <= s_region_length;
        end
        if (second_valid) begin
            m_allowed <= s_length == 32'd0 || (fits && offset[63:48] == 16'd0 && behind <= {1'b0, length});
            m_address <= buffer + offset;
        end
    end

endmodule

`default_nettype wire
