"""SYNC~ as converters read it: how long it must be low to be a request, and what counts as a report of errors."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from sim.bench.design import HERE, design
from sim.build import compile_design, run_tests
from tests.sim.bench.variants import RUNS, VARIANTS

LINKS = 4
REQUEST = 9
ALL = (1 << LINKS) - 1


@cocotb.test()
async def long_is_a_request_and_short_a_report(dut):
    """Against a model that counts for each link by itself; lengths around the limit, links at the same time."""
    await Timer(1, "step")
    dut.sync_n.value = 0
    cocotb.start_soon(Clock(dut.link_clk, 4, unit="ns").start())
    clock = FallingEdge(dut.link_clk)
    await clock
    # From the start low is a request.
    assert int(dut.request_n.value) == 0
    rng = random.Random(3)
    low, reports, seen_reports = [REQUEST] * LINKS, 0, 0
    left, level = [rng.randint(1, 30) for _ in range(LINKS)], [0] * LINKS
    requests = [0] * LINKS
    for _ in range(4000):
        for link in range(LINKS):
            left[link] -= 1
            if left[link] <= 0:
                level[link] ^= 1
                left[link] = rng.randint(1, 20) if level[link] else rng.choice([1, 4, 8, 8, 9, 10, 25])
        dut.sync_n.value = sum(bit << link for link, bit in enumerate(level))
        await clock
        for link, bit in enumerate(level):
            reports += bool(bit and 0 < low[link] < REQUEST)
            low[link] = 0 if bit else min(REQUEST, low[link] + 1)
            requests[link] += low[link] == REQUEST
        wanted = sum((count < REQUEST) << link for link, count in enumerate(low))
        assert int(dut.request_n.value) == wanted
        seen_reports = int(dut.reports.value)
        assert seen_reports == reports
    assert min(requests) > 100 and seen_reports > 100
    # It ends with SYNC~, not a clock later.
    dut.sync_n.value = 0
    for _ in range(REQUEST):
        await clock
    assert int(dut.request_n.value) == 0
    dut.sync_n.value = ALL
    await Timer(1, "ns")
    assert int(dut.request_n.value) == ALL


@pytest.mark.parametrize(("simulator", "body"), VARIANTS[1:])
def test_sync_reader(simulator, body):
    compiled = compile_design(design(HERE / "sync_reader.v", body, {"LINKS": LINKS}), simulator)
    run_tests(compiled, __name__, RUNS / f"sync_reader-{simulator}", seed=1)
