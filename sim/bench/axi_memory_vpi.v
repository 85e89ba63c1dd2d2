// Content of `axi_memory` in an array whose elements cocotb reads and writes. All zero at the start.

`timescale 1ns / 1fs
`default_nettype none

`ifndef EB_DPI

module axi_memory_vpi #(
    // Words of 64 bytes. Power of two.
    parameter WORDS = 16384
) (
    input  wire                     clk,
    input  wire                     read_enable,
    input  wire [$clog2(WORDS)-1:0] read_word,
    output reg  [511:0]             read_data,
    input  wire                     write_enable,
    input  wire [$clog2(WORDS)-1:0] write_word,
    input  wire [511:0]             write_data,
    input  wire [63:0]              write_strobes
);

    reg [511:0] words [0:WORDS-1];
    reg [511:0] mask;
    integer     i;

    initial begin
        read_data = 512'd0;
        for (i = 0; i < WORDS; i = i + 1) words[i] = 512'd0;
    end

    always @(posedge clk) begin
        if (read_enable) read_data <= words[read_word];
        if (write_enable) begin
            /* verilator lint_off BLKSEQ */ // a value of this process only
            for (i = 0; i < 64; i = i + 1) mask[8*i +: 8] = {8{write_strobes[i]}};
            /* verilator lint_on BLKSEQ */
            words[write_word] <= (words[write_word] & ~mask) | (write_data & mask);
        end
    end

endmodule

`endif

`default_nettype wire
