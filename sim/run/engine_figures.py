"""The RDMA engine's figures in simulated time, each from a run: ``make bench``. They are the same on every machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sim.run.account import result_of
from sim.run.narrator import Narrator
from sim.run.runner import RUNS, Options, run_scenario
from sim.scenario.load import load, parse
from sim.scenario.model import Scenario

FOLDER = RUNS.parent / "bench-engine"
_ALONE = {"interrupt_threshold": 128, "interrupt_timeout_ns": 100_000}
_BLOCK = {"source": "prbs", "channels": 64, "samples": 2046, "shots": 4, "prf_hz": 5000.0}
"""One frame a block of 256 KiB, far apart: what one transfer costs."""


@dataclass(frozen=True)
class Figure:
    """One row: ``value`` is None where no run measures it, ``goal`` where there is nothing to reach."""

    what: str
    value: float | None
    unit: str
    goal: float | None = None
    at_most: bool = False

    @property
    def reached(self) -> bool | None:
        """None: nothing to reach."""
        if self.goal is None:
            return None
        return self.value is not None and (self.value <= self.goal if self.at_most else self.value >= self.goal)


def _named(name: str) -> Scenario:
    return load(name, {"link": {"peer": "model"}})


def _made(name: str, acquisition: dict[str, Any], rdma: dict[str, Any]) -> Scenario:
    made = {"name": name, "acquisition": acquisition, "rdma": rdma, "link": {"peer": "model"}}
    return parse(made, name)


def scenarios() -> dict[str, Scenario]:
    """All runs that the figures come from."""
    runs = {name: _named(name) for name in ("rc", "uc", "ud", "lossy", "multiqp")}
    for transport in ("RC", "UC"):
        for pmtu in (1024, 256):
            name = f"{transport.lower()}-{pmtu}"
            runs[name] = _made(name, {**_BLOCK, "shots": 1}, {"transport": transport, "pmtu": pmtu, **_ALONE})
    runs["tuned"] = _made("tuned", _BLOCK, {})
    runs["handshake"] = _made("handshake", _BLOCK, {"posting": "hardware"})
    before = {"batch": 1, "interrupt_threshold": 1, "block_bytes": 4096}
    runs["before"] = _made("before", _BLOCK, before)
    return runs


def figures(runs: dict[str, Scenario], of: Callable[[str], dict[str, Any]]) -> list[Figure]:
    """Return all rows; ``of`` gives the simulated figures of a run."""

    def goodput(name: str) -> float:
        return float(of(name)["goodput_gbps"])

    def latency(name: str) -> float:
        return float(of(name)["latency_us"]["p50"])

    rows = [
        Figure("RC WRITE, PMTU 4096", goodput("rc"), "Gb/s", 97.9),
        Figure("UC WRITE, PMTU 4096", goodput("uc"), "Gb/s", 97.9),
    ]
    for transport in ("RC", "UC"):
        for pmtu in (1024, 256):
            name = f"{transport.lower()}-{pmtu}"
            limit = runs[name].wire_goodput_gbps
            rows.append(Figure(f"{transport} WRITE, PMTU {pmtu}", goodput(name), "Gb/s", round(0.99 * limit, 4)))
    several = of("multiqp")
    rows += [
        Figure("UD SEND, 4 KiB messages", goodput("ud"), "Gb/s", 95.0),
        Figure("RC, one packet in 10,000 lost, round trip 10 us", goodput("lossy"), "Gb/s", 97.0),
        Figure("8 queue pairs: largest less smallest", several["unfairness_percent"], "%", 5.0, at_most=True),
        Figure("8 queue pairs: sum, of one's", 100 * goodput("multiqp") / goodput("rc"), "%", 99.0),
        Figure("doorbell to first beat, entry in memory", of("tuned")["doorbell_to_wire_ns"], "ns"),
        Figure(
            "doorbell to first beat, entry on the chip",
            of("handshake")["doorbell_to_wire_ns"],
            "ns",
            23.0,
            at_most=True,
        ),
        Figure("latency, hardware handshake", latency("handshake"), "us", 1.2, at_most=True),
        Figure("latency, processor and interrupt, tuned", latency("tuned"), "us", 4.0, at_most=True),
        Figure("goodput tuned", goodput("tuned"), "Gb/s"),
        # Its latency says nothing beside: most of a frame has left when its last small block is complete.
        Figure("goodput before: a WR a doorbell, an interrupt a block of 4 KiB", goodput("before"), "Gb/s"),
        Figure("doorbells a frame, tuned", of("tuned")["doorbells"] / _BLOCK["shots"], ""),
        Figure("doorbells a frame, before", of("before")["doorbells"] / _BLOCK["shots"], ""),
    ]
    return rows


def main() -> int:
    """Run, print, keep the table in ``build/bench-engine/figures.json``; 1 if a goal is missed or not measured."""
    narrator, quiet = Narrator(), Console(quiet=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    runs = scenarios()
    failed = []
    for name, scenario in runs.items():
        with narrator.working(f"engine: run {name}"):
            if run_scenario(scenario, Options(waves=False, directory=FOLDER / name), quiet):
                failed.append(name)
    rows = figures(runs, lambda name: result_of(FOLDER / name)["simulated"])
    (FOLDER / "figures.json").write_text(
        json.dumps([asdict(row) | {"reached": row.reached} for row in rows], indent=1) + "\n"
    )
    narrator.console.print(_table(rows))
    for name in failed:
        narrator.say(f"run {name} failed; see {Path(FOLDER / name)}", style="bold red")
    return int(bool(failed) or any(row.reached is False for row in rows))


def _table(rows: list[Figure]) -> Table:
    table = Table(title="RDMA engine, simulated time, peer model", title_justify="left")
    for column in ("", "figure", "goal", ""):
        table.add_column(column, justify="left" if not column else "right")
    for row in rows:
        goal = "-" if row.goal is None else f"{'<=' if row.at_most else '>='} {row.goal:g} {row.unit}"
        value = "not measured" if row.value is None else f"{row.value:.4g} {row.unit}"
        table.add_row(row.what, value, goal, "" if row.reached is None else "yes" if row.reached else "NO")
    return table
