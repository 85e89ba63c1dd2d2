// Triggers: which sample they fall on, which of them open a window, and how the others are counted.
//
// The sequence number counts every trigger while enabled, also those that are dropped, so that a gap in the numbers is a
// dropped frame.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_trigger (
    input  wire        clk,
    input  wire        rst,
    // Shot or laser pulse; the rising edge counts.
    input  wire        trigger,
    // Control.
    input  wire        enable,
    input  wire [31:0] window_delay,
    input  wire [31:0] shots_per_sequence,
    // State: a window is open or cannot be announced; the link delivers and has for the last clocks.
    input  wire        busy,
    input  wire        steady,
    input  wire        link_up,
    // Stream from the link receiver.
    input  wire        s_valid,
    input  wire        s_first,
    input  wire [55:0] s_tick,

    // Open a window (one cycle), and what belongs to it. start_tick is its first sample.
    output reg         open,
    output reg  [55:0] start_tick,
    output reg  [63:0] trigger_time,
    output reg  [63:0] sequence_number,
    output reg  [31:0] shot,

    // Counters.
    output wire [31:0] triggers,
    output reg  [31:0] frames,
    output reg  [31:0] dropped_early,
    output reg  [31:0] dropped_link_down
);

    // The longest sample, in clocks, whose parts are told apart.
    localparam [4:0] LONGEST = 5'd16;

    reg         trigger_before;
    wire        rising = trigger && !trigger_before && enable;

    // Present sample: its tick, and the clocks since it began; clocks of the sample before it.
    reg         seen;
    reg  [55:0] last_tick;
    reg  [4:0]  next_phase;
    reg  [4:0]  period;
    wire [4:0]  phase = s_valid && s_first ? 5'd0 : next_phase;
    wire [55:0] tick = s_valid ? s_tick : last_tick;
    reg  [7:0]  fraction;

    always @* begin
        case (period)
            5'd2: fraction = {phase[0], 7'd0};
            5'd4: fraction = {phase[1:0], 6'd0};
            5'd8: fraction = {phase[2:0], 5'd0};
            5'd16: fraction = {phase[3:0], 4'd0};
            default: fraction = 8'd0;
        endcase
    end

    // Numbers of the next trigger.
    reg  [63:0] next_sequence;
    reg  [31:0] next_shot;
    wire [31:0] shot_after = next_shot + 32'd1;

    assign triggers = next_sequence[31:0];

    always @(posedge clk) begin
        trigger_before <= trigger;

        next_phase <= phase < LONGEST ? phase + 5'd1 : phase;
        if (s_valid) last_tick <= s_tick;
        if (s_valid && s_first) begin
            seen <= 1'b1;
            period <= next_phase;
        end
        if (!link_up) seen <= 1'b0;

        open <= 1'b0;
        if (!enable) next_shot <= 32'd0;
        if (rising) begin
            next_sequence <= next_sequence + 64'd1;
            next_shot <= shot_after == shots_per_sequence ? 32'd0 : shot_after;
            sequence_number <= next_sequence;
            shot <= next_shot;
            trigger_time <= {tick, fraction};
            start_tick <= tick + {24'd0, window_delay};
            if (busy) begin
                dropped_early <= dropped_early + 32'd1;
            end else if (!steady || !(seen || (s_valid && s_first))) begin
                dropped_link_down <= dropped_link_down + 32'd1;
            end else begin
                open <= 1'b1;
                frames <= frames + 32'd1;
            end
        end

        if (rst) begin
            trigger_before <= 1'b1;
            seen <= 1'b0;
            period <= 5'd0;
            next_phase <= 5'd0;
            open <= 1'b0;
            next_sequence <= 64'd0;
            next_shot <= 32'd0;
            frames <= 32'd0;
            dropped_early <= 32'd0;
            dropped_link_down <= 32'd0;
        end
    end

endmodule

`default_nettype wire
