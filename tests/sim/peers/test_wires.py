"""The datagram wire alone, against a socket that reads, does not read, or goes away."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.peers.interface import PeerLost
from sim.peers.lifecycle import WireAddress, open_wire


@pytest.fixture
def card(tmp_path: Path) -> Iterator[socket.socket]:
    """Stands where QEMU's network card stands."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "card"))
        end.settimeout(5.0)
        yield end


def address(folder: Path, process: int) -> WireAddress:
    log = folder / "log"
    log.write_text("first line\nlast line\n")
    return WireAddress("datagram", "micro-VM", process, str(folder / "wire"), str(folder / "card"), str(log))


def test_one_datagram_is_one_frame_both_ways(tmp_path: Path, card: socket.socket):
    with open_wire(address(tmp_path, os.getpid())) as wire:
        frames = [bytes([index]) * length for index, length in enumerate((1, 60, 4178, 9000))]
        for frame in frames:
            wire.send(frame)
            assert card.recv(65536) == frame
        for frame in frames:
            card.sendto(frame, str(tmp_path / "wire"))
        assert [wire.receive(0) for _ in frames] == frames
        assert wire.receive(0) is None
        started = time.monotonic()
        assert wire.receive(0.2) is None
        assert 0.19 < time.monotonic() - started < 2.0
    assert not (tmp_path / "wire").exists()


def test_a_frame_that_comes_while_waiting_ends_the_wait(tmp_path: Path, card: socket.socket):
    with open_wire(address(tmp_path, os.getpid())) as wire:
        sender = threading.Timer(0.2, card.sendto, (b"late", str(tmp_path / "wire")))
        sender.start()
        started = time.monotonic()
        assert wire.receive(20.0) == b"late"
        assert time.monotonic() - started < 10.0
        sender.join()


def test_nobody_reads(tmp_path: Path, card: socket.socket):
    """The queue fills up, then the sender waits, then it says so; nothing is dropped."""
    with open_wire(address(tmp_path, os.getpid()), send_limit_seconds=0.3) as wire:
        sent = 0
        with pytest.raises(PeerLost, match=r"waited 0\.3 s for it to take a frame of 100 bytes(?s:.*)last line"):
            for _ in range(10_000):
                wire.send(sent.to_bytes(100))
                sent += 1
        assert 5 < sent < 10_000
        assert [int.from_bytes(card.recv(100)) for _ in range(sent)] == list(range(sent))
        wire.send(b"x")


def test_a_slow_reader_loses_nothing(tmp_path: Path, card: socket.socket):
    with open_wire(address(tmp_path, os.getpid())) as wire:
        pid = os.fork()
        if pid == 0:
            for expected in range(200):
                time.sleep(0.0005)
                if int.from_bytes(card.recv(4200)) != expected:
                    os._exit(1)
            os._exit(0)
        for index in range(200):
            wire.send(index.to_bytes(4178))
        assert os.waitpid(pid, 0)[1] == 0


def test_peer_ends_while_the_link_waits(tmp_path: Path, card: socket.socket):
    with subprocess.Popen(["sleep", "0.5"]) as process, open_wire(address(tmp_path, process.pid)) as wire:
        started = time.monotonic()
        with pytest.raises(PeerLost, match="it ended while the link waited for a frame"):
            wire.receive(30.0)
        assert time.monotonic() - started < 5.0


def test_frames_that_came_before_the_end_are_delivered(tmp_path: Path, card: socket.socket):
    with subprocess.Popen(["sleep", "100"]) as process:
        try:
            with open_wire(address(tmp_path, process.pid)) as wire:
                card.sendto(b"late", str(tmp_path / "wire"))
                process.kill()
                process.wait()
                assert wire.receive(1.0) == b"late"
                with pytest.raises(PeerLost):
                    wire.receive(1.0)
        finally:
            process.kill()


def test_socket_that_has_gone(tmp_path: Path, card: socket.socket):
    with open_wire(address(tmp_path, os.getpid())) as wire:
        card.close()
        with pytest.raises(PeerLost, match="does not take frames any more"):
            wire.send(b"x")


def test_sockets_go_before_their_process(tmp_path: Path, card: socket.socket):
    """What is told is that the process has ended, not the first thing that its end broke."""
    with subprocess.Popen(["sleep", "0.3"]) as process, open_wire(address(tmp_path, process.pid)) as wire:
        card.close()
        with pytest.raises(PeerLost, match="has ended"):
            wire.send(b"x")
    (tmp_path / "card").unlink()
    with subprocess.Popen(["sleep", "0.3"]) as process, pytest.raises(PeerLost, match="has ended"):
        open_wire(address(tmp_path, process.pid))


def test_peer_that_was_never_there(tmp_path: Path):
    with pytest.raises(PeerLost, match="cannot be opened"):
        open_wire(address(tmp_path, os.getpid()))
    with subprocess.Popen(["true"]) as process:
        process.wait()
        with pytest.raises(PeerLost, match="has ended"):
            open_wire(address(tmp_path, process.pid))
