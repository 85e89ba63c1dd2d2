"""The elastic buffer: order, marks, fill at release, and both violations."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

DEPTH = 256


class TB:
    def __init__(self, dut) -> None:
        self.dut = dut
        self.written: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []
        self.violations: list[str] = []
        self.reading = False

    async def reset(self) -> None:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
        dut.rst.value, dut.write.value, dut.read.value = 1, 0, 0
        dut.write_data.value, dut.write_kinds.value = 0, 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0

    async def beat(self, *, write: bool, read: bool) -> None:
        """One clock; note what is read, a clock later, and violations."""
        dut = self.dut
        word = (random.getrandbits(32), random.getrandbits(6))
        dut.write.value, dut.read.value = write, read
        dut.write_data.value, dut.write_kinds.value = word
        if write:
            self.written.append(word)
        await RisingEdge(dut.clk)
        got = (int(dut.read_data.value), int(dut.read_kinds.value)) if self.reading else None
        if got is not None:
            self.read.append(got)
        self.reading = read
        for name in ("overflow", "underflow"):
            if int(getattr(dut, name).value):
                self.violations.append(name)


@cocotb.test()
@cocotb.parametrize(fill=[1, 2, 77, DEPTH])
async def order_is_kept_at_any_fill(dut, fill: int):
    tb = TB(dut)
    await tb.reset()
    for number in range(fill):
        await tb.beat(write=True, read=False)
        assert int(dut.ready.value) == (number > 0)
    for _ in range(3 * DEPTH):
        await tb.beat(write=True, read=True)
    await tb.beat(write=False, read=False)
    assert tb.read == tb.written[: len(tb.read)] and len(tb.read) == 3 * DEPTH
    assert int(dut.latency.value) == fill
    assert not tb.violations
    await tb.beat(write=False, read=False)
    assert (int(dut.read_data.value), int(dut.read_kinds.value)) == (0, 0)


@cocotb.test()
async def one_too_many_overflows(dut):
    tb = TB(dut)
    await tb.reset()
    for _ in range(DEPTH):
        await tb.beat(write=True, read=False)
    await tb.beat(write=False, read=False)
    assert not tb.violations
    await tb.beat(write=True, read=False)
    await tb.beat(write=False, read=False)
    assert tb.violations == ["overflow"]


@cocotb.test()
async def reading_an_empty_buffer_underflows(dut):
    tb = TB(dut)
    await tb.reset()
    await tb.beat(write=True, read=False)
    await tb.beat(write=False, read=True)
    await tb.beat(write=False, read=False)
    assert not tb.violations
    await tb.beat(write=True, read=True)
    await tb.beat(write=False, read=False)
    assert tb.violations == ["underflow"]


@cocotb.test()
async def restart_empties_it(dut):
    tb = TB(dut)
    await tb.reset()
    for _ in range(10):
        await tb.beat(write=True, read=False)
    dut.rst.value = 1
    await tb.beat(write=False, read=False)
    dut.rst.value = 0
    tb.written.clear()
    for _ in range(5):
        await tb.beat(write=True, read=False)
    for _ in range(20):
        await tb.beat(write=True, read=True)
    await tb.beat(write=False, read=False)
    assert tb.read == tb.written[:20] and int(dut.latency.value) == 5


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_elastic_buffer(simulator: str) -> None:
    run_module("jesd204b/jesd204b_elastic_buffer", __name__, simulator, parameters={"DEPTH": DEPTH})
