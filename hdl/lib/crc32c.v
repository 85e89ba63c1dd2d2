// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of a whole word at once; bit 0 of the word is the first on the wire.
//
// Only the linear step: initial value and final complement are the user's. Each bit of the result is the parity of the data
// (the old CRC added to its first 32 bits) under a mask that is computed at elaboration.

`timescale 1ns / 1fs
`default_nettype none

module crc32c #(
    // Bits a word. At least 32.
    parameter DATA_WIDTH = 1024
) (
    // The result is 0 while not enabled, so that idle cycles cost no simulation time.
    input  wire                  enable,
    input  wire [31:0]           crc_in,
    input  wire [DATA_WIDTH-1:0] data,
    output reg  [31:0]           crc_out
);

    generate
        if (DATA_WIDTH < 32) begin : check_data_width
            initial $fatal(1, "crc32c: DATA_WIDTH must be at least 32");
        end
    endgenerate

    localparam [31:0] POLYNOMIAL = 32'h82f63b78;

    // Which data bits enter bit `row` of the result. The last data bit contributes the polynomial itself, each earlier one
    // what the later one does, shifted once more.
    function [DATA_WIDTH-1:0] row_mask;
        // verilator lint_off UNUSEDSIGNAL // An integer, because it is called with a genvar; 0 to 31.
        input integer row;
        // verilator lint_on UNUSEDSIGNAL
        integer column;
        reg [31:0] contribution;
        begin
            contribution = POLYNOMIAL;
            for (column = DATA_WIDTH - 1; column >= 0; column = column - 1) begin
                row_mask[column] = contribution[row];
                contribution = contribution >> 1 ^ (contribution[0] ? POLYNOMIAL : 32'd0);
            end
        end
    endfunction

    reg  [DATA_WIDTH-1:0] sum;
    wire [31:0]           parity;

    always @* begin
        sum = {DATA_WIDTH{1'b0}};
        if (enable) begin
            sum = data;
            sum[31:0] = data[31:0] ^ crc_in;
        end
    end

    genvar g;
    generate
        for (g = 0; g < 32; g = g + 1) begin : row
            localparam [DATA_WIDTH-1:0] MASK = row_mask(g);
            assign parity[g] = ^(sum & MASK);
        end
    endgenerate

    always @* crc_out = parity;

endmodule

`default_nettype wire
