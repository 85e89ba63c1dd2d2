"""cdc_sync: every level arrives, in order, after STAGES - 1 to STAGES cycles."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from tests.hdl.module_bench import SIMULATORS, run_module

PERIOD_PS = 3104
STAGES = 3


@cocotb.test()
async def test_latency(dut):
    rng = random.Random(1)
    dut.d.value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD_PS, unit="ps").start())
    await ClockCycles(dut.clk, 5)
    for value in [5, 2, 7, 0, 1]:
        await Timer(rng.randint(1, PERIOD_PS // 2 - 1) * 2, unit="ps")
        dut.d.value = value
        for _ in range(STAGES):
            await RisingEdge(dut.clk)
            assert dut.q.value != value
        await RisingEdge(dut.clk)  # values read here are those before the edge: after STAGES edges
        assert dut.q.value == value


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_cdc_sync(simulator):
    run_module("lib/cdc_sync", __name__, simulator, parameters={"WIDTH": 3, "STAGES": STAGES})
