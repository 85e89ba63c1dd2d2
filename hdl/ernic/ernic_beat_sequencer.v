// Cuts a packet into slots, one a cycle. A slot reads one ring row, or sends one beat, or both.
//
// The path behind this module never stalls: a slot is only used while the output FIFO has room for its beat, so ring data is
// always taken when it comes and nothing has to be held in between.
//
// With h header octets, payload that starts a octets into its first row and d = h - a, row octets move by d modulo 64 lanes and
//   d < 0         beat b ends in row b + 1: the first slot only reads;
//   0 <= d < 64   beat b ends in row b: each slot reads a row and sends a beat;
//   d >= 64       beat b ends in row b - 1: beat 0 is all header and needs no row. After a pause it is sent one stage ahead of
//                 the first row (m_header_beat), which makes it leave a cycle earlier; back to back it takes a slot.

`timescale 1ns / 1fs
`default_nettype none

module ernic_beat_sequencer #(
    // Ring size in bytes. Power of two, at least 4096.
    parameter RING_BYTES = 4194304,
    // Room in the output FIFO, in beats. 2 to 63; sustains one beat a cycle from 12 on.
    parameter FIFO_BEATS = 16,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) (
    input  wire                 clk,
    input  wire                 rst,

    // Packet: where its payload is and where its parts end, in octets from the start of the frame.
    input  wire                 s_valid,
    output wire                 s_ready,
    input  wire [6:0]           s_header_octets,
    input  wire [31:0]          s_local_address,
    // The payload is in this area of the stage, not in the ring.
    input  wire                 s_staged,
    input  wire [2:0]           s_area,
    input  wire [12:0]          s_payload_octets,
    // Start of the ICRC: headers, payload and padding. 2 modulo 4.
    input  wire [12:0]          s_icrc_offset,

    // Ring read port; the first row's address comes straight from the command, a cycle before any register could hold it.
    output wire                 ring_read_enable,
    output wire [ROW_WIDTH-1:0] ring_read_row,
    // Stage read port, the same: areas of 64 rows, in which rows repeat.
    output wire                 stage_read_enable,
    output wire [8:0]           stage_read_row,

    // Slot, a cycle behind its read.
    output reg                  m_row,
    output reg                  m_staged,
    output reg                  m_beat,
    output reg                  m_first,
    output reg                  m_second,
    output reg                  m_last,
    // Payload lanes of the beat, begin to end - 1, and how many lanes row octets move up.
    output reg  [6:0]           m_begin,
    output reg  [6:0]           m_end,
    output reg  [5:0]           m_rotate,
    // The ICRC starts in this beat, at lane 4 * m_icrc_word + 2; it ends in this beat, having started in the one before.
    output reg                  m_icrc_here,
    output reg                  m_icrc_rest,
    output reg  [3:0]           m_icrc_word,
    // In the cycle of the command: its first beat, all header, goes ahead of the slot above, which is empty now.
    output wire                 m_header_beat,

    // A beat has left the output FIFO.
    input  wire                 s_freed
);

    localparam CREDIT_WIDTH = $clog2(FIFO_BEATS + 1);

    // What is left of the packet in hand.
    reg                  busy;
    reg [6:0]            beats_left;
    reg [6:0]            rows_left;
    reg [ROW_WIDTH-1:0]  row;
    reg                  staged;
    reg [2:0]            area;
    reg [6:0]            header_octets;
    reg [5:0]            payload_end;
    reg [5:0]            rotate;
    reg [3:0]            icrc_word;
    reg                  payload_ends_early;
    reg                  icrc_starts_early;
    reg                  at_first;
    reg                  at_second;

    // The header register holds one packet: a packet that sends beat 0 in its only or last slot keeps the next one away for a
    // cycle. That is faster than a wire at 100 Gb/s takes such frames.
    reg                  header_in_use;

    reg [CREDIT_WIDTH-1:0] credits;

    // The packet that is offered. Payload, ICRC and frame end within seven octets of each other, so in the last beat or in the
    // one before.
    wire [12:0] payload_limit = {6'h0, s_header_octets} + s_payload_octets;
    wire [12:0] last_octet = s_icrc_offset + 13'd3;
    wire [6:0]  last_beat = last_octet[12:6];
    wire        has_payload = s_payload_octets != 13'h0;
    wire [5:0]  row_offset = has_payload ? s_local_address[5:0] : 6'h0;
    wire [12:0] row_limit = {7'h0, row_offset} + s_payload_octets + 13'd63;
    wire [7:0]  shift = {1'b0, s_header_octets} - {2'h0, row_offset};
    wire        reads_ahead = shift[7];
    wire        header_ahead = !shift[7] && shift[6];

    wire accept = s_valid && s_ready;
    wire pipeline_free = !m_row && !m_beat;

    assign s_ready = !busy && !header_in_use && credits > 1;
    assign m_header_beat = accept && header_ahead && pipeline_free;

    wire header_slot = accept && header_ahead && !pipeline_free;
    wire go = busy && credits != 0;

    // This cycle's slot.
    wire       slot_row = busy ? (go && rows_left != 0) : (accept && has_payload && !header_slot);
    wire       slot_beat = busy ? go : (accept && !reads_ahead);
    wire       slot_first = busy ? at_first : !m_header_beat;
    wire       slot_second = busy ? at_second : m_header_beat;
    wire [6:0] slot_after = busy ? beats_left - 7'd1 : (m_header_beat ? last_beat - 7'd1 : last_beat);
    wire [6:0] slot_header = busy ? header_octets : s_header_octets;
    wire       slot_payload_early = busy ? payload_ends_early : payload_limit[12:6] != last_beat;
    wire       slot_icrc_early = busy ? icrc_starts_early : s_icrc_offset[12:6] != last_beat;
    wire [5:0] slot_payload_end = busy ? payload_end : payload_limit[5:0];

    wire       slot_is_last = slot_after == 0;
    wire       slot_ends_payload = slot_after == {6'h0, slot_payload_early};
    wire       slot_behind_payload = slot_payload_early && slot_is_last;

    wire                 slot_staged = busy ? staged : s_staged;
    wire [ROW_WIDTH-1:0] read_row = busy ? row : s_local_address[ROW_WIDTH+5:6];

    assign ring_read_enable = slot_row && !slot_staged;
    assign ring_read_row = read_row;
    assign stage_read_enable = slot_row && slot_staged;
    assign stage_read_row = {busy ? area : s_area, read_row[5:0]};

    always @(posedge clk) begin
        m_row <= slot_row;
        m_beat <= slot_beat;
        if (slot_row || slot_beat) begin
            m_staged <= slot_staged;
            m_first <= slot_first;
            m_second <= slot_second;
            m_last <= slot_is_last;
            if (slot_first) begin
                m_begin <= slot_header[6] ? 7'd64 : slot_header;
            end else begin
                m_begin <= slot_second && slot_header[6] ? {1'b0, slot_header[5:0]} : 7'd0;
            end
            if (slot_behind_payload) begin
                m_end <= 7'd0;
            end else begin
                m_end <= slot_ends_payload ? {1'b0, slot_payload_end} : 7'd64;
            end
            m_rotate <= busy ? rotate : shift[5:0];
            m_icrc_here <= slot_after == {6'h0, slot_icrc_early};
            m_icrc_rest <= slot_icrc_early && slot_is_last;
            m_icrc_word <= busy ? icrc_word : s_icrc_offset[5:2];
        end

        header_in_use <= slot_beat && slot_first && slot_is_last;
        credits <= credits - {{(CREDIT_WIDTH-1){1'b0}}, slot_beat} - {{(CREDIT_WIDTH-1){1'b0}}, m_header_beat}
            + {{(CREDIT_WIDTH-1){1'b0}}, s_freed};

        if (accept) begin
            // Everything that the first slot has not used up.
            busy <= reads_ahead || slot_after != 0;
            beats_left <= reads_ahead ? last_beat + 7'd1 : slot_after;
            rows_left <= has_payload ? row_limit[12:6] - {6'h0, slot_row} : 7'd0;
            row <= s_local_address[ROW_WIDTH+5:6] + {{(ROW_WIDTH-1){1'b0}}, slot_row};
            staged <= s_staged;
            area <= s_area;
            header_octets <= s_header_octets;
            payload_end <= payload_limit[5:0];
            rotate <= shift[5:0];
            icrc_word <= s_icrc_offset[5:2];
            payload_ends_early <= slot_payload_early;
            icrc_starts_early <= slot_icrc_early;
            at_first <= reads_ahead;
            at_second <= header_slot || (!reads_ahead && !header_ahead);
        end else if (go) begin
            busy <= slot_after != 0;
            beats_left <= slot_after;
            at_first <= 1'b0;
            at_second <= at_first;
            if (slot_row) begin
                rows_left <= rows_left - 7'd1;
                row <= row + 1'b1;
            end
        end

        if (rst) begin
            m_row <= 1'b0;
            m_beat <= 1'b0;
            busy <= 1'b0;
            header_in_use <= 1'b0;
            credits <= FIFO_BEATS[CREDIT_WIDTH-1:0];
        end
    end

    // The ring is addressed modulo its size.
    // verilator lint_off UNUSEDSIGNAL
    wire [31:0] address_modulo = s_local_address;
    wire [5:0]  row_limit_octets = row_limit[5:0];
    wire [5:0]  last_octet_lane = last_octet[5:0];
    // verilator lint_on UNUSEDSIGNAL

    generate
        if (RING_BYTES < 4096 || (RING_BYTES & (RING_BYTES - 1)) != 0) begin : check_ring_bytes
            initial $fatal(1, "%m: RING_BYTES must be a power of two of at least 4096");
        end
        if (FIFO_BEATS < 2 || FIFO_BEATS > 63) begin : check_fifo_beats
            initial $fatal(1, "%m: FIFO_BEATS must be 2 to 63");
        end
    endgenerate

endmodule

`default_nettype wire
