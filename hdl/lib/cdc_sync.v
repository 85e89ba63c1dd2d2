// Bit synchroniser: brings slowly changing, unrelated bits into another clock domain.
//
// For levels and Gray codes only: bits that change together may arrive a cycle apart. STAGES - 1 to STAGES cycles pass.

`timescale 1ns / 1fs
`default_nettype none

module cdc_sync #(
    // Bits. At least 1.
    parameter WIDTH = 1,
    // Flip-flops in a row. At least 2.
    parameter STAGES = 2
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] d,
    output wire [WIDTH-1:0] q
);

    generate
        if (WIDTH < 1 || STAGES < 2) begin : check_parameters
            initial $fatal(1, "cdc_sync: WIDTH must be at least 1 and STAGES at least 2");
        end
    endgenerate

    (* ASYNC_REG = "TRUE" *) reg [WIDTH*STAGES-1:0] stages;

    always @(posedge clk) begin
        stages <= {stages[WIDTH*(STAGES-1)-1:0], d};
    end

    assign q = stages[WIDTH*STAGES-1 -: WIDTH];

endmodule

`default_nettype wire
