"""ernic_shaper: rates over long runs, exact bursts, many queue pairs, changes on the fly, debits beyond all measure.

Simulated time is long here, so the bench wakes when something changes, not every clock.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, ValueChange
from cocotb.utils import get_sim_time

from tests.hdl.module_bench import run_module

CLOCK_NS = 4
# Core clocks a second on the board, to speak of rates in bits a second.
CLOCK_HZ = Fraction(322_265_625)
OVERHEAD = 24
UNIT = Fraction(1, 1 << 26)
TOLERANCE = Fraction(1, 1000)
ISSUE_CLOCKS = 4


def code(bits_a_second: float) -> int:
    """Register value that is nearest to a rate."""
    return round(Fraction(bits_a_second) / 8 / CLOCK_HZ / UNIT)


def wire(octets: int) -> int:
    return max(octets, 60) + OVERHEAD


class Bench:
    """Configuration memory, and one sender a queue pair that issues whenever it may."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.queue_pairs = len(dut.shaped_ok)
        self.rates = [0] * self.queue_pairs
        self.sent = [0] * self.queue_pairs
        self.packets = [0] * self.queue_pairs

    async def start(self) -> None:
        dut = self.dut
        for name in ("write_valid", "port_rate", "port_size", "debit_valid", "debit_qp", "debit_octets"):
            getattr(dut, name).value = 0
        dut.sweep_valid.value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        dut.sweep_valid.value = 1
        await ClockCycles(dut.clk, 5)
        assert int(dut.shaped_ok.value) == (1 << self.queue_pairs) - 1
        await FallingEdge(dut.clk)
        dut.sweep_valid.value = 0
        await FallingEdge(dut.clk)

    async def configure(self, qp: int, rate: int, size: int) -> None:
        """Write both, and wait for a turn of refills, so that they are in use."""
        dut = self.dut
        self.rates[qp] = rate
        await FallingEdge(dut.clk)
        dut.write_valid.value = 1
        dut.write_qp.value = qp
        dut.write_rate.value = rate
        dut.write_size.value = size
        await FallingEdge(dut.clk)
        dut.write_valid.value = 0
        await ClockCycles(dut.clk, 4 * self.queue_pairs + 8)
        await FallingEdge(dut.clk)

    def may(self, qp: int) -> bool:
        return bool(int(self.dut.shaped_ok.value) >> qp & 1)

    async def issue(self, qp: int, octets: int) -> None:
        """One packet, and the clocks that the requester takes for one; the answer to a debit has come by then."""
        dut = self.dut
        dut.debit_valid.value = 1
        dut.debit_qp.value = qp
        dut.debit_octets.value = octets
        await FallingEdge(dut.clk)
        dut.debit_valid.value = 0
        self.sent[qp] += wire(octets)
        self.packets[qp] += 1
        await ClockCycles(dut.clk, ISSUE_CLOCKS + 2)
        await FallingEdge(dut.clk)

    async def run(self, packets: int, octets: dict[int, int]) -> None:
        """Queue pairs of ``octets`` take turns until that many packets have been sent."""
        dut = self.dut
        turn = 0
        order = list(octets)
        for _ in range(packets):
            while not any(self.may(qp) for qp in order):
                await ValueChange(dut.shaped_ok)
                await FallingEdge(dut.clk)
            while not self.may(order[turn % len(order)]):
                turn += 1
            qp = order[turn % len(order)]
            turn += 1
            await self.issue(qp, octets[qp])

    async def drain(self, qp: int, octets: int) -> int:
        """Send until there are no tokens; return the wire bytes sent."""
        before = self.sent[qp]
        while self.may(qp):
            await self.issue(qp, octets)
        return self.sent[qp] - before

    def clocks(self) -> Fraction:
        return Fraction(int(get_sim_time("ns"))) / CLOCK_NS

    async def measured(self, qp: int, octets: int, packets: int) -> Fraction:
        """Wire bytes a clock, from one end of the tokens to another."""
        await self.drain(qp, octets)
        await self.until(qp)
        begin = self.clocks()
        await self.run(packets, {qp: octets})
        await self.until(qp)
        return Fraction(packets * wire(octets)) / (self.clocks() - begin)

    async def until(self, qp: int) -> None:
        while not self.may(qp):
            await ValueChange(self.dut.shaped_ok)
            await ReadOnly()
        await FallingEdge(self.dut.clk)


def exact_enough(measured: Fraction, wanted: Fraction, what: str) -> None:
    error = measured / wanted - 1
    cocotb.log.info("%s: %.7f of the rate", what, float(measured / wanted))
    assert abs(error) < TOLERANCE, f"{what}: off by {float(error):.5%}"


@cocotb.test()
async def the_scale_is_fine_enough(dut):
    """From 1 Mb/s to 100 Gb/s the nearest code is within a tenth of the tolerance."""
    rng = random.Random(1)
    for _ in range(2000):
        rate = 10 ** rng.uniform(6, 11)
        given = code(rate) * UNIT * 8 * CLOCK_HZ
        assert abs(given / Fraction(rate) - 1) < TOLERANCE / 10
    assert code(100e9) < 1 << 32


@cocotb.test()
async def rates_hold_over_time(dut):
    bench = Bench(dut)
    await bench.start()
    # Octets and packets so that a turn of refills is a small part of the time.
    for rate, octets, packets in (
        (1e6, 60, 2),
        (50e6, 330, 30),
        (3e9, 1082, 120),
        (25e9, 4154, 250),
        (98e9, 4170, 500),
    ):
        qp = bench.queue_pairs - 1
        await bench.configure(qp, code(rate), 20000)
        measured = await bench.measured(qp, octets, packets)
        exact_enough(measured * 8 * CLOCK_HZ, Fraction(rate), f"{rate / 1e6} Mb/s")


@cocotb.test()
async def bursts_are_exact(dut):
    """A full bucket lets exactly its bytes through, rounded up to whole packets; then nothing, at a rate near zero."""
    bench = Bench(dut)
    await bench.start()
    for qp, size, octets in (
        (0, 1, 60),
        (0, 84, 60),
        (1, 85, 20),
        (1, 40000, 4154),
        (2, 0, 1082),
        (3, 8 << 20, 8000),
    ):
        await bench.configure(qp, 0, size)
        await bench.configure(qp, 1, size)
        packets = -(-(size or 65536) // wire(octets))
        assert await bench.drain(qp, octets) == packets * wire(octets)
        await ClockCycles(dut.clk, 200)
        assert not bench.may(qp)
        assert all(bench.may(other) for other in range(bench.queue_pairs) if bench.rates[other] == 0)


@cocotb.test()
async def many_queue_pairs_and_the_port(dut):
    """All at once, each at a rate of its own; then the port's bucket holds their sum down."""
    bench = Bench(dut)
    await bench.start()
    rates = [2e9 * 1.3**qp for qp in range(bench.queue_pairs)]
    scale = min(1.0, 60e9 / sum(rates))
    rates = [rate * scale for rate in rates]
    for qp, rate in enumerate(rates):
        await bench.configure(qp, code(rate), 12000)
    octets = {qp: 1500 + 60 * qp for qp in range(bench.queue_pairs)}
    await bench.run(20 * bench.queue_pairs, octets)
    begin, before = bench.clocks(), list(bench.sent)
    await bench.run(500 * bench.queue_pairs, octets)
    elapsed = bench.clocks() - begin
    for qp, rate in enumerate(rates):
        owed = Fraction(code(rate)) * UNIT * elapsed
        # All but what a bucket may hold or owe at either end.
        assert abs(bench.sent[qp] - before[qp] - owed) < 2 * wire(octets[qp]) + 300, f"queue pair {qp}"
    dut.port_rate.value = code(5e9)
    dut.port_size.value = 9000
    await bench.run(40, octets)
    begin, total = bench.clocks(), sum(bench.sent)
    await bench.run(900, octets)
    measured = Fraction(sum(bench.sent) - total) / (bench.clocks() - begin)
    error = abs(measured * 8 * CLOCK_HZ / Fraction(5e9) - 1)
    assert error < 2 * TOLERANCE, f"port: off by {float(error):.5%}"
    dut.port_rate.value = 0
    for qp in range(bench.queue_pairs):
        await bench.configure(qp, 0, 12000)
    assert int(dut.shaped_ok.value) == (1 << bench.queue_pairs) - 1


@cocotb.test()
async def changes_take_effect_at_once(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.configure(0, code(1e9), 10000)
    exact_enough(await bench.measured(0, 1082, 80) * 8 * CLOCK_HZ, Fraction(1e9), "before")
    await bench.configure(0, code(7e9), 10000)
    exact_enough(await bench.measured(0, 1082, 200) * 8 * CLOCK_HZ, Fraction(7e9), "after")
    # Smaller: what the bucket holds beyond is lost with the next refill.
    await ClockCycles(dut.clk, 12000)
    await bench.configure(0, 1, 2000)
    assert await bench.drain(0, 976) == 2000
    # No limit: sends again within a turn.
    await bench.configure(0, 0, 2000)
    assert bench.may(0)


@cocotb.test()
async def nothing_wraps_below(dut):
    """Debits without end never make a level positive, and what was owed is bounded."""
    bench = Bench(dut)
    await bench.start()
    await bench.configure(1, 1, 1000)
    dut.debit_qp.value = 1
    dut.debit_octets.value = 8191
    for _ in range(2200):
        dut.debit_valid.value = 1
        await FallingEdge(dut.clk)
        dut.debit_valid.value = 0
        await FallingEdge(dut.clk)
    assert not bench.may(1)
    begin = bench.clocks()
    await bench.configure(1, (1 << 32) - 1, 1000)
    await bench.until(1)
    # At most 2^23 bytes and a packet were owed, at 64 bytes a clock.
    waited = bench.clocks() - begin
    assert (1 << 23) / 64 * 0.99 < waited < ((1 << 23) + 9000) / 64 + 4 * bench.queue_pairs + 8


@pytest.mark.parametrize(
    ("simulator", "queue_pairs", "testcase"),
    [
        ("verilator", 16, None),
        # Minutes of simulation otherwise.
        pytest.param("icarus", 4, "bursts_are_exact", marks=pytest.mark.icarus),
    ],
)
def test_ernic_shaper(simulator, queue_pairs, testcase):
    run_module(
        str(Path(__file__).parent / "hdl" / "shaper_bench"),
        __name__,
        simulator,
        parameters={"NUM_QP": queue_pairs},
        testcase=testcase,
    )
