"""cdc_fifo: order and completeness for clock ratios, overflow, throughput, resets of either side."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

DEPTH = 8
NEAR_EQUAL = (3126, 3104)  # 320 and 322.27 MHz
RATIOS_PS = [NEAR_EQUAL, (3104, 3126), (2000, 7002), (7002, 2000)]


class TB:
    """A source and a sink that stall at random, and the words in flight between them."""

    def __init__(self, dut, ratio, seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.in_flight = deque()
        self.received = 0
        self.refused = 0
        self.source_rate = 0.0
        self.sink_rate = 0.0
        self._next = self.rng.getrandbits(32)
        for signal in (dut.s_valid, dut.m_ready, dut.s_data):
            signal.value = 0
        dut.s_rst.value = 1
        dut.m_rst.value = 1
        cocotb.start_soon(Clock(dut.s_clk, ratio[0], unit="ps").start())
        cocotb.start_soon(Clock(dut.m_clk, ratio[1], unit="ps").start())

    async def start(self):
        await self.settle()
        self.dut.s_rst.value = 0
        self.dut.m_rst.value = 0
        await self.settle()
        cocotb.start_soon(self._source())
        cocotb.start_soon(self._sink())

    async def settle(self):
        await ClockCycles(self.dut.s_clk, 12)
        await ClockCycles(self.dut.m_clk, 12)

    async def _source(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.s_clk)
            if dut.s_valid.value == 1 and dut.s_ready.value == 1:
                self.in_flight.append(self._next)
                self._next = self.rng.getrandbits(32)
            elif dut.s_valid.value == 1:
                self.refused += 1
            if dut.s_rst.value == 0 and dut.m_rst.value == 0:
                # All must be counted but the one in the output register and the one written at this edge.
                assert int(dut.s_level.value) >= len(self.in_flight) - 2
            dut.s_valid.value = int(self.rng.random() < self.source_rate)
            dut.s_data.value = self._next

    async def _sink(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.m_clk)
            if dut.m_valid.value == 1 and dut.m_ready.value == 1:
                assert self.in_flight, "a word that was never sent"
                assert int(dut.m_data.value) == self.in_flight.popleft()
                self.received += 1
            dut.m_ready.value = int(self.rng.random() < self.sink_rate)


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS), ("rates", [(0.9, 0.5), (0.4, 0.9), (1.0, 1.0)]))
async def test_stream(dut, ratio, rates):
    tb = TB(dut, ratio)
    await tb.start()
    tb.source_rate, tb.sink_rate = rates
    await ClockCycles(dut.s_clk, 400)
    tb.source_rate, tb.sink_rate = 0.0, 1.0
    await tb.settle()
    assert not tb.in_flight
    assert tb.received > 50


@cocotb.test()
async def test_sustains_a_word_a_cycle(dut):
    tb = TB(dut, NEAR_EQUAL)
    await tb.start()
    tb.source_rate = tb.sink_rate = 1.0
    await ClockCycles(dut.s_clk, 1000)
    assert tb.refused == 0
    assert tb.received > 980


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS))
async def test_overflow_is_refused_not_lost(dut, ratio):
    tb = TB(dut, ratio)
    await tb.start()
    tb.source_rate = 1.0
    await ClockCycles(dut.s_clk, 60)
    assert len(tb.in_flight) == DEPTH + 1
    assert tb.refused > 0
    assert dut.s_level.value == DEPTH
    tb.source_rate, tb.sink_rate = 0.0, 1.0
    await ClockCycles(dut.s_clk, 1)
    await tb.settle()
    assert not tb.in_flight
    assert dut.s_level.value == 0


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS), ("side", ["s_rst", "m_rst"]))
async def test_reset_of_one_side_empties_both(dut, ratio, side):
    tb = TB(dut, ratio)
    await tb.start()
    for words in (3, 5, 11):
        tb.sink_rate = 0.0
        tb.source_rate = 1.0
        await ClockCycles(dut.s_clk, words)
        tb.source_rate = 0.0
        await tb.settle()
        assert tb.in_flight
        getattr(dut, side).value = 1
        tb.sink_rate = 1.0  # what comes out until the reset gets there is still checked for order
        await tb.settle()
        tb.in_flight.clear()
        received = tb.received
        getattr(dut, side).value = 0
        await tb.settle()
        assert tb.received == received
        assert dut.s_level.value == 0
        tb.source_rate = 1.0
        await ClockCycles(dut.s_clk, 30)
        tb.source_rate = 0.0
        await tb.settle()
        assert not tb.in_flight
        assert tb.received > received + 5


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_cdc_fifo(simulator):
    run_module("lib/cdc_fifo", __name__, simulator, parameters={"WIDTH": 32, "DEPTH": DEPTH})
