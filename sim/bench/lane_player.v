// Plays precomputed beats into the lanes, a chunk at a time; a chunk holds 4 to CHUNK_BEATS beats.
//
// There are two chunk buffers. With the first beat of a chunk `started` counts and SYNC~ of that moment is kept in
// `start_sync_n`; Python wakes, and supplies the chunk that follows while this one plays. Before the first chunk, after a stop,
// and when a chunk is missing (`underrun`), the lanes carry no signal: octets that are not in the 8b/10b table.
// The buffers are in one of two bodies, `lane_player_dpi` (EB_DPI defined) or `lane_player_vpi`.

`timescale 1ns / 1fs
`default_nettype none

module lane_player #(
    // Number of this player among the players of the simulation, 0 to 3.
    parameter PLAYER = 0,
    // Links, each with one SYNC~. 1 to 32.
    parameter LINKS = 16,
    // Lanes. Even.
    parameter LANES = 32,
    // Longest chunk in beats. At least 4.
    parameter CHUNK_BEATS = 512
) (
    input  wire                link_clk,
    input  wire [LINKS-1:0]    sync_n,
    output wire [LANES*32-1:0] lane_data,
    output wire [LANES*4-1:0]  lane_charisk,
    output wire [LANES*4-1:0]  lane_notintable,
    output wire [LANES*4-1:0]  lane_disperr,
    output wire                sysref,
    output wire                trigger,
    output wire                laser,
    // How far into the beat trigger or laser come, 1/32 link clock.
    output wire [4:0]          pulse_delay,
    // Number of the beat on the lanes, counted from the first that was ever played.
    output reg  [63:0]         beat
);

    // The lanes carry a beat; the first beat of a chunk; nothing, because a chunk has not been supplied.
    wire playing;
    wire chunk_start;
    wire missing;

    // Read by Python. `started` changes a cycle after `start_sync_n`: all else is settled then.
    reg [31:0]      started;
    /* verilator lint_off UNUSEDSIGNAL */ // read by Python
    reg [LINKS-1:0] start_sync_n;
    /* verilator lint_on UNUSEDSIGNAL */
    reg             underrun;

    reg             news;

    initial begin
        started = 32'd0;
        start_sync_n = {LINKS{1'b0}};
        underrun = 1'b0;
        news = 1'b0;
        beat = 64'd0;
    end

    always @(posedge link_clk) begin
        if (playing) beat <= beat + 64'd1;
        news <= chunk_start;
        if (chunk_start) start_sync_n <= sync_n;
        if (news) started <= started + 32'd1;
        if (missing && !underrun) begin
            underrun <= 1'b1;
            $display("%m: chunk %0d has not been supplied in time", started);
        end
    end

`ifdef EB_DPI
    lane_player_dpi #(
        .PLAYER(PLAYER),
`else
    lane_player_vpi #(
        .CHUNK_BEATS(CHUNK_BEATS),
`endif
        .LANES(LANES)
    ) body (
        .link_clk(link_clk),
        .playing(playing),
        .chunk_start(chunk_start),
        .missing(missing),
        .lane_data(lane_data),
        .lane_charisk(lane_charisk),
        .lane_notintable(lane_notintable),
        .lane_disperr(lane_disperr),
        .sysref(sysref),
        .trigger(trigger),
        .laser(laser),
        .pulse_delay(pulse_delay)
    );

    generate
        if (PLAYER < 0 || PLAYER > 3 || LINKS < 1 || LINKS > 32 || LANES < 2 || LANES % 2 != 0 || CHUNK_BEATS < 4) begin : check
            initial $fatal(1, "%m: PLAYER 0 to 3, LINKS 1 to 32, LANES even, CHUNK_BEATS at least 4");
        end
    endgenerate

endmodule

`default_nettype wire
