"""ernic_starvation: both counters of both levels against a model, every clock."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from tests.hdl.module_bench import SIMULATORS, run_module


@cocotb.test()
async def counters_follow_the_model(dut):
    rng = random.Random(5)
    for name in ("waiting", "busy_valid", "busy_level", "served_valid"):
        getattr(dut, name).value = 0
    dut.clear.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    for _ in range(2):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    clocks = {2: 0, 3: 0}
    waits = {2: 0, 3: 0}
    longest = {2: 0, 3: 0}
    before = dict(longest)
    seen = 0
    for step in range(6000):
        # Long stretches in which the highest level has always, mostly or never something.
        pressure = (1.0, 0.6, 0.0)[step // 60 % 3]
        level_1 = rng.random() < pressure
        candidates = level_1 | (rng.random() < 0.97) << 1 | (rng.random() < 0.97) << 2
        busy = rng.random() < 0.7
        level = rng.choice((1, 1, 2, 2, 3)) if pressure else 3
        served = busy and rng.random() < 0.3
        clear = rng.random() < 0.002
        dut.waiting.value = candidates
        dut.busy_valid.value = int(busy)
        dut.busy_level.value = level
        dut.served_valid.value = int(served)
        dut.clear.value = int(clear)
        await FallingEdge(dut.clk)
        for n in (2, 3):
            behind = candidates >> (n - 1) & 1 and (candidates & ((1 << (n - 1)) - 1) or (busy and level < n))
            before[n] = max(longest[n], waits[n])
            clocks[n] += bool(behind)
            if not candidates >> (n - 1) & 1 or (served and level == n):
                waits[n] = 0
            elif behind or waits[n]:
                waits[n] += 1
            longest[n] = before[n]
        if clear:
            seen = max(seen, *longest.values())
            for counters in (clocks, waits, longest):
                counters.update({2: 0, 3: 0})
        assert (int(dut.clocks_2.value), int(dut.clocks_3.value)) == (clocks[2], clocks[3]), step
        assert (int(dut.longest_2.value), int(dut.longest_3.value)) == (longest[2], longest[3]), step
    assert seen > 20


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_starvation(simulator):
    run_module("ernic/ernic_starvation", __name__, simulator)
