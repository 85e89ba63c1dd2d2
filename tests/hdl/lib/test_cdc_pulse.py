"""cdc_pulse: as many pulses out as in, and none from a reset."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

RATIOS_PS = [(3126, 3104), (2000, 7002), (7002, 2000)]


class TB:
    """Clocks, resets and a counter of the pulses that come out."""

    def __init__(self, dut, s_ps, m_ps):
        self.dut = dut
        self.spacing = 4 * -(-max(s_ps, m_ps) // s_ps)
        self.pulses = 0
        dut.s_rst.value = 1
        dut.m_rst.value = 1
        dut.s_pulse.value = 0
        cocotb.start_soon(Clock(dut.s_clk, s_ps, unit="ps").start())
        cocotb.start_soon(Clock(dut.m_clk, m_ps, unit="ps").start())
        cocotb.start_soon(self._count())

    async def _count(self):
        while True:
            await RisingEdge(self.dut.m_clk)
            self.pulses += self.dut.m_pulse.value == 1

    async def settle(self):
        await ClockCycles(self.dut.s_clk, 10)
        await ClockCycles(self.dut.m_clk, 10)

    async def reset(self, *signals):
        for signal in signals:
            signal.value = 1
        await self.settle()
        for signal in signals:
            signal.value = 0
        await self.settle()

    async def pulse(self):
        self.dut.s_pulse.value = 1
        await RisingEdge(self.dut.s_clk)
        self.dut.s_pulse.value = 0


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS))
async def test_count(dut, ratio):
    rng = random.Random(2)
    tb = TB(dut, *ratio)
    await tb.reset(dut.s_rst, dut.m_rst)
    for sent in range(1, 100):
        await tb.pulse()
        await ClockCycles(dut.s_clk, tb.spacing - 1 + rng.randint(0, 3))
        assert sent - 2 <= tb.pulses <= sent
    await tb.settle()
    assert tb.pulses == 99


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS))
async def test_reset_makes_no_pulse(dut, ratio):
    tb = TB(dut, *ratio)
    await tb.reset(dut.s_rst, dut.m_rst)
    for side in (dut.s_rst, dut.m_rst, dut.s_rst):
        before = tb.pulses
        await tb.pulse()  # leaves the toggle high on every second round
        await tb.settle()
        assert tb.pulses == before + 1
        await tb.reset(side)
        assert tb.pulses == before + 1


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_cdc_pulse(simulator):
    run_module("lib/cdc_pulse", __name__, simulator)
