"""Which peer a run gets: the one that the scenario names, or the host's rxe if it has one, else the micro-VM."""

from __future__ import annotations

from sim.peers.host import HostPeer, check_usable
from sim.peers.lifecycle import PeerError, PeerSettings
from sim.peers.vm import VmPeer


def choose_peer(kind: str, settings: PeerSettings) -> HostPeer | VmPeer | None:
    """Return the peer, not yet started; None for the in-process model. Raises ``ValueError`` for an unknown kind."""
    if kind == "model":
        return None
    if kind == "host" or (kind == "auto" and _host_is_usable()):
        return HostPeer(settings)
    if kind in ("vm", "auto"):
        return VmPeer(settings)
    raise ValueError(f"peer {kind!r}: there are auto, vm, host, model")


def _host_is_usable() -> bool:
    try:
        check_usable()
    except PeerError:
        return False
    return True
