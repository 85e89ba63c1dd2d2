"""Repeat a recorded run under plain Verilator: the same RTL and bench, no Python, no peer.

The yardstick for the speed of the testbench.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sim.bench.design import FOREIGN, HERE
from sim.build import Design, compile_program
from sim.sources import sources


@dataclass(frozen=True)
class FreeRun:
    """What a repetition took: core cycles, and the time that they cost."""

    cycles: int
    wall_seconds: float
    cpu_seconds: float
    frames: int
    octets: int

    @property
    def cycles_per_second(self) -> float:
        """Core cycles a second of wall time."""
        return self.cycles / self.wall_seconds


def free_run(recording: Path, parameters: Mapping[str, int] | None = None, *, timeout_seconds: float = 600) -> FreeRun:
    """Repeat the run in folder ``recording`` (see ``recording.py``), made by a bench with the same ``parameters``.

    Raise ``RuntimeError`` with the program's last words if it does not end as recorded, ``subprocess.TimeoutExpired``
    if not in time.
    """
    program = compile_program(
        Design(
            top="free_run",
            sources=tuple(sources(HERE / "free_run.f")),
            parameters=dict(parameters or {}),
            defines={"EB_DPI": "1"},
            foreign=(*FOREIGN, HERE / "replay.cpp"),
            timing=True,
            fast=True,
        )
    )
    done = subprocess.run(
        [program, f"+recording={recording}"], capture_output=True, text=True, check=False, timeout=timeout_seconds
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise RuntimeError(f"free run of {recording} failed ({done.returncode}): {(done.stdout + done.stderr)[-2000:]}")
    result = json.loads(lines[-1])
    return FreeRun(**{name: result[name] for name in FreeRun.__dataclass_fields__})
