"""The micro-VM: hand-made WRITEs land in verbs memory, and nothing is left behind whatever ends first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from host.exchange import Event, ExchangeClosed, Finish, FrameReceived, Released, Summary
from host.frame_layout import FrameShape
from host.receive.capture import CaptureReader
from sim.peers import vm as vm_module
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import ControlAddress, Network, PeerError, PeerSettings, WireAddress, open_wire
from sim.peers.vm import Machine, VmPeer
from sim.sources import ROOT
from tests.sim.peers.conftest import BOOT_LIMIT_SECONDS, SLOT_BYTES
from tests.sim.peers.hand_made import ACK, ultrasound_frame
from tests.sim.peers.session import FPGA_QPN, Session

pytestmark = pytest.mark.peer
SAMPLES, CHANNELS = 200, 256


@pytest.fixture(scope="module")
def session(vm: VmPeer) -> Iterator[Session]:
    with Session(vm.wire_address(), vm.control_address(), Network()) as connected:
        yield connected


def random_samples(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, (SAMPLES, CHANNELS), np.int16)


def test_describes_itself(vm: VmPeer):
    description = vm.describe()
    assert (description.kind, description.device) == ("vm", "rxe0")
    assert description.kernel.startswith("6.1.0-") and description.kernel.endswith("-amd64")
    assert (description.ip, description.mac) == (Network().peer_ip, Network().peer_mac)
    assert (description.mtu, description.pmtu) == (4200, 4096)
    order = [description.start_seconds[name] for name in ("kernel", "modules", "guest", "network", "rxe", "receiver")]
    assert order == sorted(order)


def test_a_frame_lands_in_memory_and_is_acknowledged(session: Session, vm: VmPeer):
    """Through the PSN wrap, in several WRITEs; what the receiver logged is compared byte by byte."""
    samples = random_samples(1)
    frame = ultrasound_frame(7, samples.tobytes(), CHANNELS)
    assert len(frame) == FrameShape(SAMPLES, CHANNELS).frame_bytes
    packets = session.writer.frame(session.hello, 1, frame, 7)
    session.send(packets)
    replies = session.replies(-(-len(frame) // 32768))
    assert {(reply.opcode, reply.qpn, reply.syndrome) for reply in replies} == {(ACK, FPGA_QPN, 0x1F)}
    assert replies[-1].psn == (session.writer.psn - 1) & 0xFFFFFF
    received = session.message()
    assert isinstance(received, FrameReceived)
    assert (received.slot, received.sequence, received.bytes) == (1, 7, len(frame))
    assert received.ok, received.problems
    assert session.message() == Released(0, 1)
    record = list(CaptureReader(vm.settings.capture_file))[-1]
    assert (record.slot, record.immediate) == (1, 1 << 20 | 7)
    assert record.data == frame


def test_a_corrupted_sample_is_reported(session: Session):
    frame = bytearray(ultrasound_frame(8, random_samples(2).tobytes(), CHANNELS))
    frame[5000] ^= 0x10
    session.send(session.writer.frame(session.hello, 2, bytes(frame), 8))
    received = session.message()
    assert isinstance(received, FrameReceived)
    assert not received.ok
    assert [problem.split(":")[0] for problem in received.problems] == ["payload_crc"]
    assert session.message() == Released(0, 2)
    session.replies(-(-len(frame) // 32768))


def test_a_torn_frame_is_reported(session: Session):
    """Header and samples are of frame 9, the immediate is of frame 10."""
    frame = ultrasound_frame(9, random_samples(3).tobytes(), CHANNELS)
    session.send(session.writer.frame(session.hello, 3, frame, 10))
    received = session.message()
    assert isinstance(received, FrameReceived)
    assert [problem.split(":")[0] for problem in received.problems] == ["tear"]
    assert session.message() == Released(0, 3)
    session.replies(-(-len(frame) // 32768))


def test_a_bad_icrc_is_dropped_and_the_gap_draws_a_nak(session: Session):
    """The packet before the gap is damaged on the wire: the device drops it without a word and NAKs the next one."""
    frame = ultrasound_frame(11, random_samples(4).tobytes(), CHANNELS)
    psn = session.writer.psn
    packets = session.writer.frame(session.hello, 0, frame, 11)
    damaged = bytearray(packets[0])
    damaged[-1] ^= 1
    session.send([bytes(damaged), packets[1]])
    (nak,) = session.replies(1)
    assert (nak.opcode, nak.syndrome, nak.psn) == (ACK, 0x60, psn)
    session.send(packets)
    session.replies(-(-len(frame) // 32768))
    received = session.message()
    assert isinstance(received, FrameReceived) and received.ok
    assert session.message() == Released(0, 4)


def test_finish_brings_the_counters(session: Session, vm: VmPeer):
    """The last test with this receiver. The damaged packet is the one that the device never counted."""
    session.exchange.send(Finish())
    summary = session.message()
    assert isinstance(summary, Summary)
    assert (summary.frames, summary.flagged, summary.events) == (4, 2, ())
    assert summary.counters["out_of_seq_request"] == 1
    assert summary.counters["rdma_recvs"] == 4
    with pytest.raises(ExchangeClosed):
        session.exchange.receive(30.0)
    with pytest.raises(PeerLost, match=r"receiver ended with exit code 0"):
        for _ in range(30):
            session.wire.receive(1.0)
    assert len(list(CaptureReader(vm.settings.capture_file))) == 4


def test_two_side_by_side_and_a_fatal_error(tmp_path: Path):
    """Two VMs get different frames at once; then one gets a WRITE outside its memory, which only it must feel."""
    peers = []
    try:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            peer = VmPeer(PeerSettings(run_directory=tmp_path / name, slot_bytes=SLOT_BYTES, slots=2))
            peers.append(peer)
            peer.start()
        for peer in peers:
            peer.wait_ready(BOOT_LIMIT_SECONDS)
        sessions = [Session(peer.wire_address(), peer.control_address(), Network()) for peer in peers]
        for number, session in enumerate(sessions):
            frame = ultrasound_frame(number, random_samples(number).tobytes(), CHANNELS)
            session.send(session.writer.frame(session.hello, 0, frame, number))
        for number, session in enumerate(sessions):
            received = session.message()
            assert isinstance(received, FrameReceived) and received.ok and received.sequence == number
            assert session.message() == Released(0, 1)
        victim, other = sessions
        victim.replies(4)
        outside = victim.hello.queue_pairs[0].address + 2 * SLOT_BYTES
        victim.send(victim.writer.write(outside, bytes(64), immediate=0))
        (nak,) = victim.replies(1)
        assert nak.syndrome == 0x62
        event = victim.message()
        assert isinstance(event, Event) and event.fatal
        assert event.cause == "queue_pair_error"
        assert "in its error state" in event.detail and "flushed" in event.detail
        other.exchange.send(Finish())
        summary = other.message()
        assert isinstance(summary, Summary) and summary.events == ()
        for session in sessions:
            session.close()
    finally:
        for peer in peers:
            peer.stop()
    for peer in peers:
        assert not Path(peer.wire_address().local).parent.exists()


OWNER = """
import sys, time
from pathlib import Path
from sim.peers.lifecycle import PeerSettings
from sim.peers.vm import VmPeer
peer = VmPeer(PeerSettings(run_directory=Path(sys.argv[1]), slot_bytes=65536))
peer.start()
print(peer.wire_address().to_json(), flush=True)
time.sleep(600)
"""


def processes_with(text: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in entry.read_bytes() and int(entry.parent.name) != os.getpid():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("victim", ["owner", "supervisor"])
def test_no_orphan_after_kill(tmp_path: Path, victim: str):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            assert owner.stdout
            address = WireAddress.from_json(owner.stdout.readline())
            directory = Path(address.local).parent
            limit = time.monotonic() + 20
            while not (directory / "control").exists():  # QEMU is up
                assert time.monotonic() < limit
                time.sleep(0.05)
            qemu = [pid for pid in processes_with(str(directory)) if pid not in (owner.pid, address.process)]
            assert len(qemu) == 1
            os.kill(owner.pid if victim == "owner" else address.process, signal.SIGKILL)
            limit = time.monotonic() + 10
            while processes_with(str(directory)) and time.monotonic() < limit:
                time.sleep(0.05)
            assert processes_with(str(directory)) == []
            if victim == "owner":
                assert not directory.exists()
            with pytest.raises(PeerLost, match="has ended"):
                open_wire(address)
        finally:
            owner.kill()
    if victim == "supervisor":  # nobody was left to remove it: the next start does
        assert directory.exists()
        from sim.peers.guarded import PrivateDirectory

        PrivateDirectory().close()
        assert not directory.exists()


def test_boot_limit_tells_how_far_it_came(tmp_path: Path):
    with VmPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65536)) as peer:
        peer.start()
        started = time.monotonic()
        with pytest.raises(PeerError, match=r"not ready 1 s after its start; stages reached: .*\nHint: "):
            peer.wait_ready(1.0)
        assert time.monotonic() - started < 15.0
        with pytest.raises(PeerLost, match="control channel"):
            peer_control(peer)


def peer_control(peer: VmPeer) -> None:
    from sim.peers.lifecycle import open_control

    open_control(peer.control_address())


def test_missing_emulator_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vm_module, "QEMU", "qemu-system-none")
    with pytest.raises(PeerError, match=r"qemu-system-none is missing.*\nHint: apt-get install qemu-system-x86"):
        VmPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65536)).start()


def test_small_memory_is_refused(tmp_path: Path):
    with pytest.raises(PeerError, match="128 MiB of guest memory are too little"):
        VmPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65536), Machine(memory_bytes=128 << 20)).start()


def test_receiver_that_cannot_start_is_explained(tmp_path: Path):
    """Slots that are no multiple of a page pass this process and are refused by the receiver in the VM."""
    with VmPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65537)) as peer:
        peer.start()
        with pytest.raises(PeerError, match=r"it ended(?s:.*)slot_bytes = 65537: must be a multiple of 4096"):
            peer.wait_ready(BOOT_LIMIT_SECONDS)


def test_addresses_travel_as_text():
    wire = WireAddress("datagram", "micro-VM", 1, "/a", "/b", "/c")
    assert WireAddress.from_json(json.dumps(json.loads(wire.to_json()))) == wire
    control = ControlAddress("micro-VM", "/a", "/c")
    assert ControlAddress.from_json(control.to_json()) == control
