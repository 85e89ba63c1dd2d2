"""reg_bus_decoder: selection, unmapped addresses, silent targets."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

BASES = [0x00, 0x40, 0x60]
MASKS = [0xC0, 0xF0, 0xF0]
TIMEOUT = 16


def target_of(address):
    for index, (base, mask) in enumerate(zip(BASES, MASKS, strict=True)):
        if address & mask == base:
            return index
    return None


class TB:
    """A master, and targets that answer with their index and the address after `delay` cycles; never if it is None."""

    def __init__(self, dut):
        self.dut = dut
        self.delay = [0, 0, 0]
        self.error = [False] * 3
        self.valid_cycles = [0, 0, 0]
        self.gaps = 0
        dut.rst.value = 1
        dut.m_reg_ready.value = 0
        dut.m_reg_error.value = 0
        dut.m_reg_rdata.value = 0
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())
        self.bus = RegBusMaster(dut, dut.clk)
        cocotb.start_soon(self._targets())

    async def reset(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)

    async def _targets(self):
        dut = self.dut
        waited = [0, 0, 0]
        answering = None
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value == 1:
                continue
            valid = int(dut.m_reg_valid.value)
            assert valid in (0, 1, 2, 4), "two targets at once"
            dut.m_reg_ready.value = 0
            if answering is not None:
                answering = None
                waited = [0, 0, 0]
                continue
            for index in range(3):
                if not valid >> index & 1:
                    waited[index] = 0
                    continue
                self.valid_cycles[index] += 1
                if self.delay[index] is not None and waited[index] == self.delay[index]:
                    answering = index
                    dut.m_reg_ready.value = 1 << index
                    dut.m_reg_error.value = int(self.error[index]) << index
                    # The other targets' data must not leak into the answer.
                    word = index << 24 | int(dut.m_reg_write.value) << 16 | int(dut.m_reg_addr.value)
                    dut.m_reg_rdata.value = sum(
                        (word if other == index else 0xFFFFFFFF) << 32 * other for other in range(3)
                    )
                waited[index] += 1


@cocotb.test()
async def test_every_address(dut):
    tb = TB(dut)
    await tb.reset()
    rng = random.Random(5)
    for address in range(0, 256, 4):
        target = target_of(address)
        tb.delay = [rng.randint(0, 3) for _ in range(3)]
        if target is None:
            before = list(tb.valid_cycles)
            with pytest.raises(RegBusError):
                await tb.bus.read(address)
            assert tb.valid_cycles == before
        else:
            assert await tb.bus.read(address) == target << 24 | address
            await tb.bus.write(address, 1)


@cocotb.test()
async def test_target_error(dut):
    tb = TB(dut)
    await tb.reset()
    tb.error[1] = True
    with pytest.raises(RegBusError):
        await tb.bus.read(0x44)
    assert await tb.bus.read(0x04) == 0x04


@cocotb.test()
async def test_silent_target(dut):
    tb = TB(dut)
    await tb.reset()
    tb.delay[1] = None
    for _ in range(2):
        before = tb.valid_cycles[1]
        with pytest.raises(RegBusError):
            await tb.bus.access(0x44, None, back_to_back=True)
        assert tb.valid_cycles[1] - before == TIMEOUT
        assert dut.m_reg_valid.value == 0, "the target must see the end of the access"
    assert await tb.bus.read(0x64) == 2 << 24 | 0x64
    tb.delay[1] = TIMEOUT - 2  # the answer arrives in the last cycle that counts
    assert await tb.bus.read(0x44) == 1 << 24 | 0x44


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_reg_bus_decoder(simulator):
    packed = {
        name: sum(value << 8 * i for i, value in enumerate(values))
        for name, values in (("BASES", BASES), ("MASKS", MASKS))
    }
    run_module(
        "lib/reg_bus_decoder",
        __name__,
        simulator,
        parameters={"ADDR_WIDTH": 8, "TARGETS": 3, "TIMEOUT_CYCLES": TIMEOUT, **packed},
    )
