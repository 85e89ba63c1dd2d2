// Posts the ring's blocks as RDMA WRITEs, without a processor on the way.
//
//     ring ── block ──► poster_entry ── queue entry ──► memory on the chip (engine)
//                         ▲                └─ then: doorbell ──► handshake port (engine)
//                poster_registers ◄─► register bus: where the slots are, credits

`timescale 1ns / 1fs
`default_nettype none

module poster (
    input  wire         clk,
    input  wire         rst,

    // Register bus.
    input  wire         s_reg_valid,
    input  wire         s_reg_write,
    input  wire [12:0]  s_reg_addr,
    input  wire [31:0]  s_reg_wdata,
    output wire         s_reg_ready,
    output wire         s_reg_error,
    output wire [31:0]  s_reg_rdata,

    // Blocks are the poster's, not software's, unless it has stopped. The oldest one; taking it acknowledges it.
    output wire         by_hardware,
    input  wire         s_block_valid,
    output wire         s_block_ready,
    input  wire [31:0]  s_block_address,
    input  wire [23:0]  s_block_bytes,
    input  wire         s_block_first,
    input  wire         s_block_last,
    input  wire [31:0]  s_block_sequence,
    // The oldest block waits for nothing but the receiving host.
    output wire         host_waits,

    // A queue entry into the memory on the chip: queue pair, number, row of 64 octets.
    output wire         m_entry_valid,
    input  wire         m_entry_ready,
    output wire [7:0]   m_entry_qpn,
    output wire [15:0]  m_entry_number,
    output wire [9:0]   m_entry_row,
    output wire [511:0] m_entry,
    // Doorbell: address of the queue pair's SQPI in the engine's page, index.
    output wire         m_doorbell_valid,
    input  wire         m_doorbell_ready,
    output wire [31:0]  m_doorbell_address,
    output wire [15:0]  m_doorbell_index
);

    wire        enable;
    wire [7:0]  queue_pair;
    wire [9:0]  queue_row;
    wire [15:0] queue_depth;
    wire [63:0] remote_address;
    wire [31:0] remote_key;
    wire [31:0] slot_bytes;
    wire [12:0] slots;
    wire [31:0] slots_released;
    wire [31:0] frames_arrived;
    wire [31:0] completions;
    wire        waits_slot;
    wire        waits_queue;
    wire [1:0]  stopped;
    wire [31:0] posted;
    wire [31:0] frames_started;

    assign by_hardware = enable && stopped == 2'd0;

    poster_registers registers (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(s_reg_valid),
        .s_reg_write(s_reg_write),
        .s_reg_addr(s_reg_addr),
        .s_reg_wdata(s_reg_wdata),
        .s_reg_ready(s_reg_ready),
        .s_reg_error(s_reg_error),
        .s_reg_rdata(s_reg_rdata),
        .enable(enable),
        .queue_pair(queue_pair),
        .queue_row(queue_row),
        .queue_depth(queue_depth),
        .remote_address(remote_address),
        .remote_key(remote_key),
        .slot_bytes(slot_bytes),
        .slots(slots),
        .slots_released(slots_released),
        .frames_arrived(frames_arrived),
        .completions(completions),
        .waits_slot(waits_slot),
        .waits_queue(waits_queue),
        .stopped(stopped),
        .posted(posted),
        .frames_started(frames_started)
    );

    poster_entry entries (
        .clk(clk),
        .rst(rst),
        .enable(enable),
        .queue_pair(queue_pair),
        .queue_row(queue_row),
        .queue_depth(queue_depth),
        .remote_address(remote_address),
        .remote_key(remote_key),
        .slot_bytes(slot_bytes),
        .slots(slots),
        .slots_released(slots_released),
        .frames_arrived(frames_arrived),
        .completions(completions),
        .waits_slot(waits_slot),
        .waits_queue(waits_queue),
        .host_waits(host_waits),
        .stopped(stopped),
        .posted(posted),
        .frames_started(frames_started),
        .s_block_valid(s_block_valid),
        .s_block_ready(s_block_ready),
        .s_block_address(s_block_address),
        .s_block_bytes(s_block_bytes),
        .s_block_first(s_block_first),
        .s_block_last(s_block_last),
        .s_block_sequence(s_block_sequence),
        .m_entry_valid(m_entry_valid),
        .m_entry_ready(m_entry_ready),
        .m_entry_qpn(m_entry_qpn),
        .m_entry_number(m_entry_number),
        .m_entry_row(m_entry_row),
        .m_entry(m_entry),
        .m_doorbell_valid(m_doorbell_valid),
        .m_doorbell_ready(m_doorbell_ready),
        .m_doorbell_address(m_doorbell_address),
        .m_doorbell_index(m_doorbell_index)
    );

endmodule

`default_nettype wire
