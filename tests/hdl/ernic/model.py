"""What the engine must do, written independently of the RTL: packets of a message, and a strict RC responder."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

WRITE = 0x00
WRITE_IMMEDIATE = 0x01
SEND = 0x02
SEND_IMMEDIATE = 0x03
READ = 0x04
SEND_INVALIDATE = 0x0C
WITH_IMMEDIATE = (WRITE_IMMEDIATE, SEND_IMMEDIATE)
SENDS = (SEND, SEND_IMMEDIATE, SEND_INVALIDATE)
INLINE_LENGTH = 16
INLINE_OFFSET = 32
RC, UC, UD = range(3)
READ_REQUEST = 0x0C
READ_RESPONSE_FIRST, READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST, READ_RESPONSE_ONLY = range(0x0D, 0x11)
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
    inline: bytes = b""
    """Octets in the entry itself, which a short SEND takes instead of what is at the local address."""

    def pack(self) -> bytes:
        """The entry as PG332 lays it out; reserved fields are not zero, since the engine must not look at them."""
        entry = bytearray(b"\xa5" * 64)
        struct.pack_into("<H", entry, 0, self.identifier)
        struct.pack_into("<Q", entry, 4, self.local_address)
        struct.pack_into("<I", entry, 12, self.length)
        entry[16] = self.opcode
        struct.pack_into("<QI", entry, 20, self.remote_address, self.remote_key)
        entry[INLINE_OFFSET : INLINE_OFFSET + len(self.inline)] = self.inline
        struct.pack_into("<I", entry, 48, self.immediate)
        return bytes(entry)

    def in_entry(self) -> bool:
        """Whether the payload is in the entry."""
        return self.opcode in SENDS and self.length <= INLINE_LENGTH

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
    from_memory: int = 0
    qkey: int = 0
    source_qpn: int = 0
    report: int = 0
    epoch: int = 0
    cycle: int = field(compare=False, default=0)


def psn_after(psn: int, packets: int) -> int:
    return (psn + packets) & PSN_MASK


def distance(later: int, earlier: int) -> int:
    """Signed distance of two PSNs."""
    return ((later - earlier + 0x800000) & PSN_MASK) - 0x800000


def opcode_of(work: Work, first: bool, last: bool, transport: int = RC, *, each: bool = False) -> int:
    """The packet's opcode by table 38 of IBTA vol. 1; ``each``: every packet is a WRITE of its own."""
    if work.opcode == READ:
        return READ_REQUEST
    immediate = last and work.opcode in WITH_IMMEDIATE
    each = each and work.opcode in (WRITE, WRITE_IMMEDIATE)
    first = first or each
    if work.opcode == SEND_INVALIDATE and last:
        operation = 0x17 if first else 0x16
    elif first and (last or each):
        operation = 0x05 if immediate else 0x04
    elif first:
        operation = 0x00
    elif last:
        operation = 0x03 if immediate else 0x02
    else:
        operation = 0x01
    if work.opcode in (WRITE, WRITE_IMMEDIATE):
        operation += 0x06
    return {RC: 0x00, UC: 0x20, UD: 0x60}[transport] + operation


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
    transport: int = RC
    each: bool = False
    entry_address: Callable[[int], int] = field(default=lambda _: 0)
    """Number of an entry -> its address in memory."""
    on_read: Callable[[Work, int, int], None] = field(default=lambda *_: None)
    """A READ of this entry from this byte on was executed, whose first response has this PSN."""

    def receive(self, command: Command) -> tuple[int, int] | None:
        """Take a packet; return (PSN, syndrome) of the answer, if there is one."""
        if self.transport != RC:
            self._receive_unreliable(command)
            return None
        assert not command.report
        ahead = distance(command.psn, self.psn)
        if ahead > 0:
            answer = None if self.nak_open else (self.psn, NAK_SEQUENCE)
            self.naks_out += not self.nak_open
            self.nak_open = True
            return answer
        if ahead < 0:
            if command.opcode == READ_REQUEST:
                self._read_again(command)
                return None
            return psn_after(self.psn, -1), ACK
        refused = self.refuse(command.psn)
        if refused is not None:
            return command.psn, refused
        self.nak_open = False
        self._execute(command)
        return (command.psn, ACK) if command.ack_request else None

    def _receive_unreliable(self, command: Command) -> None:
        assert command.psn == self.psn, "sent twice, or one was left out"
        assert command.report
        assert not command.ack_request
        self._execute(command)

    def _execute(self, command: Command) -> None:
        assert self.executed < len(self.works), f"packet {command} after all work"
        work = self.works[self.executed]
        left = work.length - self.offset
        last = left <= self.pmtu or work.opcode == READ
        expected = opcode_of(work, self.offset == 0, last, self.transport, each=self.each)
        assert command.opcode == expected, (command, work, self.offset)
        payload = 0 if work.opcode == READ else min(left, self.pmtu)
        assert command.payload_bytes == payload, (command, work)
        if payload:
            self._check_place(command, work)
        sent_each = self.each and work.opcode not in SENDS
        assert command.dma_length == (payload if sent_each else work.length)
        assert command.remote_address == (work.remote_address + (self.offset if sent_each else 0)) % (1 << 64)
        assert command.remote_key == work.remote_key
        if last and work.opcode in WITH_IMMEDIATE:
            assert command.immediate == work.immediate
        if work.opcode == READ:
            self.on_read(work, 0, self.psn)
        elif last and self.transport == RC:
            assert command.ack_request
        self.psn = psn_after(self.psn, work.packets(self.pmtu) if work.opcode == READ else 1)
        self.offset = 0 if last else self.offset + command.payload_bytes
        self.executed += last

    def _check_place(self, command: Command, work: Work) -> None:
        """Where the payload comes from: the entry, the ring, or anywhere else in memory."""
        if work.in_entry():
            assert command.from_memory
            assert command.local_address == self.entry_address(self.executed) + INLINE_OFFSET
        elif work.local_address < self.ring_bytes:
            assert not command.from_memory
            assert command.local_address == (work.local_address + self.offset) % self.ring_bytes, (command, work)
        else:
            assert command.from_memory
            assert command.local_address == work.local_address + self.offset, (command, work)

    def _read_again(self, command: Command) -> None:
        """A READ that was executed is asked for again, from some packet on."""
        psn = psn_after(self.psn, -(self.offset // self.pmtu))
        for work in reversed(self.works[: self.executed]):
            psn = psn_after(psn, -work.packets(self.pmtu))
            offset = distance(command.psn, psn) * self.pmtu
            if offset < 0:
                continue
            assert work.opcode == READ, (command, work)
            assert command.remote_address == (work.remote_address + offset) % (1 << 64)
            assert command.dma_length == work.length - offset
            self.on_read(work, offset, command.psn)
            return
        raise AssertionError(f"{command} repeats nothing")
