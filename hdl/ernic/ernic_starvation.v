// Counts what strict priority costs the lower levels: clocks in which one had a candidate and a higher one had too, and the
// longest time that a candidate of it waited so.
//
// A wait begins in such a clock and ends when the level is served or has no candidate left; it includes clocks in between in which
// the higher level, being served, was not a candidate.

`timescale 1ns / 1fs
`default_nettype none

module ernic_starvation (
    input  wire        clk,
    input  wire        rst,

    // Of the scheduler.
    input  wire [3:1]  candidates,
    input  wire        served_valid,
    input  wire [1:0]  served_level,

    // All counters to zero.
    input  wire        clear,
    // Clocks, modulo 2^32; longest wait in clocks, up to 2^32 - 1.
    output wire [31:0] clocks_2,
    output wire [31:0] clocks_3,
    output wire [31:0] longest_2,
    output wire [31:0] longest_3
);

    wire [3:2] behind = {candidates[3] && candidates[2:1] != 2'd0, candidates[2] && candidates[1]};

    genvar g;
    generate
        for (g = 2; g <= 3; g = g + 1) begin : level
            localparam [1:0] LEVEL = g;
            reg [31:0] clocks;
            reg [31:0] wait_clocks;
            reg [31:0] longest;
            wire       served = served_valid && served_level == LEVEL;

            always @(posedge clk) begin
                if (behind[g]) clocks <= clocks + 32'd1;
                if (!candidates[g] || served) wait_clocks <= 32'd0;
                else if ((behind[g] || wait_clocks != 32'd0) && wait_clocks != 32'hffffffff) wait_clocks <= wait_clocks + 32'd1;
                if (wait_clocks > longest) longest <= wait_clocks;
                if (clear || rst) begin
                    clocks <= 32'd0;
                    longest <= 32'd0;
                    wait_clocks <= 32'd0;
                end
            end
        end
    endgenerate

    assign clocks_2 = level[2].clocks;
    assign clocks_3 = level[3].clocks;
    assign longest_2 = level[2].longest;
    assign longest_3 = level[3].longest;

endmodule

`default_nettype wire
