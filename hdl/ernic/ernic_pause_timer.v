// Time that is left of each pause, in quanta of 512 bit times.
//
// A quantum is a fraction of clocks, by default 33/20 (100 Gb/s at 322.265625 MHz), counted by adding its inverse: exact on
// average, so a pause of n quanta is off by less than one, however long it is.

`timescale 1ns / 1fs
`default_nettype none

module ernic_pause_timer #(
    // Clocks in QUANTA quanta. 1 to 32767, at least QUANTA.
    parameter CLOCKS = 33,
    // Quanta in CLOCKS clocks. 1 to 32767.
    parameter QUANTA = 20
) (
    input  wire         clk,
    input  wire         rst,

    // A pause frame: the time of each priority that is set starts anew; 0 ends it.
    input  wire         s_valid,
    input  wire [8:0]   s_set,
    input  wire [143:0] s_quanta,

    output reg  [8:0]   paused
);

    localparam [15:0] STEP = QUANTA;
    localparam [15:0] WHOLE = CLOCKS;

    // Progress of the present quantum.
    reg  [15:0] progress;
    wire [15:0] further = progress + STEP;
    wire        tick = further >= WHOLE;

    always @(posedge clk) begin
        progress <= tick ? further - WHOLE : further;
        if (rst) progress <= 16'd0;
    end

    genvar g;
    generate
        for (g = 0; g < 9; g = g + 1) begin : priorities
            reg [15:0] left;

            always @(posedge clk) begin
                if (s_valid && s_set[g]) begin
                    left <= s_quanta[16*g +: 16];
                    paused[g] <= s_quanta[16*g +: 16] != 16'd0;
                end else if (tick && paused[g]) begin
                    left <= left - 16'd1;
                    paused[g] <= left != 16'd1;
                end
                if (rst) paused[g] <= 1'b0;
            end
        end
        if (QUANTA < 1 || CLOCKS < QUANTA || CLOCKS > 32767) begin : check_quantum
            initial $fatal(1, "%m: CLOCKS must be at least QUANTA, both 1 to 32767");
        end
    endgenerate

endmodule

`default_nettype wire
