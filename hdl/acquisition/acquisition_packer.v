// Windows to frames (core clock): header, samples, trailer, in words of 128 bytes, one a cycle.
//
//   IDLE ─ begin record ─► REQUEST ─ grant ─► HEADER ─► STREAM ─ last word, end record ─► TRAILER ─► IDLE
//                             └─ deny ──────────────────► STREAM (words are discarded) ────────────► IDLE
//
// A header fills the lower half of a frame's first word, so that all samples move on by half a word: `carry` holds the half
// that waits. The layout is that of host/frame_layout.py.
//
// A frame that was begun always gets all of its words: zeros where the window was filled, for words that the crossing lost,
// and after a reset of the link side, which also takes the end record away.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_packer (
    input  wire          clk,
    input  wire          rst,
    // The link side is in reset.
    input  wire          source_reset,

    // A window has begun: what goes into its header. words_last: 64-channel words a sample, less one.
    input  wire          begin_valid,
    output wire          begin_ready,
    input  wire [3:0]    begin_causes,
    input  wire          begin_tag,
    input  wire [63:0]   begin_sequence,
    input  wire [31:0]   begin_shot,
    input  wire [31:0]   begin_configuration,
    input  wire [63:0]   begin_time,
    input  wire [63:0]   begin_trigger,
    input  wire [15:0]   begin_samples,
    input  wire [1:0]    begin_words_last,
    input  wire [15:0]   begin_sample_rate,
    input  wire [7:0]    begin_mode,
    // Words of the window with its tag; filled ones are zero.
    input  wire          word_valid,
    output wire          word_ready,
    input  wire [1023:0] word_data,
    input  wire          word_filled,
    input  wire          word_tag,
    // The window has ended, after this many words.
    input  wire          end_valid,
    output wire          end_ready,
    input  wire [17:0]   end_words,
    input  wire [15:0]   end_kinds,
    input  wire [63:0]   end_lanes,
    input  wire [63:0]   end_time,

    // To the ring.
    output reg           frame_request,
    output reg  [31:0]   frame_bytes,
    output wire [31:0]   frame_sequence,
    output wire [7:0]    frame_mode,
    input  wire          frame_grant,
    input  wire          frame_deny,
    // With deny: why, as the lower half of DropCause in host/frame_layout.py.
    input  wire [3:0]    frame_deny_cause,
    input  wire [31:0]   ring_high_water,
    output reg           ring_high_water_taken,
    output reg  [1023:0] m_write_data,
    output reg           m_write_valid,
    output reg           m_write_last
);

    // Constants of host/frame_layout.py; the tests read frames by it.
    localparam [31:0] HEADER_MAGIC = 32'h31464245;
    localparam [31:0] TRAILER_MAGIC = 32'h31544245;
    localparam [7:0] LAYOUT_VERSION = 8'd1;
    localparam [7:0] HEADER_BYTES = 8'd64;
    localparam [7:0] SAMPLE_FORMAT_INT16 = 8'd1;
    localparam [15:0] ERROR_LINK_DOWN = 16'h0100;
    localparam [31:0] ONES = 32'hffffffff;

    localparam [3:0] IDLE = 4'd0;
    localparam [3:0] SIZE = 4'd1;
    localparam [3:0] REQUEST = 4'd2;
    localparam [3:0] HEADER = 4'd3;
    localparam [3:0] HEADER_CRC = 4'd4;
    localparam [3:0] HEADER_DONE = 4'd5;
    localparam [3:0] STREAM = 4'd6;
    localparam [3:0] FINISH = 4'd7;
    localparam [3:0] TRAILER_CRC = 4'd8;
    localparam [3:0] TRAILER_DONE = 4'd9;

    reg  [3:0]    state;
    reg           granted;
    reg           aborted;
    reg           tag;
    reg  [63:0]   number;
    reg  [31:0]   shot;
    reg  [31:0]   configuration;
    reg  [63:0]   first_time;
    reg  [63:0]   trigger_time;
    reg  [15:0]   samples;
    reg  [1:0]    words_last;
    reg  [15:0]   sample_rate;
    reg  [7:0]    mode;
    reg  [63:0]   next_number;  // were no frame dropped
    reg  [7:0]    causes;       // of what was dropped before, and of pulses that did not come

    reg  [17:0]   words;
    reg  [17:0]   words_left;
    reg  [17:0]   words_taken;
    reg  [511:0]  carry;
    reg  [479:0]  record;       // header or trailer without its CRC
    reg  [31:0]   record_crc;
    reg  [31:0]   payload_crc;
    reg  [31:0]   word_crc;
    reg           word_crc_valid;

    wire [2:0]    words_a_sample = {1'b0, words_last} + 3'd1;
    wire [31:0]   payload_bytes = {7'd0, words, 7'd0};
    wire [63:0]   missing = number - next_number;
    wire [15:0]   dropped_before = |missing[63:16] ? 16'hffff : missing[15:0];
    // In units of 256 bytes, rounded up.
    wire [24:0]   high_water_units = {1'b0, ring_high_water[31:8]} + {24'd0, |ring_high_water[7:0]};
    wire [15:0]   high_water = |high_water_units[24:16] ? 16'hffff : high_water_units[15:0];

    // Words come from the crossing until the end record says that there are no more, then they are made up. The tag keeps
    // words of the next window, which may overtake this one's end record, out.
    wire          streaming = state == STREAM;
    wire          none_left = aborted || (end_valid && end_words == words_taken);
    wire          take = streaming && !none_left && word_valid && word_tag == tag;
    wire          step = take || (streaming && none_left);
    reg  [1023:0] word;

    always @* begin
        word = 1024'd0;
        if (take && granted && !word_filled) word = word_data;
    end

    wire          header_due = state == SIZE || state == REQUEST || state == HEADER;

    assign begin_ready = state == IDLE && !source_reset;
    assign word_ready = take;
    assign end_ready = state == FINISH && !word_crc_valid && !aborted;
    assign frame_sequence = number[31:0];
    assign frame_mode = mode;

    // Check sums. The payload's takes two steps, so that only its 32 bits are in the loop: the word's own CRC, and the CRC
    // so far moved on by a word.
    wire [31:0]   record_crc_next;
    wire [31:0]   word_crc_next;
    wire [31:0]   moved_crc;

    crc32c #(
        .DATA_WIDTH(480)
    ) record_sum (
        .enable(state == HEADER_CRC || state == TRAILER_CRC),
        .crc_in(ONES),
        .data(record),
        .crc_out(record_crc_next)
    );

    crc32c #(
        .DATA_WIDTH(1024)
    ) word_sum (
        .enable(step && granted),
        .crc_in(32'd0),
        .data(word),
        .crc_out(word_crc_next)
    );

    crc32c #(
        .DATA_WIDTH(1024)
    ) payload_sum (
        .enable(word_crc_valid),
        .crc_in(payload_crc),
        .data(1024'd0),
        .crc_out(moved_crc)
    );

    always @(posedge clk) begin
        ring_high_water_taken <= 1'b0;
        m_write_valid <= 1'b0;
        m_write_last <= 1'b0;
        word_crc_valid <= step && granted;
        if (step && granted) word_crc <= word_crc_next;
        if (word_crc_valid) payload_crc <= moved_crc ^ word_crc;
        if (source_reset && state != IDLE) aborted <= 1'b1;
        // The link side counts anew behind its reset. A frame that was begun before has its number from the old count, and its
        // header is told by that.
        if ((source_reset || aborted) && !header_due) begin
            next_number <= 64'd0;
            causes <= 8'd0;
        end

        case (state)
            IDLE: begin
                aborted <= 1'b0;
                tag <= begin_tag;
                number <= begin_sequence;
                shot <= begin_shot;
                configuration <= begin_configuration;
                first_time <= begin_time;
                trigger_time <= begin_trigger;
                samples <= begin_samples;
                words_last <= begin_words_last;
                sample_rate <= begin_sample_rate;
                mode <= begin_mode;
                if (begin_valid && begin_ready) begin
                    causes <= causes | {begin_causes, 4'd0};
                    state <= SIZE;
                end
            end
            SIZE: begin
                case (words_last)
                    2'd0: words <= {2'd0, samples};
                    2'd1: words <= {1'd0, samples, 1'd0};
                    default: words <= {samples, 2'd0};
                endcase
                state <= REQUEST;
            end
            REQUEST: begin
                frame_request <= 1'b1;
                frame_bytes <= payload_bytes + 32'd128;
                words_left <= words;
                words_taken <= 18'd0;
                payload_crc <= ONES;
                if (frame_request && (frame_grant || frame_deny)) begin
                    frame_request <= 1'b0;
                    granted <= frame_grant;
                    if (frame_deny) causes <= causes | {4'd0, frame_deny_cause};
                    state <= frame_grant ? HEADER : STREAM;
                end
            end
            HEADER: begin
                record <= {
                    24'd0, causes, high_water, dropped_before, payload_bytes,
                    sample_rate, {7'd0, words_a_sample, 6'd0}, 16'd0, samples,
                    trigger_time, first_time, configuration, shot, number,
                    SAMPLE_FORMAT_INT16, mode, HEADER_BYTES, LAYOUT_VERSION, HEADER_MAGIC
                };
                ring_high_water_taken <= 1'b1;
                next_number <= number + 64'd1;
                causes <= 8'd0;
                state <= HEADER_CRC;
            end
            HEADER_CRC: begin
                record_crc <= ~record_crc_next;
                state <= HEADER_DONE;
            end
            HEADER_DONE: begin
                carry <= {record_crc, record};
                state <= STREAM;
            end
            STREAM: begin
                if (step) begin
                    if (granted) begin
                        m_write_valid <= 1'b1;
                        m_write_data <= {word[511:0], carry};
                        carry <= word[1023:512];
                    end
                    words_left <= words_left - 18'd1;
                    if (words_left == 18'd1) state <= FINISH;
                end
                if (take) words_taken <= words_taken + 18'd1;
            end
            FINISH: begin
                if (!word_crc_valid && (end_valid || aborted)) begin
                    record <= {
                        160'd0, aborted ? 64'd0 : end_lanes, 16'd0, samples, ~payload_crc,
                        aborted ? first_time : end_time, number,
                        16'd0, aborted ? ERROR_LINK_DOWN : end_kinds, TRAILER_MAGIC
                    };
                    state <= granted ? TRAILER_CRC : IDLE;
                end
            end
            TRAILER_CRC: begin
                record_crc <= ~record_crc_next;
                state <= TRAILER_DONE;
            end
            TRAILER_DONE: begin
                m_write_valid <= 1'b1;
                m_write_last <= 1'b1;
                m_write_data <= {record_crc, record, carry};
                state <= IDLE;
            end
            default: state <= IDLE;
        endcase

        if (rst) begin
            state <= IDLE;
            aborted <= 1'b0;
            granted <= 1'b0;
            next_number <= 64'd0;
            causes <= 8'd0;
            frame_request <= 1'b0;
            ring_high_water_taken <= 1'b0;
            word_crc_valid <= 1'b0;
            m_write_valid <= 1'b0;
            m_write_last <= 1'b0;
        end
    end

endmodule

`default_nettype wire
