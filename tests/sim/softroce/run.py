"""Start the peer's machine, play cases twice in that one power-up, bring the outcomes back."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from sim.build import compile_design
from sim.peers.choose import real_peer
from sim.programs.simulate import programs_design
from sim.run.simulator import LOG, RunFailed, run_watched, tail_of
from tests.sim.softroce.cases import PATH_MTU
from tests.sim.softroce.memory import POOL_BYTES
from tests.sim.softroce.outcome import Outcome
from tests.sim.softroce.remote import TargetSettings
from tests.sim.softroce.session import FAILURE, OUTCOMES

PEER_LIMIT_SECONDS = 240.0
LIMIT_SECONDS = 1800.0


def play(names: Sequence[str], directory: Path, seed: int, peer_kind: str = "vm") -> dict[tuple[str, bool], Outcome]:
    """Return the outcome of each case by name and round; raise :class:`RunFailed` if the simulation broke off."""
    settings = TargetSettings(run_directory=directory, slot_bytes=POOL_BYTES, slots=1, pmtu=PATH_MTU)
    with real_peer(peer_kind, settings) as peer:
        peer.start()
        compile_design(programs_design())
        peer.wait_ready(PEER_LIMIT_SECONDS)
        found = peer.describe()
        plan = {
            "directory": str(directory),
            "cases": list(names),
            "seed": seed,
            "wire": asdict(peer.wire_address()),
            "control": asdict(peer.control_address()),
            "fpga_ip": found.fpga_ip,
            "fpga_mac": found.fpga_mac,
            "peer_ip": found.ip,
            "peer_mac": found.mac,
        }
        path = directory / "plan.json"
        path.write_text(json.dumps(plan, indent=2))
        command = [sys.executable, "-m", "tests.sim.softroce.simulate", str(path)]
        run_watched(command, directory / LOG, lambda: None, LIMIT_SECONDS)
    failure = directory / FAILURE
    if failure.exists():
        raise RunFailed(failure.read_text())
    lines = (directory / OUTCOMES).read_text().splitlines() if (directory / OUTCOMES).exists() else []
    if len(lines) != 2 * len(names):
        raise RunFailed(f"{len(lines)} outcomes of {2 * len(names)}; {tail_of(directory / LOG)}")
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    return {(outcome.name, outcome.again): outcome for outcome in outcomes}
