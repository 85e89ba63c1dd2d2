// Admission of whole frames, their place in the ring, and the blocks that become complete.
//
// Positions count granules (4096 bytes) since reset, modulo 2^20; the ring address is the position modulo the ring. A frame
// takes whole granules, and all of them are reserved before its first word: what follows needs no check of space.
// A frame of n bytes and blocks of 2^shift bytes needs ceil(n / 4096) granules and ceil(n / 2^shift) table entries.

`timescale 1ns / 1fs
`default_nettype none

module ring_writer #(
    // Bytes. Power of two, 65536 to 2^31.
    parameter RING_BYTES = 4194304,
    // Entries of the block table.
    parameter ENTRIES = 256,
    // Derived; do not override.
    parameter WORD_WIDTH = $clog2(RING_BYTES / 128)
) (
    input  wire                  clk,
    input  wire                  rst,
    // Control: admit frames at all; frames wait for the host; the ring is ready (after reset); log2 of the block size, 12 to 23.
    input  wire                  enable,
    input  wire                  host_stalled,
    input  wire                  ready,
    input  wire [4:0]            block_shift,

    // Frames: the request is held until grant or deny.
    input  wire                  frame_request,
    input  wire [31:0]           frame_bytes,
    input  wire [31:0]           frame_sequence,
    input  wire [7:0]            frame_mode,
    output reg                   frame_grant,
    output reg                   frame_deny,
    // With deny: why, as the lower half of DropCause in host/frame_layout.py. None for a malformed request.
    output reg  [3:0]            frame_deny_cause,
    // Words of the granted frame.
    input  wire [1023:0]         s_write_data,
    input  wire                  s_write_valid,
    input  wire                  s_write_last,

    // To the memory.
    output reg                   write_enable,
    output reg  [WORD_WIDTH-1:0] write_word,
    output reg  [1023:0]         write_data,

    // Space: granules freed; reserved up to here; written up to here (whole granules, and the frame's last when it ends).
    input  wire [19:0]           free_granule,
    output reg  [19:0]           reserve_granule,
    output wire [19:0]           written_granule,
    output wire [31:0]           write_position,

    // Table entries: those in use; taken by the frame just granted.
    input  wire [9:0]            entries_used,
    output reg                   allocate,
    output reg  [9:0]            allocate_entries,

    // A block is complete; its last word reaches the memory in the same cycle.
    output reg                   commit,
    output reg  [31:0]           commit_address,
    output reg  [23:0]           commit_bytes,
    output reg                   commit_first,
    output reg                   commit_last,
    output reg  [31:0]           commit_sequence,
    output reg  [7:0]            commit_mode,
    output reg  [19:0]           commit_end_granule,

    // Counters.
    output reg  [31:0]           frames_admitted,
    output reg  [31:0]           dropped_ring_full,
    output reg  [31:0]           dropped_descriptors_full,
    output reg  [31:0]           dropped_disabled,
    output reg  [31:0]           dropped_host_stalled,
    // Frames of impossible size, words outside a frame, `last` at a wrong word: 0 in a working design.
    output reg  [31:0]           protocol_errors
);

    localparam [31:0] GRANULES = RING_BYTES / 4096;
    localparam [31:0] TABLE_ENTRIES = ENTRIES;

    generate
        if (RING_BYTES < 65536 || RING_BYTES > 1 << 30 || RING_BYTES != 1 << $clog2(RING_BYTES)) begin : check_ring_bytes
            initial $fatal(1, "ring_writer: RING_BYTES must be a power of two, 65536 to 2^30");
        end
        if (ENTRIES < 2 || ENTRIES > 256) begin : check_entries
            initial $fatal(1, "ring_writer: ENTRIES must be 2 to 256");
        end
    endgenerate

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] CHECK = 2'd1;
    localparam [1:0] ANSWER = 2'd2;

    // Admission.
    reg  [1:0]  state;
    reg  [20:0] need_granules;
    reg  [32:0] need_entries;
    reg         malformed;
    reg         frame_open;

    wire [32:0] block_mask = (33'd1 << block_shift) - 33'd1;
    wire [32:0] rounded = {1'b0, frame_bytes} + block_mask;
    wire [19:0] used_granules = reserve_granule - free_granule;
    wire        fits_ring = need_granules <= GRANULES[20:0] - {1'b0, used_granules};
    wire        fits_table = need_entries <= {23'd0, TABLE_ENTRIES[9:0] - entries_used};
    wire        grant = state == CHECK && enable && !malformed && fits_ring && fits_table;

    // Causes, lowest bit first as in frame_deny_cause. Full for want of a reading host is the host's doing.
    wire        refused_full = enable && !malformed && !host_stalled && !fits_ring;
    wire        refused_table = enable && !malformed && !host_stalled && fits_ring && !fits_table;
    wire        refused_host = enable && !malformed && host_stalled && !(fits_ring && fits_table);
    wire [3:0]  refusal = {refused_host, !enable, refused_table, refused_full};

    // Writing.
    reg  [24:0]           position;        // of the next word, in words of 128 bytes
    reg  [24:0]           words_left;      // of the frame
    reg  [24:0]           frame_words;
    reg  [16:0]           block_words;     // words of the present block already written
    reg  [16:0]           block_last;      // words of a whole block, less one
    reg  [WORD_WIDTH-1:0] block_word;      // in the ring, the present block's first
    reg                   block_is_first;
    reg  [31:0]           open_sequence;
    reg  [7:0]            open_mode;

    wire        take = s_write_valid && frame_open;
    wire        frame_end = words_left == 25'd1;
    wire        block_end = frame_end || block_words == block_last;
    wire [24:0] position_next = position + 25'd1;
    // After a frame's last word the rest of its last granule is skipped.
    wire [19:0] granule_after = position[24:5] + 20'd1;
    wire [16:0] block_length = block_words + 17'd1;

    assign written_granule = position[24:5];
    assign write_position = {position, 7'd0};

    always @(posedge clk) begin
        frame_grant <= 1'b0;
        frame_deny <= 1'b0;
        allocate <= 1'b0;
        case (state)
            IDLE: begin
                if (frame_request && ready && !frame_open) begin
                    need_granules <= {1'b0, frame_bytes[31:12]} + {20'd0, |frame_bytes[11:0]};
                    need_entries <= rounded >> block_shift;
                    malformed <= frame_bytes == 32'd0 || |frame_bytes[6:0];
                    frame_words <= frame_bytes[31:7];
                    block_last <= block_mask[23:7];
                    state <= CHECK;
                end
            end
            CHECK: begin
                state <= ANSWER;
                frame_grant <= grant;
                frame_deny <= !grant;
                frame_deny_cause <= refusal;
                if (grant) begin
                    allocate <= 1'b1;
                    allocate_entries <= need_entries[9:0];
                    reserve_granule <= reserve_granule + need_granules[19:0];
                    frames_admitted <= frames_admitted + 32'd1;
                end else if (refusal == 4'd0) begin
                    protocol_errors <= protocol_errors + 32'd1;
                end
                if (refused_full) dropped_ring_full <= dropped_ring_full + 32'd1;
                if (refused_table) dropped_descriptors_full <= dropped_descriptors_full + 32'd1;
                if (!enable) dropped_disabled <= dropped_disabled + 32'd1;
                if (refused_host) dropped_host_stalled <= dropped_host_stalled + 32'd1;
            end
            default: state <= IDLE;
        endcase

        write_enable <= take;
        commit <= take && block_end;
        if (grant) begin
            frame_open <= 1'b1;
            words_left <= frame_words;
            block_words <= 17'd0;
            block_word <= position[WORD_WIDTH-1:0];
            block_is_first <= 1'b1;
            open_sequence <= frame_sequence;
            open_mode <= frame_mode;
        end
        if (take) begin
            write_word <= position[WORD_WIDTH-1:0];
            write_data <= s_write_data;
            position <= frame_end ? {granule_after, 5'd0} : position_next;
            words_left <= words_left - 25'd1;
            block_words <= block_length;
            if (frame_end) frame_open <= 1'b0;
            if (block_end) begin
                block_words <= 17'd0;
                block_word <= position_next[WORD_WIDTH-1:0];
                block_is_first <= 1'b0;
                commit_address <= {{(25-WORD_WIDTH){1'b0}}, block_word, 7'd0};
                commit_bytes <= {block_length, 7'd0};
                commit_first <= block_is_first;
                commit_last <= frame_end;
                commit_sequence <= open_sequence;
                commit_mode <= open_mode;
                commit_end_granule <= granule_after;
            end
        end
        if (s_write_valid && (!frame_open || s_write_last != frame_end)) protocol_errors <= protocol_errors + 32'd1;

        if (rst) begin
            state <= IDLE;
            frame_grant <= 1'b0;
            frame_deny <= 1'b0;
            allocate <= 1'b0;
            write_enable <= 1'b0;
            commit <= 1'b0;
            frame_open <= 1'b0;
            position <= 25'd0;
            reserve_granule <= 20'd0;
            frames_admitted <= 32'd0;
            dropped_ring_full <= 32'd0;
            dropped_descriptors_full <= 32'd0;
            dropped_disabled <= 32'd0;
            dropped_host_stalled <= 32'd0;
            protocol_errors <= 32'd0;
        end
    end

    // verilator lint_off UNUSEDSIGNAL // A block is at most 2^23 bytes and a whole number of words.
    wire [15:0] unused_mask_bits = {block_mask[32:24], block_mask[6:0]};
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
