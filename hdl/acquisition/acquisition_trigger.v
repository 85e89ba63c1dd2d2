// Triggers: when they came, which of them open a window, and how the others are counted.
//
// The sequence number counts every trigger while enabled, also those that are dropped, so that a gap in the numbers is a
// dropped frame; `causes` says what dropped them.
//
// Times are positions on the sample clock, 1/256 sample: [63:8] the tick, [7:0] the fraction. An outside trigger is only known to
// have come in the link clock before the edge that sampled it first, so the middle of that clock is its time, right to half a
// clock (2 ns at 250 MHz). The generator's shots come with the edge itself.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_trigger #(
    // Clocks by which `trigger` is late, of the synchroniser. 0 to 6.
    parameter LATENCY = 2
) (
    input  wire        clk,
    input  wire        rst,
    // Shot or laser pulse; the rising edge counts. exact: it came with the clock edge before it was seen.
    input  wire        trigger,
    input  wire        exact,
    // Control. window_delay in 1/256 sample.
    input  wire        enable,
    input  wire        hold,
    input  wire [31:0] window_delay,
    input  wire [31:0] shots_per_sequence,
    // State: a window is open or cannot be announced; the link delivers and has for the last clocks.
    input  wire        busy,
    input  wire        steady,
    input  wire        link_up,
    // A laser pulse did not come.
    input  wire        missing,
    // Stream from the link receiver.
    input  wire        s_valid,
    input  wire        s_first,
    input  wire [55:0] s_tick,

    // Open a window (one cycle), and what belongs to it. start_tick is its first sample. causes since the window before, as the
    // upper half of DropCause in host/frame_layout.py: pulse missing, held, link down, too early.
    output reg         open,
    output wire [55:0] start_tick,
    output reg  [63:0] trigger_time,
    output reg  [63:0] sequence_number,
    output reg  [31:0] shot,
    output reg  [3:0]  causes,
    output wire        ready,

    // Counters.
    output wire [31:0] triggers,
    output reg  [31:0] frames,
    output reg  [31:0] dropped_early,
    output reg  [31:0] dropped_link_down,
    output reg  [31:0] dropped_held
);

    // The longest sample, in clocks, whose parts are told apart.
    localparam [4:0] LONGEST = 5'd16;
    // From the present clock back to the trigger's time, in half clocks.
    localparam [4:0] BACK = 2 * LATENCY[4:0] - 5'd1;
    localparam [4:0] BACK_EXACT = 2 * LATENCY[4:0];

    generate
        if (LATENCY < 1 || LATENCY > 6) begin : check_latency
            initial $fatal(1, "acquisition_trigger: LATENCY must be 1 to 6");
        end
    endgenerate

    reg         trigger_before;
    wire        rising = trigger && !trigger_before && enable;

    // Present sample: its tick, and the clocks since it began; clocks of the sample before it.
    reg         seen;
    reg  [55:0] last_tick;
    reg  [4:0]  next_phase;
    reg  [4:0]  period;
    wire [4:0]  phase = s_valid && s_first ? 5'd0 : next_phase;
    wire [55:0] tick = s_valid ? s_tick : last_tick;

    // Half clocks from the present sample's begin to the trigger, and the same in 1/256 sample.
    wire signed [7:0]  half_clocks = $signed({2'b00, phase, 1'b0}) - $signed({3'b000, exact ? BACK_EXACT : BACK});
    reg  signed [15:0] offset;

    always @* begin
        case (period)
            5'd1: offset = {{1{half_clocks[7]}}, half_clocks, 7'd0};
            5'd2: offset = {{2{half_clocks[7]}}, half_clocks, 6'd0};
            5'd4: offset = {{3{half_clocks[7]}}, half_clocks, 5'd0};
            5'd8: offset = {{4{half_clocks[7]}}, half_clocks, 4'd0};
            5'd16: offset = {{5{half_clocks[7]}}, half_clocks, 3'd0};
            default: offset = 16'sd0;
        endcase
    end

    wire [63:0] position = {tick, 8'd0} + {{48{offset[15]}}, offset};
    // The nearest sample: half a one more, and no fraction. Used a clock after the trigger, with `open`.
    wire [63:0] start = trigger_time + {32'd0, window_delay} + 64'd128;

    // Numbers of the next trigger.
    reg  [63:0] next_sequence;
    reg  [31:0] next_shot;
    wire [31:0] shot_after = next_shot + 32'd1;

    // Causes since the last window.
    reg  [3:0]  pending;
    wire        early = rising && !hold && busy;
    wire        down = rising && !hold && !busy && !ready;
    wire        held = rising && hold;
    wire        opens = rising && !hold && !busy && ready;

    assign start_tick = start[63:8];
    assign ready = steady && (seen || (s_valid && s_first));
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

        open <= opens;
        if (!enable) next_shot <= 32'd0;
        if (rising) begin
            next_sequence <= next_sequence + 64'd1;
            next_shot <= shot_after == shots_per_sequence ? 32'd0 : shot_after;
            sequence_number <= next_sequence;
            shot <= next_shot;
            trigger_time <= position;
        end
        if (early) dropped_early <= dropped_early + 32'd1;
        if (down) dropped_link_down <= dropped_link_down + 32'd1;
        if (held) dropped_held <= dropped_held + 32'd1;
        if (opens) begin
            frames <= frames + 32'd1;
            causes <= pending;
        end
        pending <= (opens ? 4'd0 : pending) | {missing, held, down, early};

        if (rst) begin
            trigger_before <= 1'b1;
            seen <= 1'b0;
            period <= 5'd0;
            next_phase <= 5'd0;
            open <= 1'b0;
            next_sequence <= 64'd0;
            next_shot <= 32'd0;
            pending <= 4'd0;
            frames <= 32'd0;
            dropped_early <= 32'd0;
            dropped_link_down <= 32'd0;
            dropped_held <= 32'd0;
        end
    end

    // verilator lint_off UNUSEDSIGNAL // The fraction only rounds.
    wire [7:0] unused_fraction = start[7:0];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
