"""The lane player: every bit of every beat, over chunk edges, with the requests between."""

from __future__ import annotations

import os
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.triggers import Timer, with_timeout

from sim.bench.clocks import Clocks
from sim.bench.errors import BenchError
from sim.bench.lane_player import LanePlayer
from tests.sim.bench.variants import VARIANTS, run_bench

LANES = 8
LINKS = 4
CHUNK = 32
SILENT = f"{0:0{LANES * 8}x} {0:0{LANES}x} {'f' * LANES} {0:0{LANES}x} {0:08b}"


def random_chunk(random, beats):
    data = random.integers(0, 1 << 32, (beats, LANES), dtype=np.uint32)
    flags = random.integers(0, 1 << 12, (beats, LANES), dtype=np.uint16)
    side = random.integers(0, 256, beats, dtype=np.uint8)
    return data, flags, side


def lines_of(data, flags, side):
    """The lines that the capture writes for a chunk, by plain arithmetic on the numbers."""
    lines = []
    for beat in range(len(side)):
        words = sum(int(w) << 32 * i for i, w in enumerate(data[beat]))
        kinds = [sum((int(f) >> 4 * kind & 15) << 4 * i for i, f in enumerate(flags[beat])) for kind in range(3)]
        lines.append(f"{words:0{LANES * 8}x} " + " ".join(f"{k:0{LANES}x}" for k in kinds) + f" {side[beat]:08b}")
    return lines


def captured():
    return (Path(os.environ["EB_RUN"]) / "capture.txt").read_text().split("\n")[:-1]


async def start(dut):
    await Timer(1, "step")
    dut.sync_n.value = 0
    dut.record.value = 0
    clocks = Clocks(dut.clocks)
    await clocks.wait_cycles(3)
    return clocks, LanePlayer(dut.lanes)


@cocotb.test()
async def bit_exact_over_chunk_edges(dut):
    """Full and short chunks play without a gap; a request tells SYNC~ at the start of the chunk before."""
    clocks, player = await start(dut)
    random = np.random.default_rng(1)
    sizes = [CHUNK, CHUNK, 7, 4, CHUNK - 1, 5, CHUNK]
    chunks = [random_chunk(random, n) for n in sizes]
    dut.record.value = 1
    first_line = len(captured()) + 1
    player.supply(*chunks[0])
    beats = sizes[0]
    for i, chunk in enumerate(chunks[1:], start=1):
        request = await with_timeout(player.request(), 1, "us")
        assert (request.index, request.first_beat) == (i, beats)
        assert request.sync_n == (0 if i == 1 else 3 + i)
        dut.sync_n.value = 4 + i  # well before the next chunk begins
        player.supply(*chunk)
        beats += sizes[i]
    await with_timeout(player.request(), 1, "us")
    player.stop()
    await clocks.wait_cycles(CHUNK + 10)
    dut.record.value = 0
    lines = captured()[first_line - 1 :]
    expected = [line for chunk in chunks for line in lines_of(*chunk)]
    while lines[0] == SILENT:
        lines.pop(0)
    assert lines[: len(expected)] == expected
    assert lines[len(expected) :] and set(lines[len(expected) :]) == {SILENT}
    player.check()


@cocotb.test()
async def sync_is_that_of_the_start(dut):
    """A request that is asked for late still tells SYNC~ as it was with the first beat of the chunk."""
    clocks, player = await start(dut)
    dut.sync_n.value = 5
    player.supply(*random_chunk(np.random.default_rng(5), CHUNK))
    await clocks.wait_cycles(6)
    dut.sync_n.value = 10
    await clocks.wait_cycles(6)
    assert (await with_timeout(player.request(), 1, "us")).sync_n == 5
    player.stop()
    await clocks.wait_cycles(CHUNK + 10)


@cocotb.test()
async def stop_and_restart(dut):
    """After a stop the player is silent, and plays again when supplied; the request belongs to the new chunk."""
    clocks, _ = await start(dut)
    player = LanePlayer(dut.lanes)
    random = np.random.default_rng(2)
    for _ in range(2):
        chunk = random_chunk(random, 10)
        before = len(captured())
        dut.record.value = 1
        player.supply(*chunk)
        await with_timeout(player.request(), 1, "us")
        player.stop()
        await clocks.wait_cycles(60)
        dut.record.value = 0
        await clocks.wait_cycles(3)
        heard = [line for line in captured()[before:] if line != SILENT]
        assert heard == lines_of(*chunk)
    player.check()


@cocotb.test()
async def link_clock_changes(dut):
    """320 MHz at the start, 250 MHz after a change at run time, and back; the core clock is not moved."""
    clocks, _ = await start(dut)
    for hertz, period in ((320e6, 3_125_000), (250e6, 4_000_000), (320e6, 3_125_000)):
        clocks.set_link_frequency(hertz)
        await clocks.wait_cycles(5)
        for _ in range(6):
            await clocks.wait_cycles(1)
            assert int(dut.period.value) == period
            assert int(dut.cycle.value) == clocks.now
    with pytest.raises(ValueError, match="link clock"):
        clocks.set_link_frequency(0)


@cocotb.test()
async def cycle_arithmetic(dut):
    """Cycle numbers and times convert both ways, and a wait ends half a cycle after its edge."""
    clocks, _ = await start(dut)
    for ahead in (1, 2, 17, 1000):
        target = clocks.now + ahead
        await clocks.wait_cycle(target)
        assert clocks.now == target + 1 == int(dut.cycle.value)
        assert clocks.cycle_at(clocks.time_of(target)) == target
        assert clocks.cycle_at(clocks.time_of(target) + 1) == target + 1
    now = clocks.now
    await clocks.wait_cycle(now - 5)
    assert clocks.now == now
    assert clocks.cycles_of(500) == 162  # 161.13
    assert abs(clocks.core_period_s * 322.265625e6 - 1) < 1e-6


@cocotb.test()
async def refusals(dut):
    """Wrong shapes and lengths, and chunks that were not asked for, are refused."""
    clocks, player = await start(dut)
    random = np.random.default_rng(3)
    data, flags, side = random_chunk(random, 8)
    for bad in (
        (data[:3], flags[:3], side[:3]),
        (data[:, 1:], flags[:, 1:], side),
        (data, flags[1:], side),
        (data, flags, side[1:]),
        random_chunk(random, CHUNK + 1),
    ):
        with pytest.raises(ValueError, match="chunk"):
            player.supply(*bad)
    player.supply(data, flags, side)
    player.supply(data, flags)
    with pytest.raises(BenchError, match="not asked for"):
        player.supply(data, flags)
    player.stop()
    await clocks.wait_cycles(40)
    player.check()


@cocotb.test()
async def late_chunk_is_an_error(dut):
    """A chunk that is missing at its time fails the run. The flag is sticky, so this comes last."""
    clocks, player = await start(dut)
    random = np.random.default_rng(4)
    player.supply(*random_chunk(random, 8))
    await clocks.wait_cycles(40)
    with pytest.raises(BenchError, match="in time"):
        player.check()
    with pytest.raises(BenchError, match="in time"):
        player.supply(*random_chunk(random, 8))
    with pytest.raises(BenchError, match="in time"):
        await player.request()


@pytest.mark.parametrize(("simulator", "body"), VARIANTS)
def test_lane_player(simulator, body):
    run_bench("lane_capture", __name__, simulator, body, files={"capture": "capture.txt"})
