"""All proofs, and the bugs that each of them must find. What the words mean: ``Proof`` in prover.py."""

from __future__ import annotations

from tests.formal.prover import Memory, Proof, Search, bug

# Environments that do the usual thing in every step, so that what lies far away is reached soon.
REGULAR = {"REGULAR": 1}

FIFO = "hdl/lib/cdc_fifo.v"
ELASTIC = "hdl/jesd204b/jesd204b_elastic_buffer.v"
COUNTERS = "hdl/jesd204b/jesd204b_lane_counters.v"
COUNTER = "hdl/jesd204b/jesd204b_counter.v"
MEMORY = "hdl/ring/ring_memory.v"
BANK = "hdl/ring/ring_bank.v"
PACKER = "hdl/acquisition/acquisition_packer.v"
ARBITER = "hdl/ernic/ernic_qp_arbiter.v"
ACKS = "hdl/ernic/ernic_ack_engine.v"
SCHEDULER = "hdl/ernic/ernic_scheduler.v"
REGIONS = "hdl/ernic/ernic_region_check.v"
BLOCKS = "hdl/ring/ring_blocks.v"
WRITER = "hdl/ring/ring_writer.v"
RELEASE = "hdl/ring/ring_release.v"

CDC_FIFO = Proof(
    name="cdc_fifo",
    claim="words cross once, in order, unchanged, whatever the clocks; pointers change by one bit",
    modules=("lib/cdc_fifo",),
    stand_ins=("cdc_sync",),
    free_clocks=True,
    parameters={"WIDTH": 8, "DEPTH": 64},
    small={"WIDTH": 2, "DEPTH": 4},
    memories=(Memory("stored", "dut.memory", address_width=6, width=8),),
    base=16,
    cover=Search(60, environment=REGULAR),
    bugs_within=Search(40, environment=REGULAR),
    bugs=(
        bug("full one word late", (FIFO, "!s_level[ADDRESS_WIDTH] && !s_reset", "s_level <= DEPTH && !s_reset")),
        bug(
            "binary pointers cross",
            (FIFO, "s_pointer_gray <= s_next ^ s_next >> 1", "s_pointer_gray <= s_next"),
            (FIFO, "m_pointer_gray <= m_next ^ m_next >> 1", "m_pointer_gray <= m_next"),
            (FIFO, "s_pointer - gray_to_binary(s_read_gray)", "s_pointer - s_read_gray"),
        ),
        bug("fetch over a word that waits", (FIFO, "&& (!m_full || m_ready)", "")),
    ),
)

JESD204B_ELASTIC_BUFFER = Proof(
    name="jesd204b_elastic_buffer",
    claim="beats leave in order, unchanged; the fill is exact; overflow and underflow are told exactly",
    modules=("jesd204b/jesd204b_elastic_buffer",),
    parameters={"DEPTH": 512, "KINDS_WIDTH": 6},
    small={"DEPTH": 256, "KINDS_WIDTH": 2},
    memories=(
        Memory("data", "dut.data_memory", address_width=9, width=32),
        Memory("kinds", "dut.kinds_memory", address_width=9, width=6),
    ),
    base=8,
    cover=Search(264, environment=REGULAR, slow=True),
    bugs_within=Search(8),
    bugs=(
        bug("underflow hidden by a write", (ELASTIC, "underflow <= empty;", "underflow <= empty && !write;")),
        bug("fill moves while both sides run", (ELASTIC, "if (write && !read) begin", "if (write) begin")),
        bug("marks a beat early", (ELASTIC, "kinds_memory[read_pointer]", "kinds_memory[read_pointer + 1'b1]")),
    ),
)

JESD204B_LANE_COUNTERS = Proof(
    name="jesd204b_lane_counters",
    claim="overflow, underflow and mismatched fields stay seen until cleared; no event is lost, no counter wraps",
    modules=("jesd204b/jesd204b_lane_counters",),
    base=4,
    cover=Search(8),
    bugs_within=Search(6),
    bugs=(
        bug(
            "the latest violation alone is seen",
            (COUNTERS, "seen_overflow <= seen_overflow || overflow", "seen_overflow <= overflow"),
        ),
        bug(
            "a mismatch alone is not seen",
            (COUNTERS, "if (overflow || underflow || ilas_mismatch != 22'd0)", "if (overflow || underflow)"),
        ),
        bug("four events in a cycle are none", (COUNTER, "{15'd0, events[3]}", "{16{events[3]}} * 16'd3")),
        bug("only the first octet counts", (COUNTER, "else if (events != 4'd0)", "else if (events[0])")),
    ),
)

RING_MEMORY = Proof(
    name="ring_memory",
    claim="each row has a place of its own; a read gives what was written last, three cycles later",
    modules=("ring/ring_memory",),
    parameters={"RING_BYTES": 4194304},
    small={"RING_BYTES": 65536},
    memories=(
        Memory("lower_0", "dut.bank[0].lower.memory", address_width=15, width=512),
        Memory("lower_1", "dut.bank[1].lower.memory", address_width=15, width=512),
        Memory("upper_0", "dut.bank[0].upper.memory", address_width=13, width=512),
        Memory("upper_1", "dut.bank[1].upper.memory", address_width=13, width=512),
    ),
    base=3,
    cover=Search(10),
    bugs_within=Search(10),
    bugs=(
        bug(
            "odd and even are told apart a stage early", (MEMORY, "case ({upper_2, odd_2})", "case ({upper_2, odd_1})")
        ),
        bug(
            "the upper quarter begins at the half",
            (MEMORY, "&write_word[WORD_WIDTH-1:WORD_WIDTH-2]", "write_word[WORD_WIDTH-1]"),
        ),
        bug(
            "upper words share places",
            (MEMORY, ".write_row(write_word[WORD_WIDTH-3:0])", ".write_row({1'b0, write_word[WORD_WIDTH-4:0]})"),
            (MEMORY, ".read_row(read_word_1[WORD_WIDTH-3:0])", ".read_row({1'b0, read_word_1[WORD_WIDTH-4:0]})"),
        ),
        bug("a read hinders a write", (BANK, "if (write_enable) memory", "if (write_enable && !read_enable) memory")),
    ),
)

RING_BLOCKS = Proof(
    name="ring_blocks",
    claim="no block is lost; the interrupt comes, stays until acknowledged, and never for nothing; entries are kept; "
    "hardware is offered the oldest block until it takes it",
    modules=("ring/ring_blocks",),
    parameters={"ENTRIES": 256},
    small={"ENTRIES": 4},
    memories=(
        Memory("table", "dut.table_memory", address_width=8, width=128),
        Memory("ends", "dut.end_memory", address_width=8, width=20),
        Memory("times", "dut.time_memory", address_width=8, width=32),
    ),
    base=6,
    cover=Search(24),
    bugs_within=Search(16),
    bugs=(
        bug(
            "a commit during an acknowledgement is lost",
            (BLOCKS, "if (commit) block_count", "if (commit && !ack_taken) block_count"),
        ),
        bug(
            "any acknowledgement ends the wait for a frame",
            (BLOCKS, "if (ack_taken && unacknowledged - ack_step <= after_latest_end)", "if (ack_taken)"),
        ),
        bug(
            "the interrupt falls with its condition",
            (BLOCKS, "if (ack_taken) begin\n            irq", "if (ack_taken || !condition) begin\n            irq"),
        ),
        bug(
            "a stale interrupt after an acknowledgement",
            (BLOCKS, "condition <= !ack_taken && !by_hardware && (", "condition <= !by_hardware && ("),
        ),
        bug(
            "an acknowledgement of one block too many is taken",
            (BLOCKS, "by_hardware || ack_step > unacknowledged", "by_hardware || ack_step > unacknowledged + 32'd1"),
        ),
        bug(
            "each block makes the time-out begin anew",
            (BLOCKS, "time_memory[block_ack[INDEX_WIDTH-1:0]]", "time_memory[block_count[INDEX_WIDTH-1:0] - 1'b1]"),
        ),
        bug(
            "a single block waits for ever",
            (BLOCKS, "oldest_valid <= unacknowledged != 32'd0", "oldest_valid <= unacknowledged > 32'd1"),
        ),
        bug(
            "hardware is offered the block behind the oldest",
            (BLOCKS, "table_memory[block_ack[INDEX_WIDTH-1:0]]", "table_memory[block_ack[INDEX_WIDTH-1:0] + 1'b1]"),
        ),
        bug(
            "a block taken during a commit is offered again",
            (
                BLOCKS,
                "block_taken = m_block_valid && m_block_ready",
                "block_taken = m_block_valid && m_block_ready && !commit",
            ),
        ),
        bug(
            "entries are taken again when acknowledged",
            (BLOCKS, "not_acknowledged > not_freed ? not_acknowledged : not_freed", "not_acknowledged"),
            within=Search(20),
        ),
    ),
)

RING_SPACE = Proof(
    name="ring_space",
    claim="no word is overwritten before its release; blocks tile the frame and are announced when they are written",
    modules=("ring/ring_buffer",),
    cut=("ring_memory", "ring_blocks", "ring_registers"),
    parameters={"RING_BYTES": 4194304},
    small={"RING_BYTES": 65536},
    memories=(Memory("marks", "dut.acknowledged.marks", address_width=10, width=1),),
    base=4,
    cover=Search(36, environment=REGULAR),
    bugs_within=Search(40, skip=16, stride=8, environment=REGULAR, slow=True),
    bugs=(
        bug(
            "a block is announced a word early",
            (WRITER, "commit <= take && block_end;", "commit <= take && (block_end || words_left == 25'd2);"),
            within=Search(32, skip=16, stride=8, environment=REGULAR),
        ),
        bug(
            "the second word of a frame repeats the first",
            (WRITER, "write_data <= s_write_data;", "if (!write_enable) write_data <= s_write_data;"),
            within=Search(32, skip=16, stride=8, environment=REGULAR),
        ),
        bug(
            "the last, shorter block has no entry",
            (WRITER, "need_entries <= rounded >> block_shift", "need_entries <= {1'b0, frame_bytes} >> block_shift"),
            within=Search(32, skip=16, stride=8, environment=REGULAR, slow=True),
        ),
        bug(
            "one granule too many is admitted",
            (WRITER, "need_granules <= GRANULES[20:0] -", "need_granules <= GRANULES[20:0] + 21'd1 -"),
            within=Search(90, skip=60, stride=10, environment={"REGULAR": 2}, slow=True),
        ),
        bug("a granule that is not written is marked", (RELEASE, "(walking && held)", "walking")),
        bug(
            "a release that begins inside a granule frees it",
            (RELEASE, "start_wide[32:12] + {20'd0, |start[11:0]}", "start_wide[32:12]"),
        ),
        bug(
            "the mark of the granule before is acted upon",
            (RELEASE, "if (looked && any_held &&", "if (any_held &&"),
        ),
    ),
)

ACQUISITION_ADMISSION = Proof(
    name="acquisition_admission",
    claim="a frame is admitted if there is room for all of it, and is then written whole; each drop is told",
    modules=("acquisition/acquisition_packer", "ring/ring_writer"),
    cut=("crc32c",),
    parameters={"RING_BYTES": 4194304},
    small={"RING_BYTES": 65536},
    base=4,
    cover=Search(40, environment=REGULAR),
    bugs_within=Search(28, skip=4, stride=8, environment=REGULAR, slow=True),
    bugs=(
        bug(
            "a trailer that was not asked for",
            (PACKER, "frame_bytes <= payload_bytes + 32'd128;", "frame_bytes <= payload_bytes;"),
        ),
        bug(
            "a reset of the link side ends the frame",
            (PACKER, "wire          none_left = aborted ||", "wire          none_left ="),
            (PACKER, "if (words_left == 18'd1) state", "if (words_left == 18'd1 || aborted) state"),
        ),
        bug(
            "a refused frame is not missed",
            (
                PACKER,
                "granted <= frame_grant;",
                "granted <= frame_grant; if (frame_deny) next_number <= number + 64'd1;",
            ),
        ),
        bug(
            "a frame under way at a reset is told by the new numbers",
            (PACKER, "if ((source_reset || aborted) && !header_due) begin", "if (source_reset) begin"),
        ),
        bug(
            "two causes for one refusal",
            (
                WRITER,
                "refused_table = enable && !malformed && !host_stalled && fits_ring &&",
                "refused_table = enable && !malformed &&",
            ),
        ),
        bug(
            "the ring is filled while acquisition is off", (WRITER, "state == CHECK && enable &&", "state == CHECK &&")
        ),
        bug(
            "room is looked at for the header only",
            (WRITER, "fits_ring = need_granules <=", "fits_ring = 21'd1 <="),
        ),
    ),
)

ERNIC_QP_ARBITER = Proof(
    name="ernic_qp_arbiter",
    claim="only who asks is served, and whoever goes on asking is among the next NUM_QP grants",
    modules=("ernic/ernic_qp_arbiter",),
    parameters={"NUM_QP": 8},
    base=4,
    cover=Search(12),
    bugs_within=Search(12),
    bugs=(
        bug("the lowest is always served", (ARBITER, "(i[QP_WIDTH-1:0] > last || !above)", "1'b1")),
        bug(
            "the one served last is served again",
            (ARBITER, "(i[QP_WIDTH-1:0] > last ||", "(i[QP_WIDTH-1:0] >= last ||"),
            (ARBITER, "above = i[QP_WIDTH-1:0] > last", "above = i[QP_WIDTH-1:0] >= last"),
        ),
    ),
)

ERNIC_ACK_WINDOW = Proof(
    name="ernic_ack_window",
    claim="stale and future acknowledgements do nothing; the oldest packet stays inside the window, also at a wrap",
    modules=("lib/sync_fifo", "ernic/ernic_qp_arbiter", "ernic/ernic_ack_engine"),
    cut=("sync_fifo",),
    parameters={"NUM_QP": 4},
    memories=(Memory("oldest", "dut.oldest_psn", address_width=2, width=24),),
    whole=False,
    base=4,
    cover=Search(14, environment=REGULAR),
    bugs_within=Search(11, skip=2, stride=3, environment=REGULAR),
    bugs=(
        bug(
            "the packet after the last one sent is taken",
            (ACKS, "a_psn - q_oldest < in_flight", "a_psn - q_oldest <= in_flight"),
        ),
        bug(
            "numbers are compared without regard to the wrap",
            (ACKS, "a_psn - q_oldest < in_flight", "a_psn >= q_oldest && a_psn < ack_next_psn"),
        ),
        bug(
            "a NAK acknowledges its own packet",
            (ACKS, "a_type == TYPE_ACK && !a_is_read ? a_psn", "!a_is_read ? a_psn"),
        ),
        bug(
            "a message is complete a packet early",
            (ACKS, "target - message_last_psn - 24'd1 < PSN_HALF", "target - message_last_psn < PSN_HALF"),
        ),
    ),
)

ERNIC_REGION_CHECK = Proof(
    name="ernic_region_check",
    claim="an allowed access touches no octet outside its region, addresses go round or not; what fits is allowed",
    modules=("ernic/ernic_region_check",),
    base=4,
    cover=Search(6),
    bugs_within=Search(6),
    bugs=(
        bug("an octet too many", (REGIONS, "behind <= {1'b0, length}", "behind <= {1'b0, length} + 49'd1")),
        bug("far away is near", (REGIONS, "offset[63:48] == 16'd0 && ", "")),
        bug("lengths are taken modulo 2^16", (REGIONS, "+ {17'd0, s_length};", "+ {33'd0, s_length[15:0]};")),
        bug("the upper key is not looked at", (REGIONS, "&& s_key[31:16] == 16'd0", "")),
    ),
)

ERNIC_SCHEDULER = Proof(
    name="ernic_scheduler",
    claim="no level goes before a higher one; whoever stays a candidate is among the next NUM_QP grants of its level",
    modules=("ernic/ernic_scheduler",),
    parameters={"NUM_QP": 8},
    small={"NUM_QP": 4},
    base=4,
    cover=Search(12),
    bugs_within=Search(12),
    bugs=(
        bug(
            "one turn for all levels",
            (SCHEDULER, "if (served && hand_level == LEVEL) last <= hand_qp;", "if (served) last <= hand_qp;"),
        ),
        bug(
            "level 3 before level 2",
            (
                SCHEDULER,
                "candidates[1] ? 2'd1 : candidates[2] ? 2'd2 : 2'd3",
                "candidates[1] ? 2'd1 : candidates[3] ? 2'd3 : 2'd2",
            ),
        ),
        bug("tokens are not asked for", (SCHEDULER, "(shaped_ok[qp] && level_ready[level])", "level_ready[level]")),
    ),
)

PROOFS = (
    CDC_FIFO,
    JESD204B_ELASTIC_BUFFER,
    JESD204B_LANE_COUNTERS,
    ACQUISITION_ADMISSION,
    RING_MEMORY,
    RING_BLOCKS,
    RING_SPACE,
    ERNIC_QP_ARBITER,
    ERNIC_REGION_CHECK,
    ERNIC_ACK_WINDOW,
    ERNIC_SCHEDULER,
)
