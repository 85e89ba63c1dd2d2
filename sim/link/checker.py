"""What a device under test may put on the wire: a checker stricter than any receiver.

Receivers tolerate much (rxe looks neither at MAC source, TTL, reserved bits nor at the sender's order of packets).
The checker does not: each departed frame is held against IBTA vol. 1, chapter 9, and annex A17, and every deviation
becomes a :class:`Violation`. It sits beside a real peer, inside the lockstep shadow, and inside the model peer.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from sim.link.responder import Outcome, QueuePair, Responder, Verdict
from sim.link.roce import (
    BTH_END,
    ETHERTYPE_ARP,
    IPV4_DONT_FRAGMENT,
    PSN_MASK,
    Packet,
    ProtocolError,
    Transport,
    decode,
    psn_difference,
    summary,
)

KEPT_VIOLATIONS = 1000
"""A device that errs in every packet must not fill the memory; more violations are only counted."""
REMEMBERED_PACKETS = 1 << 15
"""Sent packets whose contents are remembered, to compare retransmissions: more than fit into a ring of 4 MiB."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One deviation from the protocol. ``time_fs`` is None where there is no simulated time."""

    rule: str
    detail: str
    packet: str
    time_fs: int | None

    def __str__(self) -> str:
        when = "" if self.time_fs is None else f" at {self.time_fs / 1e9:.6f} us"
        return f"{self.rule}: {self.detail} ({self.packet}{when})"


class _Stream:
    """The requester's order of packets on one queue pair, as a receiver without loss would see it."""

    def __init__(self, qp: QueuePair) -> None:
        self.next_psn = qp.first_psn
        self.operation: str | None = None  # of the open message
        self.remaining: int | None = 0  # bytes of the open message still to come; None: its length is not known
        self.source_port: int | None = None
        self.fingerprints: dict[int, int] = {}

    def advance(self, packet: Packet) -> list[tuple[str, str]]:
        """Take the next new packet: it must fit the open message, and the message's length."""
        info, found = packet.info, []
        if info.first and self.operation is not None:
            found.append(("bth.opcode", f"{info.opcode.name} inside an open message"))
        if not info.first and self.operation != info.operation:
            found.append(("bth.opcode", f"{info.opcode.name} continues no such message"))
            self.remaining = None
        if info.first:
            self.remaining = None if packet.reth is None else packet.reth.length
        if self.remaining is not None and info.operation == "write":
            self.remaining -= len(packet.payload)
            if not info.first and (self.remaining < 0 or (self.remaining == 0) != info.last):
                found.append(("reth.length", f"{info.opcode.name} leaves {self.remaining} bytes of the message"))
        self.operation = None if info.last else info.operation
        return found


class ProtocolChecker:
    """Checks all that departs from the device, and runs the responder on all that reaches the peer."""

    def __init__(self, responder: Responder) -> None:
        self.responder = responder
        self.violations: list[Violation] = []
        self.violation_count = 0
        self.retransmitted = 0
        """Departed requests whose PSN had been sent before."""
        self.refusals_due = 0
        """Requests of which it is known that the peer will refuse them: no violations."""
        self.other_frames = 0
        """Departed frames that were ARP."""
        self._streams = {qpn: _Stream(qp) for qpn, qp in responder.queue_pairs.items()}

    def departed(self, frame: bytes, time_fs: int | None = None) -> Packet | None:
        """Check a frame as it leaves the device, before the link touches it; return its packet if it has one."""
        if int.from_bytes(frame[12:14], "big") == ETHERTYPE_ARP:
            self.other_frames += 1
            return None
        try:
            packet = decode(frame)
        except ProtocolError as error:
            self._record(error.field, f"is {error.value}, expected {error.expectation}", frame, time_fs)
            return None
        for rule, detail in [*self._header_faults(packet), *self._address_faults(packet)]:
            self._record(rule, detail, frame, time_fs)
        qp = self.responder.queue_pairs.get(packet.bth.destination_qp)
        if qp is not None and packet.info.request:
            for rule, detail in [*self._message_faults(packet, qp), *self._order_faults(packet, qp, frame)]:
                self._record(rule, detail, frame, time_fs)
        return packet

    def delivered(self, frame: bytes, time_fs: int | None = None, packet: Packet | None = None) -> Outcome:
        """Run the responder on a frame as it reaches the peer; ``packet`` spares decoding it again."""
        if packet is None:
            try:
                packet = decode(frame)
            except ProtocolError as error:
                return Outcome(Verdict.DROPPED, str(error))
        outcome = self.responder.receive(packet)
        if outcome.verdict is Verdict.REFUSED and self.refusals_due:
            self.refusals_due -= 1
        elif outcome.verdict is Verdict.REFUSED:
            # No fault of the link leads here: a lost packet shows as a gap, a corrupted one is dropped.
            self._record("responder", f"refused: {outcome.reason}", frame, time_fs)
        return outcome

    def restart(self, peer_qpn: int, first_psn: int, receives: int | None = None) -> None:
        """Forget a queue pair's order of packets, after both sides have been reset to ``first_psn``."""
        self.responder.reset(peer_qpn, first_psn, receives)
        self._streams[peer_qpn] = _Stream(self.responder.queue_pairs[peer_qpn])
        self._streams[peer_qpn].next_psn = first_psn

    def _record(self, rule: str, detail: str, frame: bytes, time_fs: int | None) -> None:
        self.violation_count += 1
        if len(self.violations) < KEPT_VIOLATIONS:
            self.violations.append(Violation(rule, detail, summary(frame), time_fs))

    def _header_faults(self, packet: Packet) -> list[tuple[str, str]]:
        """Rules that one packet's headers obey, whatever came before (IBTA 9.2, A17.3)."""
        bth, ip = packet.bth, packet.ipv4
        found = []
        if ip.ttl == 0:
            found.append(("ipv4.ttl", "is 0"))
        if ip.flags != IPV4_DONT_FRAGMENT:
            found.append(("ipv4.flags", f"are {ip.flags:#05b}, expected 0b010"))
        if bth.reserved6 or bth.reserved7:
            found.append(("bth.reserved", f"bits are {bth.reserved6:#x} and {bth.reserved7:#x}, expected 0"))
        if packet.info.request and (bth.fecn or bth.becn):
            found.append(("bth.congestion", "FECN or BECN set by an end node"))
        if bth.pkey & 0x7FFF == 0:
            found.append(("bth.pkey", f"{bth.pkey:#06x} is invalid"))
        if any(packet.pad):
            found.append(("pad", f"octets are {packet.pad.hex()}, expected zeros"))
        if len(packet.pad) != -len(packet.payload) % 4:
            found.append(("bth.pad_count", f"is {len(packet.pad)} for a payload of {len(packet.payload)} bytes"))
        if packet.trailing:
            found.append(("frame.length", f"{len(packet.trailing)} octets behind the ICRC"))
        return found

    def _address_faults(self, packet: Packet) -> list[tuple[str, str]]:
        """Rules on addresses: those of the queue pair that the packet names."""
        qp = self.responder.queue_pairs.get(packet.bth.destination_qp)
        if qp is None:
            return [("bth.destination_qp", f"{packet.bth.destination_qp:#x} is no queue pair of the peer")]
        found = []
        if packet.ethernet.destination != qp.peer.mac:
            found.append(("ethernet.destination", f"is {packet.ethernet.destination.hex(':')}"))
        if packet.ethernet.source != qp.device.mac:
            found.append(("ethernet.source", f"is {packet.ethernet.source.hex(':')}"))
        if (packet.ipv4.source, packet.ipv4.destination) != (qp.device.ip, qp.peer.ip):
            found.append(("ipv4.addresses", f"are {packet.ipv4.source:#010x} to {packet.ipv4.destination:#010x}"))
        if packet.info.transport is not qp.transport:
            found.append(("bth.opcode", f"{packet.info.opcode.name} on a {qp.transport} queue pair"))
        return found

    def _message_faults(self, packet: Packet, qp: QueuePair) -> list[tuple[str, str]]:
        """Rules on payload, RETH and AckReq by the packet's place in its message (IBTA 9.4, 9.7.5.1)."""
        info, size = packet.info, len(packet.payload)
        found: list[tuple[str, str]] = []
        if info.operation == "read":
            return found
        if not info.last and size != qp.pmtu:
            found.append(("payload.length", f"is {size} in {info.opcode.name}, expected the PMTU of {qp.pmtu}"))
        elif info.last and size > qp.pmtu:
            found.append(("payload.length", f"is {size}, more than the PMTU of {qp.pmtu}"))
        elif info.last and not info.first and size == 0:
            found.append(("payload.length", f"is 0 in {info.opcode.name}"))
        if packet.reth is not None and info.last and packet.reth.length != size:
            found.append(("reth.length", f"is {packet.reth.length} in an ONLY with {size} bytes"))
        if packet.reth is not None and not info.last and packet.reth.length <= qp.pmtu:
            found.append(("reth.length", f"is {packet.reth.length} in a FIRST; one PMTU is an ONLY's"))
        if packet.deth is not None and (packet.deth.qkey, packet.deth.source_qp) != (qp.queue_key, qp.device_qpn):
            found.append(("deth", f"key {packet.deth.qkey:#x} from queue pair {packet.deth.source_qp:#x}"))
        if qp.transport is not Transport.RC and packet.bth.ack_request:
            found.append(("bth.ack_request", f"set in {info.opcode.name}, which nobody acknowledges"))
        if info.last and qp.transport is Transport.RC and not packet.bth.ack_request:
            found.append(("bth.ack_request", f"missing in {info.opcode.name}"))
        return found

    def _order_faults(self, packet: Packet, qp: QueuePair, frame: bytes) -> list[tuple[str, str]]:
        """Rules on the sequence of packets: PSN, opcodes, message length, unchanged retransmissions."""
        stream, psn = self._streams[qp.peer_qpn], packet.bth.psn
        found = []
        if stream.source_port is None:
            stream.source_port = packet.udp.source_port
        elif packet.udp.source_port != stream.source_port:
            found.append(("udp.source_port", f"changed from {stream.source_port} to {packet.udp.source_port}"))

        fingerprint = packet.bth.opcode << 32 | zlib.crc32(memoryview(frame)[BTH_END : len(frame) - 4])
        ahead = psn_difference(psn, stream.next_psn)
        if ahead < 0:
            self.retransmitted += 1
            before = stream.fingerprints.get(psn)
            if qp.transport is not Transport.RC:
                found.append(("bth.psn", f"{-ahead} behind; {qp.transport} does not retransmit"))
            elif before is None:
                found.append(("bth.psn", f"{psn:#08x} retransmitted, which has not been sent"))
            elif before != fingerprint:
                found.append(("retransmission", "differs from what was sent with this PSN before"))
            return found
        if ahead > 0:
            found.append(("bth.psn", f"{psn:#08x} skips {ahead}; {stream.next_psn:#08x} is next"))
            stream.operation, stream.remaining = (None if packet.info.first else packet.info.operation), None
        found += stream.advance(packet)
        # READ requests occupy one PSN for each response packet.
        responses = 1 if packet.info.operation != "read" or packet.reth is None else -(-packet.reth.length // qp.pmtu)
        stream.next_psn = psn + max(1, responses) & PSN_MASK
        stream.fingerprints.pop(psn, None)
        stream.fingerprints[psn] = fingerprint
        if len(stream.fingerprints) > REMEMBERED_PACKETS:
            del stream.fingerprints[next(iter(stream.fingerprints))]
        return found
