"""From a scenario to a verdict: peer and build side by side, simulator watched, frames verified, report written."""

from __future__ import annotations

import contextlib
import signal
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from host.report import RunFigures, print_summary, write_report
from sim.adc.sources import SourceError
from sim.build import Waves, compile_design
from sim.peers.choose import real_peer
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import Peer, PeerDescription, PeerError, PeerSettings
from sim.run.account import FRAMES, failed_figures, run_figures, salvage
from sim.run.folder import FolderRefused, claim
from sim.run.narrator import Narrator, shown
from sim.run.plan import Plan
from sim.run.simulate import scenario_design
from sim.run.simulator import LOG, RunFailed, run_session
from sim.run.waveform import WAVES, repeat_with_waves, window_of_failure, window_of_shot
from sim.scenario.model import SOURCES, Scenario
from sim.session.converters import mode_shots
from sim.sources import ROOT

RUNS = ROOT / "build" / "runs"
SLOT_GRAIN = 4096
PEER_LIMIT_SECONDS = 240.0
PEER_ENDING_SECONDS = 2.0
PASSED, FAILED, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Options:
    """What is not part of the scenario: waveform, recording for a free run, folder."""

    waves: bool | None = None
    """True: of the whole run; False: never; None: of what went wrong, when something did."""
    record: bool = False
    directory: Path | None = None


def run_scenario(scenario: Scenario, options: Options = Options(), console: Console | None = None) -> int:
    """Run and report; return the exit code."""
    narrator = Narrator(console)
    directory = (options.directory or RUNS / scenario.name).absolute()
    try:
        scenario = _with_source(scenario)
        with claim(directory, RUNS), _terminating():
            return _run(scenario, options, directory, narrator)
    except (FolderRefused, SourceError) as error:
        narrator.say(str(error))
        return CANNOT_RUN
    except OSError as error:
        where = f" (the run writes to {shown(directory)})" if error.filename is None else ""
        narrator.say(f"FAIL: {scenario.name}: {error}{where}", style="bold red")
        return FAILED
    except KeyboardInterrupt:
        narrator.say(f"interrupted: peer and simulator are stopped; what was received is in {shown(directory)}")
        return INTERRUPTED


def _with_source(scenario: Scenario) -> Scenario:
    """Name a file of samples by its whole path; raise :class:`SourceError` if it does not hold what is asked for."""
    acquisition = scenario.acquisition
    if acquisition.source in SOURCES:
        return scenario
    found = acquisition.model_copy(update={"source": str(Path(acquisition.source).absolute())})
    scenario = scenario.model_copy(update={"acquisition": found})
    mode_shots(scenario, acquisition.main_mode).close()
    return scenario


def _run(scenario: Scenario, options: Options, directory: Path, narrator: Narrator) -> int:
    started = time.monotonic()
    narrator.say(
        f"scenario {scenario.name}, seed {scenario.seed}, {scenario.simulator}: "
        f"{_shapes(scenario)}, {scenario.acquisition.shots} shots"
    )
    settings = PeerSettings(
        run_directory=directory,
        slot_bytes=-(-scenario.acquisition.largest_frame // SLOT_GRAIN) * SLOT_GRAIN,
        slots=scenario.host.slots,
        queue_pairs=scenario.rdma.qps,
        pmtu=scenario.rdma.pmtu,
        transport=scenario.rdma.transport,
    )
    description: PeerDescription | None = None
    plan: Plan | None = None
    try:
        with contextlib.ExitStack() as stack:
            peer = _choose_peer(scenario.link.peer, settings, narrator)
            if peer is not None:
                narrator.say(f"peer: starting the {peer.name}")
                stack.enter_context(peer)
                peer.start()
            with narrator.working(f"building the RTL with {scenario.simulator} (cached after the first time)"):
                compile_design(scenario_design(scenario, waves=options.waves is True), scenario.simulator)
            narrator.say(f"build: ready after {time.monotonic() - started:.1f} s")
            if peer is not None:
                with narrator.working("waiting for the peer"):
                    peer.wait_ready(PEER_LIMIT_SECONDS)
                description = peer.describe()
                narrator.say(
                    f"peer: {description.device} on {description.kernel}, ready {time.monotonic() - started:.1f} s"
                )
            plan = _plan(scenario, directory, settings, peer, options)
            plan.store()
            try:
                run_session(plan, narrator)
            except RunFailed as error:
                lost = peer is not None and error.failure is not None and error.failure.peer
                if lost and (ending := peer.ending(PEER_ENDING_SECONDS)):
                    raise RunFailed(f"{error}\nthe {peer.name} {ending}", error.failure) from error
                raise
    except (PeerError, PeerLost, RuntimeError) as error:
        code = _report_failure(scenario, directory, description, str(error), narrator)
        if plan is not None and (kept := salvage(plan)):
            narrator.say(
                f"{kept} frames had arrived; they are in {shown(directory)}/{FRAMES} and {plan.capture_path.name}"
            )
        failure = error.failure if isinstance(error, RunFailed) else None
        if plan is not None and failure is not None and not failure.peer and options.waves is None:
            repeat_with_waves(plan, window_of_failure(failure), failure, narrator)
        return code
    return _judge(plan, options, description, narrator, started)


def _judge(
    plan: Plan, options: Options, description: PeerDescription | None, narrator: Narrator, started: float
) -> int:
    """Verify a finished session and report on it."""
    try:
        with narrator.working("verifying"):
            account = run_figures(plan, description)
            report = write_report(plan.directory, account.figures, account.pictures)
    except OSError:
        raise
    except Exception as error:  # a verdict is due whatever is wrong with what the session left
        with (plan.directory / LOG).open("a") as log:
            traceback.print_exc(file=log)
        reason = f"its account cannot be made: {type(error).__name__}: {error}"
        return _report_failure(plan.scenario, plan.directory, description, reason, narrator)
    print_summary(report, narrator.console)
    narrator.say(f"report: {shown(plan.directory)}/report.html   ({time.monotonic() - started:.1f} s in all)")
    if options.waves is True:
        narrator.say(f"waveform: {shown(plan.directory)}/{WAVES} (open it with GTKWave or Surfer)")
    if report.verdict == "pass":
        return PASSED
    if options.waves is None:
        repeat_with_waves(plan, window_of_shot(plan, account.suspect), None, narrator)
    return FAILED


def _shapes(scenario: Scenario) -> str:
    """What frames hold, a mode each."""
    acquisition = scenario.acquisition
    shapes = [(mode.name, acquisition.shape_of(mode)) for mode in acquisition.modes]
    return ", ".join(f"{name} {shape.channels} channels x {shape.samples} samples" for name, shape in shapes)


def _choose_peer(kind: str, settings: PeerSettings, narrator: Narrator) -> Peer | None:
    """Return a real peer, not yet started; None for the in-process model."""
    if kind == "model":
        return None
    return real_peer(kind, settings, narrator.say)


def _plan(scenario: Scenario, directory: Path, settings: PeerSettings, peer: Peer | None, options: Options) -> Plan:
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
        record=options.record,
        waves=Waves(WAVES) if options.waves is True else None,
    )


def _report_failure(
    scenario: Scenario, directory: Path, description: PeerDescription | None, reason: str, narrator: Narrator
) -> int:
    report = write_report(directory, failed_figures(scenario, description, reason))
    narrator.say(f"FAIL: {scenario.name}: {reason}", style="bold red")
    log = f"log: {shown(directory)}/{LOG}, " if (directory / LOG).exists() else ""
    narrator.say(f"{log}verdict: {shown(directory)}/report.json")
    return FAILED if report.verdict == "fail" else CANNOT_RUN


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
