"""From a scenario to a verdict: peer and build side by side, simulator watched, frames verified, report written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from rich.console import Console

from host.report import RunFigures, print_summary, write_report
from sim.build import compile_design
from sim.peers.choose import real_peer
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import Peer, PeerDescription, PeerError, PeerSettings
from sim.run.account import failed_figures, run_figures
from sim.run.plan import Plan
from sim.run.simulate import scenario_design
from sim.scenario.model import Scenario
from sim.sources import ROOT

RUNS = ROOT / "build" / "runs"
SLOT_GRAIN = 4096
PEER_LIMIT_SECONDS = 240.0
SESSION_LIMIT_SECONDS = 3600.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.1
PASSED, FAILED, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 130


class RunFailed(RuntimeError):
    """The run ended before its figures were complete."""


@dataclass(frozen=True)
class Options:
    """What is not part of the scenario: waveform, recording for a free run, folder."""

    waves: bool = False
    record: bool = False
    directory: Path | None = None


def run_scenario(scenario: Scenario, options: Options = Options(), console: Console | None = None) -> int:
    """Run and report; return the exit code."""
    console = console or Console(highlight=False)
    directory = options.directory or RUNS / scenario.name
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(directory.with_name(directory.name + ".lock"), timeout=0), _terminating():
            _clear(directory)
            return _run(scenario, options, directory, console)
    except Timeout:
        console.print(
            f"another run is at work in {_shown(directory)}; wait for it, or give this one --output", markup=False
        )
        return CANNOT_RUN
    except KeyboardInterrupt:
        console.print("interrupted: peer and simulator are stopped; what was received is in the run's folder")
        return INTERRUPTED


def _run(scenario: Scenario, options: Options, directory: Path, console: Console) -> int:
    started = time.monotonic()
    console.print(
        f"scenario {scenario.name}, seed {scenario.seed}, {scenario.simulator}: "
        f"{scenario.acquisition.channels} channels x {scenario.acquisition.samples} samples x "
        f"{scenario.acquisition.shots} shots",
        markup=False,
    )
    settings = PeerSettings(
        run_directory=directory,
        slot_bytes=-(-scenario.acquisition.shape.frame_bytes // SLOT_GRAIN) * SLOT_GRAIN,
        slots=scenario.host.slots,
        queue_pairs=scenario.rdma.qps,
        pmtu=scenario.rdma.pmtu,
    )
    description: PeerDescription | None = None
    try:
        with contextlib.ExitStack() as stack:
            peer = _choose_peer(scenario.link.peer, settings, console)
            if peer is not None:
                console.print(f"peer: starting the {peer.name}", markup=False)
                stack.enter_context(peer)
                peer.start()
            with console.status(f"building the RTL with {scenario.simulator} (cached after the first time)"):
                compile_design(scenario_design(scenario, waves=options.waves), scenario.simulator)
            console.print(f"build: ready after {time.monotonic() - started:.1f} s")
            if peer is not None:
                with console.status("waiting for the peer"):
                    peer.wait_ready(PEER_LIMIT_SECONDS)
                description = peer.describe()
                console.print(
                    f"peer: {description.device} on {description.kernel}, ready {time.monotonic() - started:.1f} s",
                    markup=False,
                )
            plan = _plan(scenario, directory, settings, peer, record=options.record)
            plan.store()
            _simulate(plan, options, console)
    except (PeerError, PeerLost, RuntimeError) as error:
        return _report_failure(scenario, directory, description, str(error), console)
    figures, pictures = run_figures(plan, description)
    report = write_report(directory, figures, pictures)
    print_summary(report, console)
    console.print(f"report: {_shown(directory)}/report.html   ({time.monotonic() - started:.1f} s in all)")
    return PASSED if report.verdict == "pass" else FAILED


def _choose_peer(kind: str, settings: PeerSettings, console: Console) -> Peer | None:
    """Return a real peer, not yet started; None for the in-process model."""
    if kind == "model":
        return None
    return real_peer(kind, settings, lambda note: console.print(note, markup=False))


def _plan(scenario: Scenario, directory: Path, settings: PeerSettings, peer: Peer | None, *, record: bool) -> Plan:
    found = peer.describe() if peer else None
    return Plan(
        scenario=scenario,
        directory=directory,
        peer_kind=found.kind if found else "model",
        wire=asdict(peer.wire_address()) if peer else {},
        control=asdict(peer.control_address()) if peer else {},
        slot_bytes=settings.slot_bytes,
        fpga_ip=found.fpga_ip if found else settings.network.fpga_ip,
        fpga_mac=found.fpga_mac if found else settings.network.fpga_mac,
        record=record,
    )


def _simulate(plan: Plan, options: Options, console: Console) -> None:
    """Run the simulator's process and show its progress; raise :class:`RunFailed` with the session's reason."""
    command = [sys.executable, "-m", "sim.run.simulate", str(plan.path)]
    command += ["--waves"] if options.waves else []
    log_path = plan.directory / "run.log"
    with log_path.open("wb") as log, console.status("streaming") as status:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            deadline = time.monotonic() + SESSION_LIMIT_SECONDS
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                status.update(_progress(plan))
                if time.monotonic() > deadline:
                    raise RunFailed(
                        f"the session did not end within {SESSION_LIMIT_SECONDS:.0f} s (wall); see {log_path.name}"
                    )
        finally:
            _end(process)
    if options.waves:
        _keep_waves(plan.directory)
    if not plan.result_path.exists():
        failure = plan.directory / "failure.txt"
        reason = failure.read_text() if failure.exists() else _tail(log_path)
        raise RunFailed(reason)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the simulator and all that it started, politely first."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            if kind is signal.SIGTERM and process.returncode is not None:
                continue


def _progress(plan: Plan) -> str:
    try:
        line = plan.progress_path.read_text().splitlines()[-1]
        entry: dict[str, Any] = json.loads(line)
    except (FileNotFoundError, IndexError, json.JSONDecodeError):
        return "simulator is starting"
    return (
        f"simulated {entry['time_us']:.0f} us: {entry['shots']} of {plan.scenario.acquisition.shots} shots, "
        f"{entry['frames']} frames acknowledged, {entry['packets']} packets"
    )


def _report_failure(
    scenario: Scenario, directory: Path, description: PeerDescription | None, reason: str, console: Console
) -> int:
    report = write_report(directory, failed_figures(scenario, description, reason))
    console.print(f"FAIL: {scenario.name}: {reason}", style="bold red", markup=False)
    console.print(f"log: {_shown(directory)}/run.log, verdict in {_shown(directory)}/report.json")
    return FAILED if report.verdict == "fail" else CANNOT_RUN


def _clear(directory: Path) -> None:
    """Remove what an earlier run left."""
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _keep_waves(directory: Path) -> None:
    for name in ("dump.fst", "bench_top.fst"):
        if (directory / name).exists():
            (directory / name).rename(directory / "waves.fst")


def _tail(path: Path, lines: int = 25) -> str:
    return "the simulator ended without a result; its last lines:\n" + "\n".join(
        path.read_text(errors="replace").splitlines()[-lines:]
    )


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


@contextlib.contextmanager
def _terminating() -> Iterator[None]:
    """Let SIGTERM, and SIGINT even where a shell had it ignored, end a run with everything cleaned up."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous = {kind: signal.signal(kind, interrupt) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for kind, handler in previous.items():
            signal.signal(kind, handler)


__all__ = ["Options", "RunFigures", "run_scenario"]
