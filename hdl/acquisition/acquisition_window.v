// The sample window: cuts `samples` x `words_per_sample` words out of the late stream, never fewer, and always ends.
//
//   IDLE ─ open ─► WAIT ─ first sample ─► RUN ─ last word ─► IDLE
//
// If the link stops delivering (down, silent, samples with too few words) the rest of the window is filled with zeros at one
// word a clock and flagged LINK_DOWN. If the crossing cannot take a word, that word and the rest of the window are not sent;
// the end record says how many were, the packer fills up, and the frame is flagged CROSSING_OVERFLOW.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_window #(
    // Lanes. 1 to 64.
    parameter LANES = 32
) (
    input  wire             clk,
    input  wire             rst,
    // A trigger opens the window.
    input  wire             open,
    input  wire [55:0]      start_tick,
    // Shape, looked at when it opens: samples (1 to 65535), words a sample (1, 2 or 4) less one.
    input  wire [15:0]      samples,
    input  wire [1:0]       words_last,
    output wire             busy,

    // Late stream, and the present time for filled words.
    input  wire             up,
    input  wire             valid,
    input  wire             first,
    input  wire [55:0]      tick,
    input  wire [15:0]      error_kinds,
    input  wire [LANES-1:0] error_lanes,
    input  wire [63:0]      stamp,
    input  wire [63:0]      now,
    // Why the link is down, bits of LinkError, while it is.
    input  wire [15:0]      down_kinds,

    // To the crossing: the late stream's word, or zeros if filled. The tag tells neighbouring windows apart.
    output wire             word_valid,
    output wire             word_filled,
    output reg              word_tag,
    input  wire             word_ready,

    // With the first word: time of the first sample.
    output wire             begin_valid,
    output wire [63:0]      begin_time,
    // After the last word.
    output reg              end_valid,
    output reg  [17:0]      end_words,
    output reg  [15:0]      end_kinds,
    output reg  [63:0]      end_lanes,
    output reg  [63:0]      end_time,
    // Windows with words lost at the crossing.
    output reg  [31:0]      overflows
);

    // Bits of LinkError in the frame layout.
    localparam LINK_DOWN = 8;
    localparam CROSSING_OVERFLOW = 15;
    // Clocks without a word after which the link counts as down.
    localparam [4:0] SILENCE = 5'd31;

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] WAIT = 2'd1;
    localparam [1:0] RUN = 2'd2;

    reg  [1:0]       state;
    reg  [1:0]       shape;
    reg  [17:0]      words_left;
    reg  [17:0]      words_sent;
    reg  [1:0]       next_word;    // of the sample
    reg              sample_full;  // all words that are kept have been
    reg  [4:0]       silence;
    reg              lost_before;
    reg              overflowed;
    reg  [15:0]      kinds;
    reg  [15:0]      reasons;     // for a link that went down, since the window opened
    reg  [LANES-1:0] lanes;
    reg  [63:0]      sample_time;
    reg  [55:0]      start;

    // The first sample at or behind the start: a start that was missed must not wait for the counter to come round.
    // verilator lint_off UNUSEDSIGNAL // Only the sign is asked for.
    wire [55:0]      ahead = tick - start;
    // verilator lint_on UNUSEDSIGNAL
    wire             starts = valid && first && !ahead[55];
    wire             torn = state == RUN && valid && first && !sample_full;
    wire             lost = state != IDLE && (lost_before || !up || silence == SILENCE || torn);
    wire             kept = state == RUN ? valid && (first || !sample_full) : starts;
    wire             emit = state != IDLE && (lost || kept);
    wire [1:0]       word = (lost ? sample_full : first) ? 2'd0 : next_word;
    wire             last = emit && words_left == 18'd1;
    wire             overflow = emit && !overflowed && !word_ready;
    wire [63:0]      word_time = lost ? now : stamp;
    wire [15:0]      new_kinds = (valid && !lost ? error_kinds : 16'd0)
                                 | (lost ? reasons : 16'd0) | {15'd0, lost} << LINK_DOWN
                                 | {15'd0, overflow} << CROSSING_OVERFLOW;
    wire [LANES-1:0] new_lanes = valid && !lost ? error_lanes : {LANES{1'b0}};
    wire [15:0]      all_kinds = kinds | new_kinds;
    wire [LANES-1:0] all_lanes = lanes | new_lanes;
    wire             sends = emit && !overflowed && word_ready;

    assign busy = state != IDLE || open;
    assign word_valid = emit && !overflowed;
    assign word_filled = lost;
    assign begin_valid = state == WAIT && emit;
    assign begin_time = word_time;

    always @(posedge clk) begin
        end_valid <= 1'b0;
        if (valid) silence <= 5'd0;
        else if (silence != SILENCE) silence <= silence + 5'd1;

        if (open) begin
            state <= WAIT;
            start <= start_tick;
            shape <= words_last;
            case (words_last)
                2'd0: words_left <= {2'd0, samples};
                2'd1: words_left <= {1'd0, samples, 1'd0};
                default: words_left <= {samples, 2'd0};
            endcase
            words_sent <= 18'd0;
            lost_before <= 1'b0;
            overflowed <= 1'b0;
            kinds <= 16'd0;
            reasons <= 16'd0;
            lanes <= {LANES{1'b0}};
            silence <= 5'd0;
            // So that the first filled word, if there is no other, begins a sample.
            sample_full <= 1'b1;
        end

        // They come before the late stream ends, and count only if it ends in the window.
        if (state != IDLE) reasons <= reasons | down_kinds;
        if (lost) lost_before <= 1'b1;
        if (emit) begin
            state <= RUN;
            words_left <= words_left - 18'd1;
            next_word <= word + 2'd1;
            sample_full <= word == shape;
            if (word == 2'd0) sample_time <= word_time;
            kinds <= all_kinds;
            lanes <= all_lanes;
            if (sends) words_sent <= words_sent + 18'd1;
            if (overflow) begin
                overflowed <= 1'b1;
                overflows <= overflows + 32'd1;
            end
        end else if (state == RUN && valid) begin
            // Words beyond the channels kept: the sample is hurt all the same.
            kinds <= all_kinds;
            lanes <= all_lanes;
        end
        if (last) begin
            state <= IDLE;
            word_tag <= !word_tag;
            end_valid <= 1'b1;
            end_words <= words_sent + {17'd0, sends};
            end_kinds <= all_kinds;
            end_lanes <= {{(64-LANES){1'b0}}, all_lanes};
            end_time <= word == 2'd0 ? word_time : sample_time;
        end

        if (rst) begin
            state <= IDLE;
            word_tag <= 1'b0;
            end_valid <= 1'b0;
            overflows <= 32'd0;
        end
    end

endmodule

`default_nettype wire
