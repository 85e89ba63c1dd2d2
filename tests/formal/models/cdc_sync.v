// Stand-in for hdl/lib/cdc_sync.v in proofs: the same flip-flops, but a bit that has changed shortly before a clock edge is
// caught by the first of them as it was or as it is, each bit for itself.
//
// What is modelled: metastability that has settled, to either value, before the second flip-flop looks (which is what
// STAGES are for), and bits of one word that arrive skewed by less than the time between two changes of the word.

`timescale 1ns / 1fs
`default_nettype none

module cdc_sync #(
    // Bits.
    parameter WIDTH = 1,
    // Flip-flops in a row.
    parameter STAGES = 2
) (
    input  wire             clk,
    input  wire [WIDTH-1:0] d,
    output wire [WIDTH-1:0] q
);

    // The word as it was before its latest change, if no clock edge has come since.
    reg [WIDTH-1:0]        now;
    reg [WIDTH-1:0]        before;
    reg                    clk_now;
    wire [WIDTH-1:0]       earlier = d != now ? now : clk && !clk_now ? d : before;
    (* anyseq *) wire [WIDTH-1:0] late;

    always @($global_clock) begin
        clk_now <= clk;
        now <= d;
        before <= earlier;
    end

    reg [WIDTH*STAGES-1:0] stages;

    always @(posedge clk) begin
        stages <= {stages[WIDTH*(STAGES-1)-1:0], (d & ~late) | (earlier & late)};
    end

    assign q = stages[WIDTH*STAGES-1 -: WIDTH];

endmodule

`default_nettype wire
