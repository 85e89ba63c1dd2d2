"""The relay, with small programs of our own in the place of the real ones."""

from __future__ import annotations

import ctypes
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.exchange import SocketStream
from host.programs.channel import ChannelError
from sim.peers.interface import PeerLost
from sim.programs import peer, relay
from sim.programs.messages import Lines
from sim.programs.peer import RemoteProgram

ECHO = """
import ctypes, socket, sys
memory = ctypes.create_string_buffer(b"what is in it", 64)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    connection, _ = listener.accept()
    print("index", sys.argv[2])
    connection.sendall(ctypes.addressof(memory).to_bytes(8, "big"))
    while data := connection.recv(100):
        if data == b"crash":
            sys.exit(3)
        connection.sendall(data[::-1])
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[RemoteProgram]:
    here, there = socket.socketpair()
    server = threading.Thread(target=relay.relay, args=(Lines(SocketStream(there)), 7))
    server.start()
    program = RemoteProgram(Lines(SocketStream(here)), tmp_path / "receiver.log")
    yield program
    program.close()
    server.join(20.0)
    assert not server.is_alive()


def start(remote: RemoteProgram, script: str = ECHO) -> int:
    """Run a script on a free port; return the address that it tells of."""
    port = free_port()
    assert remote.start([sys.executable, "-c", script, str(port), "{gid_index}"], port)
    return int.from_bytes(remote.receive(8, "address"), "big")


def test_bytes_go_both_ways_and_the_end_is_told(remote: RemoteProgram) -> None:
    for word in (b"hello", b"again"):  # one program after the other
        start(remote)
        remote.send(word)
        assert remote.receive(2, "echo") + remote.receive(3, "echo") == word[::-1]
        ending = remote.end(10.0)
        assert ending.code == 0 and ending.output == "index 7\n"


def test_memory_of_the_program_can_be_looked_at(remote: RemoteProgram) -> None:
    address = start(remote)
    assert remote.peek(address, 13) == b"what is in it"
    assert remote.peek(16, 4) == b""
    own = ctypes.create_string_buffer(b"not this", 64)
    assert remote.peek(ctypes.addressof(own), 8) != b"not this"
    remote.end(5.0)


def test_what_one_program_said_is_not_taken_for_the_next_one_s(remote: RemoteProgram) -> None:
    start(remote)
    remote.send(b"left over")
    assert remote.receive(1, "echo") == b"r"
    remote.end(5.0)
    start(remote)
    remote.send(b"fresh")
    assert remote.receive(5, "echo") == b"hserf"
    remote.end(5.0)


def test_a_program_that_crashes_is_told_with_its_exit_code(remote: RemoteProgram) -> None:
    start(remote)
    remote.send(b"crash")
    with pytest.raises(ChannelError, match="closed the connection; echo was due"):
        remote.receive(5, "echo")
    assert remote.end(5.0).code == 3


def test_a_program_that_does_not_end_is_ended(remote: RemoteProgram) -> None:
    start(remote, ECHO + "import time\ntime.sleep(1000)\n")
    assert remote.end(0.2).code == -9


def test_a_program_that_does_not_listen(remote: RemoteProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not remote.start([sys.executable, "-c", "print('no device'); raise SystemExit(1)"], free_port())
    ending = remote.end(1.0)
    assert ending.code == 1 and "no device" in ending.output
    monkeypatch.setattr(relay, "START_SECONDS", 0.3)
    assert not remote.start([sys.executable, "-c", "import time; time.sleep(100)"], free_port())
    assert remote.end(0.0).code == -9
    assert not remote.start(["/no/such/program"], free_port())
    ending = remote.end(0.0)
    assert ending.code == 127 and "/no/such/program" in ending.output


def test_the_program_ends_when_the_simulator_has_gone(tmp_path: Path) -> None:
    here, there = socket.socketpair()
    server = threading.Thread(target=relay.relay, args=(Lines(SocketStream(there)), 1))
    server.start()
    remote = RemoteProgram(Lines(SocketStream(here)), tmp_path / "receiver.log")
    port = free_port()
    marker = tmp_path / "alive"
    loop = f"import pathlib, socket, time\nlistener = socket.create_server(('127.0.0.1', {port}))\n"
    loop += f"for _ in range(1000): pathlib.Path({str(marker)!r}).write_text(str(time.monotonic())); time.sleep(0.01)\n"
    assert remote.start([sys.executable, "-c", loop], port)
    remote.close()
    server.join(20.0)
    assert not server.is_alive()
    last = marker.read_text()
    time.sleep(0.3)
    assert marker.read_text() == last


def test_a_relay_that_has_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair()
    remote = RemoteProgram(Lines(SocketStream(here)), tmp_path / "receiver.log")
    monkeypatch.setattr(peer, "ANSWER_SECONDS", 0.3)
    with pytest.raises(PeerLost, match="while waiting for the program's memory"):
        remote.peek(0, 1)
    there.close()
    with pytest.raises(ChannelError, match="greeting"):
        remote.receive(1, "greeting")
    remote.close()
