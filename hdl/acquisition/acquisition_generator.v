// Pulse repetition generator: one shot every so many link clocks, the first a whole period after it is started, so that whoever
// follows it knows each shot before it comes.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_generator (
    input  wire        clk,
    input  wire        rst,
    input  wire        run,
    // Clocks, at least 4; 0: no shots.
    input  wire [31:0] period,

    // High for one clock a shot, whose time is the edge with which it rises.
    output reg         fire,
    output reg  [31:0] count
);

    reg  [31:0] elapsed;
    wire        active = run && period != 32'd0;
    wire        due = elapsed + 32'd1 >= period;

    always @(posedge clk) begin
        elapsed <= active && !due ? elapsed + 32'd1 : 32'd0;
        fire <= active && due;
        if (active && due) count <= count + 32'd1;
        if (rst) begin
            elapsed <= 32'd0;
            fire <= 1'b0;
            count <= 32'd0;
        end
    end

endmodule

`default_nettype wire
