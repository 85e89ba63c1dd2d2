"""Why a session ended early, as the simulator's process leaves it for the runner."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sim.peers.interface import PeerLost
from sim.session.errors import ReceiverFailed


@dataclass(frozen=True)
class Failure:
    """One reason; when it was noticed, in ns of simulated time; whether the peer is to blame and not the design."""

    reason: str
    time_ns: int
    peer: bool

    @classmethod
    def of(cls, error: BaseException, time_ns: int) -> Failure:
        """Describe ``error``."""
        return cls(f"{type(error).__name__}: {error}", time_ns, isinstance(error, (PeerLost, ReceiverFailed)))

    def store(self, path: Path) -> None:
        """Write it to a file, whole or not at all."""
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)))
        partial.rename(path)

    @classmethod
    def load(cls, path: Path) -> Failure | None:
        """Read it back; None if the session left none."""
        return cls(**json.loads(path.read_text())) if path.exists() else None
