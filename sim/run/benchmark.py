"""Speed of the testbench, measured in one run of this command: ratios count, absolute figures are this machine's.

Each is measured several times in turn, and its fastest counts: what slows a run down comes from outside.

Four ways to run the same RTL: with the micro-VM peer, with the in-process model, alone (a recorded run repeated in
plain Verilator: no Python, no peer), and in a conventional bench in which Python handles every cycle (cocotbext-axi).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sim.bench.free_run import free_run
from sim.build import Design, compile_design, run_tests
from sim.run.account import result_of
from sim.run.narrator import Narrator
from sim.run.plan import CONVENTIONAL_RESULT
from sim.run.runner import RUNS, Options, run_scenario
from sim.run.simulate import bench_parameters
from sim.scenario.load import load
from sim.scenario.model import Scenario
from sim.sources import sources

SHOTS = 2
ROUNDS = 3
LEAST_OF_FREE_RUN = 0.6
LEAST_OVER_CONVENTIONAL = 20.0
FOLDER = RUNS.parent / "bench"


@dataclass(frozen=True)
class Speed:
    """One way of running: core cycles and payload megabytes a second of wall time."""

    name: str
    cycles_per_second: float
    megabytes_per_second: float | None


def _scenario(peer: str) -> Scenario:
    return load(
        "default", {"name": f"bench-{peer}", "link": {"peer": peer}, "acquisition": {"shots": SHOTS}, "expect": {}}
    )


def _pipeline(peer: str, console: Console, *, record: bool = False) -> Speed:
    scenario = _scenario(peer)
    directory = FOLDER / (f"{peer}-recorded" if record else peer)
    code = run_scenario(scenario, Options(directory=directory, record=record), console)
    if code != 0:
        raise RuntimeError(f"the run with peer {peer} failed; see {directory}")
    wall = result_of(directory)["wall"]
    return Speed(f"pipeline, peer {peer}", wall["cycles_per_second"], wall["payload_mb_per_second"])


def _alone() -> Speed:
    """Repeat the recorded run of the model peer without Python and peer."""
    result = free_run(FOLDER / "model-recorded" / "recording", bench_parameters(_scenario("model")))
    return Speed("RTL alone, no Python, no peer", result.cycles_per_second, None)


def _conventional() -> Speed:
    design = Design(
        top="frontend",
        sources=tuple(sources("frontend")),
        parameters={"LINKS": _scenario("model").links},
        fast=True,
    )
    directory = FOLDER / "conventional"
    directory.mkdir(parents=True, exist_ok=True)
    result_path = directory / "result.json"
    run_tests(
        compile_design(design),
        "sim.session.conventional",
        directory,
        environment={CONVENTIONAL_RESULT: str(result_path)},
    )
    if not result_path.exists():
        raise RuntimeError(f"the conventional bench failed; see what it printed above and {directory}")
    result = json.loads(result_path.read_text())
    return Speed(
        "conventional bench, Python every cycle",
        result["cycles"] / result["seconds"],
        result["octets"] / result["seconds"] / 1e6,
    )


def main() -> int:
    """Measure, print, keep the table in ``build/bench/bench.json``; 1 if a ratio falls short of its least value."""
    narrator = Narrator()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    quiet = Console(quiet=True)
    with narrator.working("building, and recording a run for the RTL alone"):
        _pipeline("model", quiet, record=True)
    ways = {
        "micro-VM peer": lambda: _pipeline("vm", quiet),
        "model peer": lambda: _pipeline("model", quiet),
        "RTL alone": _alone,
        "conventional bench": _conventional,
    }
    rounds: dict[str, list[Speed]] = {name: [] for name in ways}
    for number in range(1, ROUNDS + 1):
        for name, measure in ways.items():
            with narrator.working(f"measuring, round {number} of {ROUNDS}: {name}"):
                rounds[name].append(measure())
    speeds = [max(found, key=lambda speed: speed.cycles_per_second) for found in rounds.values()]
    vm, model, alone, conventional = speeds
    table = Table(title=f"{SHOTS} shots of the default scenario, wall time of this machine", title_justify="left")
    for column in ("", "cycles/s", "payload MB/s", "of RTL alone", "of conventional"):
        table.add_column(column, justify="left" if not column else "right")
    for speed in speeds:
        table.add_row(
            speed.name,
            f"{speed.cycles_per_second:,.0f}",
            "-" if speed.megabytes_per_second is None else f"{speed.megabytes_per_second:.2f}",
            f"{speed.cycles_per_second / alone.cycles_per_second:.2f}",
            f"{speed.cycles_per_second / conventional.cycles_per_second:.1f}",
        )
    narrator.console.print(table)
    of_free_run = model.cycles_per_second / alone.cycles_per_second
    over_conventional = vm.cycles_per_second / conventional.cycles_per_second
    _keep(FOLDER / "bench.json", speeds)
    good = of_free_run >= LEAST_OF_FREE_RUN and over_conventional >= LEAST_OVER_CONVENTIONAL
    narrator.say(
        f"model / RTL alone {of_free_run:.2f} (at least {LEAST_OF_FREE_RUN}), "
        f"vm / conventional {over_conventional:.1f} (at least {LEAST_OVER_CONVENTIONAL:.0f}): "
        + ("reached" if good else "NOT reached")
    )
    return 0 if good else 1


def _keep(path: Path, speeds: list[Speed]) -> None:
    path.write_text(json.dumps([speed.__dict__ for speed in speeds], indent=1) + "\n")
