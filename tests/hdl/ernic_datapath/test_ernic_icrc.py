"""The CRC register against ``zlib.crc32``: frames of any number of beats, with and without pauses."""

from __future__ import annotations

import random
import zlib

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

MASKED = (15, 22, 24, 25, 40, 41, 46)
"""Octets of the frame that count as ones: TOS, TTL, IPv4 checksum, UDP checksum, FECN/BECN/reserved."""


def register(frame: bytes) -> int:
    """Return the register behind ``frame``, which is a whole number of beats."""
    octets = bytearray(frame)
    for offset in MASKED:
        octets[offset] = 0xFF
    return zlib.crc32(b"\xff" * 8 + octets[14:]) ^ 0xFFFFFFFF


@cocotb.test()
async def frames(dut):
    generator = random.Random(1)
    dut.s_valid.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    results: list[int] = []

    async def monitor() -> None:
        while True:
            await RisingEdge(dut.clk)
            if int(dut.m_valid.value):
                results.append(int(dut.m_state.value))

    cocotb.start_soon(monitor())
    expected: list[int] = []
    for pause_rate in (0.0, 0.4):
        for _ in range(60):
            beats = generator.choice((1, 1, 2, 3, 7))
            frame = generator.randbytes(64 * beats)
            expected.append(register(frame))
            for number in range(beats):
                while generator.random() < pause_rate:
                    dut.s_valid.value = 0
                    await RisingEdge(dut.clk)
                dut.s_valid.value = 1
                dut.s_first.value = number == 0
                dut.s_last.value = number == beats - 1
                dut.s_data.value = int.from_bytes(frame[64 * number : 64 * number + 64], "little")
                await RisingEdge(dut.clk)
    dut.s_valid.value = 0
    for _ in range(4):
        await RisingEdge(dut.clk)
    assert results == expected


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_icrc(simulator):
    run_module("ernic/ernic_icrc", __name__, simulator)
