"""Which peer a scenario gets."""

from __future__ import annotations

from collections.abc import Callable

from sim.peers.host import HostPeer, check_usable
from sim.peers.lifecycle import Peer, PeerError, PeerSettings
from sim.peers.vm import VmPeer


def real_peer(kind: str, settings: PeerSettings, note: Callable[[str], None] = lambda _: None) -> Peer:
    """Return the peer ``vm`` or ``host``, not started; for ``auto`` the host if it can be one, else the micro-VM.

    ``note`` is told why ``auto`` passed over the host.
    """
    if kind == "auto":
        try:
            check_usable()
            kind = "host"
        except PeerError as error:
            note(f"peer auto: micro-VM, because {str(error).splitlines()[0]}")
            kind = "vm"
    if kind == "vm":
        return VmPeer(settings)
    if kind == "host":
        return HostPeer(settings)
    raise ValueError(f"peer = {kind!r}: allowed auto, vm, host")
