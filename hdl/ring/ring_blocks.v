// Block table, block counter, acknowledgement and the coalesced interrupt.
//
// Entry n of the table is that of blocks n, n + ENTRIES, ... It can be taken again when its block is both acknowledged by
// software (nobody will read the entry) and freed (nobody will ask where its bytes are). Both happen in block order: software
// acknowledges by a count, and the free pointer passes the ends of blocks one after the other. So two counts suffice, and
// the entries in use are those between the slower of the two and what is allocated.
//
// The interrupt's conditions are levels, looked at again in every cycle. A block that is committed in the very cycle of an
// acknowledgement is simply not yet acknowledged in the next.

`timescale 1ns / 1fs
`default_nettype none

module ring_blocks #(
    // Entries of the table. Power of two, 2 to 256.
    parameter ENTRIES = 256,
    // Derived; do not override.
    parameter INDEX_WIDTH = $clog2(ENTRIES)
) (
    input  wire                   clk,
    input  wire                   rst,

    // Entries taken by a frame that was granted; entries in use.
    input  wire                   allocate,
    input  wire [9:0]             allocate_entries,
    output reg  [9:0]             entries_used,

    // A block is complete.
    input  wire                   commit,
    input  wire [31:0]            commit_address,
    input  wire [23:0]            commit_bytes,
    input  wire                   commit_first,
    input  wire                   commit_last,
    input  wire [31:0]            commit_sequence,
    input  wire [7:0]             commit_mode,
    input  wire [19:0]            commit_end_granule,
    // Position up to which granules are freed.
    input  wire [19:0]            free_granule,

    // Control: blocks that raise the interrupt; clocks until one block does (0: never); a frame's last block does at once.
    input  wire [31:0]            irq_threshold,
    input  wire [31:0]            irq_timeout,
    input  wire                   irq_frame_end,
    // Software has taken over blocks up to this count. Counts that lie outside [block_ack, block_count] are refused.
    input  wire                   ack_write,
    input  wire [31:0]            ack_value,
    output wire                   ack_refused,

    // Blocks are taken by hardware instead: the oldest one that is not acknowledged is offered, taking acknowledges it, and there is
    // no interrupt. Software's acknowledgements are refused meanwhile.
    input  wire                   by_hardware,
    output wire                   m_block_valid,
    input  wire                   m_block_ready,
    output wire [31:0]            m_block_address,
    output wire [23:0]            m_block_bytes,
    output wire                   m_block_first,
    output wire                   m_block_last,
    output wire [31:0]            m_block_sequence,

    output reg  [31:0]            block_count,
    output reg  [31:0]            block_ack,
    output reg                    irq,
    output reg  [31:0]            irq_count,

    // Table: {mode, sequence, last/first/bytes, address} one cycle after the index.
    input  wire [INDEX_WIDTH-1:0] read_index,
    output reg  [127:0]           read_entry
);

    generate
        if (ENTRIES < 2 || ENTRIES > 256 || ENTRIES != 1 << $clog2(ENTRIES)) begin : check_entries
            initial $fatal(1, "ring_blocks: ENTRIES must be a power of two, 2 to 256");
        end
    endgenerate

    reg  [127:0] table_memory [0:ENTRIES-1];
    reg  [19:0]  end_memory [0:ENTRIES-1];
    reg  [31:0]  time_memory [0:ENTRIES-1];
    reg  [31:0]  now;

    always @(posedge clk) begin
        if (commit) begin
            table_memory[block_count[INDEX_WIDTH-1:0]] <= {
                24'd0, commit_mode, commit_sequence, commit_last, commit_first, 6'd0, commit_bytes, commit_address
            };
            end_memory[block_count[INDEX_WIDTH-1:0]] <= commit_end_granule;
            time_memory[block_count[INDEX_WIDTH-1:0]] <= now;
        end
        read_entry <= table_memory[read_index];
    end

    // Acknowledgement.
    wire [31:0] unacknowledged = block_count - block_ack;
    wire        block_taken = m_block_valid && m_block_ready;
    wire [31:0] ack_step = by_hardware ? 32'd1 : ack_value - block_ack;
    wire        ack_taken = block_taken || (ack_write && !ack_refused);

    assign ack_refused = by_hardware || ack_step > unacknowledged;

    // Blocks whose bytes are all freed: look at the end of the next one, then act. Counts modulo 1024 are enough for
    // differences of up to ENTRIES.
    reg  [9:0]  allocated;
    reg  [9:0]  freed;
    reg         looked;
    reg         any_committed;
    reg  [19:0] end_granule;
    // verilator lint_off UNUSEDSIGNAL // Only the sign is asked for.
    wire [19:0] freed_beyond = free_granule - end_granule;
    // verilator lint_on UNUSEDSIGNAL
    wire [9:0]  not_acknowledged = allocated - block_ack[9:0];
    wire [9:0]  not_freed = allocated - freed;

    always @(posedge clk) begin
        looked <= !looked;
        end_granule <= end_memory[freed[INDEX_WIDTH-1:0]];
        any_committed <= block_count[9:0] != freed;
        if (looked && any_committed && !freed_beyond[19]) freed <= freed + 10'd1;
        if (allocate) allocated <= allocated + allocate_entries;
        entries_used <= not_acknowledged > not_freed ? not_acknowledged : not_freed;
        if (rst) begin
            looked <= 1'b0;
            any_committed <= 1'b0;
            freed <= 10'd0;
            allocated <= 10'd0;
            entries_used <= 10'd0;
        end
    end

    // Age of the oldest block that is not acknowledged; invalid in the two cycles after an acknowledgement.
    reg         oldest_valid;
    // verilator lint_off UNUSEDSIGNAL // Mode, and what is not used of the table.
    reg  [127:0] oldest_entry;
    // verilator lint_on UNUSEDSIGNAL
    reg  [31:0] oldest_time;
    reg         expired;
    wire [31:0] age = now - oldest_time;

    assign m_block_valid = by_hardware && oldest_valid;
    assign {m_block_last, m_block_first} = oldest_entry[63:62];
    assign m_block_bytes = oldest_entry[55:32];
    assign m_block_address = oldest_entry[31:0];
    assign m_block_sequence = oldest_entry[95:64];

    // A frame has ended in a block that is not acknowledged: the latest such block is at latest_end - 1.
    reg         frame_ended;
    reg  [31:0] latest_end;
    wire [31:0] after_latest_end = block_count - latest_end;

    wire        reached = unacknowledged != 32'd0 && unacknowledged >= irq_threshold;
    reg         condition;

    always @(posedge clk) begin
        now <= now + 32'd1;
        if (commit) block_count <= block_count + 32'd1;
        if (ack_taken) block_ack <= block_ack + ack_step;

        oldest_valid <= unacknowledged != 32'd0 && !ack_taken;
        oldest_entry <= table_memory[block_ack[INDEX_WIDTH-1:0]];
        oldest_time <= time_memory[block_ack[INDEX_WIDTH-1:0]];
        if (ack_taken) expired <= 1'b0;
        else if (oldest_valid && irq_timeout != 32'd0 && age >= irq_timeout) expired <= 1'b1;

        if (ack_taken && unacknowledged - ack_step <= after_latest_end) frame_ended <= 1'b0;
        if (commit && commit_last) begin
            frame_ended <= 1'b1;
            latest_end <= block_count + 32'd1;
        end

        // What was true before an acknowledgement must not raise the interrupt after it.
        condition <= !ack_taken && !by_hardware && (reached || expired || (irq_frame_end && frame_ended));
        if (ack_taken) begin
            irq <= 1'b0;
        end else if (condition && !irq) begin
            irq <= 1'b1;
            irq_count <= irq_count + 32'd1;
        end

        if (rst) begin
            now <= 32'd0;
            block_count <= 32'd0;
            block_ack <= 32'd0;
            oldest_valid <= 1'b0;
            expired <= 1'b0;
            frame_ended <= 1'b0;
            latest_end <= 32'd0;
            condition <= 1'b0;
            irq <= 1'b0;
            irq_count <= 32'd0;
        end
    end

endmodule

`default_nettype wire
