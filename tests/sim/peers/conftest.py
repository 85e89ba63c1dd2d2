"""A started micro-VM, one for each test module that asks, and a connected pretended FPGA."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.peers.lifecycle import PeerSettings
from sim.peers.vm import VmPeer

BOOT_LIMIT_SECONDS = 180.0
SLOT_BYTES = 256 * 1024


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VmPeer]:
    """One micro-VM for the module; its receiver serves one connection."""
    settings = PeerSettings(run_directory=tmp_path_factory.mktemp("vm"), slot_bytes=SLOT_BYTES, slots=4)
    with VmPeer(settings) as peer:
        peer.start()
        peer.wait_ready(BOOT_LIMIT_SECONDS)
        yield peer
