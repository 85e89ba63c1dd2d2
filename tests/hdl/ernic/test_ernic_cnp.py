"""ernic_cnp: one notification for marked packets, to the right peer, never two within the interval."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

INTERVAL = 400
CE = 3
PEER = {"peer_pkey": 0x8000, "peer_ttl": 0x40, "peer_qpn": 0x110000, "peer_mac": 0x020000000000, "peer_ip": 0x0A000000}
OUTPUTS = {
    "peer_pkey": "m_cmd_pkey",
    "peer_ttl": "m_cmd_ttl",
    "peer_qpn": "m_cmd_dest_qpn",
    "peer_mac": "m_cmd_dest_mac",
    "peer_ip": "m_cmd_dest_ip",
}


class Bench:
    """Peers by index, and a sink of commands that is ready in a share of cycles."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(17)
        self.queue_pairs = len(dut.qp_enabled)
        self.cycle = 0
        self.ready_rate = 1.0
        self.sent: list[tuple[int, int]] = []
        self.scheduled = 0
        for name in (*PEER, "s_valid", "s_ecn", "s_opcode", "s_qpn", "m_cmd_ready"):
            getattr(dut, name).value = 0
        dut.qp_enabled.value = (1 << self.queue_pairs) - 1
        dut.interval.value = INTERVAL
        dut.traffic_class.value = 0xC0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())

    async def start(self) -> None:
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        cocotb.start_soon(self._run())
        await ClockCycles(self.dut.clk, 2 * self.queue_pairs)

    async def _run(self) -> None:
        dut = self.dut
        ready = 0
        held = None
        while True:
            await RisingEdge(dut.clk)
            self.cycle += 1
            self.scheduled += int(dut.schedule_valid.value)
            if dut.peer_load.value == 1:
                index = int(dut.peer_qp.value)
                for name, base in PEER.items():
                    getattr(dut, name).value = base + index
            if dut.m_cmd_valid.value == 1:
                qp = int(dut.m_cmd_qp.value)
                command = tuple(int(getattr(dut, name).value) for name in OUTPUTS.values())
                assert command == tuple(base + qp for base in PEER.values())
                assert held is None or held == (qp, command), "command changed while it waited"
                assert (int(dut.m_cmd_opcode.value), int(dut.m_cmd_traffic_class.value)) == (0x81, 0xC0)
                held = None if ready else (qp, command)
                if ready:
                    self.sent.append((qp, self.cycle))
            else:
                assert held is None, "command withdrawn"
            ready = int(self.rng.random() < self.ready_rate)
            dut.m_cmd_ready.value = ready

    async def receive(self, qpn: int, ecn: int = CE, opcode: int = 0x0A) -> None:
        dut = self.dut
        await FallingEdge(dut.clk)
        dut.s_valid.value = 1
        dut.s_ecn.value = ecn
        dut.s_opcode.value = opcode
        dut.s_qpn.value = qpn
        await FallingEdge(dut.clk)
        dut.s_valid.value = 0
        dut.s_ecn.value = CE


@cocotb.test()
async def one_mark_one_notification(dut):
    bench = Bench(dut)
    await bench.start()
    for qpn in (1, 2, bench.queue_pairs):
        before = bench.cycle
        await bench.receive(qpn)
        await ClockCycles(dut.clk, 2 * bench.queue_pairs + 10)
        assert [qp for qp, cycle in bench.sent if cycle > before] == [qpn - 1]
    count = len(bench.sent)
    await ClockCycles(dut.clk, 2 * INTERVAL)
    for qpn, ecn, opcode in (
        (1, 0, 10),
        (1, 1, 10),
        (1, 2, 10),
        (1, CE, 0x81),
        (0, CE, 10),
        (bench.queue_pairs + 1, CE, 10),
    ):
        await bench.receive(qpn, ecn, opcode)
    dut.qp_enabled.value = ((1 << bench.queue_pairs) - 1) & ~2
    await bench.receive(2)
    await ClockCycles(dut.clk, 2 * INTERVAL)
    assert len(bench.sent) == count
    assert int(dut.scheduled.value) == 0


@cocotb.test()
@cocotb.parametrize(("ready_rate", [1.0, 0.02]))
async def intervals_are_kept(dut, ready_rate):
    """Marks all the time, in all queue pairs: one notification an interval each, never two, also if they must wait."""
    bench = Bench(dut)
    bench.ready_rate = ready_rate
    await bench.start()
    while bench.cycle < 12 * INTERVAL:
        await bench.receive(bench.rng.randint(1, bench.queue_pairs))
    round_clocks = bench.queue_pairs
    for qp in range(bench.queue_pairs):
        times = [cycle for sent, cycle in bench.sent if sent == qp]
        gaps = [after - before for before, after in pairwise(times)]
        assert len(times) >= 4
        assert min(gaps) >= INTERVAL, f"queue pair {qp}: {min(gaps)}"
        if ready_rate == 1.0:
            # Marks come about every other clock, to all in turn: some rounds later at most.
            assert max(gaps) <= INTERVAL + 2 * round_clocks + 60 * bench.queue_pairs
    assert len(bench.sent) <= bench.scheduled <= len(bench.sent) + bench.queue_pairs + 1


@cocotb.test()
async def an_interval_of_zero_answers_each_mark(dut):
    bench = Bench(dut)
    dut.interval.value = 0
    await bench.start()
    for _ in range(10):
        await bench.receive(2)
        await ClockCycles(dut.clk, 4 * bench.queue_pairs + 10)
    assert [qp for qp, _ in bench.sent] == [1] * 10
    # Disabled while scheduled: forgotten.
    bench.ready_rate = 0.0
    await bench.receive(1)
    await ClockCycles(dut.clk, 4 * bench.queue_pairs)
    await bench.receive(2)
    dut.qp_enabled.value = 1
    await ClockCycles(dut.clk, 2)
    dut.qp_enabled.value = 3
    bench.ready_rate = 1.0
    await ClockCycles(dut.clk, 4 * bench.queue_pairs + 10)
    assert [qp for qp, _ in bench.sent][10:] == [0]


@pytest.mark.parametrize("queue_pairs", [5])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_cnp(simulator, queue_pairs):
    run_module("ernic/ernic_cnp", __name__, simulator, parameters={"NUM_QP": queue_pairs})
