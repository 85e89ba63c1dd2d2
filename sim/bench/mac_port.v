// The Ethernet MAC as the design sees it: whole frames are collected from it for Python, and replayed to it.
//
// Pacing and protocol checks are here; where frames are kept is in one of two bodies with the same ports, `mac_port_dpi` (EB_DPI
// defined: C++ memory, Verilator) or `mac_port_vpi` (arrays that cocotb reads and writes, any simulator).

`timescale 1ns / 1fs
`default_nettype none

module mac_port #(
    // Number of this port among the ports of the simulation, 0 to 15.
    parameter PORT = 0,
    // Line rate at the start: octets a clock, 16.16 fixed point. 2542002 is 100 Gb/s at 322.265625 MHz.
    parameter RATE = 2542002,
    // Credit that an idle line saves, see mac_pacer.
    parameter BURST_OCTETS = 128
) (
    input  wire         clk,
    input  wire         rst,
    // Cycle number of the coming edge.
    input  wire [63:0]  cycle,

    // Frames from the design.
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,

    // Frames to the design, one beat a cycle without gaps; tuser on tlast marks a bad FCS.
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser
);

    // Written by Python.
    reg [31:0] rate;

    // Read by Python. `events` changes in the cycle after a frame was collected or an error was found: all else is settled then.
    reg [31:0] events;
    reg [7:0]  errors;

    localparam ERROR_UNSTABLE = 0;
    localparam ERROR_UNKNOWN = 1;
    localparam ERROR_KEEP = 2;
    localparam ERROR_EMPTY = 3;
    localparam ERROR_LONG = 4;
    localparam ERROR_OVERFLOW = 5;

    initial begin
        rate = RATE;
        events = 32'd0;
        errors = 8'd0;
    end

    wire beat = s_axis_tvalid && s_axis_tready;

    // Octets of the beat.
    reg [6:0] octets;
    reg       contiguous;
    integer   i;

    always @* begin
        octets = 7'd64;
        contiguous = 1'b1;
        if (s_axis_tvalid && s_axis_tkeep != 64'hffff_ffff_ffff_ffff) begin
            octets = 7'd0;
            for (i = 0; i < 64; i = i + 1) octets = octets + {6'd0, s_axis_tkeep[i]};
            contiguous = s_axis_tlast && (s_axis_tkeep & (s_axis_tkeep + 64'd1)) == 64'd0;
        end
    end

    mac_pacer #(
        .BURST_OCTETS(BURST_OCTETS)
    ) pacer (
        .clk(clk),
        .rst(rst),
        .rate(rate),
        .tvalid(s_axis_tvalid),
        .tlast(s_axis_tlast),
        .octets(octets),
        .tready(s_axis_tready)
    );

    wire unstable;
    wire unknown;

    handshake_checker #(
        .WIDTH(577)
    ) tx_checker (
        .clk(clk),
        .rst(rst),
        .valid(s_axis_tvalid),
        .ready(s_axis_tready),
        .payload({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
        .unstable(unstable),
        .unknown(unknown)
    );

    reg  in_frame;
    reg  news;
    wire too_long;
    wire overflow;

    initial begin
        in_frame = 1'b0;
        news = 1'b0;
    end

    // A new error, each kind reported once.
    reg [7:0] fault;
    wire [7:0] fresh = fault & ~errors;

    always @* begin
        fault = 8'd0;
        fault[ERROR_UNSTABLE] = unstable;
        fault[ERROR_UNKNOWN] = unknown;
        fault[ERROR_KEEP] = beat && !contiguous;
        fault[ERROR_EMPTY] = beat && octets == 7'd0;
        fault[ERROR_LONG] = too_long;
        fault[ERROR_OVERFLOW] = overflow;
    end

    always @(posedge clk) begin
        if (beat) in_frame <= !s_axis_tlast;
        if (rst) in_frame <= 1'b0;
        if (!rst && fresh != 8'd0) begin
            errors <= errors | fresh;
            $display("%m: cycle %0d: protocol error, bits %b", cycle, fresh);
        end
        news <= (beat && s_axis_tlast) || (!rst && fresh != 8'd0);
        if (news) events <= events + 32'd1;
    end

`ifdef EB_DPI
    mac_port_dpi #(
        .PORT(PORT)
    ) body (
`else
    mac_port_vpi body (
`endif
        .clk(clk),
        .cycle(cycle),
        .beat(beat),
        .beat_first(!in_frame),
        .beat_last(s_axis_tlast),
        .beat_octets(octets),
        .beat_data(s_axis_tdata),
        .too_long(too_long),
        .overflow(overflow),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tlast(m_axis_tlast),
        .m_axis_tuser(m_axis_tuser)
    );

    generate
        if (PORT < 0 || PORT > 15) begin : check_port
            initial $fatal(1, "%m: PORT must be 0 to 15");
        end
    endgenerate

endmodule

`default_nettype wire
