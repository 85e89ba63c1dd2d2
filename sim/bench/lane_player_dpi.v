// Chunk buffers of `lane_player` in C++ (lane_player.cpp): one call a beat, one copy a chunk.

`timescale 1ns / 1fs
`default_nettype none

`ifdef EB_DPI

module lane_player_dpi #(
    // Number of this player, 0 to 3.
    parameter PLAYER = 0,
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

    import "DPI-C" function void eb_lane_open(input int player, input int lanes);
    import "DPI-C" function int eb_lane_beat(
        input int player,
        output bit [LANES*32-1:0] data,
        output bit [LANES*4-1:0] charisk,
        output bit [LANES*4-1:0] notintable,
        output bit [LANES*4-1:0] disperr
    );

    // Bits of what eb_lane_beat returns.
    localparam START = 0;
    localparam MISSING = 1;
    localparam SYSREF = 2;
    localparam TRIGGER = 3;
    localparam LASER = 4;
    localparam PLAYING = 5;
    localparam DELAY = 6;

    int                  status;
    bit   [LANES*32-1:0] data;
    bit   [LANES*4-1:0]  charisk;
    bit   [LANES*4-1:0]  notintable;
    bit   [LANES*4-1:0]  disperr;

    initial begin
        eb_lane_open(PLAYER, LANES);
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
        /* verilator lint_off BLKSEQ */ // a value of this process only
        status = eb_lane_beat(PLAYER, data, charisk, notintable, disperr);
        /* verilator lint_on BLKSEQ */
        playing <= status[PLAYING];
        chunk_start <= status[START];
        missing <= status[MISSING];
        sysref <= status[SYSREF];
        trigger <= status[TRIGGER];
        laser <= status[LASER];
        pulse_delay <= status[DELAY +: 5];
        lane_data <= data;
        lane_charisk <= charisk;
        lane_notintable <= notintable;
        lane_disperr <= disperr;
    end

endmodule

`endif

`default_nettype wire
