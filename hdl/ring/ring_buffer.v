// The ring buffer: whole frames in, rows out as often as asked for, bytes freed by release only.
//
//   frame request ─► ring_writer ─► ring_memory ─► reads
//                      │  commit        release ─► ring_release
//                      ▼                             │ free position
//                    ring_blocks ◄───────────────────┘
//                      │ table, count, interrupt        ring_level: how full
//                    ring_registers ◄─► register bus

`timescale 1ns / 1fs
`default_nettype none

module ring_buffer #(
    // Bytes. Power of two, 65536 to 2^30.
    parameter RING_BYTES = 4194304,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) (
    input  wire                 clk,
    input  wire                 rst,

    // A frame's admission: request with its size is held until grant or deny.
    input  wire                 frame_request,
    input  wire [31:0]          frame_bytes,
    input  wire [31:0]          frame_sequence,
    input  wire [7:0]           frame_mode,
    output wire                 frame_grant,
    output wire                 frame_deny,
    output wire [3:0]           frame_deny_cause,
    // Most bytes held since last taken.
    output wire [31:0]          high_water,
    input  wire                 high_water_taken,
    // The granted frame's words.
    input  wire [1023:0]        s_write_data,
    input  wire                 s_write_valid,
    input  wire                 s_write_last,

    // Rows of 64 bytes, three cycles after the enable.
    input  wire                 read_enable,
    input  wire [ROW_WIDTH-1:0] read_row,
    output wire [511:0]         read_data,

    // Acknowledged bytes.
    input  wire                 release_valid,
    output wire                 release_ready,
    input  wire [31:0]          release_address,
    input  wire [31:0]          release_bytes,
    input  wire                 release_complete,

    // Blocks wait for software.
    output wire                 irq,
    // Blocks are hardware's instead: taking the oldest one acknowledges it. It waits for nothing but the receiving host.
    input  wire                 by_hardware,
    input  wire                 host_waits,
    output wire                 m_block_valid,
    input  wire                 m_block_ready,
    output wire [31:0]          m_block_address,
    output wire [23:0]          m_block_bytes,
    output wire                 m_block_first,
    output wire                 m_block_last,
    output wire [31:0]          m_block_sequence,

    // Register bus.
    input  wire                 s_reg_valid,
    input  wire                 s_reg_write,
    input  wire [12:0]          s_reg_addr,
    input  wire [31:0]          s_reg_wdata,
    output wire                 s_reg_ready,
    output wire                 s_reg_error,
    output wire [31:0]          s_reg_rdata
);

    localparam ENTRIES = 256;

    wire                 enable;
    wire                 irq_frame_end;
    wire                 host_stalled;
    wire [4:0]           block_shift;
    wire [31:0]          irq_threshold;
    wire [31:0]          irq_timeout;
    wire                 ack_write;
    wire [31:0]          ack_value;
    wire                 ack_refused;
    wire                 high_water_restart;

    wire                 ready;
    wire [19:0]          free_granule;
    wire [19:0]          reserve_granule;
    wire [19:0]          written_granule;
    wire [31:0]          write_position;
    wire [31:0]          ignored_granules;

    wire                 write_enable;
    wire [ROW_WIDTH-2:0] write_word;
    wire [1023:0]        write_data;

    wire [9:0]           entries_used;
    wire                 allocate;
    wire [9:0]           allocate_entries;

    wire                 commit;
    wire [31:0]          commit_address;
    wire [23:0]          commit_bytes;
    wire                 commit_first;
    wire                 commit_last;
    wire [31:0]          commit_sequence;
    wire [7:0]           commit_mode;
    wire [19:0]          commit_end_granule;

    wire [31:0]          frames_admitted;
    wire [31:0]          dropped_ring_full;
    wire [31:0]          dropped_descriptors_full;
    wire [31:0]          dropped_disabled;
    wire [31:0]          dropped_host_stalled;
    wire [31:0]          protocol_errors;

    wire [31:0]          block_count;
    wire [31:0]          block_ack;
    wire [31:0]          irq_count;
    wire [31:0]          used_bytes;
    wire [31:0]          software_high_water;
    wire [7:0]           table_index;
    wire [127:0]         table_entry;

    ring_writer #(
        .RING_BYTES(RING_BYTES),
        .ENTRIES(ENTRIES)
    ) writer (
        .clk(clk),
        .rst(rst),
        .enable(enable),
        .host_stalled(host_stalled || host_waits),
        .ready(ready),
        .block_shift(block_shift),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(frame_sequence),
        .frame_mode(frame_mode),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .s_write_data(s_write_data),
        .s_write_valid(s_write_valid),
        .s_write_last(s_write_last),
        .write_enable(write_enable),
        .write_word(write_word),
        .write_data(write_data),
        .free_granule(free_granule),
        .reserve_granule(reserve_granule),
        .written_granule(written_granule),
        .write_position(write_position),
        .entries_used(entries_used),
        .allocate(allocate),
        .allocate_entries(allocate_entries),
        .commit(commit),
        .commit_address(commit_address),
        .commit_bytes(commit_bytes),
        .commit_first(commit_first),
        .commit_last(commit_last),
        .commit_sequence(commit_sequence),
        .commit_mode(commit_mode),
        .commit_end_granule(commit_end_granule),
        .frames_admitted(frames_admitted),
        .dropped_ring_full(dropped_ring_full),
        .dropped_descriptors_full(dropped_descriptors_full),
        .dropped_disabled(dropped_disabled),
        .dropped_host_stalled(dropped_host_stalled),
        .protocol_errors(protocol_errors)
    );

    ring_memory #(
        .RING_BYTES(RING_BYTES)
    ) memory (
        .clk(clk),
        .rst(rst),
        .write_enable(write_enable),
        .write_word(write_word),
        .write_data(write_data),
        .read_enable(read_enable),
        .read_row(read_row),
        .read_data(read_data)
    );

    ring_release #(
        .RING_BYTES(RING_BYTES)
    ) acknowledged (
        .clk(clk),
        .rst(rst),
        .ready(ready),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .written_granule(written_granule),
        .free_granule(free_granule),
        .ignored_granules(ignored_granules)
    );

    ring_blocks #(
        .ENTRIES(ENTRIES)
    ) blocks (
        .clk(clk),
        .rst(rst),
        .allocate(allocate),
        .allocate_entries(allocate_entries),
        .entries_used(entries_used),
        .commit(commit),
        .commit_address(commit_address),
        .commit_bytes(commit_bytes),
        .commit_first(commit_first),
        .commit_last(commit_last),
        .commit_sequence(commit_sequence),
        .commit_mode(commit_mode),
        .commit_end_granule(commit_end_granule),
        .free_granule(free_granule),
        .irq_threshold(irq_threshold),
        .irq_timeout(irq_timeout),
        .irq_frame_end(irq_frame_end),
        .ack_write(ack_write),
        .ack_value(ack_value),
        .ack_refused(ack_refused),
        .by_hardware(by_hardware),
        .m_block_valid(m_block_valid),
        .m_block_ready(m_block_ready),
        .m_block_address(m_block_address),
        .m_block_bytes(m_block_bytes),
        .m_block_first(m_block_first),
        .m_block_last(m_block_last),
        .m_block_sequence(m_block_sequence),
        .block_count(block_count),
        .block_ack(block_ack),
        .irq(irq),
        .irq_count(irq_count),
        .read_index(table_index),
        .read_entry(table_entry)
    );

    ring_level fill (
        .clk(clk),
        .rst(rst),
        .write_position(write_position),
        .reserve_granule(reserve_granule),
        .free_granule(free_granule),
        .used_bytes(used_bytes),
        .high_water_restart(high_water_restart),
        .high_water(software_high_water),
        .frame_high_water_taken(high_water_taken),
        .frame_high_water(high_water)
    );

    ring_registers #(
        .RING_BYTES(RING_BYTES)
    ) registers (
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
        .irq_frame_end(irq_frame_end),
        .host_stalled(host_stalled),
        .block_shift(block_shift),
        .irq_threshold(irq_threshold),
        .irq_timeout(irq_timeout),
        .ack_write(ack_write),
        .ack_value(ack_value),
        .ack_refused(ack_refused),
        .high_water_restart(high_water_restart),
        .block_count(block_count),
        .block_ack(block_ack),
        .irq(irq),
        .irq_count(irq_count),
        .used_bytes(used_bytes),
        .high_water(software_high_water),
        .frames_admitted(frames_admitted),
        .dropped_ring_full(dropped_ring_full),
        .dropped_descriptors_full(dropped_descriptors_full),
        .dropped_disabled(dropped_disabled),
        .dropped_host_stalled(dropped_host_stalled),
        .protocol_errors(protocol_errors),
        .ignored_granules(ignored_granules),
        .write_position(write_position),
        .free_granule(free_granule),
        .table_index(table_index),
        .table_entry(table_entry)
    );

endmodule

`default_nettype wire
