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

    def choose(self, ready: int, tokens: int, levels: list[int], room: int) -> tuple[int, int, int] | None:
        """(queue pair, level, levels with candidates as bits) or None."""
        able = {
            level: [
                qp
                for qp in range(self.queue_pairs)
                if ready >> qp & 1 and tokens >> qp & 1 and (levels[qp] or 2) == level and room >> (level - 1) & 1
            ]
            for level in LEVELS
        }
        candidates = sum(bool(able[level]) << (level - 1) for level in LEVELS)
        for level in LEVELS:
            if able[level]:
                last = self.last[level]
                return min(able[level], key=lambda qp: (qp - last - 1) % self.queue_pairs), level, candidates
        return None


async def start(dut: Any) -> None:
    for name in ("ready", "shaped_ok", "service_level", "level_ready", "taken"):
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
        room = rng.choice([7, 7, 7, 6, 4, rng.randrange(8)])
        taken = rng.randrange(2)
        dut.ready.value = ready
        dut.shaped_ok.value = tokens
        dut.service_level.value = sum(level << 2 * qp for qp, level in enumerate(levels))
        dut.level_ready.value = room
        dut.taken.value = taken
        await FallingEdge(dut.clk)
        expected = model.choose(ready, tokens, levels, room)
        assert dut.any.value == (expected is not None)
        if expected is None:
            assert int(dut.candidates.value) == 0
            continue
        # If it was taken, the turn has moved on at the edge before.
        dut.taken.value = 0
        qp, level, candidates = expected
        if taken:
            model.last[level] = qp
            qp, _, _ = model.choose(ready, tokens, levels, room) or (None, 0, 0)
        assert int(dut.candidates.value) == candidates
        assert int(dut.grant_level.value) == level
        assert int(dut.grant.value) == qp, f"step {step}"
        chosen[level] += 1
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
    dut.taken.value = 1
    served: Counter[int] = Counter()
    everybody = (1 << queue_pairs) - 1
    for step in range(40 * queue_pairs):
        dut.ready.value = everybody if step % 2 else everybody & ~(1 << middle)
        await FallingEdge(dut.clk)
        served[int(dut.grant.value)] += 1
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
