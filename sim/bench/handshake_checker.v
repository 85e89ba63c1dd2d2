// Watches one valid/ready handshake: an offer must stand unchanged until it is taken, and its control must be known.

`timescale 1ns / 1fs
`default_nettype none

module handshake_checker #(
    // Bits of the payload. At least 1.
    parameter WIDTH = 8
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             valid,
    input  wire             ready,
    input  wire [WIDTH-1:0] payload,
    // In the cycle after the fault, one cycle: an offer withdrawn or changed; valid is X or Z.
    output reg              unstable,
    output reg              unknown
);

    reg             waiting;
    reg [WIDTH-1:0] offered;

    initial begin
        waiting = 1'b0;
        unstable = 1'b0;
        unknown = 1'b0;
    end

    always @(posedge clk) begin
        unstable <= 1'b0;
        unknown <= 1'b0;
        waiting <= 1'b0;
        if (!rst) begin
            if (waiting) unstable <= valid !== 1'b1 || payload !== offered;
            unknown <= (valid !== 1'b0 && valid !== 1'b1);
            if (valid === 1'b1 && !ready) begin
                waiting <= 1'b1;
                offered <= payload;
            end
        end
    end

endmodule

`default_nettype wire
