"""Messages octet by octet, at the offsets of IBTA volume 1 (tables of chapter 12) and annex A11."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from host.control.cm.messages import (
    HEADER_OCTETS,
    OCTETS,
    Kind,
    MessageError,
    Request,
    reason_of,
    simple,
    unpack,
)

REQUEST = Request(
    communication_id=0x01020304,
    transaction=0x1122334455667788,
    guid=0xA1A2A3A4A5A6A7A8,
    qpn=0x123456,
    receive_psn=0xABCDEF,
    ip=IPv4Address("10.77.0.1"),
    remote_ip=IPv4Address("10.77.0.2"),
    port=7174,
    pmtu=4096,
    private_data=b"EBCM",
)
MAPPED = "00000000000000000000ffff"


@pytest.mark.parametrize(
    ("offset", "octets", "what"),
    [
        (0, "01070203", "base version, class, class version, method Send"),
        (4, "00000000", "status, class specific"),
        (8, "1122334455667788", "transaction"),
        (16, "0010000000000000", "attribute REQ, reserved, modifier"),
        (24 + 0, "01020304", "local communication identifier"),
        (24 + 8, "0000000001061c06", "service: TCP port space, port 7174"),
        (24 + 16, "a1a2a3a4a5a6a7a8", "local CA GUID"),
        (24 + 28, "00000000", "queue key"),
        (24 + 32, "12345601", "local QPN, responder resources"),
        (24 + 36, "00000001", "EECN, initiator depth"),
        (24 + 43, "a0", "remote response time-out 20, RC, no flow control by end to end credits"),
        (24 + 44, "abcdef", "starting PSN, of what comes to us"),
        (24 + 47, "a7", "local response time-out 20, retry count 7"),
        (24 + 48, "ffff", "partition key"),
        (24 + 50, "57", "path MTU 4096, RNR retry count 7"),
        (24 + 51, "f0", "15 retries of the manager, no SRQ"),
        (24 + 52, "ffffffff", "local identifiers, which RoCE has none of"),
        (24 + 56, MAPPED + "0a4d0001", "local GID"),
        (24 + 72, MAPPED + "0a4d0002", "remote GID"),
        (24 + 88, "00000003", "flow label, rate"),
        (24 + 92, "0040007" + "0", "traffic class, hop limit, service level, ACK time-out 14"),
        (24 + 96, "00" * 44, "no alternate path"),
        (24 + 140, "0040", "annex A11: version 0, IPv4"),
        (24 + 142, "1c06", "port"),
        (24 + 144, "00" * 12 + "0a4d0001", "source address"),
        (24 + 160, "00" * 12 + "0a4d0002", "destination address"),
        (24 + 176, b"EBCM".hex() + "00" * 52, "private data of the application"),
    ],
)
def test_request(offset: int, octets: str, what: str):
    packed = REQUEST.pack()
    assert len(packed) == OCTETS
    expected = bytes.fromhex(octets)
    assert packed[offset : offset + len(expected)] == expected, what


@pytest.mark.parametrize(
    ("kind", "attribute", "body"),
    [
        (Kind.RTU, "0014", "0000000500000006000000"),
        (Kind.DREQ, "0015", "0000000500000006abcdef"),
        (Kind.DREP, "0016", "0000000500000006000000"),
    ],
)
def test_short_messages(kind: Kind, attribute: str, body: str):
    packed = simple(kind, 9, 5, 6, qpn=0xABCDEF)
    assert len(packed) == OCTETS
    assert packed[16:18].hex() == attribute
    assert packed[HEADER_OCTETS : HEADER_OCTETS + 11].hex() == body
    message = unpack(packed)
    assert (message.kind, message.transaction, message.sender_id, message.receiver_id) == (kind, 9, 5, 6)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: data[:-1], "255 octets"),
        (lambda data: b"\x02" + data[1:], "version 2, class 0x07.2"),
        (lambda data: data[:1] + b"\x03" + data[2:], "class 0x03.2"),
        (lambda data: data[:2] + b"\x01" + data[3:], "class 0x07.1"),
        (lambda data: data[:3] + b"\x81" + data[4:], "method 0x81"),
        (lambda data: data[:5] + b"\x04" + data[6:], "status 0x0004"),
        (lambda data: data[:16] + b"\x00\x17" + data[18:], "attribute 0x0017"),
    ],
)
def test_what_is_no_message(change, text: str):
    with pytest.raises(MessageError, match=text):
        unpack(change(REQUEST.pack()))


@pytest.mark.parametrize("changes", [{"pmtu": 9000}, {"private_data": bytes(57)}])
def test_requests_that_cannot_be(changes: dict[str, object]):
    from dataclasses import replace

    with pytest.raises(ValueError, match=r"pmtu = 9000|57 octets"):
        replace(REQUEST, **changes).pack()


def test_reasons_are_words():
    assert reason_of(8) == "nobody listens at that port"
    assert reason_of(999) == "reason 999"
