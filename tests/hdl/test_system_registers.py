"""system_registers: what was built can be read, only the scratch register written."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from host.control.registers import register_map
from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

PARAMETERS = {"LINKS": 4, "LANES": 8, "RING_BYTES": 65536, "NUM_QP": 9, "CORE_CLOCK_KHZ": 250000}
VALUES = {
    "LINKS": 4,
    "LANES": 8,
    "RING_BYTES": 65536,
    "QUEUE_PAIRS": 9,
    "CORE_CLOCK_KHZ": 250000,
}


@cocotb.test()
async def test_identity(dut):
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())
    bus = RegBusMaster(dut, dut.clk, limit=4)
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    block = register_map()["SYSTEM"]
    for register in block.registers:
        expected = VALUES.get(register.name, register.reset)
        assert await bus.read(register.offset) == expected, register.name
        if register.access == "RO":
            with pytest.raises(RegBusError):
                await bus.write(register.offset, 0)
            assert await bus.read(register.offset) == expected
    assert (await bus.read(0)).to_bytes(4, "big") == b"EBFE"
    for value in (0xFFFFFFFF, 0x12345678):
        await bus.write(block["SCRATCH"].offset, value)
        assert await bus.read(block["SCRATCH"].offset) == value
    for offset in (0x20, 0x1FFC):
        with pytest.raises(RegBusError):
            await bus.read(offset)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_system_registers(simulator):
    run_module("system_registers", __name__, simulator, parameters=PARAMETERS)
