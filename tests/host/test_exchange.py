"""The queue pair exchange.

Every message survives the line, nothing else gets through, and the end of a stream is noticed.
"""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from host.exchange import (
    VERSION,
    Connect,
    Event,
    Exchange,
    ExchangeClosed,
    ExchangeError,
    Finish,
    FrameReceived,
    Hello,
    Message,
    Ready,
    ReceiverQueuePair,
    Released,
    Reset,
    ResetDone,
    SenderQueuePair,
    SocketStream,
    Summary,
    decode,
    encode,
)

HELLO = Hello(
    version=VERSION,
    kernel="6.1.0-1-amd64",
    device="rxe0",
    ip="10.77.0.2",
    mac="02:eb:00:00:00:02",
    gid="0000:0000:0000:0000:0000:ffff:0a4d:0002",
    pmtu=4096,
    rkey=0x1234,
    slot_bytes=8192,
    huge_pages=False,
    queue_pairs=(ReceiverQueuePair(17, 0, 0x7F0000000000, 4), ReceiverQueuePair(18, 0, 0x7F0000008000, 4)),
)
CONNECT = Connect(VERSION, "10.77.0.1", "02:eb:00:00:00:01", 4096, (SenderQueuePair(2, 0xFFFFFF),))
MESSAGES: list[Message] = [
    HELLO,
    CONNECT,
    Ready(),
    FrameReceived(0, 3, 0x300001, 1, 192, False, ("payload_crc: no", "tear: yes"), 0xDEADBEEF),
    Released(1, 5),
    Event("queue_pair_error", "all \N{BULLET} gone", True),
    Finish(),
    Summary(4, 1, ("x: y",), {"rcvd_pkts": 12}),
    Reset(1, 0xABCDEF, 3),
    ResetDone(1, 12),
]


@pytest.fixture
def ends():
    one, two = socket.socketpair()
    with Exchange(SocketStream(one)) as left, Exchange(SocketStream(two)) as right:
        yield left, right


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_round_trip(message: Message):
    line = encode(message)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line) == message


def changed(message: Message, **changes: object) -> bytes:
    return json.dumps({**json.loads(encode(message)), **changes}).encode()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"nonsense", "not JSON"),
        (b"[1]", "not an object with a type"),
        (b'{"type":"hullo"}', "type = 'hullo'"),
        (changed(CONNECT, version=2), "version = 2: this side speaks version 1"),
        (changed(CONNECT, ip="10.0.0.300"), "ip = '10.0.0.300'"),
        (changed(CONNECT, mac="02:EB:00:00:00:01"), "mac = "),
        (changed(CONNECT, pmtu=1500), "pmtu = 1500: allowed 256, 512"),
        (changed(CONNECT, transport="XRC"), "transport = 'XRC': allowed RC, UC, UD"),
        (changed(CONNECT, extra=1), r"unknown keys \['extra'\]"),
        (changed(CONNECT, queue_pairs=[]), "at least one"),
        (changed(CONNECT, queue_pairs=[{"qpn": 1 << 24, "psn": 0}]), r"queue_pairs\[0\]: qpn = 16777216"),
        (changed(CONNECT, queue_pairs=[{"qpn": 2}]), r"queue_pairs\[0\].*missing keys \['psn'\]"),
        (changed(CONNECT, queue_pairs=[{"qpn": True, "psn": 0}]), "qpn = True: must be int"),
        (changed(HELLO, rkey=-1), "rkey = -1"),
        (changed(HELLO, huge_pages=0), "huge_pages = 0: must be bool"),
        (changed(MESSAGES[7], counters={"a": "1"}), "counters.a = '1'"),
    ],
)
def test_what_does_not_belong_is_refused(line: bytes, complaint: str):
    with pytest.raises(ExchangeError, match=complaint):
        decode(line)


def test_pieces_and_several_at_once(ends):
    left, right = ends
    data = b"".join(encode(message) for message in MESSAGES)
    writer = left._stream
    for start in range(0, len(data), 7):
        writer.write(data[start : start + 7])
    assert [right.receive(1.0) for _ in MESSAGES] == MESSAGES
    assert right.receive(0.02) is None


def test_pending_does_not_wait(ends):
    left, right = ends
    assert list(right.pending()) == []
    left.send(Ready())
    left.send(Finish())
    assert list(right.pending()) == [Ready(), Finish()]


def test_end_comes_after_what_was_sent(ends):
    left, right = ends
    left.send(Finish())
    left.close()
    assert right.receive(1.0) == Finish()
    with pytest.raises(ExchangeClosed):
        right.receive(1.0)
    with pytest.raises(ExchangeClosed):
        list(right.pending())


def test_more_than_the_socket_takes_at_once(ends):
    left, right = ends
    message = Event("long", "x" * 900_000, False)
    sender = threading.Thread(target=left.send, args=(message,))
    sender.start()
    time.sleep(0.05)
    assert right.receive(10.0) == message
    sender.join()


def test_expect_names_what_came_instead(ends):
    left, right = ends
    left.send(Event("setup_failed", "no such device", True))
    with pytest.raises(ExchangeError, match="setup_failed: no such device"):
        right.expect(Hello, 1.0)
    left.send(Ready())
    with pytest.raises(ExchangeError, match="a Ready came where Hello was due"):
        right.expect(Hello, 1.0)
    with pytest.raises(ExchangeError, match=r"no Hello from the other side within 0\.0 s"):
        right.expect(Hello, 0.01)


def test_endless_line_is_refused(ends):
    left, right = ends

    def flood() -> None:
        data = b"x" * 65536
        try:
            for _ in range(40):
                while not left._stream.write(data):
                    time.sleep(0.001)
        except ExchangeClosed:
            return

    sender = threading.Thread(target=flood)
    sender.start()
    with pytest.raises(ExchangeError, match="a line of more than"):
        right.receive(10.0)
    right.close()
    sender.join()
