"""Client side of perftest and pingpong, word for word, against a scripted server."""

from __future__ import annotations

import socket
import struct
import threading
from ipaddress import IPv4Address

import pytest

from host.programs import perftest, pingpong
from host.programs.channel import ChannelError, TcpChannel
from host.programs.end import End

LOCAL = End(0x11, 0xABCDEF, IPv4Address("10.77.0.1"), 0x800000000, 0x1234)
REMOTE = End(0x17, 0x000042, IPv4Address("10.77.0.2"), 0x7F0012345000, 0x0000A1B2)
REMOTE_KEYS = (
    b"0000:0010:000017:000042:0000a1b2:00007f0012345000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:00000000:\0"
)


class Script:
    """Answers what it is told to, in order, and keeps what came."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = b"".join(answers)
        self.sent: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def receive(self, count: int, what: str) -> bytes:
        if len(self.answers) < count:
            raise ChannelError(f"the program closed the connection; {what} was due")
        found, self.answers = self.answers[:count], self.answers[count:]
        return found


def opening(version: bytes = b"6.06", pmtu: bytes = b"5") -> list[bytes]:
    return [
        version.ljust(16, b"\0"),
        struct.pack(">II", 4096, 64),
        pmtu + b"\0",
        REMOTE_KEYS * 3,
    ]


def test_the_opening_of_perftest() -> None:
    script = Script(*opening())
    assert perftest.PerftestClient(script, 4096).open(LOCAL) == REMOTE
    keys = (
        b"0000:0010:000011:abcdef:00001234:0000000800000000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:01:00000000:\0"
    )
    assert len(keys) == 108
    assert script.sent == [b"6.06".ljust(16, b"\0"), b"\0\0\x10\0", b"\0\0\0\x40", b"5\0", keys, keys, keys]


def test_the_end_of_perftest() -> None:
    figures = [struct.pack(">qq", 65536, 20), struct.pack(">ddd", 3.5, 2.5, 40.0)]
    script = Script(REMOTE_KEYS, *figures, REMOTE_KEYS, b"done\0")
    found = perftest.PerftestClient(script, 4096).close(LOCAL, perftest.Figures(4096, 7, 1.0, 2.0, 3.0))
    assert found == perftest.Figures(65536, 20, 3.5, 2.5, 40.0)
    assert script.sent[1:6] == [
        struct.pack(">q", 4096),
        struct.pack(">q", 7),
        *(struct.pack(">d", x) for x in (1, 2, 3)),
    ]
    assert script.sent[-1] == b"done\0"


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        (opening(version=b"5.60"), "too old"),
        (opening(version=b"later"), "too old"),
        (opening(pmtu=b"3"), "path MTU is smaller than 4096"),
        ([*opening()[:3], REMOTE_KEYS.replace(b"ff:ff", b"00:00")], "not an IPv4 address"),
        ([*opening()[:3], b"x" * 108], "cannot be read"),
        (opening()[:2], "path MTU was due"),
    ],
)
def test_what_perftest_says_wrong_is_named(answers: list[bytes], complaint: str) -> None:
    with pytest.raises(ChannelError, match=complaint):
        perftest.PerftestClient(Script(*answers), 4096).open(LOCAL)


def test_pingpong() -> None:
    script = Script(b"0000:000017:000042:00000000000000000000ffff0a4d0002\0")
    assert pingpong.introduce(script, LOCAL) == End(REMOTE.qpn, REMOTE.psn, REMOTE.ip)
    assert script.sent == [b"0000:000011:abcdef:00000000000000000000ffff0a4d0001\0", b"done\0"]
    assert len(script.sent[0]) == pingpong.MESSAGE_OCTETS
    with pytest.raises(ChannelError, match="cannot be read"):
        pingpong.introduce(Script(b"0000:000017:" + bytes(40)), LOCAL)


def test_a_connection_by_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(connection.recv(5)[::-1])
                connection.recv(1)

        server = threading.Thread(target=serve)
        server.start()
        channel = TcpChannel("127.0.0.1", listener.getsockname()[1], limit_seconds=0.5)
        channel.send(b"hello")
        assert channel.receive(2, "word") + channel.receive(3, "word") == b"olleh"
        with pytest.raises(ChannelError, match=r"waited 0 s|waited 1 s"):
            channel.receive(1, "word")
        channel.send(b"x")
        server.join()
        with pytest.raises(ChannelError, match="closed the connection; the rest was due"):
            channel.receive(1, "the rest")
        channel.close()
