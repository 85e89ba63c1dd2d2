"""Start the peer's machine, run programs against the engine, report."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from sim.build import compile_design
from sim.peers.choose import real_peer
from sim.peers.lifecycle import PeerError
from sim.programs.catalogue import PROGRAMS
from sim.programs.peer import ProgramSettings
from sim.programs.session import FAILURE, OUTCOMES, PATH_MTU, PROGRESS, Outcome
from sim.programs.simulate import programs_design
from sim.run.narrator import Narrator, shown
from sim.run.simulator import LOG, RunFailed, run_watched, tail_of
from sim.sources import ROOT

FOLDER = ROOT / "build" / "programs"
PEER_LIMIT_SECONDS = 240.0
LIMIT_SECONDS = 600.0
PASSED, FAILED, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 130
_SLOT_BYTES = 1 << 20
_LINES_OF_OUTPUT = 12


def missing(names: Sequence[str]) -> list[str]:
    """Debian packages that the programs named need and this machine lacks."""
    wanted = {PROGRAMS[name].package for name in names if shutil.which(PROGRAMS[name].command[0]) is None}
    return sorted(wanted)


def run_programs(
    names: Sequence[str],
    narrator: Narrator,
    peer_kind: str = "auto",
    seed: int = 1,
    directory: Path = FOLDER,
) -> list[Outcome]:
    """Run the programs one after the other in one power-up; raise :class:`PeerError` if there is no peer.

    Leaves ``outcomes.json``, ``link.pcapng`` and the logs in ``directory``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in (PROGRESS, OUTCOMES, FAILURE):
        (directory / name).unlink(missing_ok=True)
    settings = ProgramSettings(run_directory=directory, slot_bytes=_SLOT_BYTES, slots=1, pmtu=PATH_MTU)
    with real_peer(peer_kind, settings, narrator.say) as peer:
        narrator.say(f"peer: starting the {peer.name}")
        peer.start()
        with narrator.working("building the RTL with verilator (cached after the first time)"):
            compile_design(programs_design())
        with narrator.working("waiting for the peer"):
            peer.wait_ready(PEER_LIMIT_SECONDS)
        found = peer.describe()
        plan = {
            "directory": str(directory),
            "programs": list(names),
            "seed": seed,
            "device": found.device,
            "wire": asdict(peer.wire_address()),
            "control": asdict(peer.control_address()),
            "fpga_ip": found.fpga_ip,
            "fpga_mac": found.fpga_mac,
            "peer_ip": found.ip,
            "peer_mac": found.mac,
        }
        path = directory / "plan.json"
        path.write_text(json.dumps(plan, indent=2))
        log, outcomes = directory / LOG, directory / OUTCOMES
        with narrator.working(f"running {', '.join(names)} on {found.device}, kernel {found.kernel}") as show:
            done = directory / PROGRESS
            run_watched(
                [sys.executable, "-m", "sim.programs.simulate", str(path)],
                log,
                lambda: show(f"running {', '.join(names[_count(done) :])} on {found.device}"),
                LIMIT_SECONDS,
            )
    if not outcomes.exists():
        failure = directory / FAILURE
        raise RunFailed(failure.read_text() if failure.exists() else tail_of(log))
    return [Outcome(**outcome) for outcome in json.loads(outcomes.read_text())]


def _count(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def main(names: Sequence[str], peer_kind: str, seed: int) -> int:
    """Run, print a table and what failed; return the exit code."""
    narrator = Narrator()
    console = narrator.console
    names = list(names) or list(PROGRAMS)
    if unknown := [name for name in names if name not in PROGRAMS]:
        console.print(f"no program {unknown[0]!r}; there are: {', '.join(PROGRAMS)}", highlight=False)
        return CANNOT_RUN
    if packages := missing(names):
        console.print(f"missing: apt-get install {' '.join(packages)}", highlight=False)
        return CANNOT_RUN
    started = time.monotonic()
    try:
        outcomes = run_programs(names, narrator, peer_kind, seed)
    except PeerError as error:
        console.print(str(error), highlight=False, markup=False)
        return CANNOT_RUN
    except RunFailed as error:
        console.print(f"FAIL: {error}", highlight=False, markup=False)
        return FAILED
    except KeyboardInterrupt:
        console.print("interrupted: peer and simulator are stopped")
        return INTERRUPTED
    table = Table("program", "messages", "exit code", "data", title=f"unmodified programs as peers, seed {seed}")
    for outcome in outcomes:
        exit_code = "-" if outcome.exit_code is None else str(outcome.exit_code)
        right = "right" if outcome.data_right else "not seen right"
        table.add_row(outcome.name, str(outcome.messages), exit_code, right, style=None if outcome.passed else "red")
    console.print(table)
    for outcome in outcomes:
        if not outcome.passed:
            console.print(f"FAIL: {outcome.name}: {outcome.problem or 'the program complains'}", markup=False)
            for line in outcome.output.splitlines()[-_LINES_OF_OUTPUT:]:
                console.print(f"  | {line}", markup=False, highlight=False)
    console.print(
        f"captured: {shown(FOLDER)}/link.pcapng   ({time.monotonic() - started:.1f} s in all)", highlight=False
    )
    return PASSED if all(outcome.passed for outcome in outcomes) else FAILED
