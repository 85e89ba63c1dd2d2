"""What the engine must do, written independently of the RTL: packets of a message, and a strict RC responder."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

WRITE = 0x00
WRITE_IMMEDIATE = 0x01
PSN_MASK = 0xFFFFFF
ACK = 0x1F
NAK_SEQUENCE = 0x60
NAK_INVALID = 0x61
RNR = 0x20
FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, ONLY_IMMEDIATE = range(0x06, 0x0C)


@dataclass(frozen=True)
class Work:
    """One send queue entry."""

    identifier: int
    local_address: int
    length: int
    opcode: int = WRITE
    remote_address: int = 0x7F00_1234_5678_0000
    remote_key: int = 0x1A2B3C4D
    immediate: int = 0

    def pack(self) -> bytes:
        """The entry as PG332 lays it out; reserved fields are not zero, since the engine must not look at them."""
        entry = bytearray(b"\xa5" * 64)
        struct.pack_into("<H", entry, 0, self.identifier)
        struct.pack_into("<Q", entry, 4, self.local_address)
        struct.pack_into("<I", entry, 12, self.length)
        entry[16] = self.opcode
        struct.pack_into("<QI", entry, 20, self.remote_address, self.remote_key)
        struct.pack_into("<I", entry, 48, self.immediate)
        return bytes(entry)

    def packets(self, pmtu: int) -> int:
        """PSNs that the message takes."""
        return max(1, -(-self.length // pmtu))


@dataclass(frozen=True)
class Command:
    """One packet as the datapath is told to send it, with the cycle of its acceptance."""

    opcode: int
    psn: int
    ack_request: bool
    local_address: int
    payload_bytes: int
    remote_address: int
    remote_key: int
    dma_length: int
    immediate: int
    dest_qpn: int
    dest_mac: int
    dest_ip: int
    pkey: int
    traffic_class: int
    ttl: int
    cycle: int = field(compare=False, default=0)


def psn_after(psn: int, packets: int) -> int:
    return (psn + packets) & PSN_MASK


def distance(later: int, earlier: int) -> int:
    """Signed distance of two PSNs."""
    return ((later - earlier + 0x800000) & PSN_MASK) - 0x800000


def opcode_of(work: Work, first: bool, last: bool) -> int:
    immediate = work.opcode == WRITE_IMMEDIATE
    if first and last:
        return ONLY_IMMEDIATE if immediate else ONLY
    if first:
        return FIRST
    if last:
        return LAST_IMMEDIATE if immediate else LAST
    return MIDDLE


@dataclass
class Responder:
    """The remote queue pair: takes packets in order and answers as the specification says (IBTA vol. 1, 9.7).

    It knows what it must be sent (``works``) and checks every field of each packet that it executes.
    """

    works: list[Work]
    pmtu: int
    psn: int
    ring_bytes: int
    executed: int = 0
    offset: int = 0
    naks_out: int = 0
    nak_open: bool = False
    refuse: Callable[[int], int | None] = field(default=lambda _: None)
    """PSN -> syndrome to answer with instead of executing the packet, or None."""

    def receive(self, command: Command) -> tuple[int, int] | None:
        """Take a packet; return (PSN, syndrome) of the answer, if there is one."""
        ahead = distance(command.psn, self.psn)
        if ahead > 0:
            if self.nak_open:
                return None
            self.nak_open = True
            self.naks_out += 1
            return self.psn, NAK_SEQUENCE
        if ahead < 0:
            return psn_after(self.psn, -1), ACK
        refused = self.refuse(command.psn)
        if refused is not None:
            return command.psn, refused
        self.nak_open = False
        self._execute(command)
        return (command.psn, ACK) if command.ack_request else None

    def _execute(self, command: Command) -> None:
        assert self.executed < len(self.works), f"packet {command} after all work"
        work = self.works[self.executed]
        left = work.length - self.offset
        last = left <= self.pmtu
        assert command.opcode == opcode_of(work, self.offset == 0, last), (command, work, self.offset)
        assert command.payload_bytes == min(left, self.pmtu), (command, work)
        if command.payload_bytes:
            assert command.local_address == (work.local_address + self.offset) % self.ring_bytes, (command, work)
        assert command.dma_length == work.length
        assert (command.remote_address, command.remote_key) == (work.remote_address, work.remote_key)
        if last and work.opcode == WRITE_IMMEDIATE:
            assert command.immediate == work.immediate
        if last:
            assert command.ack_request
        self.psn = psn_after(self.psn, 1)
        self.offset = 0 if last else self.offset + command.payload_bytes
        self.executed += last
