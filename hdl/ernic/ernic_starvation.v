// Counts what strict priority costs the lower levels: clocks in which somebody of one waited while a higher one waited or
// was being served, and the longest time that such a wait took.
//
// A wait begins in such a clock and ends when the level is served or nobody waits in it any more.

`timescale 1ns / 1fs
`default_nettype none

module ernic_starvation (
    input  wire        clk,
    input  wire        rst,

    // Levels in which somebody waits; the level that is being served, and whether that ends here.
    input  wire [3:1]  waiting,
    input  wire        busy_valid,
    input  wire [1:0]  busy_level,
    input  wire        served_valid,

    // All counters to zero.
    input  wire        clear,
    // Clocks, modulo 2^32; longest wait in clocks, up to 2^32 - 1.
    output wire [31:0] clocks_2,
    output wire [31:0] clocks_3,
    output wire [31:0] longest_2,
    output wire [31:0] longest_3
);

    wire [3:2] behind = {
        waiting[3] && (waiting[2:1] != 2'd0 || (busy_valid && busy_level < 2'd3)),
        waiting[2] && (waiting[1] || (busy_valid && busy_level < 2'd2))
    };

    genvar g;
    generate
        for (g = 2; g <= 3; g = g + 1) begin : level
            localparam [1:0] LEVEL = g;
            reg [31:0] clocks;
            reg [31:0] wait_clocks;
            reg [31:0] longest;
            wire       served = served_valid && busy_level == LEVEL;

            always @(posedge clk) begin
                if (behind[g]) clocks <= clocks + 32'd1;
                if (!waiting[g] || served) wait_clocks <= 32'd0;
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
