"""All proofs, and the bugs that each of them must find."""

from __future__ import annotations

from tests.formal.prover import Memory, Mutation, Proof

CDC_FIFO = Proof(
    name="cdc_fifo",
    claim="words cross once, in order, unchanged, whatever the clocks; pointers change by one bit",
    top="cdc_fifo_properties",
    sources=("tests/formal/models/cdc_sync.v", "hdl/lib/cdc_fifo.v"),
    clocks=2,
    depth=16,
    k=1,
    cover_depth=60,
    search={"REGULAR": 1},
    parameters={"WIDTH": 8, "DEPTH": 64},
    small={"WIDTH": 2, "DEPTH": 4},
    memories=(Memory("stored", "dut.memory", address_width=6, width=8),),
    mutations=(
        Mutation(
            name="full one word late",
            source="hdl/lib/cdc_fifo.v",
            substitutions=(("!s_level[ADDRESS_WIDTH] && !s_reset", "s_level <= DEPTH && !s_reset"),),
            depth=40,
            parameters={"REGULAR": 1},
        ),
        Mutation(
            name="binary pointers cross",
            source="hdl/lib/cdc_fifo.v",
            substitutions=(
                ("s_pointer_gray <= s_next ^ s_next >> 1", "s_pointer_gray <= s_next"),
                ("m_pointer_gray <= m_next ^ m_next >> 1", "m_pointer_gray <= m_next"),
                ("s_pointer - gray_to_binary(s_read_gray)", "s_pointer - s_read_gray"),
            ),
            depth=40,
            parameters={"REGULAR": 1},
        ),
        Mutation(
            name="fetch over a word that waits",
            source="hdl/lib/cdc_fifo.v",
            substitutions=(("&& (!m_full || m_ready)", ""),),
            depth=40,
            parameters={"REGULAR": 1},
        ),
    ),
)

ELASTIC_BUFFER = Proof(
    name="elastic_buffer",
    claim="beats leave in order, unchanged; the fill is exact; overflow and underflow are told exactly",
    top="jesd204b_elastic_buffer_properties",
    sources=("hdl/jesd204b/jesd204b_elastic_buffer.v",),
    depth=8,
    k=1,
    parameters={"DEPTH": 512, "KINDS_WIDTH": 6},
    cover_depth=16,
    small={"DEPTH": 256, "KINDS_WIDTH": 2},
    search={"REGULAR": 1},
    memories=(
        Memory("data", "dut.data_memory", address_width=9, width=32),
        Memory("kinds", "dut.kinds_memory", address_width=9, width=6),
    ),
    mutations=(
        Mutation(
            name="underflow hidden by a write",
            source="hdl/jesd204b/jesd204b_elastic_buffer.v",
            substitutions=(("underflow <= empty;", "underflow <= empty && !write;"),),
            depth=8,
        ),
        Mutation(
            name="fill moves while both sides run",
            source="hdl/jesd204b/jesd204b_elastic_buffer.v",
            substitutions=(("if (write && !read) begin", "if (write) begin"),),
            depth=8,
        ),
        Mutation(
            name="marks a beat early",
            source="hdl/jesd204b/jesd204b_elastic_buffer.v",
            substitutions=(("kinds_memory[read_pointer]", "kinds_memory[read_pointer + 1'b1]"),),
            depth=8,
        ),
    ),
)

RING_BLOCKS = Proof(
    name="ring_blocks",
    claim="no block is lost; the interrupt comes, stays until acknowledged, and never for nothing; entries are kept",
    top="ring_blocks_properties",
    sources=("hdl/ring/ring_blocks.v",),
    depth=6,
    k=1,
    cover_depth=24,
    parameters={"ENTRIES": 256},
    small={"ENTRIES": 4},
    memories=(
        Memory("table", "dut.table_memory", address_width=8, width=128),
        Memory("ends", "dut.end_memory", address_width=8, width=20),
        Memory("times", "dut.time_memory", address_width=8, width=32),
    ),
    mutations=(
        Mutation(
            name="a commit during an acknowledgement is lost",
            source="hdl/ring/ring_blocks.v",
            substitutions=(("if (commit) block_count", "if (commit && !ack_taken) block_count"),),
            depth=10,
        ),
        Mutation(
            name="any acknowledgement ends the wait for a frame",
            source="hdl/ring/ring_blocks.v",
            substitutions=(("if (ack_taken && unacknowledged - ack_step <= after_latest_end)", "if (ack_taken)"),),
            depth=16,
        ),
        Mutation(
            name="the interrupt falls with its condition",
            source="hdl/ring/ring_blocks.v",
            substitutions=(
                ("if (ack_taken) begin\n            irq", "if (ack_taken || !condition) begin\n            irq"),
            ),
            depth=12,
        ),
        Mutation(
            name="entries are taken again when acknowledged",
            source="hdl/ring/ring_blocks.v",
            substitutions=(("not_acknowledged > not_freed ? not_acknowledged : not_freed", "not_acknowledged"),),
            depth=20,
        ),
        Mutation(
            name="a stale interrupt after an acknowledgement",
            source="hdl/ring/ring_blocks.v",
            substitutions=(("condition <= !ack_taken && (", "condition <= ("),),
            depth=12,
        ),
    ),
)

RING_SPACE = Proof(
    name="ring_space",
    claim="no word is overwritten before its release; blocks tile the frame and are announced when they are written",
    top="ring_space_properties",
    sources=(
        "hdl/ring/ring_buffer.v",
        "hdl/ring/ring_writer.v",
        "hdl/ring/ring_release.v",
        "hdl/ring/ring_level.v",
        "hdl/ring/ring_memory.v",
        "hdl/ring/ring_bank.v",
        "hdl/ring/ring_blocks.v",
        "hdl/ring/ring_registers.v",
    ),
    cut=("ring_memory", "ring_blocks", "ring_registers"),
    depth=4,
    k=1,
    cover_depth=36,
    parameters={"RING_BYTES": 4194304},
    small={"RING_BYTES": 65536},
    search={"REGULAR": 1},
    memories=(Memory("marks", "dut.acknowledged.marks", address_width=10, width=1),),
    mutations=(
        Mutation(
            name="a block is announced a word early",
            source="hdl/ring/ring_writer.v",
            substitutions=(("commit <= take && block_end;", "commit <= take && (block_end || words_left == 25'd2);"),),
            depth=32,
            skip=16,
            stride=8,
            parameters={"REGULAR": 1},
        ),
        Mutation(
            name="one granule too many is admitted",
            source="hdl/ring/ring_writer.v",
            substitutions=(("need_granules <= GRANULES[20:0] -", "need_granules <= GRANULES[20:0] + 21'd1 -"),),
            depth=90,
            skip=60,
            stride=10,
            parameters={"REGULAR": 2},
            slow=True,
        ),
        Mutation(
            name="a granule that is not written is marked",
            source="hdl/ring/ring_release.v",
            substitutions=(("(walking && held)", "walking"),),
            depth=40,
            skip=24,
            stride=8,
            parameters={"REGULAR": 1},
            slow=True,
        ),
        Mutation(
            name="a release that begins inside a granule frees it",
            source="hdl/ring/ring_release.v",
            substitutions=(("start_wide[32:12] + {20'd0, |start[11:0]}", "start_wide[32:12]"),),
            depth=40,
            skip=16,
            stride=8,
            parameters={"REGULAR": 1},
            slow=True,
        ),
        Mutation(
            name="the mark of the granule before is acted upon",
            source="hdl/ring/ring_release.v",
            substitutions=(("if (looked && any_held &&", "if (any_held &&"),),
            depth=40,
            skip=16,
            stride=8,
            parameters={"REGULAR": 1},
            slow=True,
        ),
    ),
)

PROOFS = (CDC_FIFO, ELASTIC_BUFFER, RING_BLOCKS, RING_SPACE)
