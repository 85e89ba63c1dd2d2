"""Memory on the chip: words written through registers are read in bursts, whatever pauses the reader makes."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

MEMORY_BYTES = 4096
ROW = 64


async def _start(dut):
    names = ("write_valid", "write_address", "write_data", "read_load", "read_address")
    for name in (*names, "s_row_valid", "s_row_address", "s_row_data", "look_valid", "look_row"):
        getattr(dut, name).value = 0
    for name in ("s_axi_araddr", "s_axi_arlen", "s_axi_arvalid", "s_axi_rready"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def bursts_with_pauses(dut):
    rng = random.Random(1)
    await _start(dut)
    contents = rng.randbytes(MEMORY_BYTES)
    for word in rng.sample(range(MEMORY_BYTES // 4), MEMORY_BYTES // 4):
        dut.write_address.value = word
        dut.write_data.value = int.from_bytes(contents[4 * word : 4 * word + 4], "little")
        dut.write_valid.value = 1
        await RisingEdge(dut.clk)
    dut.write_valid.value = 0
    for rate in (1.0, 0.6, 0.2):
        wanted: list[int] = []
        got: list[tuple[int, int]] = []
        bursts = [(rng.randrange(MEMORY_BYTES // ROW), rng.randrange(1, 9)) for _ in range(40)]
        asked = ready = 0
        for _ in range(10000):
            if len(got) == sum(length for _, length in bursts):
                break
            await RisingEdge(dut.clk)
            if int(dut.s_axi_arvalid.value) and int(dut.s_axi_arready.value):
                row, length = bursts[asked]
                wanted += [(row + beat) % (MEMORY_BYTES // ROW) for beat in range(length)]
                asked += 1
                dut.s_axi_arvalid.value = 0
            elif not int(dut.s_axi_arvalid.value) and asked < len(bursts) and rng.random() < rate:
                row, length = bursts[asked]
                dut.s_axi_araddr.value = 1 << 63 | row * ROW
                dut.s_axi_arlen.value = length - 1
                dut.s_axi_arvalid.value = 1
            if int(dut.s_axi_rvalid.value) and ready:
                got.append((int(dut.s_axi_rdata.value), int(dut.s_axi_rlast.value)))
            ready = int(rng.random() < rate)
            dut.s_axi_rready.value = ready
        rows = [int.from_bytes(contents[ROW * row : ROW * row + ROW], "little") for row in wanted]
        lasts = [int(beat == length - 1) for _, length in bursts for beat in range(length)]
        assert got == list(zip(rows, lasts, strict=True))
    await _check_words(dut, contents, rng)


async def _check_words(dut, contents, rng):
    for word in rng.sample(range(MEMORY_BYTES // 4), MEMORY_BYTES // 4):
        dut.read_address.value = word
        dut.read_load.value = 1
        await RisingEdge(dut.clk)
        dut.read_load.value = 0
        await RisingEdge(dut.clk)
        assert int(dut.read_data.value) == int.from_bytes(contents[4 * word : 4 * word + 4], "little")


@cocotb.test()
async def rows_while_words_go_first(dut):
    """Whoever comes later to an octet has it."""
    rng, contents = random.Random(2), bytes(MEMORY_BYTES)
    await _start(dut)
    for row in range(MEMORY_BYTES // ROW):
        dut.s_row_address.value = row
        dut.s_row_data.value = 0
        dut.s_row_valid.value = 1
        await RisingEdge(dut.clk)
    words = 0
    for _ in range(100):
        row, octets = rng.randrange(MEMORY_BYTES // ROW), rng.randbytes(ROW)
        dut.s_row_address.value = row
        dut.s_row_data.value = int.from_bytes(octets, "little")
        dut.s_row_valid.value = 1
        for _ in range(100):
            word = row * 16 + rng.randrange(16) if rng.random() < 0.5 else None
            dut.write_valid.value = int(word is not None)
            if word is not None:
                words += 1
                value = rng.getrandbits(32)
                dut.write_address.value = word
                dut.write_data.value = value
                contents = contents[: 4 * word] + value.to_bytes(4, "little") + contents[4 * word + 4 :]
            await ReadOnly()
            taken = int(dut.s_row_ready.value)
            await RisingEdge(dut.clk)
            assert taken == (word is None)
            if taken:
                break
        contents = contents[: ROW * row] + octets + contents[ROW * row + ROW :]
        dut.s_row_valid.value = 0
        dut.write_valid.value = 0
    assert words > 20
    await _check_words(dut, contents, rng)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_queue_memory(simulator):
    run_module("ernic/ernic_queue_memory", __name__, simulator, parameters={"MEMORY_BYTES": MEMORY_BYTES})
