"""What shows only after many messages. Verilator only, a fraction of a minute."""

from __future__ import annotations

import cocotb

from tests.hdl.ernic.bench import RING_BYTES, Connection, ControlBench
from tests.hdl.ernic.model import Work
from tests.hdl.module_bench import run_module

NUMBERS = 1 << 16


@cocotb.test()
async def entry_numbers_wrap(dut):
    """More than 2^16 messages in one connection (they are empty, to make it short)."""
    bench = ControlBench(dut, latency=8)
    await bench.start()
    bench.answer_delay = 4
    queue = await bench.connect(2, Connection(pmtu=256, depth=512, index_to_memory=False))
    batch = [Work(n, 0, 0) for n in range(400)]
    while queue.posted < NUMBERS + 1000:
        await queue.post(batch)
        await bench.until(lambda: queue.responder.executed == queue.posted)
    await bench.settle()
    assert await queue.read("CQHEAD") == queue.posted % 512
    assert await queue.read("STATSSN") == queue.posted
    assert await queue.read("STATQP") & 0x601 == 0x600
    assert await bench.read("RETRANSMITTED") == 0
    assert len(queue.completions()) == queue.posted


def test_ernic_long():
    run_module("ernic/ernic_control", __name__, "verilator", parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32})
