"""Cases for the host peer, on a machine whose kernel has rdma_rxe: run by test_host.py, here or inside the micro-VM."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from host.exchange import ExchangeClosed, Finish, FrameReceived, Released, Summary
from host.receive.capture import CaptureReader
from sim.peers.host import HostPeer
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import Network, PeerSettings
from tests.sim.peers.hand_made import ACK, ultrasound_frame
from tests.sim.peers.session import Session

LIMIT_SECONDS = 60.0
SAMPLES = bytes(range(256)) * 128


def started(folder: Path) -> HostPeer:
    folder.mkdir(exist_ok=True)
    peer = HostPeer(PeerSettings(run_directory=folder, slot_bytes=65536, slots=2))
    peer.start()
    return peer


def connected(peer: HostPeer) -> Session:
    peer.wait_ready(LIMIT_SECONDS)
    found = peer.describe()
    network = Network(found.fpga_ip, found.fpga_mac, found.ip, found.mac)
    return Session(peer.wire_address(), peer.control_address(), network)


def links() -> str:
    return subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout


def test_two_at_once_each_with_its_frame(tmp_path: Path):
    peers = [started(tmp_path / name) for name in "ab"]
    try:
        sessions = [connected(peer) for peer in peers]
        assert len({peer.describe().ip for peer in peers}) == 2
        for number, session in enumerate(sessions):
            session.send(session.writer.frame(session.hello, 1, ultrasound_frame(number, SAMPLES, 64), number))
        for number, session in enumerate(sessions):
            received = session.message()
            assert isinstance(received, FrameReceived)
            assert received.ok and received.sequence == number, received.problems
            assert session.message() == Released(0, 1)
            assert {(reply.opcode, reply.syndrome) for reply in session.replies(2)} == {(ACK, 0x1F)}
            session.exchange.send(Finish())
            summary = session.message()
            assert isinstance(summary, Summary) and (summary.frames, summary.flagged) == (1, 0)
            session.close()
    finally:
        for peer in peers:
            peer.stop()
    assert "ebtap" not in links()


def test_receiver_killed_in_the_middle(tmp_path: Path):
    """What was received stays on disk; wire and exchange say that the peer has gone; the devices go too."""
    peer = started(tmp_path)
    try:
        with connected(peer) as session:
            frame = ultrasound_frame(3, SAMPLES, 64)
            session.send(session.writer.frame(session.hello, 0, frame, 3))
            assert isinstance(session.message(), FrameReceived)
            session.message()
            session.replies(2)
            receivers = [
                int(entry.parent.name)
                for entry in Path("/proc").glob("[0-9]*/cmdline")
                if b"host.receive\0serve" in entry.read_bytes() and b"--owner" not in entry.read_bytes()
            ]
            assert len(receivers) == 1
            os.kill(receivers[0], signal.SIGKILL)
            with pytest.raises(ExchangeClosed):
                session.exchange.receive(LIMIT_SECONDS)
            with pytest.raises(PeerLost, match=r"lost the host's RDMA device(?s:.*)ended with exit code 137"):
                for _ in range(20):
                    session.wire.receive(1.0)
    finally:
        peer.stop()
    (record,) = CaptureReader(peer.settings.capture_file)
    assert record.data == frame
    assert "ebtap" not in links()
