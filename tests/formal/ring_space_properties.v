// hdl/ring/ring_buffer.v with ring_writer, ring_release and ring_level: no word is overwritten before its granule was
// released, what is announced as a block has been written for the frame that it belongs to, and a frame has as many blocks as
// table entries were allocated for it.
//
// Nothing is assumed of who releases: any range, any time, in any order, again and again. A frame's size is held until
// the answer; its words come at any time, too many of them, too few, or with `last` anywhere. Blocks change their size
// and the table fills as they like.

`timescale 1ns / 1fs
`default_nettype none

module ring_space_properties #(
    // Bytes of the ring.
    parameter RING_BYTES = 65536,
    // 1: frames of one word or three, asked for and written without a pause. 2: of one word, no releases, room in the table,
    // only the ring's first word looked at. So that cover statements and bugs are reached in few steps, or soon.
    parameter REGULAR = 0,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter WORD_WIDTH = $clog2(RING_BYTES / 128)
) (
    input wire          clk,
    input wire          rst,
    input wire          frame_request,
    input wire [31:0]   frame_bytes,
    // Of each row of a word.
    input wire [1:0]    s_write_bits,
    input wire          s_write_valid,
    input wire          s_write_last,
    input wire          release_valid,
    input wire [31:0]   release_address,
    input wire [31:0]   release_bytes,
    input wire          release_complete
);

    localparam INDEX_WIDTH = WORD_WIDTH - 5;
    localparam [31:0] RING_MASK = RING_BYTES - 1;
    localparam [20:0] GRANULES = RING_BYTES / 4096;
    localparam [24:0] WORDS = RING_BYTES / 128;

    wire          frame_grant;
    wire          frame_deny;
    wire          release_ready;

    ring_buffer #(
        .RING_BYTES(RING_BYTES)
    ) dut (
        .clk(clk),
        .rst(rst),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(32'd0),
        .frame_mode(8'd0),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(),
        .high_water(),
        .high_water_taken(1'b0),
        .s_write_data({{512{s_write_bits[1]}}, {512{s_write_bits[0]}}}),
        .s_write_valid(s_write_valid),
        .s_write_last(s_write_last),
        .read_enable(1'b0),
        .read_row({(WORD_WIDTH+1){1'b0}}),
        .read_data(),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .irq(),
        .s_reg_valid(1'b0),
        .s_reg_write(1'b0),
        .s_reg_addr(13'd0),
        .s_reg_wdata(32'd0),
        .s_reg_ready(),
        .s_reg_error(),
        .s_reg_rdata()
    );

    (* hierconn *) wire                  \dut.write_enable ;
    (* hierconn *) wire [WORD_WIDTH-1:0] \dut.write_word ;
    (* hierconn *) wire [1023:0]         \dut.write_data ;
    (* hierconn *) wire                  \dut.commit ;
    (* hierconn *) wire [31:0]           \dut.commit_address ;
    (* hierconn *) wire [23:0]           \dut.commit_bytes ;
    (* hierconn *) wire                  \dut.commit_first ;
    (* hierconn *) wire                  \dut.commit_last ;
    (* hierconn *) wire                  \dut.allocate ;
    (* hierconn *) wire [9:0]            \dut.allocate_entries ;
    (* hierconn *) wire [9:0]            \dut.entries_used ;

    (* hierconn *) wire                  \dut.enable ;
    (* hierconn *) wire [4:0]            \dut.block_shift ;

    // marks_place, marks_word: a granule, any, and its mark. `word` is any of its words.
    `include "words.vh"

    (* anyconst *) wire [4:0]  word_in_granule;
    wire [WORD_WIDTH-1:0]      word = {marks_place, word_in_granule};

    // ------------------------------------------------------------------------------------------------------------- environment

    reg        started = 1'b0;
    reg        asked_before;
    reg [31:0] bytes_before;

    always @(posedge clk) begin
        started <= 1'b1;
        asked_before <= frame_request && !frame_grant && !frame_deny && !rst;
        bytes_before <= frame_bytes;
    end

    always @* begin
        if (!started) assume (rst);
        // The registers refuse other sizes than 4 KiB to 8 MiB; the table has 256 entries.
        assume (\dut.block_shift >= 5'd12 && \dut.block_shift <= 5'd23 && \dut.entries_used <= 10'd256);
        if (REGULAR != 0 && started) begin
            assume (!rst && \dut.enable && frame_request && s_write_valid);
            assume (frame_bytes == 32'd128 || (REGULAR == 1 && frame_bytes == 32'd384));
            if (REGULAR == 2) begin
                assume (!release_valid && \dut.entries_used == 10'd0 && \dut.block_shift == 5'd12 && word == 0);
            end
        end
        if (started && asked_before) assume (frame_request && frame_bytes == bytes_before);
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    wire                       written = \dut.write_enable && \dut.write_word == word;

    // A release under way covers the granule: all of it is inside, or (complete) the range ends in it.
    reg                        covered;
    wire [31:0]                offset = ({{(20-INDEX_WIDTH){1'b0}}, marks_place, 12'd0} - release_address) & RING_MASK;
    wire [31:0]                final_byte = release_address + release_bytes - 32'd1;
    wire                       covers = release_bytes != 32'd0
        && ({1'b0, offset} + 33'd4096 <= {1'b0, release_bytes}
            || (release_complete && final_byte[12 +: INDEX_WIDTH] == marks_place));

    // Written, and not released since.
    reg                        occupied;
    // The present frame: its words; those offered, written, and announced in blocks; where it begins in the ring.
    reg                        open;
    reg  [24:0]                frame_words;
    reg  [24:0]                offered;
    reg  [24:0]                stored;
    reg  [24:0]                announced;
    reg  [WORD_WIDTH-1:0]      frame_first;
    // Table entries in use a cycle before; allocations one and two cycles before.
    reg  [9:0]                 used_before;
    reg                        allocated_1;
    reg                        allocated_2;
    // Entries allocated and not yet announced as blocks.
    reg  [9:0]                 outstanding;
    // Of the latest word.
    reg  [1:0]                 offered_bits;

    wire [24:0]                whole = frame_grant ? frame_bytes[31:7] : frame_words;
    wire [24:0]                number = frame_grant ? 25'd0 : offered;
    wire                       accepts = (open || frame_grant) && s_write_valid;
    wire [WORD_WIDTH-1:0]      first = stored == 25'd0 ? \dut.write_word : frame_first;

    (* hierconn *) wire [19:0] \dut.free_granule ;
    reg  [19:0]                free_before;

    always @(posedge clk) begin
        free_before <= rst ? 20'd0 : \dut.free_granule ;
        if (release_ready) covered <= release_valid && covers;
        if (written) occupied <= 1'b1;
        if (covered && !release_ready) occupied <= 1'b0;

        if (frame_grant) begin
            open <= 1'b1;
            frame_words <= whole;
            offered <= 25'd0;
            stored <= 25'd0;
            announced <= 25'd0;
        end
        if (accepts) offered <= number + 25'd1;
        if (accepts && number + 25'd1 == whole) open <= 1'b0;
        if (\dut.write_enable ) begin
            stored <= stored + 25'd1;
            frame_first <= first;
        end
        if (\dut.commit ) announced <= announced + {8'd0, \dut.commit_bytes [23:7]};

        outstanding <= outstanding + (\dut.allocate ? \dut.allocate_entries : 10'd0) - {9'd0, \dut.commit };
        offered_bits <= s_write_bits;
        used_before <= \dut.entries_used ;
        allocated_1 <= \dut.allocate ;
        allocated_2 <= allocated_1;
        if (rst) begin
            covered <= 1'b0;
            occupied <= 1'b0;
            open <= 1'b0;
            offered <= 25'd0;
            stored <= 25'd0;
            announced <= 25'd0;
            outstanding <= 10'd0;
            frame_words <= 25'd0;
            allocated_1 <= 1'b0;
            allocated_2 <= 1'b0;
        end
    end

    always @* begin
        if (started) begin
            // Never over a word that was not released; nor is one freed.
            assert (!written || !occupied);
            if (free_before != \dut.free_granule ) begin
                assert (\dut.free_granule == free_before + 20'd1);
                if (free_before[INDEX_WIDTH-1:0] == marks_place) assert (!occupied);
            end
            // A frame's words go to consecutive places from a granule's start on, all of them and no others.
            if (\dut.write_enable ) begin
                assert (stored < frame_words);
                assert (\dut.write_word == first + stored[WORD_WIDTH-1:0]);
                assert (\dut.write_data == {{512{offered_bits[1]}}, {512{offered_bits[0]}}});
                if (stored == 25'd0) assert (\dut.write_word [4:0] == 5'd0);
            end
            // Blocks are announced with their last word, tile the frame, and say where in it they are.
            if (\dut.commit ) begin
                assert (\dut.write_enable );
                assert (announced + {8'd0, \dut.commit_bytes [23:7]} == stored + 25'd1);
                assert (\dut.commit_address == {{(25-WORD_WIDTH){1'b0}}, first + announced[WORD_WIDTH-1:0], 7'd0});
                assert (\dut.commit_first == (announced == 25'd0));
                assert (\dut.commit_last == (stored + 25'd1 == frame_words));
            end
            if (\dut.write_enable && stored + 25'd1 == frame_words) assert (\dut.commit );
            // As many as were allocated, no more and no fewer.
            if (\dut.commit ) assert (outstanding != 10'd0);
            if (!open && !frame_grant && !\dut.write_enable ) assert (outstanding == 10'd0);
            // What ring_blocks_properties.v assumes of allocations.
            if (\dut.allocate ) assert (\dut.allocate_entries <= 10'd256 - used_before && !allocated_1 && !allocated_2);
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire                    \dut.ready ;
    (* hierconn *) wire [19:0]             \dut.reserve_granule ;
    (* hierconn *) wire [1:0]              \dut.writer.state ;
    (* hierconn *) wire                    \dut.writer.frame_open ;
    (* hierconn *) wire                    \dut.writer.malformed ;
    (* hierconn *) wire [20:0]             \dut.writer.need_granules ;
    (* hierconn *) wire [24:0]             \dut.writer.frame_words ;
    (* hierconn *) wire [24:0]             \dut.writer.position ;
    (* hierconn *) wire [24:0]             \dut.writer.words_left ;
    (* hierconn *) wire [16:0]             \dut.writer.block_words ;
    (* hierconn *) wire [16:0]             \dut.writer.block_last ;
    (* hierconn *) wire [32:0]             \dut.writer.need_entries ;
    (* hierconn *) wire [WORD_WIDTH-1:0]   \dut.writer.block_word ;
    (* hierconn *) wire                    \dut.writer.block_is_first ;
    (* hierconn *) wire [1:0]              \dut.acknowledged.state ;
    (* hierconn *) wire [INDEX_WIDTH+11:0] \dut.acknowledged.start ;
    (* hierconn *) wire [31:0]             \dut.acknowledged.bytes ;
    (* hierconn *) wire                    \dut.acknowledged.complete ;
    (* hierconn *) wire [20:0]             \dut.acknowledged.first ;
    (* hierconn *) wire [20:0]             \dut.acknowledged.behind ;
    (* hierconn *) wire [INDEX_WIDTH-1:0]  \dut.acknowledged.index ;
    (* hierconn *) wire [20:0]             \dut.acknowledged.left ;
    (* hierconn *) wire                    \dut.acknowledged.looked ;
    (* hierconn *) wire                    \dut.acknowledged.mark_seen ;
    (* hierconn *) wire                    \dut.acknowledged.any_held ;

    localparam [1:0] CHECK = 2'd1;
    localparam [1:0] ANSWER = 2'd2;
    localparam [1:0] ROUND = 2'd1;
    localparam [1:0] LENGTH = 2'd2;
    localparam [1:0] WALK = 2'd3;

    wire [24:0]            position = \dut.writer.position ;
    // Position of the word that is being written, and of what is not yet in the memory.
    reg  [24:0]            pending;
    wire [24:0]            unwritten = \dut.write_enable ? pending : position;

    // Block size that the present frame was measured with: log2 of its words.
    reg  [4:0]             shift;
    wire [24:0]            block_last = {8'd0, \dut.writer.block_last };
    wire [24:0]            blocks_of_frame = (\dut.writer.frame_words + block_last) >> shift;
    wire [24:0]            blocks_left = (\dut.writer.words_left + {8'd0, \dut.writer.block_words } + block_last) >> shift;

    always @(posedge clk) begin
        pending <= position;
        if (\dut.writer.state == 2'd0 && !\dut.writer.frame_open ) shift <= \dut.block_shift - 5'd7;
    end

    // All as distances from the free position, in words: the end of what is written, of what is reserved, the word.
    wire [24:0]            free_word = {\dut.free_granule , 5'd0};
    wire [24:0]            written_words = position - free_word;
    wire [24:0]            unwritten_words = unwritten - free_word;
    wire [24:0]            reserved_words = {\dut.reserve_granule , 5'd0} - free_word;
    wire [INDEX_WIDTH-1:0] ahead = marks_place - \dut.free_granule [INDEX_WIDTH-1:0];
    wire [24:0]            word_ahead = {{(20-INDEX_WIDTH){1'b0}}, ahead, word_in_granule};
    wire [19:0]            granule = \dut.free_granule + {{(20-INDEX_WIDTH){1'b0}}, ahead};
    wire                   marked = marks_word[0] != granule[INDEX_WIDTH];
    // Words from here to the end of the frame's last granule.
    wire [24:0]            reserved_left = {\dut.reserve_granule , 5'd0} - position;

    wire [31:0]            r_offset = ({{(20-INDEX_WIDTH){1'b0}}, marks_place, 12'd0}
        - {{(20-INDEX_WIDTH){1'b0}}, \dut.acknowledged.start }) & RING_MASK;
    wire [31:0]            r_final = {{(20-INDEX_WIDTH){1'b0}}, \dut.acknowledged.start } + \dut.acknowledged.bytes - 32'd1;
    wire                   r_covers = {1'b0, r_offset} + 33'd4096 <= {1'b0, \dut.acknowledged.bytes }
        || (\dut.acknowledged.complete && r_final[12 +: INDEX_WIDTH] == marks_place);
    wire [20:0]            r_count = \dut.acknowledged.behind - \dut.acknowledged.first ;
    wire [INDEX_WIDTH-1:0] from_first = marks_place - \dut.acknowledged.first [INDEX_WIDTH-1:0];
    wire [INDEX_WIDTH-1:0] from_index = marks_place - \dut.acknowledged.index ;

    always @* begin
        if (HELP != 0 && started) begin
            // Free <= written <= reserved <= free + ring.
            assert (reserved_words <= WORDS);
            assert (written_words <= reserved_words);
            assert (unwritten_words <= written_words);
            if (\dut.write_enable ) assert (unwritten_words < written_words && pending[WORD_WIDTH-1:0] == \dut.write_word );
            if (\dut.acknowledged.looked && \dut.acknowledged.any_held ) assert (unwritten_words >= 25'd32);
            // Admission.
            assert (\dut.writer.state != 2'd3);
            if (\dut.writer.state == CHECK) begin
                assert (!\dut.writer.frame_open );
                assert (frame_request && asked_before && \dut.writer.frame_words == frame_bytes[31:7]);
                if (!\dut.writer.malformed ) begin
                    assert (\dut.writer.frame_words != 25'd0);
                    assert (\dut.writer.need_granules
                        == {1'b0, \dut.writer.frame_words [24:5]} + {20'd0, |\dut.writer.frame_words [4:0]});
                end
            end
            if (\dut.writer.state == CHECK || \dut.writer.frame_open ) begin
                assert (shift >= 5'd5 && shift <= 5'd16);
                assert (block_last == (25'd1 << shift) - 25'd1);
            end
            if (\dut.writer.state == CHECK && !\dut.writer.malformed && \dut.writer.frame_words <= WORDS) begin
                assert (\dut.writer.need_entries == {8'd0, blocks_of_frame});
            end
            if (\dut.allocate || frame_grant || frame_deny) assert (\dut.writer.state == ANSWER);
            if (allocated_1) assert (\dut.writer.state == 2'd0);
            assert (\dut.allocate == frame_grant);
            if (frame_grant) assert (\dut.writer.frame_open && \dut.writer.block_words == 17'd0 && !\dut.write_enable );
            // The frame.
            assert (\dut.writer.frame_open == (open || frame_grant));
            if (\dut.writer.frame_open ) begin
                assert (\dut.writer.words_left != 25'd0 && \dut.writer.words_left <= WORDS);
                assert (number + \dut.writer.words_left == whole && number < whole && whole <= WORDS);
                assert (reserved_left - \dut.writer.words_left < 25'd32 && reserved_left >= \dut.writer.words_left );
                assert ({8'd0, \dut.writer.block_words } <= number);
                assert (\dut.writer.block_words <= \dut.writer.block_last );
                assert ({15'd0, outstanding} + (frame_grant ? {15'd0, \dut.allocate_entries } : 25'd0)
                    == blocks_left + {24'd0, \dut.commit });
                assert (blocks_left <= 25'd256);
                assert (\dut.writer.block_is_first == (number == {8'd0, \dut.writer.block_words }));
                if (number == 25'd0) assert (position[4:0] == 5'd0 && \dut.writer.block_word == position[WORD_WIDTH-1:0]);
                else assert (position[WORD_WIDTH-1:0] == first + number[WORD_WIDTH-1:0]);
                if (number != 25'd0) begin
                    assert (\dut.writer.block_word == position[WORD_WIDTH-1:0] - \dut.writer.block_words [WORD_WIDTH-1:0]);
                end
                if (!frame_grant) begin
                    assert (announced + {8'd0, \dut.writer.block_words }
                        + (\dut.commit ? {8'd0, \dut.commit_bytes [23:7]} : 25'd0) == number);
                end
            end else begin
                assert (position == {\dut.reserve_granule , 5'd0});
                assert (outstanding == {9'd0, \dut.commit });
            end
            if (!frame_grant) assert (offered == stored + {24'd0, \dut.write_enable });
            assert (offered <= frame_words && frame_words <= WORDS);
            if (\dut.commit ) assert (\dut.commit_bytes [6:0] == 7'd0);
            // Marks: only of granules that are written and released; the one looked at is still as it was seen.
            if (marked && \dut.ready ) assert (word_ahead < unwritten_words && !occupied);
            if (marked && \dut.ready ) assert ({ahead, 5'd0} < written_words);
            if (occupied) assert (word_ahead < unwritten_words);
            if (\dut.acknowledged.looked && ahead == {INDEX_WIDTH{1'b0}} && \dut.ready
                && \dut.acknowledged.mark_seen != \dut.free_granule [INDEX_WIDTH]) assert (marked);
            // The walk goes over covered granules only.
            case (\dut.acknowledged.state )
                ROUND: assert (covered == r_covers && \dut.acknowledged.bytes != 32'd0);
                LENGTH: if ({{(21-INDEX_WIDTH){1'b0}}, from_first} < r_count) assert (covered);
                WALK: begin
                    assert (\dut.acknowledged.left != 21'd0 && \dut.acknowledged.left <= GRANULES);
                    if ({{(21-INDEX_WIDTH){1'b0}}, from_index} < \dut.acknowledged.left ) assert (covered);
                end
                default: ;
            endcase
            // Clearing the marks.
            if (!\dut.ready ) begin
                assert (\dut.free_granule == 20'd0 && \dut.reserve_granule == 20'd0 && position == 25'd0);
                assert (!\dut.writer.frame_open && !\dut.write_enable && !occupied && !covered);
                assert (\dut.writer.state == 2'd0 && \dut.acknowledged.state == 2'd0 && !\dut.acknowledged.any_held );
                if (\dut.acknowledged.index > marks_place) assert (!marks_word[0]);
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (started && \dut.commit && \dut.commit_last && frame_words == 25'd3);
        cover (started && occupied && covered && !release_ready);
        cover (started && \dut.free_granule == 20'd1 && \dut.writer.frame_open );
        cover (started && frame_deny && \dut.enable );
    end

endmodule

`default_nettype wire
