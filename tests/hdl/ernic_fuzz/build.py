"""Builds of ``fuzz_bench`` and their runs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from sim.bench.design import Body, design
from sim.build import compile_design, run_tests
from tests.hdl.module_bench import RUNS

TOP = Path(__file__).parent / "fuzz_bench.f"
TOP_PUBLIC = ("rst", "bus_*", "notices", "notice_sum", "host_frames", "data_octets")
"""What Python reads and writes; each costs speed."""
VARIANTS = [
    pytest.param("verilator", Body.DPI, id="verilator"),
    pytest.param("icarus", Body.VPI, id="icarus", marks=pytest.mark.icarus),
]


def run(
    simulator: str, body: Body, test_module: str, *, seed: int = 1, environment: Mapping[str, str] | None = None
) -> None:
    """Build, and run the cocotb tests of ``test_module`` in a folder of their own."""
    compiled = compile_design(design(TOP, body, top_public=TOP_PUBLIC), simulator)
    name = f"{test_module.rpartition('.')[2]}-{simulator}-{seed}-{random.getrandbits(32):08x}"
    run_tests(compiled, test_module, RUNS / name, seed=seed, environment=environment)
