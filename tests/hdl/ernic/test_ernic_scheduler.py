"""ernic_scheduler: strict priority, turns inside a level, compared with a model every clock."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from tests.hdl.module_bench import run_module

LEVELS = (1, 2, 3)
SEED = 11


class Model:
    """The scheduler by its specification: the highest level with a candidate, there the next one in turn."""

    def __init__(self, queue_pairs: int) -> None:
        self.queue_pairs = queue_pairs
        self.last = dict.fromkeys(LEVELS, queue_pairs - 1)

    def choose(self, ready: int, tokens: int, exempt: int, levels: list[int], room: int) -> tuple[int, int] | None:
        """(queue pair, level) or None."""
        for level in LEVELS:
            able = [
                qp
                for qp in range(self.queue_pairs)
                if ready >> qp & 1
                and (levels[qp] or 2) == level
                and (exempt >> qp & 1 or (tokens >> qp & 1 and room >> (level - 1) & 1))
            ]
            if able:
                last = self.last[level]
                return min(able, key=lambda qp: (qp - last - 1) % self.queue_pairs), level
        return None


async def start(dut: Any) -> None:
    for name in (
        *("ready", "shaped_ok", "exempt", "service_level", "level_ready"),
        *("hand_qp", "hand_level", "served", "ahead"),
    ):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def every_choice_is_the_models(dut):
    queue_pairs = len(dut.ready)
    rng = random.Random(SEED)
    model = Model(queue_pairs)
    await start(dut)
    chosen: Counter[int] = Counter()
    for step in range(2000):
        if step % 50 == 0:
            levels = [rng.randrange(4) for _ in range(queue_pairs)]
            density = rng.choice([0.03, 0.2, 0.9])
        ready = sum((rng.random() < density) << qp for qp in range(queue_pairs))
        tokens = sum((rng.random() < 0.8) << qp for qp in range(queue_pairs))
        exempt = sum((rng.random() < 0.05) << qp for qp in range(queue_pairs))
        room = rng.choice([7, 7, 7, 6, 4, rng.randrange(8)])
        hand, level = rng.randrange(queue_pairs), rng.choice(LEVELS)
        served, ahead = rng.choice([(0, 0), (0, 1), (1, 0)])
        dut.ready.value = ready
        dut.shaped_ok.value = tokens
        dut.exempt.value = exempt
        dut.service_level.value = sum(given << 2 * qp for qp, given in enumerate(levels))
        dut.level_ready.value = room
        dut.hand_qp.value = hand
        dut.hand_level.value = level
        dut.served.value = served
        dut.ahead.value = ahead
        await FallingEdge(dut.clk)
        if served:
            model.last[level] = hand
        kept = model.last[level]
        if ahead:
            model.last[level] = hand
        expected = model.choose(ready, tokens, exempt, levels, room)
        model.last[level] = kept
        given = None
        if dut.any.value == 1:
            given = (int(dut.grant.value), int(dut.grant_level.value))
            chosen[given[1]] += 1
        assert given == expected, f"step {step}"
        waiting = {levels[qp] or 2 for qp in range(queue_pairs) if ready & (tokens | exempt) & 1 << qp}
        assert int(dut.waiting.value) == sum(1 << (level - 1) for level in waiting)
    assert all(chosen[level] > 100 for level in LEVELS), chosen


@cocotb.test()
async def turns_survive_a_higher_level(dut):
    """A queue pair of a higher level, served every other time, takes no turns from the others."""
    queue_pairs = len(dut.ready)
    middle = queue_pairs // 2
    await start(dut)
    dut.shaped_ok.value = (1 << queue_pairs) - 1
    dut.level_ready.value = 7
    dut.service_level.value = sum((1 if qp == middle else 3) << 2 * qp for qp in range(queue_pairs))
    served: Counter[int] = Counter()
    everybody = (1 << queue_pairs) - 1
    for step in range(40 * queue_pairs):
        dut.ready.value = everybody if step % 2 else everybody & ~(1 << middle)
        dut.served.value = 0
        await FallingEdge(dut.clk)
        qp = int(dut.grant.value)
        served[qp] += 1
        dut.hand_qp.value = qp
        dut.hand_level.value = int(dut.grant_level.value)
        dut.served.value = 1
        await FallingEdge(dut.clk)
    others = [served[qp] for qp in range(queue_pairs) if qp != middle]
    assert served[middle] == 20 * queue_pairs
    assert max(others) - min(others) <= 1, served


@pytest.mark.parametrize(
    ("simulator", "queue_pairs"),
    [
        ("verilator", 16),
        ("verilator", 64),
        pytest.param("icarus", 4, marks=pytest.mark.icarus),
        pytest.param("icarus", 5, marks=pytest.mark.icarus),
    ],
)
def test_ernic_scheduler(simulator, queue_pairs):
    run_module("ernic/ernic_scheduler", __name__, simulator, parameters={"NUM_QP": queue_pairs})
