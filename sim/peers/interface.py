"""The wire to a peer: whole Ethernet frames out and in. The only place where a run may wait for wall time."""

from __future__ import annotations

from typing import Protocol


class PeerLost(RuntimeError):
    """The peer cannot be reached any more; the message says why and what to look at."""


class Wire(Protocol):
    """A connection to a peer, frame by frame, without preamble and FCS."""

    def send(self, frame: bytes) -> None:
        """Hand over one frame.

        Blocks no longer than the wire's stated limit; raises :class:`PeerLost` when that passes.
        """
        ...

    def receive(self, timeout_seconds: float) -> bytes | None:
        """Return the next frame, or None if none came in time; 0 polls. Raises :class:`PeerLost` if none can come."""
        ...
