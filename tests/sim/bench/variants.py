"""The combinations of simulator and body on which every bench test runs, and how one is run."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from sim.bench.design import Body, design
from sim.build import compile_design, run_tests

HDL = Path(__file__).resolve().parent / "hdl"
RUNS = Path(__file__).resolve().parents[3] / "build" / "tests"

VARIANTS = [
    pytest.param("verilator", Body.DPI, id="verilator-dpi"),
    pytest.param("verilator", Body.VPI, id="verilator-vpi"),
    pytest.param("icarus", Body.VPI, id="icarus-vpi", marks=pytest.mark.icarus),
]


def run_bench(
    top: str,
    test_module: str,
    simulator: str,
    body: Body,
    *,
    parameters: Mapping[str, int] | None = None,
    public: tuple[str, ...] = (),
    testcase: str | None = None,
    environment: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Build ``hdl/<top>`` with the bench, run the cocotb tests of ``test_module``; return the folder of the run.

    ``files`` are plusargs that name a file in that folder.
    """
    source = HDL / f"{top}.f"
    compiled = compile_design(design(source, body, parameters, public=public), simulator)
    folder = RUNS / f"{top}-{simulator}-{body}-{random.getrandbits(32):08x}"
    folder.mkdir(parents=True)
    plusargs = [f"+{name}={folder / file}" for name, file in (files or {}).items()]
    run_tests(
        compiled,
        test_module,
        folder,
        testcase=testcase,
        seed=1,
        environment={"EB_SIMULATOR": simulator, "EB_BODY": body, "EB_RUN": str(folder), **(environment or {})},
        plusargs=plusargs,
    )
    return folder
