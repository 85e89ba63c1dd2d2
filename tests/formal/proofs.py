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
    k=2,
    cover_depth=60,
    search={"REGULAR": 1},
    parameters={"WIDTH": 2, "DEPTH": 4},
    memories=(Memory("stored", "dut.memory", address_width=2, width=2),),
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
    k=2,
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

PROOFS = (CDC_FIFO, ELASTIC_BUFFER)
