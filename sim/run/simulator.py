"""The simulator's process as the runner sees it: started in a session of its own, watched, always ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.lifeline import owned
from sim.run.failure import Failure
from sim.run.narrator import Narrator, shown
from sim.run.plan import Plan
from sim.sources import ROOT

SESSION_LIMIT_SECONDS = 3600.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.1
LEAST_FREE_BYTES = 64 << 10
LOG = "run.log"
_KILLED = re.compile(r"return code: -(\d+)")
"""How cocotb's runner tells of a simulator that a signal ended."""


class RunFailed(RuntimeError):
    """The session left no result. ``failure`` is what it said itself, if it could."""

    def __init__(self, reason: str, failure: Failure | None = None) -> None:
        super().__init__(reason)
        self.failure = failure


def run_session(plan: Plan, narrator: Narrator, doing: str = "streaming") -> None:
    """Run a stored plan to its end and show its progress; raise :class:`RunFailed` if it leaves no result."""
    command = [sys.executable, "-m", "sim.run.simulate", str(plan.path)]
    log_path = plan.directory / LOG
    with narrator.working(doing) as show:
        run_watched(command, log_path, lambda: show(f"{doing}: {_progress(plan)}"))
    if not plan.result_path.exists():
        failure = Failure.load(plan.failure_path)
        raise RunFailed(failure.reason if failure else tail_of(log_path), failure)


def run_watched(
    command: list[str],
    log_path: Path,
    show: Callable[[], None],
    limit_seconds: float = SESSION_LIMIT_SECONDS,
) -> None:
    """Run the simulator's process to its end, its output in ``log_path``, and ``show`` its progress.

    Whatever ends this function ends the process and all that it started. Raise :class:`RunFailed` after the limit.
    """
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **owned()},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + limit_seconds
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                show()
                if time.monotonic() > deadline:
                    raise RunFailed(f"the session did not end within {limit_seconds:.0f} s (wall); see {log_path.name}")
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the simulator and all that it started, politely first."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)


def _progress(plan: Plan) -> str:
    try:
        line = plan.progress_path.read_text().splitlines()[-1]
        entry: dict[str, Any] = json.loads(line)
    except (FileNotFoundError, IndexError, json.JSONDecodeError):
        return "the simulator is starting"
    return (
        f"simulated {entry['time_us']:.0f} us: {entry['shots']} of {plan.scenario.acquisition.shots} shots, "
        f"{entry['frames']} frames acknowledged, {entry['packets']} packets"
    )


def tail_of(path: Path, lines: int = 25) -> str:
    """Why a session ended that could not say it itself."""
    free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE_BYTES:
        return f"{shown(path.parent)} is on a full disk: {free} bytes are free"
    said = path.read_text(errors="replace")
    killed = _KILLED.search(said)
    if killed:
        name = signal.Signals(int(killed.group(1))).name
        return f"the simulator was killed by {name}, not by this run; if nobody did it, look whether memory ran out"
    return "the simulator ended without a result; its last lines:\n" + "\n".join(said.splitlines()[-lines:])
