"""acquisition_clock: increments, the turn of a second, loading."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

SECOND = 10**9 << 24  # units of 2^-24 ns


def stamp(total):
    """The timestamp of ``total`` units of 2^-24 ns."""
    return total // SECOND << 32 | total % SECOND >> 22


@cocotb.test()
async def test_runs_and_turns(dut):
    rng = random.Random(1)
    dut.rst.value = 1
    dut.load.value = 0
    dut.increment.value = 0
    cocotb.start_soon(Clock(dut.clk, 3126, unit="ps").start())
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    for increment in (0x03200000, 0x04000000, 0xFFFFFFFF, rng.getrandbits(32)):
        dut.increment.value = increment
        seconds = rng.getrandbits(16)
        quarters = 4 * 10**9 - rng.randint(4, 500)
        dut.load_seconds.value = seconds
        dut.load_quarters.value = quarters
        await ClockCycles(dut.clk, 3)
        dut.load.value = 1
        await RisingEdge(dut.clk)
        dut.load.value = 0
        total = seconds * SECOND + (quarters << 22)
        for _ in range(200):
            await RisingEdge(dut.clk)
            assert int(dut.timestamp.value) == stamp(total)
            total += increment
        assert total // SECOND == seconds + 1


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_acquisition_clock(simulator):
    run_module("acquisition/acquisition_clock", __name__, simulator)
