"""axil_to_reg_bus: data, errors, strobes, and reads and writes that wait for each other."""

from __future__ import annotations

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from tests.hdl.lib.reg_bus import RegBusTarget
from tests.hdl.module_bench import SIMULATORS, run_module

ERROR_ADDRESS = 0x800


class TB:
    """An AXI4-Lite manager with pauses, and a memory behind the register bus that errs from ERROR_ADDRESS on."""

    def __init__(self, dut, seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.memory = {}
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.target = RegBusTarget(dut, dut.clk, self._handle, self.rng)
        cocotb.start_soon(self.target.run())

    def _handle(self, write, address, wdata):
        if write and address < ERROR_ADDRESS:
            self.memory[address] = wdata
        return self.memory.get(address, 0), address >= ERROR_ADDRESS

    def pauses(self, rate):
        channels = (
            self.master.write_if.aw_channel,
            self.master.write_if.w_channel,
            self.master.write_if.b_channel,
            self.master.read_if.ar_channel,
            self.master.read_if.r_channel,
        )
        for index, channel in enumerate(channels):
            rng = random.Random(index)
            channel.set_pause_generator(iter(lambda rng=rng: rng.random() < rate, None))

    async def reset(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)


@cocotb.test()
@cocotb.parametrize(("pause", [0.0, 0.6]))
async def test_random_accesses(dut, pause):
    tb = TB(dut)
    tb.pauses(pause)
    await tb.reset()
    expected = {}
    for _ in range(60):
        address = tb.rng.randrange(0, 0x40, 4)
        if tb.rng.random() < 0.5:
            expected[address] = tb.rng.getrandbits(32)
            await tb.master.write_dword(address, expected[address])
        else:
            assert await tb.master.read_dword(address) == expected.get(address, 0)
    assert tb.memory == expected


@cocotb.test()
async def test_errors_and_strobes(dut):
    tb = TB(dut)
    await tb.reset()
    await tb.master.write_dword(0x10, 0x11223344)
    assert (await tb.master.read(ERROR_ADDRESS, 4)).resp == AxiResp.SLVERR
    assert (await tb.master.write(ERROR_ADDRESS, b"abcd")).resp == AxiResp.SLVERR
    assert (await tb.master.write(0x10, b"ab")).resp == AxiResp.SLVERR  # two of four strobes
    assert (await tb.master.write(0x13, b"a")).resp == AxiResp.SLVERR
    assert (await tb.master.read(0x10, 4)).data == bytes.fromhex("44332211")
    assert [access[1] for access in tb.target.accesses] == [0x10, ERROR_ADDRESS, ERROR_ADDRESS, 0x10]


@cocotb.test()
async def test_write_without_strobes_has_no_effect(dut):
    tb = TB(dut)
    await tb.reset()
    tb.master.write_if.aw_channel.pause = tb.master.write_if.w_channel.pause = True
    dut.s_axil_awaddr.value = 0x20
    dut.s_axil_awvalid.value = 1
    dut.s_axil_wstrb.value = 0
    dut.s_axil_wvalid.value = 1
    dut.s_axil_bready.value = 1
    await RisingEdge(dut.clk)
    dut.s_axil_awvalid.value = 0
    dut.s_axil_wvalid.value = 0
    for _ in range(10):
        await RisingEdge(dut.clk)
        if dut.s_axil_bvalid.value == 1:
            break
    assert dut.s_axil_bvalid.value == 1
    assert dut.s_axil_bresp.value == 0
    assert not tb.target.accesses


@cocotb.test()
async def test_reads_and_writes_take_turns(dut):
    tb = TB(dut)
    await tb.reset()

    # All at once, so that both channels always wait.
    writes = [tb.master.init_write(4 * i, bytes(4)) for i in range(20)]
    reads = [tb.master.init_read(4 * i, 4) for i in range(20)]
    for event in (*writes, *reads):
        await event.wait()
    kinds = [access[0] for access in tb.target.accesses]
    assert len(kinds) == 40
    longest = max(len(list(run)) for _, run in itertools.groupby(kinds[:36]))
    assert longest <= 2


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_axil_to_reg_bus(simulator):
    run_module("lib/axil_to_reg_bus", __name__, simulator, parameters={"ADDR_WIDTH": 12})
