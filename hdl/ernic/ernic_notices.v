// Immediate data and keys to invalidate, for whoever consumes the receive queues: a stream of 64-bit words (PG332).
//
// Software that has nothing at the stream reads them from registers instead. When sixteen wait, further ones are lost and counted.

`timescale 1ns / 1fs
`default_nettype none

module ernic_notices (
    input  wire        clk,
    input  wire        rst,

    // Notice; cannot be held back.
    input  wire        s_valid,
    input  wire [63:0] s_data,
    output wire        lost_valid,

    // Register: oldest notice, 0 if there is none; pop takes it.
    output wire [55:0] oldest,
    input  wire        pop,

    // Stream.
    output wire        m_valid,
    input  wire        m_ready,
    output wire [63:0] m_data
);

    wire ready;

    assign lost_valid = s_valid && !ready;
    assign oldest = m_valid ? m_data[55:0] : 56'd0;

    sync_fifo #(
        .WIDTH(64),
        .DEPTH(16)
    ) fifo (
        .clk(clk),
        .rst(rst),
        .s_data(s_data),
        .s_valid(s_valid),
        .s_ready(ready),
        .m_data(m_data),
        .m_valid(m_valid),
        .m_ready(m_ready || pop),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

endmodule

`default_nettype wire
