"""The descrambler: golden vectors, and the model's scrambler undone."""

from __future__ import annotations

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from sim.adc import scrambler
from tests.hdl.module_bench import SIMULATORS, run_module


async def descramble(dut, line: bytes, *, scrambling: int = 1) -> bytes:
    """Send ``line`` as user data, after a beat that is not; return the samples' octets in the order of sending."""
    dut.scrambling.value = scrambling
    dut.valid.value = 0
    dut.s_data.value = 0xFFFFFFFF
    await RisingEdge(dut.clk)
    plain = bytearray()
    for start in range(0, len(line), 4):
        dut.valid.value = 1
        dut.s_data.value = int.from_bytes(line[start : start + 4], "little")
        await RisingEdge(dut.clk)
        words = int(dut.m_data.value).to_bytes(4, "little")
        plain += bytes([words[1], words[0], words[3], words[2]])
    return bytes(plain)


@cocotb.test()
async def golden_vectors(dut):
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    vectors = {
        "01 00 06 00 14 00 78 01 10 06 60 15 40 7F 81 01": bytes(16),
        "01 01 04 05 1C 1B 4E 5C AD C2 E6 85 5B 12 D4 61": bytes(range(16)),
    }
    for line, plain in vectors.items():
        assert await descramble(dut, bytes.fromhex(line)) == plain
        assert await descramble(dut, bytes.fromhex(line), scrambling=0) == bytes.fromhex(line)


@cocotb.test()
async def undoes_the_model(dut):
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    units = np.random.default_rng(1).integers(0, 1 << 16, (1000, 1)).astype(np.uint16)
    line, _ = scrambler.scramble(units, scrambler.history(1))
    assert await descramble(dut, line.astype(">u2").tobytes()) == units.astype(">u2").tobytes()


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_descrambler(simulator: str) -> None:
    run_module("jesd204b/jesd204b_descrambler", __name__, simulator)
