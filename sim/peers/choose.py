"""Which peer a run gets: the one that the scenario names, or the host's rxe if it has one, else the micro-VM."""

from __future__ import annotations

from sim.peers.host import HostPeer, host_has_rxe
from sim.peers.lifecycle import Peer, PeerSettings
from sim.peers.vm import VmPeer


def choose_peer(kind: str, settings: PeerSettings) -> Peer | None:
    """Return the peer, not yet started; None for the in-process model. Raises ``ValueError`` for an unknown kind."""
    if kind == "auto":
        kind = "host" if host_has_rxe() else "vm"
    if kind == "model":
        return None
    if kind == "host":
        return HostPeer(settings)
    if kind == "vm":
        return VmPeer(settings)
    raise ValueError(f"peer {kind!r}: there are auto, vm, host, model")
