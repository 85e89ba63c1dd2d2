"""Notices: sixteen wait, in order, for the stream or for the register; more are lost and counted."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

WAITING = 16
REGISTER = (1 << 56) - 1


async def start(dut) -> None:
    for name in ("s_valid", "s_data", "pop", "m_ready"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def push(dut, word: int) -> bool:
    """Give a notice; return whether it is kept."""
    dut.s_data.value = word
    dut.s_valid.value = 1
    await RisingEdge(dut.clk)
    lost = bool(dut.lost_valid.value)
    dut.s_valid.value = 0
    await RisingEdge(dut.clk)
    return not lost


@cocotb.test()
async def register(dut):
    """Without anybody at the stream: sixteen are kept, the register shows the oldest, 0 behind the last."""
    await start(dut)
    assert int(dut.oldest.value) == 0
    for turn in range(3):
        words = [(turn + 1 << 60) + (turn + 1 << 52) + n for n in range(WAITING + 4)]
        assert [await push(dut, word) for word in words] == [True] * WAITING + [False] * 4
        for word in words[:WAITING]:
            await RisingEdge(dut.clk)
            assert int(dut.oldest.value) == word & REGISTER
            dut.pop.value = 1
            await RisingEdge(dut.clk)
            dut.pop.value = 0
            await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        assert int(dut.oldest.value) == 0
        assert not dut.m_valid.value


@cocotb.test()
async def stream(dut):
    """Notices and readiness at random: all that are not said to be lost come out once, in order, whole."""
    await start(dut)
    rng = random.Random(2)
    kept: deque[int] = deque()
    lost = came = 0
    offered = None
    ready = 0
    for cycle in range(4000):
        await RisingEdge(dut.clk)
        if dut.m_valid.value and ready:
            assert int(dut.m_data.value) == kept.popleft()
            came += 1
        if offered is not None:
            if dut.lost_valid.value:
                assert len(kept) >= WAITING - 1, "lost while there was room"
                lost += 1
            else:
                kept.append(offered)
                assert len(kept) <= WAITING + 1
        busy = cycle // 500 % 2
        offered = rng.getrandbits(64) if rng.random() < 0.5 else None
        dut.s_valid.value = int(offered is not None)
        dut.s_data.value = offered or 0
        ready = int(rng.random() < (0.2 if busy else 0.8))
        dut.m_ready.value = ready
    assert lost > 50
    assert came > 500


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_notices(simulator):
    run_module("ernic/ernic_notices", __name__, simulator)
