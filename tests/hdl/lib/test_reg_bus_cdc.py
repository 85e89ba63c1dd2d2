"""reg_bus_cdc: accesses for clock ratios, given-up accesses, resets of either side."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster, RegBusTarget
from tests.hdl.module_bench import SIMULATORS, run_module

RATIOS_PS = [(3104, 3126), (2000, 7002), (7002, 2000)]
ERROR_ADDRESS = 0x100


class TB:
    """A master, and a memory on the far side that errs from ERROR_ADDRESS on."""

    def __init__(self, dut, ratio=(3104, 3126), seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.memory = {}
        self.ratio = ratio
        dut.rst.value = 1
        dut.m_rst.value = 1
        cocotb.start_soon(Clock(dut.clk, ratio[0], unit="ps").start())
        self.far_clock = cocotb.start_soon(Clock(dut.m_clk, ratio[1], unit="ps").start())
        self.bus = RegBusMaster(dut, dut.clk)
        self.target = RegBusTarget(dut, dut.m_clk, self._handle, self.rng)
        cocotb.start_soon(self.target.run())

    def _handle(self, write, address, wdata):
        if write and address < ERROR_ADDRESS:
            self.memory[address] = wdata
        return self.memory.get(address, 0), address >= ERROR_ADDRESS

    async def settle(self):
        await ClockCycles(self.dut.clk, 30)
        await ClockCycles(self.dut.m_clk, 30)

    async def reset(self, *signals):
        for signal in signals:
            signal.value = 1
        await self.settle()
        for signal in signals:
            signal.value = 0
        await self.settle()

    async def give_up(self, address, wdata, cycles):
        """Start an access and drop it after ``cycles`` without an answer."""
        dut = self.dut
        self.bus.valid.value = 1
        dut.s_reg_write.value = int(wdata is not None)
        dut.s_reg_addr.value = address
        dut.s_reg_wdata.value = wdata or 0
        for _ in range(cycles):
            await RisingEdge(dut.clk)
            assert dut.s_reg_ready.value == 0
        self.bus.valid.value = 0
        await RisingEdge(dut.clk)


@cocotb.test()
@cocotb.parametrize(("ratio", RATIOS_PS))
async def test_random_accesses(dut, ratio):
    tb = TB(dut, ratio)
    await tb.reset(dut.rst, dut.m_rst)
    expected = {}
    accesses = 0
    for _ in range(50):
        address = tb.rng.randrange(0, 0x20, 4)
        accesses += 1
        if tb.rng.random() < 0.5:
            expected[address] = tb.rng.getrandbits(32)
            await tb.bus.access(address, expected[address], back_to_back=tb.rng.random() < 0.5)
        else:
            assert await tb.bus.read(address) == expected.get(address, 0)
    with pytest.raises(RegBusError):
        await tb.bus.read(ERROR_ADDRESS)
    await tb.settle()
    assert len(tb.target.accesses) == accesses + 1
    assert tb.memory == expected


@cocotb.test()
async def test_stopped_far_clock(dut):
    tb = TB(dut)
    await tb.reset(dut.rst, dut.m_rst)
    await tb.bus.write(0x4, 44)
    await tb.bus.write(0x8, 88)
    tb.far_clock.cancel()
    await tb.give_up(0x4, None, 50)
    await tb.give_up(0x8, None, 50)
    cocotb.start_soon(Clock(dut.m_clk, tb.ratio[1], unit="ps").start())
    assert await tb.bus.read(0x8) == 88, "the answer to the access given up must not be taken for this one's"
    assert await tb.bus.read(0x4) == 44


@cocotb.test()
@cocotb.parametrize(("wait", list(range(1, 24, 2))))
async def test_give_up_at_any_time(dut, wait):
    tb = TB(dut)
    await tb.reset(dut.rst, dut.m_rst)
    await tb.bus.write(0x4, 44)
    await tb.bus.write(0x8, 88)
    await tb.settle()
    tb.target.silent = True
    await tb.give_up(0x4, None, wait)
    tb.target.silent = False
    assert await tb.bus.read(0x8) == 88
    assert await tb.bus.read(0x4) == 44


@cocotb.test()
@cocotb.parametrize(("side", ["rst", "m_rst"]))
async def test_reset_of_one_side_makes_no_access(dut, side):
    tb = TB(dut)
    await tb.reset(dut.rst, dut.m_rst)
    for value in range(3):
        await tb.bus.write(0x4, value)
        await tb.settle()
        count = len(tb.target.accesses)
        await tb.reset(getattr(dut, side))
        assert len(tb.target.accesses) == count
        assert await tb.bus.read(0x4) == value


@cocotb.test()
async def test_far_reset_during_an_access(dut):
    tb = TB(dut)
    await tb.reset(dut.rst, dut.m_rst)
    await tb.bus.write(0x4, 44)
    tb.target.silent = True
    reading = cocotb.start_soon(tb.bus.read(0x4))
    await tb.settle()
    dut.m_rst.value = 1
    await tb.settle()
    assert dut.m_reg_valid.value == 0
    dut.m_rst.value = 0
    tb.target.silent = False
    assert await reading == 44


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_reg_bus_cdc(simulator):
    run_module("lib/reg_bus_cdc", __name__, simulator)
