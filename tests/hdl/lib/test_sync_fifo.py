"""sync_fifo: order, level, capacity, latency and a word a cycle, with both kinds of memory."""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

DEPTH = 8


class TB:
    """A source and a sink that stall at random, compared with a deque every cycle."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(4)
        self.model = deque()
        self.sent = 0
        self.received = 0
        self.source_rate = 0.0
        self.sink_rate = 0.0
        dut.s_valid.value = 0
        dut.s_data.value = 0
        dut.m_ready.value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())

    async def start(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        cocotb.start_soon(self._run())
        await RisingEdge(self.dut.clk)

    async def _run(self):
        dut = self.dut
        word = self.rng.getrandbits(32)
        while True:
            await RisingEdge(dut.clk)
            assert int(dut.level.value) == len(self.model)
            assert dut.s_ready.value == (len(self.model) < DEPTH)
            if dut.m_valid.value == 1:
                assert self.model, "a word that was never sent"
                assert int(dut.m_data.value) == self.model[0]
            taken = dut.m_valid.value == 1 and dut.m_ready.value == 1
            if dut.s_valid.value == 1 and dut.s_ready.value == 1:
                self.model.append(word)
                self.sent += 1
                word = self.rng.getrandbits(32)
            if taken:
                self.model.popleft()
                self.received += 1
            if dut.rst.value == 1:
                self.model.clear()
            dut.s_valid.value = int(self.rng.random() < self.source_rate)
            dut.s_data.value = word
            dut.m_ready.value = int(self.rng.random() < self.sink_rate)


@cocotb.test()
@cocotb.parametrize(("rates", [(0.9, 0.4), (0.4, 0.9), (0.5, 0.5), (1.0, 0.9)]))
async def test_stream(dut, rates):
    tb = TB(dut)
    await tb.start()
    tb.source_rate, tb.sink_rate = rates
    await ClockCycles(dut.clk, 400)
    tb.source_rate, tb.sink_rate = 0.0, 1.0
    await ClockCycles(dut.clk, 2 * DEPTH)
    assert not tb.model
    assert tb.received == tb.sent > 100


@cocotb.test()
async def test_capacity_and_reset(dut):
    tb = TB(dut)
    await tb.start()
    tb.source_rate = 1.0
    await ClockCycles(dut.clk, 2 * DEPTH)
    assert len(tb.model) == DEPTH
    tb.source_rate = 0.0
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    assert not tb.model
    tb.sink_rate = 1.0
    await ClockCycles(dut.clk, 10)
    assert tb.received == 0
    tb.source_rate = 1.0
    await ClockCycles(dut.clk, 100)
    assert tb.received > 90


@cocotb.test()
async def test_latency(dut):
    tb = TB(dut)
    await tb.start()
    for _ in range(3):
        await FallingEdge(dut.clk)  # rates are looked at on rising edges
        tb.source_rate = 1.0
        await FallingEdge(dut.clk)
        tb.source_rate = 0.0
        assert dut.s_valid.value == 1
        edges = 0
        while dut.m_valid.value == 0:
            await FallingEdge(dut.clk)
            edges += 1
        assert edges == 1 + int(os.environ["BLOCK_MEMORY"])
        tb.sink_rate = 1.0
        await ClockCycles(dut.clk, 6)
        tb.sink_rate = 0.0


@pytest.mark.parametrize("block_memory", [0, 1])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_sync_fifo(simulator, block_memory):
    run_module(
        "lib/sync_fifo",
        __name__,
        simulator,
        parameters={"WIDTH": 32, "DEPTH": DEPTH, "BLOCK_MEMORY": block_memory},
        environment={"BLOCK_MEMORY": str(block_memory)},
    )
