"""The simulator's process: ``python -m tests.sim.softroce.simulate PLAN`` plays the cases of a plan."""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from pathlib import Path

from sim.build import compile_design, run_tests
from sim.programs.simulate import programs_design
from tests.sim.softroce.session import VARIABLE

_PR_SET_PDEATHSIG = 1


def main(path: Path) -> int:
    """Run the plan; its outcomes are in its folder."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    plan = json.loads(path.read_text())
    run_tests(
        compile_design(programs_design()),
        "tests.sim.softroce.session",
        Path(plan["directory"]),
        seed=plan["seed"] % 2**32,
        environment={VARIABLE: str(path), "COCOTB_LOG_PREFIX": "", "COLUMNS": "160"},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
