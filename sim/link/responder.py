"""The responder's side of a queue pair as a state machine: packet in, decision and reply out, no memory touched.

One machine serves the model peer (which adds memory), the lockstep shadow (which adds time) and the protocol checker.
It answers as Linux' rdma_rxe does: an acknowledgement only where AckReq asks for one, one sequence NAK a gap, every
duplicate acknowledged again, fatal NAKs that end the queue pair. Where rxe departs from the specification on UC (it
stays deaf after a lost MIDDLE or LAST), the specification is followed: a FIRST or ONLY resynchronises.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from sim.link.roce import (
    DEFAULT_PKEY,
    PSN_MASK,
    SYNDROME_ACK,
    SYNDROME_NAK_ACCESS,
    SYNDROME_NAK_INVALID,
    SYNDROME_NAK_SEQUENCE,
    SYNDROME_RNR,
    Aeth,
    Bth,
    Ethernet,
    Ipv4,
    Opcode,
    Packet,
    Transport,
    Udp,
    psn_difference,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Addresses of one end of the cable: six octets of MAC, IPv4 as a number."""

    mac: bytes
    ip: int


@dataclass(frozen=True, slots=True)
class QueuePair:
    """A connection as the responder knows it. ``device`` is the requester under test, ``peer`` the responder."""

    peer_qpn: int
    device_qpn: int
    device: Endpoint
    peer: Endpoint
    first_psn: int = 0
    """PSN of the first request, the responder's rq_psn."""
    pmtu: int = 4096
    transport: Transport = Transport.RC
    remote_write: bool = True
    rnr_timer: int = 12
    """Timer code of receiver-not-ready NAKs."""
    traffic_class: int = 0
    queue_key: int = 0
    """UD: datagrams with another one are dropped."""

    def __post_init__(self) -> None:
        if self.transport not in (Transport.RC, Transport.UC, Transport.UD):
            raise ValueError(f"transport {self.transport}: only RC, UC and UD have queue pairs")
        if self.pmtu not in (256, 512, 1024, 2048, 4096):
            raise ValueError(f"pmtu {self.pmtu}: allowed are 256, 512, 1024, 2048, 4096")

    @property
    def reply_source_port(self) -> int:
        """UDP source port of replies: Linux hashes the two queue pair numbers into 0xC000 to 0xFFFF."""
        product = self.peer_qpn * self.device_qpn
        product ^= product >> 20
        product ^= product >> 40
        label = product & 0xFFFFF
        return 0xC000 | (label ^ label >> 14) & 0x3FFF


@dataclass(frozen=True, slots=True)
class Region:
    """A registered range of the peer's memory that remote writes may reach."""

    rkey: int
    address: int
    length: int
    remote_write: bool = True

    def holds(self, address: int, length: int) -> bool:
        """Whether the whole range lies inside."""
        return self.address <= address and address + length <= self.address + self.length


class Verdict(Enum):
    """What the responder did with a packet."""

    EXECUTE = "executed"
    DUPLICATE = "duplicate"
    AHEAD = "ahead of the expected PSN"
    NOT_READY = "no receive posted"
    REFUSED = "refused"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Reply:
    """An acknowledge packet, to queue pair ``device_qpn`` of the device."""

    device_qpn: int
    psn: int
    syndrome: int
    msn: int

    def agrees(self, other: Reply) -> bool:
        """Whether both say the same to the requester; the MSN carries nothing that a WRITE's requester uses."""
        return (self.device_qpn, self.psn, self.syndrome) == (other.device_qpn, other.psn, other.syndrome)

    def __str__(self) -> str:
        kind = {SYNDROME_ACK: "ACK", SYNDROME_NAK_SEQUENCE: "NAK sequence", SYNDROME_NAK_INVALID: "NAK invalid request"}
        kind[SYNDROME_NAK_ACCESS] = "NAK remote access"
        name = kind.get(self.syndrome) or ("RNR NAK" if self.syndrome >> 5 == 1 else "AETH")
        return f"{name} ({self.syndrome:#04x}) PSN {self.psn:#08x} for QP {self.device_qpn:#x}"


@dataclass(frozen=True, slots=True)
class Completion:
    """A receive completion: what the consumer of a WRITE with immediate, or of a datagram, learns of the message."""

    peer_qpn: int
    immediate: int
    byte_length: int
    token: int = 0
    """Of a datagram: the receive that it took, as the consumer had named it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Decision on one packet.

    With ``EXECUTE``, ``payload`` belongs at ``address`` of the region ``rkey``; a datagram's, into a posted receive.
    """

    verdict: Verdict
    reason: str = ""
    reply: Reply | None = None
    peer_qpn: int = 0
    rkey: int = 0
    address: int = 0
    payload: bytes = b""
    completion: Completion | None = None


@dataclass(slots=True)
class QueueState:
    """Everything about a queue pair that changes. ``receives`` None stands for a receive queue that never runs dry."""

    expected_psn: int
    msn: int = 0
    open_message: bool = False
    rkey: int = 0
    address: int = 0
    remaining: int = 0
    length: int = 0
    gap_reported: bool = False
    dead: bool = False
    """After a fatal NAK; everything is dropped until the queue pair is reset."""
    receives: int | None = None


class Responder:
    """All queue pairs of one peer.

    ``regions`` None permits every remote range: for a shadow that has not been told what the peer registered.
    """

    def __init__(
        self, queue_pairs: Iterable[QueuePair], regions: Iterable[Region] | None = None, receives: int | None = None
    ) -> None:
        self.queue_pairs = {qp.peer_qpn: qp for qp in queue_pairs}
        self.regions = None if regions is None else {region.rkey: region for region in regions}
        self._states = {
            qpn: QueueState(expected_psn=qp.first_psn, receives=receives) for qpn, qp in self.queue_pairs.items()
        }

    def state(self, peer_qpn: int) -> QueueState:
        """Return the live state of a queue pair; raise ``KeyError`` for an unknown one."""
        return self._states[peer_qpn]

    def snapshot(self, peer_qpn: int) -> QueueState:
        """Return a copy of the state, for :meth:`restore`."""
        return replace(self._states[peer_qpn])

    def restore(self, peer_qpn: int, state: QueueState) -> None:
        """Go back to a snapshot."""
        self._states[peer_qpn] = replace(state)

    def reset(self, peer_qpn: int, first_psn: int, receives: int | None = None) -> None:
        """Take the queue pair through RESET: nothing open, no receives but ``receives``, ``first_psn`` expected."""
        self._states[peer_qpn] = QueueState(expected_psn=first_psn, receives=receives)

    def post_receives(self, peer_qpn: int, count: int) -> None:
        """Add ``count`` entries to a counted receive queue."""
        state = self._states[peer_qpn]
        state.receives = (state.receives or 0) + count

    def not_ready(self, packet: Packet) -> Outcome:
        """Answer ``packet``, whose turn it is, with a receiver-not-ready NAK, whatever the receive queue holds."""
        qp = self.queue_pairs[packet.bth.destination_qp]
        state = self._states[qp.peer_qpn]
        state.gap_reported = False
        reply = Reply(qp.device_qpn, packet.bth.psn, SYNDROME_RNR | qp.rnr_timer, state.msn)
        return Outcome(Verdict.NOT_READY, "no receive posted", reply, qp.peer_qpn)

    def receive(self, packet: Packet) -> Outcome:
        """Take one well-formed packet and decide; checks run in rxe's order."""
        qp = self.queue_pairs.get(packet.bth.destination_qp)
        reason = self._not_for_us(packet, qp)
        if reason or qp is None:
            return Outcome(Verdict.DROPPED, reason)
        state = self._states[qp.peer_qpn]
        if state.dead:
            return Outcome(Verdict.DROPPED, "the queue pair is in the error state")
        if qp.transport is Transport.UD:
            return self._datagram(packet, qp, state)

        outcome = self._check_psn(packet, qp, state)
        return outcome if outcome is not None else self._in_turn(packet, qp, state)

    def _not_for_us(self, packet: Packet, qp: QueuePair | None) -> str:
        """Return why the packet is dropped without a word, nothing if it is not."""
        reason = ""
        if qp is None:
            reason = f"no queue pair {packet.bth.destination_qp:#x}"
        elif packet.ethernet.destination != qp.peer.mac:
            reason = "destination MAC is not ours"
        elif packet.ipv4.destination != qp.peer.ip or packet.ipv4.source != qp.device.ip:
            reason = "addresses differ from the queue pair's"
        elif packet.info.transport is not qp.transport or not packet.info.request:
            reason = f"{packet.info.opcode.name} is no request of a {qp.transport} queue pair"
        elif packet.bth.pkey & 0x7FFF != DEFAULT_PKEY & 0x7FFF:
            reason = f"P_Key {packet.bth.pkey:#06x} is not in the table"
        return reason

    def _datagram(self, packet: Packet, qp: QueuePair, state: QueueState) -> Outcome:
        """Take a datagram: no order, no reply. The PSN says nothing."""
        if packet.deth is None or packet.deth.qkey != qp.queue_key:
            return Outcome(Verdict.DROPPED, "another queue key")
        if len(packet.payload) > qp.pmtu:
            return Outcome(Verdict.DROPPED, "longer than a packet may be")
        if state.receives == 0:
            return Outcome(Verdict.DROPPED, "no receive posted")
        if state.receives is not None:
            state.receives -= 1
        carried = packet.immediate.value if packet.immediate is not None else 0
        completion = Completion(qp.peer_qpn, carried, len(packet.payload))
        return Outcome(Verdict.EXECUTE, peer_qpn=qp.peer_qpn, payload=packet.payload, completion=completion)

    def _check_psn(self, packet: Packet, qp: QueuePair, state: QueueState) -> Outcome | None:
        """Return the outcome of a packet that is out of turn, None for one to look at further."""
        ahead = psn_difference(packet.bth.psn, state.expected_psn)
        if ahead == 0:
            state.gap_reported = False
            return None
        if qp.transport is Transport.UC:
            state.open_message = False
            if not packet.info.first:
                return Outcome(Verdict.DROPPED, "its message lost a packet")
            state.expected_psn = packet.bth.psn
            return None
        if ahead < 0:
            latest = state.expected_psn - 1 & PSN_MASK
            reply = Reply(qp.device_qpn, latest, SYNDROME_ACK, state.msn)
            return Outcome(Verdict.DUPLICATE, "duplicate", reply, qp.peer_qpn)
        if state.gap_reported:
            return Outcome(Verdict.AHEAD, "the gap has been reported")
        state.gap_reported = True
        reply = Reply(qp.device_qpn, state.expected_psn, SYNDROME_NAK_SEQUENCE, state.msn)
        return Outcome(Verdict.AHEAD, f"{ahead} ahead of the expected PSN", reply, qp.peer_qpn)

    def _in_turn(self, packet: Packet, qp: QueuePair, state: QueueState) -> Outcome:
        """Decide on the packet that was expected."""
        info = packet.info
        if info.operation != "write" or not qp.remote_write:
            return self._refuse(packet, qp, state, SYNDROME_NAK_INVALID, f"{info.opcode.name} is not served")
        if info.first == state.open_message:
            place = "starts inside an open message" if info.first else "continues no message"
            return self._refuse(packet, qp, state, SYNDROME_NAK_INVALID, f"{info.opcode.name} {place}")
        if info.immediate and state.receives == 0:
            if qp.transport is Transport.UC:
                state.open_message = False
                return Outcome(Verdict.DROPPED, "no receive posted")
            return self.not_ready(packet)
        return self._execute(packet, qp, state)

    def _refuse(self, packet: Packet, qp: QueuePair, state: QueueState, syndrome: int, reason: str) -> Outcome:
        if qp.transport is Transport.UC:
            state.open_message = False
            state.expected_psn = packet.bth.psn + 1 & PSN_MASK
            return Outcome(Verdict.REFUSED, reason)
        state.dead = True
        reply = Reply(qp.device_qpn, packet.bth.psn, syndrome, state.msn)
        return Outcome(Verdict.REFUSED, reason, reply, qp.peer_qpn)

    def _execute(self, packet: Packet, qp: QueuePair, state: QueueState) -> Outcome:
        size = len(packet.payload)
        if packet.reth is not None:
            state.rkey, state.address = packet.reth.rkey, packet.reth.address
            state.remaining = state.length = packet.reth.length
        if state.length and self.regions is not None:
            region = self.regions.get(state.rkey)
            if region is None or not region.remote_write or not region.holds(state.address, state.remaining):
                return self._refuse(
                    packet,
                    qp,
                    state,
                    SYNDROME_NAK_ACCESS,
                    f"{state.remaining} bytes at {state.address:#x} with R_Key {state.rkey:#x} are not open to writes",
                )
        due = min(state.remaining, qp.pmtu)
        if size != due or len(packet.pad) != -due % 4 or packet.info.last != (state.remaining <= qp.pmtu):
            reason = f"{size} bytes with {len(packet.pad)} of pad where {state.remaining} of the message remain"
            return self._refuse(packet, qp, state, SYNDROME_NAK_INVALID, reason)

        start, last = state.address, packet.info.last
        state.address += size
        state.remaining -= size
        state.open_message = not last
        state.expected_psn = state.expected_psn + 1 & PSN_MASK
        completion = None
        if last:
            state.msn = state.msn + 1 & 0xFFFFFF
        if packet.immediate is not None:
            completion = Completion(qp.peer_qpn, packet.immediate.value, state.length)
            if state.receives is not None:
                state.receives -= 1
        reply = None
        if packet.bth.ack_request and qp.transport is Transport.RC:
            reply = Reply(qp.device_qpn, packet.bth.psn, SYNDROME_ACK, state.msn)
        return Outcome(Verdict.EXECUTE, "", reply, qp.peer_qpn, state.rkey, start, packet.payload, completion)


def reply_packet(qp: QueuePair, reply: Reply) -> Packet:
    """Return ``reply`` as rxe would send it. Linux counts the IP identification; here it is 0, so that runs repeat."""
    return Packet(
        Ethernet(qp.device.mac, qp.peer.mac),
        Ipv4(qp.peer.ip, qp.device.ip, tos=qp.traffic_class),
        Udp(qp.reply_source_port),
        Bth(Opcode.RC_ACKNOWLEDGE, reply.device_qpn, reply.psn),
        aeth=Aeth(reply.syndrome, reply.msn),
    )


def read_reply(packet: Packet) -> Reply | None:
    """Return the reply in ``packet``, None if it is no acknowledge packet."""
    if packet.aeth is None or packet.info.opcode is not Opcode.RC_ACKNOWLEDGE:
        return None
    return Reply(packet.bth.destination_qp, packet.bth.psn, packet.aeth.syndrome, packet.aeth.msn)
