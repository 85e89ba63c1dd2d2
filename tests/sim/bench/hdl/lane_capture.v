// Writes what a lane player plays to the file +capture=<path>, a line a beat, from the first beat of a chunk on.

`timescale 1ns / 1fs
`default_nettype none

module lane_capture #(
    parameter LINKS = 4,
    parameter LANES = 8,
    parameter CHUNK_BEATS = 32
) (
    input wire [LINKS-1:0] sync_n,
    input wire             record
);

    wire                clk;
    wire                link_clk;
    wire [63:0]         cycle;
    wire [LANES*32-1:0] lane_data;
    wire [LANES*4-1:0]  lane_charisk;
    wire [LANES*4-1:0]  lane_notintable;
    wire [LANES*4-1:0]  lane_disperr;
    wire                sysref;
    wire                trigger;
    wire                laser;
    wire [4:0]          pulse_delay;
    wire [31:0]         link_half_fs;
    wire [63:0]         beat;

    bench_clocks clocks (
        .clk(clk),
        .link_clk(link_clk),
        .cycle(cycle),
        .link_half_fs(link_half_fs)
    );

    lane_player #(
        .LINKS(LINKS),
        .LANES(LANES),
        .CHUNK_BEATS(CHUNK_BEATS)
    ) lanes (
        .link_clk(link_clk),
        .sync_n(sync_n),
        .lane_data(lane_data),
        .lane_charisk(lane_charisk),
        .lane_notintable(lane_notintable),
        .lane_disperr(lane_disperr),
        .sysref(sysref),
        .trigger(trigger),
        .laser(laser),
        .pulse_delay(pulse_delay),
        .beat(beat)
    );

    integer        file;
    reg [1023:0]   path;
    reg [63:0]     last_edge = 64'd0;
    // Link clock period in fs, as seen.
    reg [63:0]     period = 64'd0;

    initial begin
        file = 0;
        if ($value$plusargs("capture=%s", path)) file = $fopen(path, "w");
    end

    always @(posedge link_clk) begin
        period <= $rtoi($realtime * 1.0e6) - last_edge;
        last_edge <= $rtoi($realtime * 1.0e6);
        if (record) begin
            $fwrite(file, "%h %h %h %h %b\n", lane_data, lane_charisk, lane_notintable, lane_disperr, {pulse_delay, laser, trigger, sysref});
            $fflush(file);
        end
    end

endmodule

`default_nettype wire
