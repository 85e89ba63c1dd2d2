"""crc32c against an independent implementation (PyPI crc32c) and the examples of RFC 3720 B.4."""

from __future__ import annotations

import os
import random

import cocotb
import crc32c
import pytest
from cocotb.triggers import Timer

from tests.hdl.module_bench import SIMULATORS, run_module

ONES = 0xFFFFFFFF
RFC3720 = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
]


class TB:
    """The module as a function."""

    def __init__(self, dut):
        self.dut = dut
        self.width = len(dut.data)

    async def step(self, crc, data):
        self.dut.enable.value = 1
        self.dut.crc_in.value = crc
        self.dut.data.value = int.from_bytes(data, "little")
        await Timer(1, unit="ns")
        return int(self.dut.crc_out.value)

    async def crc(self, data):
        size = self.width // 8
        crc = ONES
        for start in range(0, len(data), size):
            crc = await self.step(crc, data[start : start + size])
        return crc ^ ONES


@cocotb.test()
async def test_random(dut):
    tb = TB(dut)
    assert tb.width == int(os.environ["DATA_WIDTH"])
    rng = random.Random(tb.width)
    for words in (1, 2, 7):
        for _ in range(5):
            data = rng.randbytes(words * tb.width // 8)
            assert await tb.crc(data) == crc32c.crc32c(data)
    # One bit alone, at both ends of the word and of an octet.
    for bit in (0, 7, 8, tb.width - 8, tb.width - 1):
        data = (1 << bit).to_bytes(tb.width // 8, "little")
        assert await tb.crc(data) == crc32c.crc32c(data)


@cocotb.test(skip=os.environ.get("DATA_WIDTH") not in ("32", "64"))
async def test_published_examples(dut):
    tb = TB(dut)
    for data, expected in RFC3720:
        assert await tb.crc(data) == expected


@cocotb.test()
async def test_disabled(dut):
    dut.crc_in.value = ONES
    dut.data.value = 1
    dut.enable.value = 0
    await Timer(1, unit="ns")
    assert dut.crc_out.value == 0


@pytest.mark.parametrize("width", [32, 64, 480, 1024])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_crc32c(simulator, width):
    run_module(
        "lib/crc32c",
        __name__,
        simulator,
        parameters={"DATA_WIDTH": width},
        environment={"DATA_WIDTH": str(width)},
    )
