"""What a receiver must say about a frame: the checks of PG332's error syndrome, in their order, written as a list."""

from __future__ import annotations

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
class Event:
    """One receive event; ``fields`` are an acknowledge's (qpn, psn, syndrome, msn, source IP, source MAC, P_Key)."""

    kind: str
    cause: int | None = None
    opcode: int | None = None
    qpn: int | None = None
    fields: tuple[int, ...] = ()


class _Reader:
    """Big-endian fields of a frame that may be cut off; what is missing reads as zero."""

    def __init__(self, frame: bytes) -> None:
        self.octets = frame.ljust(64, b"\0")

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
    if opcode == ACKNOWLEDGE:
        fields = (field(47, 3), field(51, 3), syndrome, field(55, 3), field(26, 4), field(6, 6), field(44, 2))
        return Event("ack", fields=fields)
    return Event("other", opcode=opcode, qpn=field(47, 3))
