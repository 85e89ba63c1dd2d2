"""The simulator's process: ``python -m sim.run.simulate PLAN`` runs the session of a plan."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim.bench.bench import bench_design
from sim.bench.design import Body
from sim.build import Compiled, Design, compile_design, run_tests
from sim.lifeline import tie_group
from sim.run.plan import VARIABLE, Plan
from sim.scenario.model import DATA_QUEUE_PAIRS, RING_BYTES, Scenario

SESSION = "sim.session.session"
QUEUE_PAIRS = DATA_QUEUE_PAIRS + 1


def bench_parameters(scenario: Scenario) -> dict[str, int]:
    """Return the bench top's parameters that a scenario needs."""
    # The clock that the links start with is set when the session begins, so that modes share a build.
    return {"LINKS": scenario.links, "RING_BYTES": RING_BYTES, "NUM_QP": QUEUE_PAIRS}


def scenario_design(scenario: Scenario, *, waves: bool = False) -> Design:
    """Return the build that a scenario needs."""
    body = Body.DPI if scenario.simulator == "verilator" else Body.VPI
    return bench_design(body, bench_parameters(scenario), waves=waves)


def simulate(plan: Plan) -> Path:
    """Compile (cached) and run; return the cocotb results file. Raises ``SystemExit`` if the session fails."""
    traced = plan.waves is not None
    compiled: Compiled = compile_design(scenario_design(plan.scenario, waves=traced), plan.scenario.simulator)
    return run_tests(
        compiled,
        SESSION,
        plan.directory,
        seed=plan.scenario.seed % 2**32,
        environment={VARIABLE: str(plan.path), "COCOTB_LOG_PREFIX": "", "COLUMNS": "160"},
        plusargs=[f"+probe={plan.events_path.name}"],
        waves=plan.waves,
    )


def main() -> int:
    """Run the plan named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m sim.run.simulate", description=__doc__)
    parser.add_argument("plan", type=Path)
    options = parser.parse_args()
    tie_group()
    plan = Plan.load(options.plan)
    simulate(plan)
    return 0 if plan.result_path.exists() else 1


if __name__ == "__main__":
    sys.exit(main())
