"""A responder written from the specification (IBTA vol. 1, 9.7 to 9.8): packets in; memory, answers, receive queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tests.hdl.ernic_datapath.verdict import Ticket

PSN = 0xFFFFFF
ACK = 0x1F
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATIONAL = range(0x60, 0x64)
RNR = 0x20
MANAGEMENT_QKEY = 0x80010000
RC, UC, UD = range(3)
HEADER_ROW = 64

SEND, WRITE, READ = "send", "write", "read"
KINDS: dict[int, tuple[str, bool, bool]] = {
    0x00: (SEND, True, False),
    0x01: (SEND, False, False),
    0x02: (SEND, False, True),
    0x03: (SEND, False, True),
    0x04: (SEND, True, True),
    0x05: (SEND, True, True),
    0x06: (WRITE, True, False),
    0x07: (WRITE, False, False),
    0x08: (WRITE, False, True),
    0x09: (WRITE, False, True),
    0x0A: (WRITE, True, True),
    0x0B: (WRITE, True, True),
    0x0C: (READ, True, True),
    0x16: (SEND, False, True),
    0x17: (SEND, True, True),
}
"""Operation of an opcode's low five bits, whether it begins a message, whether it ends one."""
IMMEDIATE = {0x03, 0x05, 0x09, 0x0B}
INVALIDATE = {0x16, 0x17}


class Access(Enum):
    """ACCESSDESC of a memory region."""

    READ = 0
    WRITE = 1
    BOTH = 2
    NONE = 15


@dataclass(frozen=True)
class Region:
    """An entry of the table of memory regions; addresses and length in octets."""

    domain: int
    virtual: int
    buffer: int
    length: int
    key: int
    access: Access = Access.BOTH


@dataclass(frozen=True)
class Response:
    """A packet that the responder sends; READ responses have an address, acknowledgements a syndrome."""

    qp: int
    opcode: int
    psn: int
    syndrome: int
    msn: int
    address: int = 0
    bytes: int = 0

    @property
    def is_read(self) -> bool:
        return 0x0D <= self.opcode <= 0x10

    @property
    def is_nak(self) -> bool:
        return not self.is_read and self.syndrome >> 5 != 0


@dataclass
class QueuePair:
    """How a queue pair is programmed, and what it has come to. Element size and addresses in octets."""

    number: int
    transport: int = RC
    pmtu: int = 1024
    element: int = 4096
    depth: int = 16
    rq_base: int = 0
    doorbell: int = 0
    domain: int = 7
    remote_qpn: int = 0x111
    remote_mac: int = 0x020000000002
    remote_ip: int = 0x0A000002
    pkey: int = 0xFFFF
    qkey: int = 0x11111111
    rnr_code: int = 12
    last_psn: int = 0
    last_opcode: int = 0x0A
    open: str = ""
    silent: bool = False
    msn: int = 0
    total: int = 0
    """Octets of the open message that have come (SEND) or are to come (WRITE)."""
    target: int = 0
    taken: int = 0
    consumed: int = 0
    dead: bool = False


@dataclass
class Model:
    """All queue pairs and the memory; ``packet`` is given each packet in its order and appends what comes of it."""

    regions: dict[int, Region]
    queue_pairs: dict[int, QueuePair]
    base: int
    memory: bytearray
    responses: list[Response] = field(default_factory=list)
    notices: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(type, data, queue pair, receive queue index)"""
    fatals: list[tuple[int, int]] = field(default_factory=list)
    fills: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(queue pair, elements filled with this one, its address, what is in it)"""
    written: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(queue pair, PSN, address, data) of packets of reliable connections"""
    refused: int = 0
    duplicates: int = 0
    not_ready: int = 0
    sends: int = 0
    datagrams: int = 0

    def packet(self, ticket: Ticket, payload: bytes, headers: bytes = b"") -> None:
        """Take one packet; ``headers`` are the frame's first octets, for datagrams."""
        qp = self.queue_pairs.get(ticket.qpn)
        if qp is None or qp.dead or not self._belongs(qp, ticket):
            self.refused += 1
        elif self._transport(qp) == RC:
            self._reliable(qp, ticket, payload)
        elif self._transport(qp) == UC:
            self._unreliable(qp, ticket, payload)
        else:
            self._datagram(qp, ticket, payload, headers)

    @staticmethod
    def _transport(qp: QueuePair) -> int:
        return UD if qp.number == 1 else qp.transport

    def _belongs(self, qp: QueuePair, ticket: Ticket) -> bool:
        transport = self._transport(qp)
        if ticket.opcode >> 5 != {RC: 0, UC: 1, UD: 3}[transport] or ticket.opcode == 0x12:
            return False
        pkey = 0xFFFF if qp.number == 1 else qp.pkey
        if (ticket.pkey ^ pkey) & 0x7FFF:
            return False
        if transport == UD:
            return ticket.key == (MANAGEMENT_QKEY if qp.number == 1 else qp.qkey)
        return (ticket.source_ip, ticket.source_mac) == (qp.remote_ip, qp.remote_mac)

    def _put(self, address: int, data: bytes) -> None:
        assert self.base <= address <= address + len(data) <= self.base + len(self.memory) or not data
        self.memory[address - self.base : address - self.base + len(data)] = data

    def _room(self, qp: QueuePair) -> bool:
        return qp.taken - qp.consumed < qp.depth - 1

    def _element(self, qp: QueuePair) -> int:
        return qp.rq_base + qp.taken % qp.depth * qp.element

    def _fill(self, qp: QueuePair, ticket: Ticket) -> None:
        """Take an element, and say what the packet said."""
        start, end = (
            self._element(qp),
            self._element(qp) + (qp.element if ticket.opcode & 0x1F not in (0x09, 0x0B) else 0),
        )
        qp.taken += 1
        self.fills.append((qp.number, qp.taken, start, bytes(self.memory[start - self.base : end - self.base])))
        operation = ticket.opcode & 0x1F
        index = qp.taken % qp.depth & 0xFF
        if operation in INVALIDATE:
            self.notices.append((1, ticket.word, qp.number, index))
        elif operation in IMMEDIATE:
            self.notices.append((2 if KINDS[operation][0] == SEND else 3, ticket.word, qp.number, index))

    def _region(self, qp: QueuePair, ticket: Ticket, reads: bool) -> int | None:
        """Address of the access in memory, or None if it is not allowed."""
        if ticket.length == 0:
            return 0
        region = self.regions.get(ticket.key >> 8)
        wanted = (Access.READ, Access.BOTH) if reads else (Access.WRITE, Access.BOTH)
        if (
            region is None
            or region.domain != qp.domain
            or region.key != ticket.key & 0xFF
            or region.access not in wanted
        ):
            return None
        offset = ticket.remote_address - region.virtual
        if offset < 0 or offset + ticket.length > region.length:
            return None
        return region.buffer + offset

    def _answer(self, qp: QueuePair, psn: int, syndrome: int) -> None:
        self.responses.append(Response(qp.number, 0x11, psn, syndrome, qp.msn))

    def _refuse(self, qp: QueuePair, syndrome: int, code: int) -> None:
        self._answer(qp, qp.last_psn + 1 & PSN, syndrome)
        self.fatals.append((qp.number, code))
        qp.dead = True

    def _length_right(self, qp: QueuePair, ticket: Ticket, payload: bytes) -> bool:
        kind, begins, ends = KINDS[ticket.opcode & 0x1F]
        count = len(payload)
        if kind == READ:
            return count == 0 and ticket.length <= 1 << 31
        if (not ends and count != qp.pmtu) or count > qp.pmtu or (ends and not begins and count == 0):
            return False
        if kind == SEND:
            return (0 if begins else qp.total) + count <= qp.element
        left = ticket.length if begins else qp.total
        return left <= 1 << 31 and (left == count if ends else left > qp.pmtu)

    def _read(self, qp: QueuePair, ticket: Ticket, address: int) -> int:
        """Append the responses; return how many PSNs they take."""
        count = max(1, -(-ticket.length // qp.pmtu))
        for index in range(count):
            first, last = index == 0, index == count - 1
            opcode = 0x10 if first and last else 0x0D if first else 0x0F if last else 0x0E
            size = min(qp.pmtu, ticket.length - index * qp.pmtu)
            response = Response(
                qp.number, opcode, ticket.psn + index & PSN, ACK, qp.msn, address + index * qp.pmtu if size else 0, size
            )
            self.responses.append(response)
        return count

    def _reliable(self, qp: QueuePair, ticket: Ticket, payload: bytes) -> None:
        expected = qp.last_psn + 1 & PSN
        ahead = (ticket.psn - expected + 0x800000 & PSN) - 0x800000
        if ahead < 0:
            self._again(qp, ticket, payload, -ahead)
            return
        if ahead > 0:
            if not qp.silent:
                self._answer(qp, expected, NAK_SEQUENCE)
            qp.silent = True
            return
        operation = ticket.opcode & 0x1F
        kind, begins, ends = KINDS.get(operation, ("", False, False))
        address = self._region(qp, ticket, reads=kind == READ) if begins and kind != SEND else 0
        objection = self._objection(qp, ticket, payload, address)
        if objection is not None:
            self._refuse(qp, *objection)
        elif ((kind == SEND and begins) or operation in IMMEDIATE) and not self._room(qp):
            self._answer(qp, expected, RNR | qp.rnr_code)
            self.not_ready += 1
            qp.silent = True
        else:
            qp.silent = False
            qp.msn = qp.msn + ends & PSN
            qp.last_opcode = ticket.opcode
            packets = self._read(qp, ticket, address) if kind == READ else 1
            qp.last_psn = ticket.psn + packets - 1 & PSN
            if kind != READ:
                self._execute(qp, ticket, payload, address)
            if kind != READ and ticket.ack_request:
                self._answer(qp, ticket.psn, ACK)

    def _again(self, qp: QueuePair, ticket: Ticket, payload: bytes, behind: int) -> None:
        """A duplicate."""
        self.duplicates += 1
        kind = KINDS.get(ticket.opcode & 0x1F, ("",))[0]
        if kind == READ:
            address = self._region(qp, ticket, reads=True)
            count = max(1, -(-ticket.length // qp.pmtu))
            if address is not None and self._length_right(qp, ticket, payload) and count <= behind:
                self._read(qp, ticket, address)
        elif kind:
            self._answer(qp, qp.last_psn, ACK)

    def _objection(self, qp: QueuePair, ticket: Ticket, payload: bytes, address: int | None) -> tuple[int, int] | None:
        """NAK syndrome and fatal code of PG332 for a packet that is in order, or None."""
        kind, begins, _ = KINDS.get(ticket.opcode & 0x1F, ("", False, False))
        if not kind:
            return NAK_INVALID, 0x04
        if qp.open != ("" if begins else kind):
            return NAK_INVALID, 0x01 if kind == SEND else 0x11
        if not self._length_right(qp, ticket, payload):
            return NAK_INVALID, {SEND: 0x02, WRITE: 0x12, READ: 0x16}[kind]
        return (NAK_ACCESS, 0x15) if address is None else None

    def _execute(self, qp: QueuePair, ticket: Ticket, payload: bytes, address: int) -> None:
        """Data of a SEND or WRITE that is right."""
        kind, begins, ends = KINDS[ticket.opcode & 0x1F]
        if begins:
            qp.target = self._element(qp) if kind == SEND else address
            qp.total = 0 if kind == SEND else ticket.length
        self._put(qp.target, payload)
        if payload and self._transport(qp) == RC:
            self.written.append((qp.number, ticket.psn, qp.target, payload))
        qp.target += len(payload)
        qp.total += len(payload) if kind == SEND else -len(payload)
        qp.open = "" if ends else kind
        self.sends += kind == SEND
        if ends and (kind == SEND or ticket.opcode & 0x1F in IMMEDIATE):
            self._fill(qp, ticket)

    def _unreliable(self, qp: QueuePair, ticket: Ticket, payload: bytes) -> None:
        operation = ticket.opcode & 0x1F
        kind, begins, _ = KINDS[operation]
        send = kind == SEND
        lacking = ((send and begins) or operation in IMMEDIATE) and not self._room(qp)
        right = begins or (ticket.psn == qp.last_psn + 1 & PSN and qp.open == kind)
        right = right and self._length_right(qp, ticket, payload)
        address = self._region(qp, ticket, reads=False) if begins and not send else 0
        if begins:
            qp.last_psn = ticket.psn
        if not right or address is None or lacking:
            self.not_ready += lacking
            self.refused += not lacking
            qp.open = ""
            return
        qp.last_psn, qp.last_opcode = ticket.psn, ticket.opcode
        qp.msn += KINDS[operation][2]
        self._execute(qp, ticket, payload, address)

    def _datagram(self, qp: QueuePair, ticket: Ticket, payload: bytes, headers: bytes) -> None:
        # PG332 asks for room before it looks at the length.
        if not self._room(qp):
            self.not_ready += 1
        elif len(payload) > qp.pmtu or HEADER_ROW + len(payload) > qp.element:
            self.refused += 1
        else:
            self.datagrams += qp.number == 1
            self._put(self._element(qp), headers[:62] + bytes(2) + payload)
            self._fill(qp, ticket)


def explained(expected: list[Response], got: list[tuple[Response, int]]) -> None:
    """Assert that ``got`` is ``expected`` less acknowledgements that others make needless; of one queue pair.

    With each response comes how many were expected by then. READ responses come all, in order. An acknowledgement may
    come later, behind the responses of a READ that was asked for again, but never before those of an earlier READ.
    """
    reads = [response for response in expected if response.is_read]
    assert [response for response, _ in got if response.is_read] == reads
    found: list[int] = []
    reads_seen = 0
    for response, known in got:
        same = [index for index in range(known) if expected[index] == response]
        assert same, f"{response} was not to be sent"
        if response.is_read:
            found.append([index for index, item in enumerate(expected) if item.is_read][reads_seen])
            reads_seen += 1
            continue
        earlier = [index for index in same if sum(item.is_read for item in expected[:index]) <= reads_seen]
        assert earlier, f"{response} before READ responses of lower PSNs"
        found.append(earlier[-1])
        assert len([item for item, _ in got if item == response]) <= len(
            [item for item in expected if item == response]
        )
    for index, missed in enumerate(expected):
        if index not in found:
            newer = [expected[other] for other in found if other > index or expected[other].is_nak > missed.is_nak]
            assert any((response.psn - missed.psn & PSN) < 0x800000 for response in newer), f"{missed} is missing"
