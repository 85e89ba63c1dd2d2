"""The simulator's process: ``python -m sim.programs.simulate PLAN`` runs the programs of a plan."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sim.bench.bench import bench_design
from sim.bench.design import Body
from sim.build import Design, compile_design, run_tests
from sim.lifeline import tie_group
from sim.programs.session import VARIABLE
from sim.run.simulate import QUEUE_PAIRS
from sim.scenario.model import RING_BYTES

LINKS = 4


def programs_design() -> Design:
    """Return the build; small scenarios have the same."""
    return bench_design(Body.DPI, {"LINKS": LINKS, "RING_BYTES": RING_BYTES, "NUM_QP": QUEUE_PAIRS})


def main(path: Path) -> int:
    """Run the plan; its outcomes are in its folder."""
    tie_group()
    plan = json.loads(path.read_text())
    run_tests(
        compile_design(programs_design()),
        "sim.programs.session",
        Path(plan["directory"]),
        seed=plan["seed"] % 2**32,
        environment={VARIABLE: str(path), "COCOTB_LOG_PREFIX": "", "COLUMNS": "160"},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
