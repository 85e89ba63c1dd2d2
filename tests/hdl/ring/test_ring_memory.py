"""ring_memory: latency of exactly three cycles, a read and a write in every cycle, all four arrays."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

RING_BYTES = 65536
WORDS = RING_BYTES // 128
LATENCY = 3


class TB:
    """The model is a list of words; reads are queued with the data expected of them."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(1)
        self.words = {}
        dut.rst.value = 1
        dut.read_enable.value = 0
        dut.write_enable.value = 0
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())

    async def reset(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0

    def row(self, row):
        return self.words[row // 2] >> 512 * (row % 2) & (1 << 512) - 1

    async def fill(self, words):
        for word in words:
            self.words[word] = self.rng.getrandbits(1024)
            self.dut.write_enable.value = 1
            self.dut.write_word.value = word
            self.dut.write_data.value = self.words[word]
            await RisingEdge(self.dut.clk)
        self.dut.write_enable.value = 0

    async def traffic(self, words, cycles, read_rate=0.8, write_rate=0.5):
        """Random reads of ``words`` beside random writes; each read is checked three cycles after its enable."""
        dut = self.dut
        expected = [None] * LATENCY
        for _ in range(cycles):
            read = None
            if self.rng.random() < read_rate:
                row = self.rng.choice(words) * 2 + self.rng.randint(0, 1)
                dut.read_row.value = row
                read = row
            dut.read_enable.value = int(read is not None)
            word = self.rng.choice(words)
            write = self.rng.random() < write_rate
            data = self.rng.getrandbits(1024)
            dut.write_enable.value = int(write)
            dut.write_word.value = word
            dut.write_data.value = data
            if write:
                self.words[word] = data  # a read of the same cycle sees it
            expected.append(None if read is None else self.row(read))
            await RisingEdge(dut.clk)
            # What is read here was there before this edge, which is the one that takes this pass's enable.
            due = expected.pop(0)
            if due is not None:
                assert int(dut.read_data.value) == due
        dut.read_enable.value = 0
        dut.write_enable.value = 0


@cocotb.test()
async def test_every_row_once(dut):
    tb = TB(dut)
    await tb.reset()
    await tb.fill(range(0, WORDS))
    for row in (*range(0, 2 * WORDS, 37), 2 * WORDS - 1, WORDS * 3 // 2 - 1, WORDS * 3 // 2):
        dut.read_enable.value = 1
        dut.read_row.value = row
        await RisingEdge(dut.clk)
        dut.read_enable.value = 0
        await ClockCycles(dut.clk, LATENCY)
        assert int(dut.read_data.value) == tb.row(row), f"row {row}"


@cocotb.test()
async def test_traffic(dut):
    tb = TB(dut)
    await tb.reset()
    words = [0, 1, WORDS // 2, WORDS * 3 // 4 - 1, WORDS * 3 // 4, WORDS - 1]
    await tb.fill(words)
    await tb.traffic(words, 1500)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ring_memory(simulator):
    run_module("ring/ring_memory", __name__, simulator, parameters={"RING_BYTES": RING_BYTES})
