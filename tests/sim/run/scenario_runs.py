"""Run a scenario in a folder of its own and read what it leaves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.run.runner import Options, run_scenario
from sim.scenario.load import parse

SMALL = {
    "name": "small",
    "acquisition": {"source": "prbs", "channels": 64, "samples": 510, "shots": 2, "prf_hz": 8000.0},
    "rdma": {"block_bytes": 32768, "retry_timeout": 3},
    "link": {"peer": "model"},
}
"""Two frames of 16 packets: enough for every recovery, fast enough to run it dozens of times."""


@dataclass(frozen=True)
class Outcome:
    """Exit code, report and folder of a run."""

    code: int
    report: dict[str, Any]
    directory: Path

    @property
    def simulated(self) -> dict[str, Any]:
        """All figures in simulated time."""
        return self.report["simulated"]


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the keys of ``change``, table by table."""
    result = dict(base)
    for key, value in change.items():
        result[key] = {**result.get(key, {}), **value} if isinstance(value, dict) else value
    return result


def run(
    directory: Path,
    change: dict[str, Any] | None = None,
    base: dict[str, Any] | None = None,
    *,
    waves: bool | None = False,
) -> Outcome:
    """Run ``base`` (default :data:`SMALL`) with ``change``; without a waveform, even of a failure, unless told."""
    scenario = parse(merged(SMALL if base is None else base, change or {}), "test")
    directory.mkdir(parents=True, exist_ok=True)
    code = run_scenario(scenario, Options(waves=waves, directory=directory))
    return Outcome(code, json.loads((directory / "report.json").read_text()), directory)
