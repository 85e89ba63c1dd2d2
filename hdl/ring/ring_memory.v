// Storage of the ring: 1024-bit write port, 512-bit read port, read latency of exactly three cycles.
//
//                 words 0 .. 3/4 (UltraRAM)     words 3/4 .. 1 (block RAM)
//   even rows     lower, bank 0                 upper, bank 0
//   odd rows      lower, bank 1                 upper, bank 1
//
// A written word is one row of each bank; a read takes one row. The split in quarters is what fits a ZU19EG: 4 MiB are
// 96 of 128 UltraRAMs (8 wide, 6 deep, twice) and 256 of 984 block RAMs, which leaves UltraRAM for other use.
// A row written in a cycle is returned by reads enabled in that cycle or later.

`timescale 1ns / 1fs
`default_nettype none

module ring_memory #(
    // Bytes. Power of two, at least 65536.
    parameter RING_BYTES = 4194304,
    // Derived; do not override.
    parameter WORD_WIDTH = $clog2(RING_BYTES / 128)
) (
    input  wire                  clk,
    input  wire                  rst,
    // Write port: words of 128 bytes.
    input  wire                  write_enable,
    input  wire [WORD_WIDTH-1:0] write_word,
    input  wire [1023:0]         write_data,
    // Read port: rows of 64 bytes; data three cycles after the enable.
    input  wire                  read_enable,
    input  wire [WORD_WIDTH:0]   read_row,
    output reg  [511:0]          read_data
);

    localparam WORDS = RING_BYTES / 128;
    localparam UPPER_WORDS = WORDS / 4;
    localparam LOWER_WORDS = WORDS - UPPER_WORDS;

    generate
        if (RING_BYTES < 65536 || RING_BYTES != 1 << $clog2(RING_BYTES)) begin : check_ring_bytes
            initial $fatal(1, "ring_memory: RING_BYTES must be a power of two of at least 65536");
        end
    endgenerate

    // Stage 1: registered address. Stage 2: the arrays' own output register. Stage 3: selection.
    reg                  read_enable_1;
    reg                  read_enable_2;
    reg [WORD_WIDTH-1:0] read_word_1;
    reg                  odd_1;
    reg                  odd_2;
    reg                  upper_2;

    wire                 read_upper = &read_word_1[WORD_WIDTH-1:WORD_WIDTH-2];
    wire                 write_upper = &write_word[WORD_WIDTH-1:WORD_WIDTH-2];

    wire [1023:0]        lower_data;
    wire [1023:0]        upper_data;

    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : bank
            ring_bank #(
                .ROWS(LOWER_WORDS),
                .STYLE("ultra")
            ) lower (
                .clk(clk),
                .write_enable(write_enable && !write_upper),
                .write_row(write_word),
                .write_data(write_data[g*512 +: 512]),
                .read_enable(read_enable_1 && !read_upper && odd_1 == (g != 0)),
                .read_row(read_word_1),
                .read_data(lower_data[g*512 +: 512])
            );

            ring_bank #(
                .ROWS(UPPER_WORDS),
                .STYLE("block")
            ) upper (
                .clk(clk),
                .write_enable(write_enable && write_upper),
                .write_row(write_word[WORD_WIDTH-3:0]),
                .write_data(write_data[g*512 +: 512]),
                .read_enable(read_enable_1 && read_upper && odd_1 == (g != 0)),
                .read_row(read_word_1[WORD_WIDTH-3:0]),
                .read_data(upper_data[g*512 +: 512])
            );
        end
    endgenerate

    always @(posedge clk) begin
        read_enable_1 <= read_enable;
        read_enable_2 <= read_enable_1;
        if (read_enable) begin
            read_word_1 <= read_row[WORD_WIDTH:1];
            odd_1 <= read_row[0];
        end
        if (read_enable_1) begin
            odd_2 <= odd_1;
            upper_2 <= read_upper;
        end
        if (read_enable_2) begin
            case ({upper_2, odd_2})
                2'b00: read_data <= lower_data[511:0];
                2'b01: read_data <= lower_data[1023:512];
                2'b10: read_data <= upper_data[511:0];
                default: read_data <= upper_data[1023:512];
            endcase
        end
        if (rst) begin
            read_enable_1 <= 1'b0;
            read_enable_2 <= 1'b0;
        end
    end

endmodule

`default_nettype wire
