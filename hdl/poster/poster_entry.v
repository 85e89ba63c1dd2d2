// One block, one queue entry, one doorbell: five cycles a block.
//
// A frame takes the next slot of the receiver when its first block comes and that slot has been released; its blocks become WRITEs
// to consecutive addresses of the slot, the last one with the immediate that names slot and sequence. Two credits keep anything
// from being overwritten: slots that the receiver has released, and completions that software has taken, which guard the entries
// of the send queue and those of the completion queue alike. Both are totals, so writing one twice does no harm.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module poster_entry (
    input  wire         clk,
    input  wire         rst,

    // Rising: everything begins anew, with the first slot and the first entry. The rest is steady meanwhile, but for the credits.
    input  wire         enable,
    input  wire [7:0]   queue_pair,
    input  wire [9:0]   queue_row,
    input  wire [15:0]  queue_depth,
    input  wire [63:0]  remote_address,
    input  wire [31:0]  remote_key,
    input  wire [31:0]  slot_bytes,
    input  wire [12:0]  slots,
    input  wire [31:0]  slots_released,
    input  wire [31:0]  frames_arrived,
    input  wire [31:0]  completions,
    // The oldest block waits for a slot; for room in the queues; for a slot whose frame has arrived, so only for the host.
    output wire         waits_slot,
    output wire         waits_queue,
    output wire         host_waits,
    // 0: no; 1: a frame is larger than a slot; 2: a block does not continue what was begun.
    output reg  [1:0]   stopped,
    output reg  [31:0]  posted,
    output reg  [31:0]  frames_started,

    // Blocks.
    input  wire         s_block_valid,
    output wire         s_block_ready,
    input  wire [31:0]  s_block_address,
    input  wire [23:0]  s_block_bytes,
    input  wire         s_block_first,
    input  wire         s_block_last,
    input  wire [31:0]  s_block_sequence,

    // Queue entry, and doorbell when it is stored.
    output wire         m_entry_valid,
    input  wire         m_entry_ready,
    output wire [7:0]   m_entry_qpn,
    output wire [15:0]  m_entry_number,
    output wire [9:0]   m_entry_row,
    output reg  [511:0] m_entry,
    output wire         m_doorbell_valid,
    input  wire         m_doorbell_ready,
    output wire [31:0]  m_doorbell_address,
    output wire [15:0]  m_doorbell_index
);

    // Queue entry opcodes (PG332).
    localparam [7:0] WQE_WRITE = 8'h00;
    localparam [7:0] WQE_WRITE_IMMEDIATE = 8'h01;
    localparam [1:0] TOO_LARGE = 2'd1;
    localparam [1:0] OUT_OF_ORDER = 2'd2;
    localparam [19:0] FIRST_DOORBELL = `EB_ERNIC_QP_BASE + `EB_ERNIC_QP_SQPI;

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] STORE = 2'd1;
    // The engine makes the packet meanwhile; a doorbell that came sooner would find it too early, and be no gain.
    localparam [1:0] WAIT = 2'd2;
    localparam [1:0] RING = 2'd3;

    reg  [1:0]  state;
    reg         running;
    reg         waited;
    // The frame whose blocks come, or else the next one: its slot, where the next block goes, bytes of it so far.
    reg         open;
    reg  [11:0] slot;
    reg  [63:0] place;
    reg  [31:0] used;
    // Where its slot begins and, from there, the one behind.
    reg  [63:0] slot_start;
    wire        last_slot = {1'b0, slot} + 13'd1 == slots;
    wire [63:0] next_start = last_slot ? remote_address : slot_start + {32'd0, slot_bytes};

    wire [31:0] outstanding = posted - completions;
    wire        queue_room = outstanding < {16'd0, queue_depth} - 32'd1;
    // Slots in use; those whose frame has not arrived. Totals run over, so only differences count.
    wire [31:0] in_use = frames_started - slots_released;
    wire [31:0] under_way = frames_started - frames_arrived;
    wire        slot_free = in_use[31] || in_use < {19'd0, slots};
    wire        arrived = under_way[31] || under_way < {19'd0, slots};
    wire        looking = running && enable && state == IDLE && stopped == 2'd0 && s_block_valid;
    wire        in_order = s_block_first == !open;
    wire [32:0] used_after = {1'b0, used} + {9'd0, s_block_bytes};
    wire        too_large = used_after > {1'b0, slot_bytes};

    assign waits_slot = looking && s_block_first && !open && !slot_free;
    assign waits_queue = looking && !waits_slot && !queue_room;
    assign host_waits = waits_slot && arrived;
    assign s_block_ready = looking && in_order && !too_large && !waits_slot && queue_room;

    wire [15:0] depth_mask = queue_depth - 16'd1;
    wire [15:0] index = posted[15:0] & depth_mask;
    // verilator lint_off UNUSEDSIGNAL
    // The memory on the chip has 1024 rows.
    wire [15:0] row = {6'd0, queue_row} + index;
    // verilator lint_on UNUSEDSIGNAL

    assign m_entry_valid = state == STORE;
    assign m_entry_qpn = queue_pair;
    assign m_entry_number = posted[15:0];
    assign m_entry_row = row[9:0];
    assign m_doorbell_valid = state == RING;
    assign m_doorbell_address = {12'd0, FIRST_DOORBELL} + {16'd0, queue_pair, 8'd0} - 32'h100;
    assign m_doorbell_index = (posted[15:0] + 16'd1) & depth_mask;

    always @(posedge clk) begin
        // An entry that is under way when the poster is switched off is still posted.
        running <= enable && (running || state == IDLE);
        case (state)
            IDLE:
                if (s_block_ready) begin
                    m_entry <= 512'd0;
                    m_entry[15:0] <= posted[15:0];
                    m_entry[95:32] <= {32'd0, s_block_address};
                    m_entry[127:96] <= {8'd0, s_block_bytes};
                    m_entry[135:128] <= s_block_last ? WQE_WRITE_IMMEDIATE : WQE_WRITE;
                    m_entry[223:160] <= place;
                    m_entry[255:224] <= remote_key;
                    m_entry[415:384] <= s_block_last ? {slot, s_block_sequence[19:0]} : 32'd0;
                    open <= !s_block_last;
                    used <= s_block_last ? 32'd0 : used_after[31:0];
                    place <= s_block_last ? next_start : place + {40'd0, s_block_bytes};
                    if (s_block_first) frames_started <= frames_started + 32'd1;
                    if (s_block_last) begin
                        slot <= last_slot ? 12'd0 : slot + 12'd1;
                        slot_start <= next_start;
                    end
                    state <= STORE;
                end else if (looking && !in_order) begin
                    stopped <= OUT_OF_ORDER;
                end else if (looking && too_large) begin
                    stopped <= TOO_LARGE;
                end
            STORE:
                if (m_entry_ready) begin
                    waited <= 1'b0;
                    state <= WAIT;
                end
            WAIT: begin
                waited <= 1'b1;
                if (waited) state <= RING;
            end
            default:
                if (m_doorbell_ready) begin
                    posted <= posted + 32'd1;
                    state <= IDLE;
                end
        endcase
        if (enable && !running && state == IDLE) begin
            open <= 1'b0;
            slot <= 12'd0;
            slot_start <= remote_address;
            place <= remote_address;
            used <= 32'd0;
            stopped <= 2'd0;
            posted <= 32'd0;
            frames_started <= 32'd0;
        end
        if (rst) begin
            state <= IDLE;
            running <= 1'b0;
            stopped <= 2'd0;
            posted <= 32'd0;
            frames_started <= 32'd0;
        end
    end

    // verilator lint_off UNUSEDSIGNAL
    // The immediate has room for the low bits of the sequence.
    wire [11:0] sequence_rest = s_block_sequence[31:20];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
