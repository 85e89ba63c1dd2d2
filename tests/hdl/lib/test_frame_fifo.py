"""frame_fifo: whole frames or none, in order, without gaps, with both ways of having no room."""

from __future__ import annotations

import os
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.lib.frames import BEAT, FrameSink, FrameSource, beats
from tests.hdl.module_bench import run_module

BEATS = 16


class Bench:
    def __init__(self, dut, seed):
        self.dut = dut
        self.rng = random.Random(seed)
        self.source = FrameSource(dut, "s_axis", self.rng)
        if int(os.environ["LOSSY"]):
            self.source._ready = None  # a source that cannot wait
        self.sink = FrameSink(dut, "m_axis", self.rng)
        self.kept = 0
        self.dropped = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())

    async def start(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        for task in (self.source.run(), self.sink.run(), self._count()):
            cocotb.start_soon(task)

    async def _count(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.kept += int(self.dut.kept.value)
            self.dropped += int(self.dut.dropped.value)

    def frame(self, most):
        return self.rng.randbytes(self.rng.randint(1, most))

    async def drain(self):
        for _ in range(20000):
            await RisingEdge(self.dut.clk)
            if self.source.idle and self.dut.m_axis_tvalid.value == 0 and int(self.dut.level.value) == 0:
                break
        await ClockCycles(self.dut.clk, 4)
        assert int(self.dut.level.value) == 0


@cocotb.test()
@cocotb.parametrize(("rates", [(1.0, 1.0), (0.6, 0.9), (1.0, 0.4)]))
async def frames_are_whole(dut, rates):
    bench = Bench(dut, 3)
    bench.source.rate, bench.sink.rate = rates
    await bench.start()
    for _ in range(150):
        bench.source.queue.append((bench.frame(5 * BEAT if rates[1] > 0.5 else 18 * BEAT), bench.rng.random() < 0.1))
    await bench.drain()
    good = [frame for frame, bad in bench.source.sent if not bad]
    assert len(bench.source.sent) == 150
    assert bench.kept == len(bench.sink.frames)
    assert bench.kept + bench.dropped == len(good)
    left = iter(good)
    assert all(frame in left for frame in bench.sink.frames), "not the frames sent, in their order"
    if not int(os.environ["LOSSY"]):
        assert bench.sink.frames == [frame for frame in good if beats(frame) <= BEATS]
        assert bench.dropped == sum(beats(frame) > BEATS for frame in good)
    else:
        assert (bench.dropped > 0) == (rates[1] < 0.5)
        assert max(map(beats, bench.sink.frames)) <= BEATS
    assert bench.sink.gaps == 0


@cocotb.test()
async def capacity(dut):
    """With a sink that takes nothing: the memory and the output register are used to the last beat."""
    bench = Bench(dut, 4)
    bench.sink.rate = 0.0
    await bench.start()
    frames = [bench.rng.randbytes(4 * BEAT) for _ in range(5)]
    for frame in frames:
        bench.source.queue.append((frame, False))
    await ClockCycles(dut.clk, 60)
    lossy = int(os.environ["LOSSY"])
    # Four frames fill it; one beat has gone on to the output register, which is not room for a fifth.
    assert bench.kept == 4
    assert bench.dropped == lossy
    bench.sink.rate = 1.0
    await bench.drain()
    assert bench.sink.frames == frames[: 5 - lossy]
    # As long as the memory is deep: kept. One beat more: dropped.
    for count in (BEATS, BEATS + 1, 2 * BEATS, 1):
        bench.source.queue.append((bench.rng.randbytes(count * BEAT), False))
        await bench.drain()
    assert [beats(frame) for frame in bench.sink.frames[5 - lossy :]] == [BEATS, 1]


@pytest.mark.parametrize(
    ("simulator", "lossy"),
    [("verilator", 1), ("verilator", 0), pytest.param("icarus", 1, marks=pytest.mark.icarus)],
)
def test_frame_fifo(simulator, lossy):
    run_module(
        "lib/frame_fifo",
        __name__,
        simulator,
        parameters={"BEATS": BEATS, "LOSSY": lossy},
        environment={"LOSSY": str(lossy)},
    )
