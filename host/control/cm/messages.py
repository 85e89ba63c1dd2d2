"""Management datagrams of the communication manager: 256 octets each, by IBTA volume 1, chapters 12 and 13.

Only what an active side needs: REQ, RTU, DREQ, DREP are made; REP, REJ, MRA, DREQ, DREP are read. Numbers are
big-endian. A listener of ``librdmacm`` wants its own header at the start of a REQ's private data (annex A11).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

OCTETS = 256
HEADER_OCTETS = 24
QUEUE_KEY = 0x80010000
"""Of queue pair 1, everywhere."""
REQUEST_DATA_OCTETS = 56
"""Private data that a REQ can carry behind the header of annex A11."""
_HEADER = struct.Struct(">BBBBHHQHHI")
_BASE_VERSION, _CLASS, _CLASS_VERSION, _SEND = 1, 0x07, 2, 0x03
_TCP_PORT_SPACE = 0x0106 << 16
_PMTU_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
_RATE_10_GBPS = 3
_PERMISSIVE_LID = 0xFFFF
_TIME_OUT_CODE = 20
_ACK_TIME_OUT_CODE = 14
_RETRIES = 7
_MOST_CM_RETRIES = 15
_HOP_LIMIT = 64


class Kind(IntEnum):
    """Attribute of a datagram: what it is."""

    REQ = 0x10
    MRA = 0x11
    REJ = 0x12
    REP = 0x13
    RTU = 0x14
    DREQ = 0x15
    DREP = 0x16


class MessageError(ValueError):
    """Octets that are no message of the communication manager; the text says why."""


NOBODY_LISTENS = 8
_REASONS = {
    1: "it has no queue pair left",
    3: "it has no resources left",
    4: "its time-out has passed",
    5: "it does not support the request",
    6: "the communication identifiers are wrong",
    NOBODY_LISTENS: "nobody listens at that port",
    9: "it does not take this kind of service",
    10: "it still has a connection with this queue pair: that one must be closed first",
    12: "the GID of the primary path is not its own",
    28: "its application refuses (wrong address, transport or private data)",
}


def reason_of(code: int) -> str:
    """What a REJ's reason means, in words."""
    return _REASONS.get(code, f"reason {code}")


@dataclass(frozen=True)
class Request:
    """What a REQ says."""

    communication_id: int
    transaction: int
    guid: int
    qpn: int
    receive_psn: int
    """First PSN that the other end shall send."""
    ip: IPv4Address
    remote_ip: IPv4Address
    port: int
    """In the TCP port space of ``librdmacm``."""
    pmtu: int
    private_data: bytes = b""

    def pack(self) -> bytes:
        """Return the datagram; raise ``ValueError`` for what does not fit."""
        if self.pmtu not in _PMTU_CODES:
            raise ValueError(f"pmtu = {self.pmtu}: allowed {', '.join(map(str, _PMTU_CODES))}")
        if len(self.private_data) > REQUEST_DATA_OCTETS:
            raise ValueError(f"{len(self.private_data)} octets of private data: at most {REQUEST_DATA_OCTETS}")
        body = struct.pack(">I4xQQ4xI", self.communication_id, _TCP_PORT_SPACE + self.port, self.guid, 0)
        body += struct.pack(">II", self.qpn << 8 | 1, 1)
        body += struct.pack(">I", _TIME_OUT_CODE << 3)
        body += struct.pack(">I", self.receive_psn << 8 | _TIME_OUT_CODE << 3 | _RETRIES)
        body += struct.pack(">HBB", 0xFFFF, _PMTU_CODES[self.pmtu] << 4 | _RETRIES, _MOST_CM_RETRIES << 4)
        body += struct.pack(">HH", _PERMISSIVE_LID, _PERMISSIVE_LID) + _gid(self.ip) + _gid(self.remote_ip)
        body += struct.pack(">IBBBB", _RATE_10_GBPS, 0, _HOP_LIMIT, 0, _ACK_TIME_OUT_CODE << 3)
        body += bytes(44)  # no alternate path
        addresses = bytes(12) + self.ip.packed + bytes(12) + self.remote_ip.packed
        body += struct.pack(">BBH", 0, 0x40, self.port) + addresses + self.private_data
        return _pack(Kind.REQ, self.transaction, body)


@dataclass(frozen=True)
class Message:
    """What any message says: its kind, whose connection it is about, and its body from octet 24 on."""

    kind: Kind
    transaction: int
    body: bytes

    @property
    def sender_id(self) -> int:
        """Communication identifier of who sends it."""
        return int.from_bytes(self.body[:4], "big")

    @property
    def receiver_id(self) -> int:
        """Communication identifier of who it is for, 0 in a REQ."""
        return int.from_bytes(self.body[4:8], "big")

    @property
    def reason(self) -> int:
        """Of a REJ."""
        return int.from_bytes(self.body[10:12], "big")

    @property
    def qpn(self) -> int:
        """Of a REP: the other end's queue pair. Of a DREQ: ours."""
        offset = 12 if self.kind is Kind.REP else 8
        return int.from_bytes(self.body[offset : offset + 3], "big")

    @property
    def start_psn(self) -> int:
        """Of a REP: the first PSN that we shall send."""
        return int.from_bytes(self.body[20:23], "big")

    @property
    def private_data(self) -> bytes:
        """Of a REP: 196 octets of the other end's application."""
        return self.body[36:232]


def simple(kind: Kind, transaction: int, sender_id: int, receiver_id: int, qpn: int = 0) -> bytes:
    """Return a RTU, DREQ or DREP; ``qpn`` is the other end's, in a DREQ."""
    body = struct.pack(">II", sender_id, receiver_id)
    return _pack(kind, transaction, body + (struct.pack(">I", qpn << 8) if kind is Kind.DREQ else b""))


def unpack(data: bytes) -> Message:
    """Read a datagram; raise :class:`MessageError` if it is none of the communication manager's."""
    if len(data) != OCTETS:
        raise MessageError(f"{len(data)} octets: a management datagram has {OCTETS}")
    base, management_class, version, method, status, _, transaction, attribute, _, _ = _HEADER.unpack_from(data)
    if (base, management_class, version, method) != (_BASE_VERSION, _CLASS, _CLASS_VERSION, _SEND):
        raise MessageError(
            f"version {base}, class 0x{management_class:02x}.{version}, method 0x{method:02x}: "
            "not of the communication manager"
        )
    if attribute not in Kind.__members__.values():
        raise MessageError(f"attribute 0x{attribute:04x} is not known here")
    if status:
        raise MessageError(f"status 0x{status:04x}")
    return Message(Kind(attribute), transaction, data[HEADER_OCTETS:])


def _pack(kind: Kind, transaction: int, body: bytes) -> bytes:
    header = _HEADER.pack(_BASE_VERSION, _CLASS, _CLASS_VERSION, _SEND, 0, 0, transaction, kind, 0, 0)
    return (header + body).ljust(OCTETS, b"\0")


def _gid(ip: IPv4Address) -> bytes:
    return IPv6Address(f"::ffff:{ip}").packed
