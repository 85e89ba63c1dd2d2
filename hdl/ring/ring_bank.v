// One memory array of the ring: rows of 64 bytes, one write and one read port, read data registered.

`timescale 1ns / 1fs
`default_nettype none

module ring_bank #(
    // Rows of 64 bytes. At least 2.
    parameter ROWS = 1024,
    // Kind of memory for synthesis: "ultra" or "block".
    // verilator lint_off UNUSEDPARAM // Only an attribute uses it.
    parameter STYLE = "block",
    // verilator lint_on UNUSEDPARAM
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(ROWS)
) (
    input  wire                 clk,
    // Write port.
    input  wire                 write_enable,
    input  wire [ROW_WIDTH-1:0] write_row,
    input  wire [511:0]         write_data,
    // Read port: data in the next cycle.
    input  wire                 read_enable,
    input  wire [ROW_WIDTH-1:0] read_row,
    output reg  [511:0]         read_data
);

    generate
        if (ROWS < 2) begin : check_rows
            initial $fatal(1, "ring_bank: ROWS must be at least 2");
        end
    endgenerate

    (* ram_style = STYLE *) reg [511:0] memory [0:ROWS-1];

    always @(posedge clk) begin
        if (write_enable) memory[write_row] <= write_data;
        if (read_enable) read_data <= memory[read_row];
    end

endmodule

`default_nettype wire
