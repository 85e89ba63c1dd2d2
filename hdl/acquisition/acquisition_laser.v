// Laser pulses that do not come.
//
// A pulse is missing when half a period has passed beyond the time at which it was due: one period after the pulse before it,
// or after that one's due time if it was missing too. So jitter below half a period is none, and a laser that has stopped is
// counted once a period.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_laser (
    input  wire        clk,
    input  wire        rst,
    // Pulse, synchronised; the rising edge counts.
    input  wire        laser,
    // Pulses are expected; the first is due within a period from when this rises.
    input  wire        watch,
    // Clocks, at most 2^30; 0: none is expected.
    input  wire [31:0] period,

    // A pulse is missing (one cycle), and how many were.
    output reg         missing,
    output reg  [31:0] count
);

    // Clocks since the last pulse was due, less a period: negative until the next one is.
    reg  [31:0] wait_left;
    reg         laser_before;
    reg         watching;
    wire        rising = laser && !laser_before;
    wire [31:0] patience = period + {1'b0, period[31:1]};

    always @(posedge clk) begin
        laser_before <= laser;
        watching <= watch && period != 32'd0;
        missing <= 1'b0;
        if (!watching || rising) begin
            wait_left <= patience;
        end else if (wait_left <= 32'd1) begin
            // The next one is due in half a period from now, and has another half.
            wait_left <= period;
            missing <= 1'b1;
            count <= count + 32'd1;
        end else begin
            wait_left <= wait_left - 32'd1;
        end
        if (rst) begin
            laser_before <= 1'b1;
            watching <= 1'b0;
            missing <= 1'b0;
            count <= 32'd0;
        end
    end

endmodule

`default_nettype wire
