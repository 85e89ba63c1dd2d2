// How full the ring is: bytes reserved, and the largest number of bytes written and not yet freed, for software and for the
// frame header apart.

`timescale 1ns / 1fs
`default_nettype none

module ring_level (
    input  wire        clk,
    input  wire        rst,
    // Positions: bytes written; granules reserved and freed.
    input  wire [31:0] write_position,
    input  wire [19:0] reserve_granule,
    input  wire [19:0] free_granule,

    output reg  [31:0] used_bytes,
    // Maximum since software restarted it.
    input  wire        high_water_restart,
    output reg  [31:0] high_water,
    // Maximum since the last frame header took it.
    input  wire        frame_high_water_taken,
    output reg  [31:0] frame_high_water
);

    reg [31:0] level;

    always @(posedge clk) begin
        level <= write_position - {free_granule, 12'd0};
        used_bytes <= {reserve_granule - free_granule, 12'd0};
        if (level > high_water || high_water_restart) high_water <= level;
        if (level > frame_high_water || frame_high_water_taken) frame_high_water <= level;
        if (rst) begin
            level <= 32'd0;
            used_bytes <= 32'd0;
            high_water <= 32'd0;
            frame_high_water <= 32'd0;
        end
    end

endmodule

`default_nettype wire
