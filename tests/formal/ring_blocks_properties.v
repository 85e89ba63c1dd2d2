// hdl/ring/ring_blocks.v: no block is lost, and none is announced that is not there.
//
// Every committed block is counted; counts are acknowledged only inside [acknowledged, counted]; the interrupt stands only while a
// block is unacknowledged, stays until an acknowledgement, and comes whenever its condition holds; an entry of the
// table keeps its content until its block is acknowledged and freed. Hardware that takes blocks is offered each one, the oldest
// first, until it takes it, which acknowledges it; there is no interrupt meanwhile.
//
// Assumed of the writer: it commits only what it has allocated, and allocates in a cycle what was free, by entries_used, a
// cycle before, not more often than every third cycle (both proved in ring_space_properties.v). All else is
// free: order and timing of commits, acknowledgements of any value, who takes blocks and when, changes of the settings, the movement of the free position.

`timescale 1ns / 1fs
`default_nettype none

module ring_blocks_properties #(
    // Entries of the table.
    parameter ENTRIES = 256,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter INDEX_WIDTH = $clog2(ENTRIES)
) (
    input wire                   clk,
    input wire                   rst,
    input wire                   allocate,
    input wire [9:0]             allocate_entries,
    input wire                   commit,
    input wire [31:0]            commit_address,
    input wire [23:0]            commit_bytes,
    input wire                   commit_first,
    input wire                   commit_last,
    input wire [31:0]            commit_sequence,
    input wire [7:0]             commit_mode,
    input wire [19:0]            commit_end_granule,
    input wire [19:0]            free_granule,
    input wire [31:0]            irq_threshold,
    input wire [31:0]            irq_timeout,
    input wire                   irq_frame_end,
    input wire                   ack_write,
    input wire [31:0]            ack_value,
    input wire                   by_hardware,
    input wire                   m_block_ready,
    input wire [INDEX_WIDTH-1:0] read_index
);

    localparam COUNT_WIDTH = 32;
    localparam [COUNT_WIDTH-1:0] NONE = 0;

    wire [9:0]   entries_used;
    wire         ack_refused;
    wire         m_block_valid;
    wire [31:0]  m_block_address;
    wire [23:0]  m_block_bytes;
    wire         m_block_first;
    wire         m_block_last;
    wire [31:0]  m_block_sequence;
    wire [COUNT_WIDTH-1:0]  block_count;
    wire [COUNT_WIDTH-1:0]  block_ack;
    wire         irq;
    wire [COUNT_WIDTH-1:0]  irq_count;
    wire [127:0] read_entry;

    ring_blocks #(
        .ENTRIES(ENTRIES)
    ) dut (
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
        .read_index(read_index),
        .read_entry(read_entry)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    reg        started = 1'b0;
    reg  [9:0] used_before;
    reg        allocated_1;
    reg        allocated_2;
    // Entries allocated (modulo 1024), blocks committed, and what is acknowledged or taken, all since the last reset.
    reg [9:0]  allocated;
    reg [COUNT_WIDTH-1:0] committed;
    reg [COUNT_WIDTH-1:0] acknowledged;

    // The specification's first sentence says that the ports are these counts; the rest of it may as well use the ports.
    wire [COUNT_WIDTH-1:0] waiting = block_count - block_ack;
    wire        takes = m_block_valid && m_block_ready;
    wire        acknowledges = takes || (!by_hardware && ack_write && ack_value - block_ack <= waiting);

    always @(posedge clk) begin
        started <= 1'b1;
        used_before <= entries_used;
        allocated_1 <= allocate && !rst;
        allocated_2 <= allocated_1 && !rst;
        if (allocate) allocated <= allocated + allocate_entries;
        if (commit) committed <= committed + 1'b1;
        if (acknowledges) acknowledged <= takes ? acknowledged + 1'b1 : ack_value;
        if (rst) begin
            used_before <= 10'd0;
            allocated <= 10'd0;
            committed <= NONE;
            acknowledged <= NONE;
        end
    end

    always @* begin
        if (!started) assume (rst);
        if (allocate) assume (allocate_entries <= ENTRIES - used_before && !allocated_1 && !allocated_2);
        if (commit) assume (block_count[9:0] != allocated);
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    // table_place, table_word and so on: an index of all three memories, any, and the words there.
    `include "words.vh"

    always @* assume (table_place == ends_place && table_place == times_place);

    // Any one block whose entry is there is noted.
    reg         noted;
    reg  [9:0]  noted_number;
    reg  [127:0] noted_entry;
    reg  [19:0] noted_end;
    reg         noted_last;
    reg  [COUNT_WIDTH-1:0] noted_time;
    reg         noted_freed;
    (* anyseq *) wire note;

    wire [9:0]  noted_behind = block_count[9:0] - noted_number;
    wire        noted_waits = noted && {{(COUNT_WIDTH-10){1'b0}}, noted_behind} <= waiting;
    wire        noted_oldest = noted_waits && noted_number == block_ack[9:0];
    (* hierconn *) wire [COUNT_WIDTH-1:0] \dut.now ;
    wire [19:0] beyond = free_granule - noted_end;
    wire        kept = noted && (noted_waits || !noted_freed);

    // Cycles since the last acknowledgement or change of a setting, up to 7.
    reg  [2:0]  quiet;
    reg  [COUNT_WIDTH-1:0] threshold_before;
    reg  [COUNT_WIDTH-1:0] timeout_before;
    reg         frame_end_before;
    reg         hardware_before;
    wire        changes = irq_threshold != threshold_before || irq_timeout != timeout_before || irq_frame_end != frame_end_before
        || by_hardware != hardware_before;
    wire [2:0]  still = changes ? 3'd0 : quiet;
    // And since as many blocks wait for software as the threshold asks for, and since the noted one, the last of a frame, does.
    reg  [2:0]  reached;
    reg  [2:0]  ended;
    wire [COUNT_WIDTH:0] age = {1'b0, \dut.now - noted_time};

    reg         irq_before;
    reg         read_due;
    reg         offered;

    always @(posedge clk) begin
        if (noted && !beyond[19]) noted_freed <= 1'b1;
        if (commit && note && !noted && block_count[INDEX_WIDTH-1:0] == table_place) begin
            noted <= 1'b1;
            noted_number <= block_count[9:0];
            noted_entry <= {
                24'd0, commit_mode, commit_sequence, commit_last, commit_first, 6'd0, commit_bytes, commit_address
            };
            noted_end <= commit_end_granule;
            noted_last <= commit_last;
            noted_time <= \dut.now ;
            noted_freed <= 1'b0;
        end
        // It may be forgotten, so that another one can be noted.
        if (noted && !kept) noted <= 1'b0;

        threshold_before <= irq_threshold;
        timeout_before <= irq_timeout;
        frame_end_before <= irq_frame_end;
        hardware_before <= by_hardware;
        offered <= m_block_valid && !m_block_ready && !rst;
        quiet <= acknowledges || rst ? 3'd0 : still == 3'd7 ? 3'd7 : still + 3'd1;
        reached <= by_hardware || waiting == NONE || waiting < irq_threshold ? 3'd0 : reached == 3'd7 ? 3'd7 : reached + 3'd1;
        ended <= by_hardware || !noted_waits || !noted_last || !irq_frame_end ? 3'd0 : ended == 3'd7 ? 3'd7 : ended + 3'd1;
        irq_before <= irq && !acknowledges && !rst;
        read_due <= kept && read_index == table_place && !rst;
        if (rst) begin
            noted <= 1'b0;
            quiet <= 3'd0;
            reached <= 3'd0;
            ended <= 3'd0;
        end
    end

    always @* begin
        if (started) begin
            // Counted, all of them; acknowledged, what software says, if it can be.
            assert (block_count == committed);
            assert (block_ack == acknowledged);
            assert (waiting <= ENTRIES);
            assert (ack_refused == (by_hardware || ack_value - block_ack > waiting));
            // Held until acknowledged, and never for nothing.
            if (irq_before) assert (irq);
            if (irq) assert (waiting != NONE);
            // Raised in time.
            if (still >= 3'd2 && reached >= 3'd2 && waiting != NONE && waiting >= irq_threshold) assert (irq);
            if (still >= 3'd2 && ended >= 3'd2 && noted_waits && irq_frame_end) assert (irq);
            if (still >= 3'd5 && noted_oldest && !by_hardware && irq_timeout != NONE
                && age >= {1'b0, irq_timeout} + 4) assert (irq);
            // Offered to hardware alone, soon, until taken; the oldest one.
            if (m_block_valid) assert (by_hardware && waiting != NONE);
            if (by_hardware && quiet >= 3'd1 && noted_oldest && age >= 2) assert (m_block_valid);
            if (offered && by_hardware) assert (m_block_valid);
            if (m_block_valid && noted_oldest) begin
                assert (m_block_address == noted_entry[31:0] && m_block_bytes == noted_entry[55:32]);
                assert (m_block_sequence == noted_entry[95:64]);
                assert ({m_block_last, m_block_first} == noted_entry[63:62]);
            end
            // The table keeps what is not both acknowledged and freed.
            if (read_due) assert (read_entry == noted_entry);
            if (kept) assert (noted_behind != 10'd0 && noted_behind <= ENTRIES);
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire [9:0]  \dut.allocated ;
    (* hierconn *) wire [9:0]  \dut.freed ;
    (* hierconn *) wire        \dut.any_committed ;
    (* hierconn *) wire        \dut.looked ;
    (* hierconn *) wire [19:0] \dut.end_granule ;
    (* hierconn *) wire        \dut.condition ;
    (* hierconn *) wire        \dut.expired ;
    (* hierconn *) wire        \dut.oldest_valid ;
    (* hierconn *) wire [COUNT_WIDTH-1:0] \dut.oldest_time ;
    (* hierconn *) wire [127:0] \dut.oldest_entry ;
    (* hierconn *) wire        \dut.frame_ended ;
    (* hierconn *) wire [COUNT_WIDTH-1:0] \dut.latest_end ;

    wire [9:0] not_acknowledged = \dut.allocated - block_ack[9:0];
    wire [9:0] not_freed = \dut.allocated  - \dut.freed ;
    wire [9:0] committed_not_freed = block_count[9:0] - \dut.freed ;
    wire [COUNT_WIDTH-1:0] latest_behind = block_count - \dut.latest_end ;
    // The count of freed blocks has passed the noted one.
    wire       passed = noted_behind > committed_not_freed;

    // The noted block is the oldest that waits, and the timer runs.
    wire       oldest_noted = noted_oldest && irq_timeout != NONE;

    always @* begin
        if (HELP != 0 && started) begin
            assert (\dut.allocated == allocated);
            assert (not_acknowledged <= ENTRIES && waiting <= {{(COUNT_WIDTH-10){1'b0}}, not_acknowledged});
            assert (not_freed <= ENTRIES && committed_not_freed <= not_freed);
            if (!allocated_1) assert (entries_used >= not_acknowledged && entries_used >= not_freed);
            if (!allocated_1 && !allocated_2) assert (used_before >= not_acknowledged && used_before >= not_freed);
            assert (entries_used <= ENTRIES && used_before <= ENTRIES);
            if (noted) begin
                assert (noted_number[INDEX_WIDTH-1:0] == table_place);
                if (kept) begin
                    assert (table_word == noted_entry);
                    assert (ends_word == noted_end);
                    assert (times_word == noted_time);
                end
                if (passed) assert (noted_freed);
                if (kept && \dut.looked && \dut.any_committed && \dut.freed == noted_number)
                    assert (\dut.end_granule == noted_end);
            end
            if (\dut.any_committed && \dut.looked ) assert (committed_not_freed != 10'd0);
            // The interrupt's parts.
            if (\dut.condition || \dut.expired || \dut.frame_ended || \dut.oldest_valid ) assert (waiting != NONE);
            if (\dut.frame_ended ) assert (latest_behind < waiting);
            if (noted_waits && noted_last) begin
                assert (\dut.frame_ended );
                assert (latest_behind < {{(COUNT_WIDTH-10){1'b0}}, noted_behind});
            end
            if (noted_oldest && age >= 2 && quiet >= 3'd1) assert (\dut.oldest_valid );
            if (oldest_noted && age >= 3 && still >= 3'd2 && age > {1'b0, irq_timeout}) assert (\dut.expired );
            if (oldest_noted && !by_hardware && age >= 4 && still >= 3'd3 && age > {1'b0, irq_timeout} + 1) assert (\dut.condition );
            if (quiet >= 3'd1 && (reached >= 3'd1 || ended >= 3'd1)) assert (\dut.condition );
            if (quiet >= 3'd2 && (reached >= 3'd2 || ended >= 3'd2)) assert (irq);
            if (\dut.oldest_valid && noted_oldest) assert (\dut.oldest_time == noted_time && \dut.oldest_entry == noted_entry);
            if (offered) assert (\dut.oldest_valid );
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (started && irq && waiting == 3 && irq_threshold == 3 && still == 3'd7);
        cover (started && irq && irq_threshold == 9 && !irq_frame_end && irq_timeout == 4 && still == 3'd7);
        cover (started && acknowledged == 2 && noted && noted_number == 10'd2 && read_due);
        cover (started && entries_used == ENTRIES);
        cover (started && by_hardware && committed == 3 && acknowledged == 2 && noted_oldest && takes);
        cover (started && committed == 6 && noted && noted_number == 10'd4 && ack_write && ack_refused);
    end

endmodule

`default_nettype wire
