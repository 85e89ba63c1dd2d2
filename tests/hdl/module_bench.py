"""Run a cocotb test module on one HDL module, on both simulators.

A module's test file is one file with two halves: cocotb coroutines (they run inside the simulator) and, below, a pytest
function that sweeps HDL parameters and calls :func:`run_module` with ``__name__``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from sim.build import Design, compile_design, run_tests
from sim.sources import sources

SIMULATORS = [
    pytest.param("verilator", id="verilator"),
    pytest.param("icarus", id="icarus", marks=pytest.mark.icarus),
]
RUNS = Path(__file__).resolve().parents[2] / "build" / "tests"


def run_module(
    module: str,
    test_module: str,
    simulator: str,
    *,
    parameters: Mapping[str, int] | None = None,
    testcase: str | None = None,
    extra_sources: tuple[Path, ...] = (),
    environment: Mapping[str, str] | None = None,
    seed: int = 1,
) -> None:
    """Compile ``hdl/<module>`` (a path without suffix, the top by name) and run the cocotb tests of ``test_module``."""
    top = Path(module).name
    design = Design(
        top=top,
        sources=(*sources(module), *extra_sources),
        parameters=dict(parameters or {}),
    )
    compiled = compile_design(design, simulator)
    label = re.sub(
        r"[^A-Za-z0-9_.-]+", "-", f"{top}-{simulator}-{testcase or 'all'}-{sorted(design.parameters.items())}"
    )
    run_tests(
        compiled,
        test_module,
        RUNS / f"{label}-{random.getrandbits(32):08x}",
        testcase=testcase,
        seed=seed,
        environment=environment,
    )
