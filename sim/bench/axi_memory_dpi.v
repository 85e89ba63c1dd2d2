// Content of `axi_memory` in C++ memory (axi_memory.cpp), which Python sees through ctypes.

`timescale 1ns / 1fs
`default_nettype none

`ifdef EB_DPI

module axi_memory_dpi #(
    // Number of this memory, 0 to 3.
    parameter MEMORY = 0,
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

    import "DPI-C" function void eb_memory_open(input int memory, input int words);
    import "DPI-C" function void eb_memory_read(input int memory, input int word, output bit [511:0] data);
    import "DPI-C" function void eb_memory_write(
        input int memory, input int word, input bit [511:0] data, input longint strobes
    );

    bit [511:0] data;

    initial begin
        eb_memory_open(MEMORY, WORDS);
        read_data = 512'd0;
    end

    always @(posedge clk) begin
        if (read_enable) begin
            eb_memory_read(MEMORY, {{(32 - $clog2(WORDS)) {1'b0}}, read_word}, data);
            read_data <= data;
        end
        if (write_enable) begin
            eb_memory_write(MEMORY, {{(32 - $clog2(WORDS)) {1'b0}}, write_word}, write_data, write_strobes);
        end
    end

endmodule

`endif

`default_nettype wire
