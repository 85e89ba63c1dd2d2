"""The MAC port: collecting, replaying, pacing, and the rules that it enforces."""

from __future__ import annotations

import os
import random

import cocotb
import pytest
from cocotb.triggers import Timer, with_timeout

from sim.bench.clocks import Clocks
from sim.bench.errors import BenchError
from sim.bench.mac_port import MacPort, line_octets
from tests.sim.bench.variants import VARIANTS, run_bench


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.random = random.Random(1)

    async def start(self):
        # Signals have their initial values only when simulation has begun.
        await Timer(1, "step")
        self.clocks = Clocks(self.dut.clocks)
        self.mac = MacPort(self.dut.mac, self.clocks)
        self.dut.misbehave.value = 0
        self.mac.set_rate(100)
        self.dut.rst.value = 1
        await self.clocks.wait_cycles(4)
        self.dut.rst.value = 0
        await self.clocks.wait_cycles(4)
        while self.dut.busy.value:
            await self.clocks.wait_cycles(50)
        self.mac.take()

    async def collect(self, count):
        frames = []
        while len(frames) < count:
            await with_timeout(self.mac.frame(), 200, "us")
            frames += self.mac.take()
        assert len(frames) == count
        return frames


@cocotb.test()
async def lengths_and_stamps(dut):
    """Frames of all kinds of lengths come back unchanged, stamped with cycles that fit their beats and each other."""
    tb = TB(dut)
    await tb.start()
    lengths = [60, 61, 63, 64, 65, 127, 128, 129, 191, 1023, 1024, 1025, 1500, 4153, 4154, 4160, 4299, 4300]
    sent = [tb.random.randbytes(n) for n in lengths]
    for frame in sent:
        tb.mac.inject(frame, 0)
    frames = await tb.collect(len(sent))
    assert [f.data for f in frames] == sent
    before = -1
    for frame in frames:
        beats = -(-len(frame.data) // 64)
        assert frame.first_cycle > before
        assert frame.last_cycle >= frame.first_cycle + beats - 1
        before = frame.last_cycle
    assert before < tb.clocks.now
    tb.mac.check()


@cocotb.test()
async def one_octet_and_longest(dut):
    """The limits of a frame's length."""
    tb = TB(dut)
    await tb.start()
    sent = [b"\x5a", tb.random.randbytes(8192), b"\xa5" * 2]
    for frame in sent:
        tb.mac.inject(frame, 0)
    assert [f.data for f in await tb.collect(3)] == sent
    for bad in (b"", bytes(8193)):
        with pytest.raises(ValueError, match="octets"):
            tb.mac.inject(bad, 0)
    tb.mac.check()


@cocotb.test()
async def injection_times(dut):
    """A frame's first beat arrives at its cycle, or right behind the one before; later calls may go first; no gaps."""
    tb = TB(dut)
    await tb.start()
    first = int(dut.arrivals.value)
    base = tb.clocks.now + 1
    # (cycle, beats, expected offset), in the order of the calls
    plan = [
        (base, 2, 0),  # the earliest possible
        (base + 50, 3, 50),
        (base + 51, 4, 53),  # due while the one before is played
        (base + 54, 1, 57),
        (base + 200, 2, 200),
        (base + 120, 5, 120),  # called later, due earlier
        (base + 120, 1, 125),  # same cycle, called later
        (base + 300, 1, 300),
    ]
    for cycle, beats, _ in plan:
        tb.mac.inject(tb.random.randbytes(64 * beats), cycle)
    await tb.collect(len(plan))
    count = (int(dut.arrivals.value) - first) % 256
    seen = [int(dut.arrival[(first + i) % 256].value) for i in range(count)]
    assert seen == [(base + offset) % 65536 for offset in sorted(p[2] for p in plan)]
    # Injected too late: as soon as possible, which is the next cycle but one.
    await tb.clocks.wait_cycles(7)
    index = int(dut.arrivals.value)
    now = tb.clocks.now
    tb.mac.inject(bytes(60), now - 5)
    await tb.collect(1)
    assert int(dut.arrival[index].value) == (now + 1) % 65536
    assert not dut.gap.value
    tb.mac.check()


@cocotb.test()
async def bad_fcs(dut):
    """The mark of a bad FCS comes with the frame it belongs to."""
    tb = TB(dut)
    await tb.start()
    before = int(dut.bad_frames.value)
    for i in range(3):
        tb.mac.inject(bytes(70 + i), 0, bad_fcs=i == 1)
    await tb.collect(3)
    assert int(dut.bad_frames.value) == before + 1


@cocotb.test()
async def many_at_once(dut):
    """More frames at once than the hardware of the VPI body holds, back to back."""
    tb = TB(dut)
    await tb.start()
    tb.mac.set_rate(170)
    sent = [tb.random.randbytes(tb.random.randint(60, 200)) for _ in range(90)]
    for frame in sent:
        tb.mac.inject(frame, 0)
    assert [f.data for f in await tb.collect(len(sent))] == sent
    tb.mac.set_rate(100)
    tb.mac.check()


@cocotb.test()
async def pacing(dut):
    """A source that always has data gets exactly the line rate, overhead and padding included."""
    tb = TB(dut)
    for gigabits, octets, count in ((100, 4154, 30), (100, 60, 200), (100, 41, 200), (25, 300, 60), (97.3, 1090, 60)):
        await tb.start()
        tb.mac.set_rate(gigabits)
        for _ in range(count):
            tb.mac.inject(tb.random.randbytes(octets), 0)
        frames = await tb.collect(count)
        # Without the first frames, in which the saved credit of the idle line is spent.
        begin, end = frames[count // 3].last_cycle, frames[-1].last_cycle
        measured = (count - 1 - count // 3) * octets * 8 / ((end - begin) * tb.clocks.core_period_s) / 1e9
        expected = gigabits * octets / line_octets(octets)
        # A beat is 64 octets: the ends of the interval are no better known.
        tolerance = max(0.001, 88 / ((end - begin) * gigabits / 8 * tb.clocks.core_period_s * 1e9))
        cocotb.log.info("%s Gb/s, %d octets: %.3f of %.3f Gb/s", gigabits, octets, measured, expected)
        assert abs(measured / expected - 1) < tolerance
    tb.mac.set_rate(100)
    tb.mac.check()


@cocotb.test()
async def pacing_long(dut):
    """The rate of full frames is met within 0.1 %."""
    if os.environ["EB_SIMULATOR"] == "icarus":
        return
    tb = TB(dut)
    await tb.start()
    count, octets = 600, 4154
    frame = tb.random.randbytes(octets)
    frames = []
    pending = 20
    for _ in range(pending):
        tb.mac.inject(frame, 0)
    while len(frames) < count:
        await tb.mac.frame()
        for one in tb.mac.take():
            frames.append(one)
            if pending < count:
                tb.mac.inject(frame, 0)
                pending += 1
    cycles = frames[-1].last_cycle - frames[100].last_cycle
    measured = (count - 101) * octets * 8 / (cycles * tb.clocks.core_period_s) / 1e9
    assert abs(measured / (100 * octets / line_octets(octets)) - 1) < 0.001
    tb.mac.check()


@cocotb.test()
async def idle_line_saves_little(dut):
    """After a pause a frame starts at once and is never more than two beats ahead of the line."""
    tb = TB(dut)
    await tb.start()
    await tb.clocks.wait_cycles(100)
    tb.mac.inject(tb.random.randbytes(4096), 0)
    frame = (await tb.collect(1))[0]
    octets_per_cycle = 12.5e9 * tb.clocks.core_period_s
    line_cycles = 4096 / octets_per_cycle
    assert line_cycles - 2 * 64 / octets_per_cycle - 2 < frame.last_cycle - frame.first_cycle < line_cycles


@cocotb.test()
async def stalled_line(dut):
    """Rate 0 holds the design back until the rate is set again."""
    tb = TB(dut)
    await tb.start()
    tb.mac.set_rate(0)
    await tb.clocks.wait_cycles(2)
    tb.mac.inject(bytes(100), 0)
    await tb.clocks.wait_cycles(300)
    assert tb.mac.take() == []
    resumed = tb.clocks.now
    tb.mac.set_rate(100)
    frame = (await tb.collect(1))[0]
    assert resumed <= frame.first_cycle <= resumed + 3
    with pytest.raises(ValueError, match="line rate"):
        tb.mac.set_rate(-1)


@cocotb.test()
async def reset_discards_partial_frame(dut):
    """What had left of a frame before a reset does not become part of the next."""
    tb = TB(dut)
    await tb.start()
    tb.mac.inject(bytes(1024), 0)
    await tb.clocks.wait_cycles(12)
    dut.rst.value = 1
    await tb.clocks.wait_cycles(40)
    dut.rst.value = 0
    rest = (await tb.collect(1))[0]
    assert len(rest.data) < 1024
    tb.mac.check()


@cocotb.test()
async def rules(dut):
    """Each broken rule is found and named. Errors are sticky, so this comes last."""
    tb = TB(dut)
    await tb.start()
    rules = {1: "withdrawn", 2: "changed", 3: "hole", 4: "without an octet", 5: "more than 8192"}
    if os.environ["EB_SIMULATOR"] == "icarus":
        rules[6] = "undefined"
    assert tb.mac.error() is None
    for kind, text in rules.items():
        await tb.start()
        before = str(tb.mac.error())
        if kind != 2:  # shares its flag with 1
            assert text not in before
        dut.misbehave.value = kind
        for _ in range(3):
            tb.mac.inject(bytes(3000), 0)
        with pytest.raises(BenchError, match=text):
            while True:
                await with_timeout(tb.mac.frame(), 100, "us")
                tb.mac.take()
                tb.mac.check()
        dut.misbehave.value = 0
    dut.rst.value = 1


@cocotb.test()
async def frames_left_untaken(dut):
    """The VPI body cannot hold more frames than it has slots; the C++ body can."""
    tb = TB(dut)
    dut.rst.value = 1
    await tb.start()
    tb.mac.set_rate(170)
    for _ in range(40):
        tb.mac.inject(bytes(64), 0)
    await tb.clocks.wait_cycles(200)
    if os.environ["EB_BODY"] == "vpi":
        assert "did not take" in str(tb.mac.error())
    else:
        assert len(tb.mac.take()) == 40


@pytest.mark.parametrize(("simulator", "body"), VARIANTS)
def test_mac_port(simulator, body):
    run_bench("mac_loopback", __name__, simulator, body)
