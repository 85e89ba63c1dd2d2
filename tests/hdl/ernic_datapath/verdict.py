"""What a receiver must say about a frame: the checks of PG332's error syndrome, in their order, written as a list."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tests.hdl.ernic_datapath.reference import ROCE_PORT, icrc

FOREIGN = 1
ACKNOWLEDGE = 0x11
_OPERATIONS = {
    0: {*range(0x15), 0x16, 0x17},
    1: {*range(0x0C)},
    3: {0x04, 0x05},
    4: {0x01},
}
"""Operations by transport: RC, UC, UD, and the CNP."""
_FULL = {0x00, 0x01, 0x06, 0x07, 0x0D, 0x0E}
_RETH, _AETH, _IMMEDIATE, _IETH, _DETH = 16, 4, 4, 4, 8
_EXTENSIONS = {
    0x03: _IMMEDIATE,
    0x05: _IMMEDIATE,
    0x06: _RETH,
    0x09: _IMMEDIATE,
    0x0A: _RETH,
    0x0B: _RETH + _IMMEDIATE,
    0x0C: _RETH,
    0x0D: _AETH,
    0x0F: _AETH,
    0x10: _AETH,
    0x11: _AETH,
    0x12: _AETH + 8,
    0x13: 28,
    0x14: 28,
    0x16: _IETH,
    0x17: _IETH,
}


@dataclass(frozen=True)
class Ticket:
    """Fields of a received packet as ``hdl/ernic/ernic_ticket.vh`` lays them out."""

    opcode: int
    solicited: int
    ack_request: int
    qpn: int
    psn: int
    pkey: int
    source_ip: int
    source_mac: int
    remote_address: int
    key: int
    length: int
    word: int
    payload_bytes: int
    words: int
    stored: int

    @classmethod
    def unpack(cls, vector: int) -> Ticket:
        """Read the RTL's vector; fields that the opcode does not have become 0."""
        values = []
        for width in TICKET_WIDTHS:
            values.append(vector & (1 << width) - 1)
            vector >>= width
        assert vector == 0
        return cls(*values).relevant()

    def pack(self) -> int:
        """Return the RTL's vector."""
        vector = shift = 0
        for field, width in zip(dataclasses.fields(self), TICKET_WIDTHS, strict=True):
            value = int(getattr(self, field.name))
            assert 0 <= value < 1 << width, field.name
            vector |= value << shift
            shift += width
        return vector

    def relevant(self) -> Ticket:
        """Return the ticket without what its opcode does not carry."""
        operation, datagram = self.opcode & 0x1F, self.opcode >> 5 == 3
        reth = not datagram and operation in _WITH_RETH
        word = operation in _WITH_WORD
        return dataclasses.replace(
            self,
            remote_address=self.remote_address if reth else self.remote_address & 0xFFFFFF if datagram else 0,
            key=self.key if reth or datagram else 0,
            length=self.length if reth else 0,
            word=self.word if word else 0,
        )


TICKET_WIDTHS = (8, 1, 1, 24, 24, 16, 32, 48, 64, 32, 32, 32, 13, 3, 1)
_WITH_RETH = {0x06, 0x0A, 0x0B, 0x0C}
_WITH_WORD = {0x03, 0x05, 0x09, 0x0B, 0x0D, 0x0F, 0x10, 0x11, 0x12, 0x16, 0x17}


@dataclass(frozen=True)
class Event:
    """What becomes of a frame: "drop" with its cause, "cnp" with a queue pair, or "packet" with a ticket."""

    kind: str
    cause: int | None = None
    qpn: int | None = None
    marked: bool = False
    ticket: Ticket | None = None

    @property
    def is_ack(self) -> bool:
        return self.ticket is not None and self.ticket.opcode == ACKNOWLEDGE


class _Reader:
    """Big-endian fields of a frame that may be cut off; what is missing reads as zero."""

    def __init__(self, frame: bytes) -> None:
        self.octets = frame.ljust(80, b"\0")

    def __call__(self, offset: int, count: int) -> int:
        return int.from_bytes(self.octets[offset : offset + count], "big")


def _extension_octets(opcode: int) -> int:
    if opcode >> 5 == 4:
        return 16
    datagram = _DETH if opcode >> 5 == 3 else 0
    return datagram + _EXTENSIONS.get(opcode & 0x1F, 0)


def _header_sum(frame: bytes) -> int:
    total = sum(struct.unpack(">10H", frame[14:34]))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def judge(frame: bytes, *, bad_fcs: bool, mac: int, ip: int) -> Event:
    """Return the event for ``frame`` (without FCS) at a port with the addresses ``mac`` and ``ip``."""
    field = _Reader(frame)
    length = field(16, 2)
    end = 14 + length
    opcode, pad = field(42, 1), field(43, 1) >> 4 & 3
    syndrome = field(54, 1)
    plain = field(14, 1) & 0xF == 5
    foreign = len(frame) < 42 or field(12, 2) != 0x0800 or field(23, 1) != 17 or (plain and field(36, 2) != ROCE_PORT)
    known = opcode & 0x1F in _OPERATIONS.get(opcode >> 5, ())
    malformed = opcode == ACKNOWLEDGE and (length != 48 or pad or syndrome & 0x80 or syndrome & 0x60 == 0x40)

    checks: list[tuple[int, Callable[[], bool]]] = [
        (31, lambda: bad_fcs),
        (FOREIGN, lambda: foreign),
        (30, lambda: plain and (length < 44 or end > len(frame) or icrc(frame[14 : end - 4]) != frame[end - 4 : end])),
        (0, lambda: field(0, 6) != mac),
        (2, lambda: field(14, 1) >> 4 != 4),
        (9, lambda: plain and _header_sum(frame) != 0xFFFF),
        (3, lambda: not plain),
        (5, lambda: field(20, 1) >> 5 != 0b010),
        (6, lambda: field(20, 2) & 0x1FFF != 0),
        (8, lambda: field(30, 4) != ip),
        (10, lambda: length % 4 != 0),
        (12, lambda: field(38, 2) + 20 & 0xFFFF != length),
        (13, lambda: field(43, 1) & 0xF != 0),
        (17, lambda: not known),
        (10, lambda: length < 44 + _extension_octets(opcode) + pad),
        (18, lambda: pad != 0 and opcode < 0x80 and opcode & 0x1F in _FULL),
        (22, lambda: bool(malformed)),
    ]
    for cause, failed in checks:
        if failed():
            return Event("drop", cause=cause)
    if opcode == 0x81:
        return Event("cnp", qpn=field(47, 3))
    return Event("packet", marked=field(15, 1) & 3 == 3, ticket=_ticket(field, opcode, length, pad))


def _ticket(field: _Reader, opcode: int, length: int, pad: int) -> Ticket:
    extension = _extension_octets(opcode)
    payload = length - 44 - extension - pad
    datagram = opcode >> 5 == 3
    reth = not datagram and opcode & 0x1F in _WITH_RETH
    word = 54 + (8 if datagram else 16 if reth else 0)
    return Ticket(
        opcode=opcode,
        solicited=field(43, 1) >> 7,
        ack_request=field(50, 1) >> 7,
        qpn=field(47, 3),
        psn=field(51, 3),
        pkey=field(44, 2),
        source_ip=field(26, 4),
        source_mac=field(6, 6),
        remote_address=field(59, 3) if datagram else field(54, 8),
        key=field(54, 4) if datagram else field(62, 4),
        length=field(66, 4),
        word=field(word, 4),
        payload_bytes=min(payload, 8191),
        words=extension // 4,
        stored=int(payload > 0 or datagram),
    ).relevant()
