// Frame store of `mac_port` in C++ (mac_port.cpp): a call a beat, none of them into Python.

`timescale 1ns / 1fs
`default_nettype none

`ifdef EB_DPI

module mac_port_dpi #(
    // Number of this port, 0 to 15.
    parameter PORT = 0
) (
    input  wire         clk,
    input  wire [63:0]  cycle,

    // Beats taken from the design.
    input  wire         beat,
    input  wire         beat_first,
    input  wire         beat_last,
    input  wire [6:0]   beat_octets,
    input  wire [511:0] beat_data,
    output reg          too_long,
    output wire         overflow,

    // Frames to the design.
    output reg  [511:0] m_axis_tdata,
    output reg  [63:0]  m_axis_tkeep,
    output reg          m_axis_tvalid,
    output reg          m_axis_tlast,
    output reg          m_axis_tuser
);

    import "DPI-C" function int eb_mac_collect(
        input int port, input int first, input int last, input int octets, input longint cycle, input bit [511:0] data
    );
    import "DPI-C" function int eb_mac_due(input int port, input longint cycle);
    import "DPI-C" function void eb_mac_next(input int port, output bit [511:0] data, output longint keep);

    localparam BEAT = 0;
    localparam LAST = 1;
    localparam BAD = 2;

    assign overflow = 1'b0;

    int           accepted;
    int           due;
    bit   [511:0] data;
    longint       keep;

    initial begin
        too_long = 1'b0;
        m_axis_tvalid = 1'b0;
        m_axis_tlast = 1'b0;
        m_axis_tuser = 1'b0;
        m_axis_tkeep = 64'd0;
        m_axis_tdata = 512'd0;
    end

    always @(posedge clk) begin
        too_long <= 1'b0;
        if (beat) begin
            /* verilator lint_off BLKSEQ */ // a value of this process only
            accepted = eb_mac_collect(
                PORT, {31'd0, beat_first}, {31'd0, beat_last}, {25'd0, beat_octets}, cycle, beat_data
            );
            /* verilator lint_on BLKSEQ */
            too_long <= accepted == 0;
        end
        // What is driven at this edge, the design samples at the next.
        /* verilator lint_off BLKSEQ */ // a value of this process only
        due = eb_mac_due(PORT, cycle + 64'd1);
        /* verilator lint_on BLKSEQ */
        m_axis_tvalid <= due[BEAT];
        m_axis_tlast <= due[LAST];
        m_axis_tuser <= due[BAD];
        if (due[BEAT]) begin
            eb_mac_next(PORT, data, keep);
            m_axis_tdata <= data;
            m_axis_tkeep <= keep;
        end
    end

endmodule

`endif

`default_nettype wire
