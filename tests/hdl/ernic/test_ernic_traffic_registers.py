"""ernic_traffic_registers: every register by the register map, and what counts."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from host.control.registers import register_map
from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

PATTERNS = (0xFFFFFFFF, 0x5A5A5A5A, 0xA5A5A5A5, 0)
STATUS = {
    "STARVED_IMAGE": "starved_clocks_2",
    "STARVED_LOG": "starved_clocks_3",
    "STARVED_IMAGE_LONGEST": "starved_longest_2",
    "STARVED_LOG_LONGEST": "starved_longest_3",
    "PAUSED": "paused_now",
}
EVENTS = {
    "PAUSE_FRAMES_IN": ("pause_frame_in",),
    "PAUSED_CLOCKS": ("roce_paused",),
    "PAUSES_OUT": ("pause_roce_out", "pause_other_out"),
    "CE_PACKETS": ("marked_packet",),
    "HOST_FRAMES_IN": ("host_in",),
    "HOST_FRAMES_IN_DROPPED": ("host_in_dropped",),
    "HOST_FRAMES_OUT": ("host_out",),
    "HOST_FRAMES_OUT_DROPPED": ("host_out_dropped",),
}
CONTROLS = {
    "PORT_RATE": "port_rate",
    "PORT_BURST": "port_size",
    "HOST_SHARE": "host_share",
    "CNP_INTERVAL": "cnp_interval",
    "CNP_CLASS": "cnp_class",
}


async def start(dut) -> RegBusMaster:
    for name in (*STATUS.values(), *(signal for signals in EVENTS.values() for signal in signals)):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    bus = RegBusMaster(dut, dut.clk, limit=5)
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    return bus


@cocotb.test()
async def every_register(dut):
    bus = await start(dut)
    registers = register_map()["TRAFFIC"].registers
    for register in registers:
        assert await bus.read(register.offset) == register.reset, register.name
    for register in registers:
        for pattern in PATTERNS:
            if register.access == "RO":
                with pytest.raises(RegBusError):
                    await bus.write(register.offset, pattern)
                expected = register.reset
            else:
                await bus.write(register.offset, pattern)
                expected = pattern & register.mask if register.access == "RW" else 0
            assert await bus.read(register.offset) == expected, register.name
    taken = {register.offset for register in registers}
    for offset in (*range(0, 0xA0), 0x1000, 0x1FFC):
        if offset not in taken:
            with pytest.raises(RegBusError):
                await bus.read(offset)
    for number, register in enumerate(register for register in registers if register.access == "RW"):
        await bus.write(register.offset, 0x01010101 * (number + 1))
    for number, register in enumerate(register for register in registers if register.access == "RW"):
        assert await bus.read(register.offset) == 0x01010101 * (number + 1) & register.mask
    for name, signal in CONTROLS.items():
        assert int(getattr(dut, signal).value) == await bus.read(register_map()["TRAFFIC"][name].offset)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for register in registers:
        assert await bus.read(register.offset) == register.reset, register.name


@cocotb.test()
async def priorities_are_a_table(dut):
    bus = await start(dut)
    block = register_map()["TRAFFIC"]

    def table() -> list[int]:
        return [int(dut.priority_table.value) >> 3 * dscp & 7 for dscp in range(64)]

    assert table() == [{26: 3, 48: 6}.get(dscp, 0) for dscp in range(64)]
    rng = random.Random(2)
    wanted = [rng.randrange(8) for _ in range(64)]
    for index in range(8):
        register = block[f"DSCP_PRIORITY_{index}"]
        value = sum(register[f"DSCP_{8 * index + n}"].put(wanted[8 * index + n]) for n in range(8))
        await bus.write(register.offset, value)
    assert table() == wanted


@cocotb.test()
async def events_are_counted(dut):
    bus = await start(dut)
    block = register_map()["TRAFFIC"]
    rng = random.Random(3)
    counts = dict.fromkeys(EVENTS, 0)
    for _ in range(300):
        for name, signals in EVENTS.items():
            for signal in signals:
                happens = rng.randrange(2)
                counts[name] += happens
                getattr(dut, signal).value = happens
        await RisingEdge(dut.clk)
    for signals in EVENTS.values():
        for signal in signals:
            getattr(dut, signal).value = 0
    for name, count in counts.items():
        assert await bus.read(block[name].offset) == count, name
    for number, (name, signal) in enumerate(STATUS.items()):
        getattr(dut, signal).value = 77 + number
        assert await bus.read(block[name].offset) == 77 + number
    cleared = 0

    async def watch() -> None:
        nonlocal cleared
        while True:
            await RisingEdge(dut.clk)
            cleared += int(dut.starved_clear.value)

    cocotb.start_soon(watch())
    await bus.read(block["STARVED_CLEAR"].offset)
    await bus.write(block["PORT_RATE"].offset, 1)
    await bus.write(block["STARVED_CLEAR"].offset, 0)
    await ClockCycles(dut.clk, 3)
    assert cleared == 1


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_traffic_registers(simulator):
    run_module("ernic/ernic_traffic_registers", __name__, simulator)
