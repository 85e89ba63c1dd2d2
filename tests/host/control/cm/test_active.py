"""The active side's conversation, with everything that a network may do to it."""

from __future__ import annotations

import random
import struct

import pytest

from host.control.cm.active import Accepted, ActiveConnection, Refused, Silent, State
from host.control.cm.messages import OCTETS, Kind, simple, unpack
from tests.host.control.cm.test_messages import REQUEST

SERVER_ID, SERVER_QPN, START_PSN = 0x5001, 0x000011, 0xFFFFF0


def message(kind: Kind, body: bytes, transaction: int = REQUEST.transaction) -> bytes:
    """A datagram of the other end, from its fields' offsets alone."""
    header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, kind, 0, 0)
    return (header + body).ljust(OCTETS, b"\0")


def reply(private_data: bytes = b"welcome") -> bytes:
    body = bytearray(232)
    body[0:4], body[4:8] = SERVER_ID.to_bytes(4, "big"), REQUEST.communication_id.to_bytes(4, "big")
    body[12:15], body[20:23] = SERVER_QPN.to_bytes(3, "big"), START_PSN.to_bytes(3, "big")
    body[36 : 36 + len(private_data)] = private_data
    return message(Kind.REP, bytes(body))


def reject(reason: int) -> bytes:
    return message(Kind.REJ, struct.pack(">IIBBH", 0, REQUEST.communication_id, 0, 0, reason))


def established() -> ActiveConnection:
    connection = ActiveConnection(REQUEST)
    connection.open()
    connection.take(reply())
    return connection


def test_from_request_to_the_end():
    connection = ActiveConnection(REQUEST)
    assert connection.open() == [REQUEST.pack()]
    (ready,) = connection.take(reply())
    told = unpack(ready)
    assert (told.kind, told.transaction) == (Kind.RTU, REQUEST.transaction)
    assert (told.sender_id, told.receiver_id) == (REQUEST.communication_id, SERVER_ID)
    assert connection.state is State.ESTABLISHED
    assert connection.accepted == Accepted(SERVER_QPN, START_PSN, b"welcome".ljust(196, b"\0"))
    (leave,) = connection.close()
    told = unpack(leave)
    assert (told.kind, told.sender_id, told.receiver_id) == (Kind.DREQ, REQUEST.communication_id, SERVER_ID)
    assert told.qpn == SERVER_QPN and told.transaction != REQUEST.transaction
    assert connection.take(simple(Kind.DREP, told.transaction, SERVER_ID, REQUEST.communication_id)) == []
    assert connection.state is State.CLOSED


def test_a_reply_that_comes_again_is_answered_again():
    """The word that we are ready was lost."""
    connection = established()
    (ready,) = connection.take(reply())
    assert unpack(ready).kind is Kind.RTU and connection.state is State.ESTABLISHED


def test_the_other_end_leaves():
    connection = established()
    (answer,) = connection.take(simple(Kind.DREQ, 77, SERVER_ID, REQUEST.communication_id, REQUEST.qpn))
    told = unpack(answer)
    assert (told.kind, told.transaction, told.receiver_id) == (Kind.DREP, 77, SERVER_ID)
    assert connection.state is State.CLOSED
    assert connection.close() == []


@pytest.mark.parametrize(("reason", "text"), [(8, "nobody listens at that port"), (28, "its application refuses")])
def test_refused(reason: int, text: str):
    connection = ActiveConnection(REQUEST)
    connection.open()
    with pytest.raises(Refused, match=f"10.77.0.2 refuses the connection to port 7174: {text}") as refusal:
        connection.take(reject(reason))
    assert refusal.value.reason == reason and connection.state is State.CLOSED


def test_silence_is_asked_again_and_then_told():
    connection = ActiveConnection(REQUEST, attempts=3)
    said = connection.open()
    assert connection.timed_out() == said and connection.timed_out() == said
    with pytest.raises(Silent, match=r"10.77.0.2 has not answered about the connection, asked 3 times"):
        connection.timed_out()


def test_one_that_needs_more_time_gets_it():
    connection = ActiveConnection(REQUEST, attempts=2)
    connection.open()
    for _ in range(10):
        connection.timed_out()
        assert connection.take(message(Kind.MRA, struct.pack(">II", 0, REQUEST.communication_id))) == []
    assert connection.state is State.ASKED


def test_leaving_is_said_again():
    connection = established()
    said = connection.close()
    assert connection.timed_out() == said


def test_nothing_is_said_again_while_connected():
    assert established().timed_out() == []


def test_an_old_connection_that_nobody_remembers_is_let_go():
    """Else its other end would not take a new one with the same queue pair."""
    connection = ActiveConnection(REQUEST)
    connection.open()
    (answer,) = connection.take(simple(Kind.DREQ, 5, 0x900, 0x901, 3))
    told = unpack(answer)
    assert (told.kind, told.transaction, told.sender_id, told.receiver_id) == (Kind.DREP, 5, 0x901, 0x900)
    assert connection.state is State.ASKED


@pytest.mark.parametrize(
    "stray",
    [
        reply().replace(REQUEST.communication_id.to_bytes(4, "big"), b"\x09\x09\x09\x09"),
        simple(Kind.DREP, 1, SERVER_ID, REQUEST.communication_id),
        simple(Kind.RTU, 1, SERVER_ID, REQUEST.communication_id),
        b"",
        bytes(OCTETS),
    ],
)
def test_strays_change_nothing(stray: bytes):
    connection = ActiveConnection(REQUEST)
    connection.open()
    assert connection.take(stray) == []
    assert connection.state is State.ASKED


@pytest.mark.parametrize("seed", range(20))
def test_any_octets_are_survived(seed: int):
    """Messages with octets changed at random, in every state."""
    source = random.Random(seed)
    for _ in range(200):
        connection = established() if source.random() < 0.5 else ActiveConnection(REQUEST)
        if connection.state is State.IDLE:
            connection.open()
        data = bytearray(source.choice([reply(), reject(8), simple(Kind.DREQ, 1, SERVER_ID, REQUEST.communication_id)]))
        for _ in range(source.randrange(1, 6)):
            data[source.randrange(OCTETS)] = source.randrange(256)
        try:
            for answer in connection.take(bytes(data)):
                assert len(answer) == OCTETS
        except Refused:
            assert connection.state is State.CLOSED
