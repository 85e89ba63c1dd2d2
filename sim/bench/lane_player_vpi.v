// Chunk buffers of `lane_player` in an array that cocotb writes, one word a beat.
//
// Chunk n is in half n modulo 2. A word is, from bit 0: data (32 bits a lane), K (4 bits a lane), not in table, disparity, then
// sysref, trigger, laser, pulse_delay.

`timescale 1ns / 1fs
`default_nettype none

`ifndef EB_DPI

module lane_player_vpi #(
    // Longest chunk in beats.
    parameter CHUNK_BEATS = 512,
    // Lanes. Even.
    parameter LANES = 32
) (
    input  wire                link_clk,
    output reg                 playing,
    output reg                 chunk_start,
    output reg                 missing,
    output reg  [LANES*32-1:0] lane_data,
    output reg  [LANES*4-1:0]  lane_charisk,
    output reg  [LANES*4-1:0]  lane_notintable,
    output reg  [LANES*4-1:0]  lane_disperr,
    output reg                 sysref,
    output reg                 trigger,
    output reg                 laser,
    output reg  [4:0]          pulse_delay
);

    // Written by Python.
    /* verilator lint_off UNDRIVEN */ // Python is the other side of it
    reg [LANES*44+7:0] words [0:2*CHUNK_BEATS-1];
    reg [31:0]         beats [0:1];
    /* verilator lint_on UNDRIVEN */
    reg [31:0]         supplied;
    // No chunk follows what has been supplied: fall silent then.
    reg                stop;

    reg [31:0]         played;
    reg [31:0]         position;
    wire               half = played[0];
    wire               ready = supplied != played;

    initial begin
        supplied = 32'd0;
        stop = 1'b1;
        played = 32'd0;
        position = 32'd0;
        playing = 1'b0;
        chunk_start = 1'b0;
        missing = 1'b0;
        lane_data = {LANES * 32{1'b0}};
        lane_charisk = {LANES * 4{1'b0}};
        lane_notintable = {LANES * 4{1'b1}};
        lane_disperr = {LANES * 4{1'b0}};
        sysref = 1'b0;
        trigger = 1'b0;
        laser = 1'b0;
        pulse_delay = 5'd0;
    end

    always @(posedge link_clk) begin
        playing <= ready;
        chunk_start <= ready && position == 32'd0;
        missing <= !ready && !stop;
        if (ready) begin
            {pulse_delay, laser, trigger, sysref, lane_disperr, lane_notintable, lane_charisk, lane_data} <=
                words[(half ? CHUNK_BEATS : 0) + position];
            position <= position + 32'd1;
            if (position + 32'd1 == beats[half]) begin
                position <= 32'd0;
                played <= played + 32'd1;
            end
        end else begin
            {pulse_delay, laser, trigger, sysref} <= 8'd0;
            lane_data <= {LANES * 32{1'b0}};
            lane_charisk <= {LANES * 4{1'b0}};
            lane_notintable <= {LANES * 4{1'b1}};
            lane_disperr <= {LANES * 4{1'b0}};
        end
    end

endmodule

`endif

`default_nettype wire
