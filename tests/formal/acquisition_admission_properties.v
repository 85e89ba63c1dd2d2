// hdl/acquisition/acquisition_packer.v with hdl/ring/ring_writer.v: a frame is admitted only if the ring can take all of it, and then
// all of it is written; each one that is not is counted once and under one cause, and the next header says so.
//
// Windows are any at all: words and end records come when they like or not at all, their tags and counts are anything, and the
// link side is reset at any time. Assumed: windows are not empty; their numbers go up from 0, anew behind a reset, and skip what
// was dropped before; end records wait until they are taken, or for a reset; the free position follows what is written (proved in ring_space_properties.v), a granule a cycle; at
// most all table entries are in use. The check sums are cut off.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_admission_properties #(
    // Bytes of the ring.
    parameter RING_BYTES = 65536,
    // 1: frames of two or four words, or too large for the ring, without a pause, so that cover statements and bugs are reached in few
    // steps.
    parameter REGULAR = 0,
    // 0: without the helping invariants.
    parameter HELP = 1
) (
    input wire          clk,
    input wire          rst,
    input wire          source_reset,
    input wire          begin_valid,
    input wire [3:0]    begin_causes,
    input wire          begin_tag,
    input wire [15:0]   begin_samples,
    input wire [1:0]    begin_words_last,
    input wire          word_valid,
    input wire          word_tag,
    input wire          end_valid,
    input wire [17:0]   end_words,
    input wire [15:0]   end_kinds,
    input wire          enable,
    input wire          host_stalled,
    input wire          ready,
    input wire [4:0]    block_shift,
    input wire [9:0]    entries_used,
    // Windows dropped before the one that begins; a granule is freed.
    input wire [15:0]   skipped,
    input wire          free_one
);

    localparam WORD_WIDTH = $clog2(RING_BYTES / 128);
    localparam [20:0] GRANULES = RING_BYTES / 4096;

    wire          begin_ready;
    wire [63:0]   begin_sequence;
    wire          word_ready;
    wire          end_ready;
    wire          frame_request;
    wire [31:0]   frame_bytes;
    wire          frame_grant;
    wire          frame_deny;
    wire [3:0]    frame_deny_cause;
    wire [1023:0] write_data;
    wire          write_valid;
    wire          write_last;

    acquisition_packer packer (
        .clk(clk),
        .rst(rst),
        .source_reset(source_reset),
        .begin_valid(begin_valid),
        .begin_ready(begin_ready),
        .begin_causes(begin_causes),
        .begin_tag(begin_tag),
        .begin_sequence(begin_sequence),
        .begin_shot(32'd0),
        .begin_configuration(32'd0),
        .begin_time(64'd0),
        .begin_trigger(64'd0),
        .begin_samples(begin_samples),
        .begin_words_last(begin_words_last),
        .begin_sample_rate(16'd0),
        .begin_mode(8'd0),
        .word_valid(word_valid),
        .word_ready(word_ready),
        .word_data(1024'd0),
        .word_filled(1'b0),
        .word_tag(word_tag),
        .end_valid(end_valid),
        .end_ready(end_ready),
        .end_words(end_words),
        .end_kinds(end_kinds),
        .end_lanes(64'd0),
        .end_time(64'd0),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(),
        .frame_mode(),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .ring_high_water(32'd0),
        .ring_high_water_taken(),
        .m_write_data(write_data),
        .m_write_valid(write_valid),
        .m_write_last(write_last)
    );

    reg  [19:0]   free_granule;
    wire [19:0]   reserve_granule;
    wire [19:0]   written_granule;
    wire          write_enable;
    wire [31:0]   admitted;
    wire [31:0]   ring_full;
    wire [31:0]   descriptors_full;
    wire [31:0]   disabled;
    wire [31:0]   stalled;
    wire [31:0]   protocol_errors;

    ring_writer #(
        .RING_BYTES(RING_BYTES)
    ) writer (
        .clk(clk),
        .rst(rst),
        .enable(enable),
        .host_stalled(host_stalled),
        .ready(ready),
        .block_shift(block_shift),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(32'd0),
        .frame_mode(8'd0),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .s_write_data(1024'd0),
        .s_write_valid(write_valid),
        .s_write_last(write_last),
        .write_enable(write_enable),
        .write_word(),
        .write_data(),
        .free_granule(free_granule),
        .reserve_granule(reserve_granule),
        .written_granule(written_granule),
        .write_position(),
        .entries_used(entries_used),
        .allocate(),
        .allocate_entries(),
        .commit(),
        .commit_address(),
        .commit_bytes(),
        .commit_first(),
        .commit_last(),
        .commit_sequence(),
        .commit_mode(),
        .commit_end_granule(),
        .frames_admitted(admitted),
        .dropped_ring_full(ring_full),
        .dropped_descriptors_full(descriptors_full),
        .dropped_disabled(disabled),
        .dropped_host_stalled(stalled),
        .protocol_errors(protocol_errors)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    reg         started = 1'b0;
    wire        begins = begin_valid && begin_ready;
    // Number of the next window, were none dropped.
    reg  [63:0] next_window;

    assign begin_sequence = next_window + {48'd0, skipped};

    reg         end_waits;
    reg  [17:0] end_words_before;
    reg  [15:0] end_kinds_before;

    always @(posedge clk) begin
        started <= 1'b1;
        end_waits <= end_valid && !end_ready && !source_reset && !rst;
        end_words_before <= end_words;
        end_kinds_before <= end_kinds;
        if (free_one && free_granule != written_granule) free_granule <= free_granule + 20'd1;
        if (begins) next_window <= begin_sequence + 64'd1;
        if (source_reset || rst) next_window <= 64'd0;
        if (rst) free_granule <= 20'd0;
    end

    always @* begin
        if (!started) assume (rst);
        assume (begin_samples != 16'd0);
        if (started && end_waits) begin
            assume (end_valid || source_reset || rst);
            assume (end_words == end_words_before && end_kinds == end_kinds_before);
        end
        assume (block_shift >= 5'd12 && block_shift <= 5'd23 && entries_used <= 10'd256);
        if (REGULAR != 0 && started) begin
            assume (begin_samples == 16'd1 || begin_samples == 16'd3 || begin_samples == 16'd1024);
            assume (!rst && ready && begin_words_last == 2'd0 && skipped <= 16'd1);
            assume (begin_valid && word_valid && word_tag == begin_tag && end_valid && end_words == 18'd1);
        end
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    // The frame under way: begun; its number; the link side was reset since it began; granted; words still to be written.
    reg         begun;
    reg  [63:0] number;
    reg         hurt;
    reg         open;
    reg  [24:0] left;
    reg         first;
    // What its header must say; and the next one's, of what happened since.
    reg  [63:0] missing;
    reg  [7:0]  causes;
    reg  [63:0] told_missing;
    reg  [7:0]  told_causes;
    // Granules for all frames admitted so far, modulo 2^20.
    reg  [19:0] reserved;
    // Words that came for it; and what its end record says.
    reg  [17:0] taken;
    reg  [17:0] payload;
    reg  [15:0] kinds;
    reg  [17:0] ended;

    wire [20:0] need = {1'b0, frame_bytes[31:12]} + {20'd0, |frame_bytes[11:0]};

    always @(posedge clk) begin
        if (write_valid) begin
            left <= left - 25'd1;
            first <= 1'b0;
            if (left == 25'd1) begin
                open <= 1'b0;
                begun <= 1'b0;
            end
        end
        if (begins) begin
            begun <= 1'b1;
            taken <= 18'd0;
            number <= begin_sequence;
            hurt <= 1'b0;
            missing <= missing + {48'd0, skipped};
            causes <= causes | {begin_causes, 4'd0};
        end else if (source_reset) begin
            hurt <= 1'b1;
        end
        if (frame_grant) begin
            open <= 1'b1;
            left <= frame_bytes[31:7];
            payload <= frame_bytes[24:7] - 18'd1;
            first <= 1'b1;
            told_missing <= missing;
            told_causes <= causes;
            missing <= 64'd0;
            causes <= 8'd0;
            reserved <= reserved + need[19:0];
        end
        if (frame_deny) begin
            begun <= 1'b0;
            missing <= missing + 64'd1;
            causes <= causes | {4'd0, frame_deny_cause};
        end
        // Numbers begin anew behind a reset, and so does what is missing.
        if (frame_grant || frame_deny ? hurt || source_reset : source_reset && !begun) begin
            missing <= 64'd0;
            causes <= 8'd0;
        end
        if (source_reset && open) begin
            missing <= 64'd0;
            causes <= 8'd0;
        end
        if (word_valid && word_ready) taken <= taken + 18'd1;
        if (end_valid && end_ready) begin
            kinds <= end_kinds;
            ended <= end_words;
        end
        if (rst) begin
            begun <= 1'b0;
            hurt <= 1'b0;
            open <= 1'b0;
            left <= 25'd0;
            missing <= 64'd0;
            causes <= 8'd0;
            reserved <= 20'd0;
        end
    end

    // Of the cycle before: counters, and what the answer depends on.
    reg         reset_before;
    reg  [31:0] admitted_before;
    reg  [31:0] ring_full_before;
    reg  [31:0] descriptors_full_before;
    reg  [31:0] disabled_before;
    reg  [31:0] stalled_before;
    reg         write_before;
    reg         enable_before;
    reg         stalled_then;
    reg  [19:0] used_before;
    reg  [9:0]  entries_before;
    reg  [4:0]  shift_1;
    reg  [4:0]  shift_2;

    wire [32:0] need_entries = ({1'b0, frame_bytes} + (33'd1 << shift_2) - 33'd1) >> shift_2;
    wire        fits_ring = need <= GRANULES - {1'b0, used_before};
    wire        fits_table = need_entries <= {23'd0, 10'd256 - entries_before};

    always @(posedge clk) begin
        reset_before <= rst;
        admitted_before <= admitted;
        ring_full_before <= ring_full;
        descriptors_full_before <= descriptors_full;
        disabled_before <= disabled;
        stalled_before <= stalled;
        write_before <= write_valid && !rst;
        enable_before <= enable;
        stalled_then <= host_stalled;
        used_before <= reserve_granule - free_granule;
        entries_before <= entries_used;
        shift_1 <= block_shift;
        shift_2 <= shift_1;
    end

    // Places of fields in the first word (header) and the last one (trailer), host/frame_layout.py.
    localparam NUMBER = 8 * 8;
    localparam PAYLOAD_BYTES = 48 * 8;
    localparam DROPPED_BEFORE = 52 * 8;
    localparam FLAGS = 56 * 8;
    localparam LINK_ERRORS = 512 + 4 * 8;
    localparam TRAILER_NUMBER = 512 + 8 * 8;
    localparam [31:0] LINK_DOWN = 32'h100;

    always @* begin
        if (started) begin
            // An answer belongs to a request, and is one.
            if (frame_grant || frame_deny) assert (frame_request && begun && !open);
            assert (!frame_grant || !frame_deny);
            // Admitted if there is room for all of it and else refused; never more reserved than there is.
            assert ({1'b0, reserve_granule - free_granule} <= GRANULES);
            if (frame_grant) begin
                assert (enable_before && fits_ring && fits_table);
                assert (reserve_granule == reserved + need[19:0]);
            end else begin
                assert (reserve_granule == reserved);
            end
            // Each refusal for one cause, the right one, and counted under it.
            if (frame_deny) begin
                assert (frame_deny_cause[2] == !enable_before);
                assert (frame_deny_cause[0] == (enable_before && !stalled_then && !fits_ring));
                assert (frame_deny_cause[1] == (enable_before && !stalled_then && fits_ring && !fits_table));
                assert (frame_deny_cause[3] == (enable_before && stalled_then));
                assert (frame_deny_cause != 4'd0 && (frame_deny_cause & (frame_deny_cause - 4'd1)) == 4'd0);
            end
            if (!reset_before) begin
                assert (admitted - admitted_before == {31'd0, frame_grant});
                assert (ring_full - ring_full_before == {31'd0, frame_deny && frame_deny_cause[0]});
                assert (descriptors_full - descriptors_full_before == {31'd0, frame_deny && frame_deny_cause[1]});
                assert (disabled - disabled_before == {31'd0, frame_deny && frame_deny_cause[2]});
                assert (stalled - stalled_before == {31'd0, frame_deny && frame_deny_cause[3]});
            end
            // Once admitted it is written whole, and nothing else is.
            if (write_valid) assert (open && !frame_grant && write_last == (left == 25'd1));
            if (frame_request) assert (!open);
            assert (write_enable == write_before);
            assert (protocol_errors == 32'd0);
            // The header says what was dropped before and why, the trailer that words were made up.
            if (write_valid && first) begin
                assert (write_data[NUMBER +: 64] == number);
                assert ({7'd0, left, 7'd0} == {7'd0, write_data[PAYLOAD_BYTES +: 32]} + 39'd128);
                assert (write_data[DROPPED_BEFORE +: 16] == (|told_missing[63:16] ? 16'hffff : told_missing[15:0]));
                assert (write_data[FLAGS +: 32] == {24'd0, told_causes});
            end
            if (write_last) begin
                assert (write_data[TRAILER_NUMBER +: 64] == number);
                if (write_data[LINK_ERRORS +: 32] != LINK_DOWN || !hurt) begin
                    assert (write_data[LINK_ERRORS +: 32] == {16'd0, kinds});
                    assert (taken == payload || taken == ended);
                end
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire [3:0]  \packer.state ;
    (* hierconn *) wire        \packer.granted ;
    (* hierconn *) wire        \packer.aborted ;
    (* hierconn *) wire [63:0] \packer.number ;
    (* hierconn *) wire [63:0] \packer.next_number ;
    (* hierconn *) wire [7:0]  \packer.causes ;
    (* hierconn *) wire [17:0] \packer.words ;
    (* hierconn *) wire [17:0] \packer.words_left ;
    (* hierconn *) wire [17:0] \packer.words_taken ;
    (* hierconn *) wire [511:0] \packer.carry ;
    (* hierconn *) wire [479:0] \packer.record ;
    (* hierconn *) wire [15:0] \packer.samples ;
    (* hierconn *) wire [1:0]  \writer.state ;
    (* hierconn *) wire        \writer.frame_open ;
    (* hierconn *) wire        \writer.malformed ;
    (* hierconn *) wire [20:0] \writer.need_granules ;
    (* hierconn *) wire [32:0] \writer.need_entries ;
    (* hierconn *) wire [24:0] \writer.words_left ;
    (* hierconn *) wire [24:0] \writer.frame_words ;
    (* hierconn *) wire [24:0] \writer.position ;

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
    localparam [1:0] CHECK = 2'd1;
    localparam [1:0] ANSWER = 2'd2;

    wire [3:0]  state = \packer.state ;
    wire        idle = state == IDLE;
    wire        header_due = state == SIZE || state == REQUEST || state == HEADER;
    // Payload words of the frame; those that the packer has still to write, trailer included.
    wire [24:0] words = {7'd0, \packer.words };
    wire [24:0] to_come = state == HEADER || state == HEADER_CRC || state == HEADER_DONE ? words + 25'd1
        : state == STREAM ? {7'd0, \packer.words_left } + 25'd1 : idle ? 25'd0 : 25'd1;
    // The header where it waits for the first word, the trailer for its check sum.
    wire        in_record = state == HEADER_CRC || state == HEADER_DONE;
    wire        in_carry = state == STREAM && \packer.granted && first && !write_valid;
    wire [479:0] header = in_record ? \packer.record : \packer.carry [479:0];
    wire        in_trailer = state == TRAILER_CRC || state == TRAILER_DONE;
    wire [31:0] flagged = \packer.record [32 +: 32];
    // In words, from the free position on.
    wire [24:0] written_words = \writer.position - {free_granule, 5'd0};
    wire [24:0] reserved_words = {reserve_granule, 5'd0} - {free_granule, 5'd0};
    wire [24:0] reserved_left = {reserve_granule, 5'd0} - \writer.position ;
    localparam [24:0] WORDS = RING_BYTES / 128;

    always @* begin
        if (HELP != 0 && started) begin
            // Packer and frame.
            assert (state <= TRAILER_DONE);
            assert (begun == (state == SIZE || state == REQUEST || open));
            if (open) assert (\packer.granted && (state > REQUEST || (idle && write_last)));
            if (\packer.granted && state > REQUEST) assert (open);
            if (state == HEADER || in_record || in_trailer) assert (\packer.granted );
            if (!idle) assert (\packer.aborted == hurt && \packer.number == number);
            if (state == SIZE) assert (\packer.samples != 16'd0);
            if (state > SIZE) assert (\packer.words != 18'd0);
            if (state == STREAM) assert (\packer.words_left != 18'd0 && \packer.words_left <= \packer.words );
            if (state == HEADER || in_record) assert (\packer.words_left == \packer.words && first && !write_valid);
            if (frame_request) assert (state == REQUEST && frame_bytes == {words, 7'd0} + 32'd128);
            if (frame_request) assert (\packer.words_left == \packer.words );
            if (open) begin
                assert (left == to_come + {24'd0, write_valid});
                if (!idle) assert (payload == \packer.words );
                assert (first == (left == {7'd0, payload} + 25'd1));
                assert (payload != 18'd0 && left <= {7'd0, payload} + 25'd1);
            end
            if (write_last) assert (write_valid && idle && left == 25'd1);
            if (write_valid) assert (open && (write_last || state == STREAM || state == FINISH));
            // Words that came.
            if (frame_request || state == HEADER || in_record) assert (\packer.words_taken == 18'd0);
            if (!idle) assert (taken == 18'd0 || state > REQUEST);
            if (!idle && state != SIZE && (state != REQUEST || frame_request)) assert (\packer.words_taken == taken);
            if (state == STREAM || state == FINISH) begin
                assert (taken + (state == STREAM ? \packer.words_left : 18'd0) == \packer.words || \packer.aborted
                    || (end_waits && end_words_before == taken));
            end
            if (in_trailer) begin
                assert (\packer.record [64 +: 64] == number);
                if (flagged != LINK_DOWN || !hurt) begin
                    assert (flagged == {16'd0, kinds} && (taken == payload || taken == ended));
                end
            end
            // Header.
            if (in_record || in_carry) begin
                assert (header[NUMBER +: 64] == number);
                assert (header[PAYLOAD_BYTES +: 32] == {words, 7'd0});
                assert (header[DROPPED_BEFORE +: 16] == (|told_missing[63:16] ? 16'hffff : told_missing[15:0]));
                assert (header[FLAGS +: 32] == {24'd0, told_causes});
            end
            if (header_due) begin
                assert (number - \packer.next_number == (state == HEADER ? told_missing : missing));
                assert (\packer.causes == (state == HEADER ? told_causes : causes));
            end else if (idle || !hurt) begin
                assert (next_window - \packer.next_number == missing);
                assert (\packer.causes == causes);
            end
            if (idle && \packer.aborted ) assert (\packer.next_number == 64'd0 && \packer.causes == 8'd0);
            if (!idle) assert (next_window == (hurt ? 64'd0 : number + 64'd1));
            if (!idle && (hurt || state == HEADER) && state != SIZE && state != REQUEST) begin
                assert (missing == 64'd0 && causes == 8'd0);
            end
            // Request and answer.
            assert (\writer.state <= ANSWER);
            if (\writer.state == CHECK) begin
                assert (frame_request && !\writer.frame_open && !\writer.malformed && !frame_grant && !frame_deny);
                assert (\writer.frame_words == frame_bytes[31:7] && \writer.need_granules == need);
                assert (\writer.need_entries == ({1'b0, frame_bytes} + (33'd1 << shift_1) - 33'd1) >> shift_1);
            end
            assert ((\writer.state == ANSWER) == (frame_grant || frame_deny));
            assert (\writer.frame_open == (open || frame_grant));
            if (frame_grant) assert (\writer.words_left == frame_bytes[31:7]);
            if (open) assert (\writer.words_left == left);
            // Free <= written <= reserved <= free + ring.
            assert (written_words <= reserved_words && reserved_words <= WORDS);
            if (\writer.frame_open ) begin
                assert (\writer.words_left != 25'd0 && \writer.words_left <= WORDS);
                assert (reserved_left - \writer.words_left < 25'd32 && reserved_left >= \writer.words_left );
            end else begin
                assert (reserved_left == 25'd0);
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (started && write_last && hurt && write_data[LINK_ERRORS +: 32] == LINK_DOWN);
        cover (started && write_valid && first && told_missing == 64'd2 && told_causes == 8'h14);
        cover (started && frame_deny && frame_deny_cause[0]);
        cover (started && frame_deny && frame_deny_cause[1]);
        cover (started && frame_deny && frame_deny_cause[3]);
    end

endmodule

`default_nettype wire
