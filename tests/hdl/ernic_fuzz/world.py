"""Everything that the engine is to do in a case, known beforehand: memory, answers, completions, counters.

Frames are judged one after the other: by the checks of the wire (``verdict.judge``), then by the model of the
responder or of the sending side. Nothing here knows the RTL.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.hdl.ernic.model import READ, SEND, WRITE, Work
from tests.hdl.ernic_datapath.reference import Packet
from tests.hdl.ernic_datapath.verdict import Event, judge
from tests.hdl.ernic_fuzz.requester import Message, Sender
from tests.hdl.ernic_respond.model import RC, UC, UD, Access, Model, QueuePair, Region

BASE = 0x12_3400_0000
SIZE = 1 << 19
SHARE = 1 << 16
"""Memory of a queue pair: receive queue in the first half, memory region in the second."""
HALF = SHARE // 2
QUEUES = BASE + 0x60000
"""Send queues, completion queues, indices, records of errors."""
SEND_QUEUES, COMPLETIONS, INDICES, DOORBELLS, RECORDS = (
    QUEUES,
    QUEUES + 0x2000,
    QUEUES + 0x2800,
    QUEUES + 0x2C00,
    QUEUES + 0x3000,
)
RECORD_COUNT = 64
READ_TARGETS = BASE + 0x64000
READ_TARGET = 0x2000
READABLE = BASE + 0x70000
READABLE_BYTES = 0x2000
PAYLOADS = BASE + 0x74000
PAYLOAD_BYTES = 0x8000
LOCAL_MAC, LOCAL_IP = 0x020000000001, 0x0A000001
SOURCE_PORT = 0xC000
VIRTUAL = 0x7F00_0000_1003
KEY = 0x5C
READ_REGION = 0x40
"""The region that a queue pair's peer may read is this far behind the one that it may write."""
HEADERS = 54
DEPTH = 16
ELEMENT = 2048
TRAFFIC_CLASS, TTL = 0x68, 61
TRANSPORTS = {1: UD, 2: RC, 3: RC, 4: UC, 5: UD, 6: RC}
GOOD, SENDING = 3, 6
"""The queue pair whose traffic is good both ways, and the one with entries in flight whose answers are forged."""
RING_BYTES = 65536
RING = b"".join((word * 0x9E3779B1 & 0xFFFFFFFF).to_bytes(4, "little") for word in range(RING_BYTES // 4))
CNP = 0x81
MAC_CONTROL = 0x8808


class DataModel(Model):
    """Counts the octets that it writes."""

    octets = 0

    def _put(self, address: int, data: bytes) -> None:
        self.octets += len(data)
        super()._put(address, data)


@dataclass
class Sent:
    """A packet that the engine sends, or may send again."""

    packet: Packet
    times: int = 0


@dataclass
class Counts:
    """Independent counts of what registers count."""

    frames: int = 0
    drops: int = 0
    invalid: int = 0
    acks: int = 0
    naks: int = 0
    read_responses: int = 0
    notifications: int = 0
    ignored: int = 0
    marked: int = 0
    host: int = 0


class World:
    """One case's queue pairs and memory."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        content = bytearray(rng.randbytes(SIZE))
        start = QUEUES - BASE
        content[start : start + 0x4000] = bytes(0x4000)
        pmtus = (256, 512, 1024)
        self.qps = {
            number: QueuePair(
                number,
                transport=transport,
                pmtu=rng.choice(pmtus),
                element=ELEMENT,
                depth=rng.choice((4, DEPTH)),
                rq_base=BASE + (number - 1) * SHARE,
                doorbell=DOORBELLS + 64 * number,
                domain=7 + number,
                remote_qpn=0x110 + number,
                remote_mac=0x020000000010 + number,
                remote_ip=0x0A000010 + number,
                pkey=rng.choice((0xFFFF, 0x8123)) if number > 1 else 0xFFFF,
                qkey=0x11111111 * number,
                rnr_code=rng.randrange(32),
                last_psn=rng.choice((0, 0xFFFFFF, 0xFFFFF0 + rng.randrange(16), rng.getrandbits(24))),
            )
            for number, transport in TRANSPORTS.items()
        }
        regions = {
            number: Region(
                qp.domain, VIRTUAL, qp.rq_base + HALF + rng.randrange(64), HALF - 100, KEY, access=Access.WRITE
            )
            for number, qp in self.qps.items()
        }
        regions |= {
            READ_REGION + number: Region(qp.domain, VIRTUAL, READABLE + 3, READABLE_BYTES - 9, KEY, access=Access.READ)
            for number, qp in self.qps.items()
        }
        self.model = DataModel(regions, self.qps, BASE, content)
        self.first_memory = bytes(content)
        self.senders = {
            number: Sender(
                number,
                qp.remote_ip,
                qp.remote_mac,
                qp.pkey,
                qp.pmtu,
                rng.choice((0xFFFFFE, rng.getrandbits(24))),
                self.model._put,
                connected=number in (GOOD, SENDING),
            )
            for number, qp in self.qps.items()
        }
        self.counts = Counts()
        self.expected: dict[tuple[int, int], Packet] = {}
        """Packets that are sent, by queue pair and PSN."""
        self.fatals: list[tuple[int, int]] = []
        """(queue pair, code) of those that have ended."""
        self.frames: list[tuple[bytes, bool]] = []

    # ------------------------------------------------------------ sending

    def works(self, number: int, count: int) -> list[Work]:
        """Entries of all kinds for a queue pair."""
        rng = self.rng
        start = len(self.senders[number].messages)
        works = []
        for index in range(start, start + count):
            opcode = rng.choice((WRITE, SEND, READ))
            length = rng.choice((0, 1, rng.randrange(1, 1024), self.qps[number].pmtu * rng.randrange(1, 4)))
            place = rng.randrange(RING_BYTES)
            if opcode == READ:
                length = min(max(length, 1), 768)
                # Its own 1 KiB, so that no answer comes in where another one came.
                place = READ_TARGETS + (number - 1) * READ_TARGET + index % 8 * 1024 + rng.randrange(64)
            elif rng.random() < 0.5:
                place = PAYLOADS + rng.randrange(PAYLOAD_BYTES - length)
            inline = rng.randbytes(min(length, 16)) if opcode == SEND and length <= 16 else b""
            works.append(
                Work(
                    index + 1,
                    place,
                    length,
                    opcode=opcode,
                    remote_address=rng.getrandbits(64),
                    remote_key=rng.getrandbits(32),
                    immediate=rng.getrandbits(32),
                    inline=inline,
                )
            )
        return works

    def post(self, number: int, works: list[Work]) -> int:
        """The entries are posted; return how many packets leave."""
        sender = self.senders[number]
        if sender.fatal is not None:
            for work in works:
                sender.messages.append(Message(work, 0, 0))
                sender.completions.append((work.identifier, work.opcode, 0x80 | sender.fatal))
            return 0
        count = 0
        for message in sender.post(works):
            work, pmtu = message.work, sender.pmtu
            count += 1 if work.opcode == READ else work.packets(pmtu)
            for index in range(work.packets(pmtu)):
                psn = message.first + index & 0xFFFFFF
                self.expected[number, psn] = self._packet(number, work, index * pmtu, psn)
        return count

    def _packet(self, number: int, work: Work, offset: int, psn: int) -> Packet:
        qp = self.qps[number]
        left = work.length - offset
        first, last = offset == 0, left <= qp.pmtu
        operation = (4 if last else 0) if first else (2 if last else 1)
        opcode = 0x0C if work.opcode == READ else operation + (6 if work.opcode == WRITE else 0)
        read = work.opcode == READ
        return self.outgoing(
            qp,
            opcode=opcode,
            psn=psn,
            payload=b"" if read else self._payload(work, offset, min(left, qp.pmtu)),
            remote_address=(work.remote_address + (offset if read else 0)) & (1 << 64) - 1,
            remote_key=work.remote_key,
            dma_length=left if read else work.length,
        )

    def outgoing(self, qp: QueuePair, **fields: object) -> Packet:
        """A packet from here to the peer."""
        return Packet(
            dest_qpn=qp.remote_qpn,
            migreq=True,
            pkey=qp.pkey,
            dest_mac=qp.remote_mac,
            source_mac=LOCAL_MAC,
            dest_ip=qp.remote_ip,
            source_ip=LOCAL_IP,
            source_port=SOURCE_PORT,
            traffic_class=TRAFFIC_CLASS,
            ttl=TTL,
            **fields,
        )

    def _payload(self, work: Work, offset: int, count: int) -> bytes:
        if work.in_entry():
            return work.inline
        at = work.local_address + offset
        if work.local_address < RING_BYTES:
            return (RING + RING)[at % RING_BYTES : at % RING_BYTES + count]
        return self.first_memory[at - BASE : at - BASE + count]

    def consume(self) -> dict[int, int]:
        """Software gives back all elements of the receive queues; return the index of each."""
        for qp in self.qps.values():
            qp.consumed = qp.taken
        return {number: qp.consumed % qp.depth for number, qp in self.qps.items()}

    # ------------------------------------------------------------ receiving

    def receive(self, frame: bytes, *, bad_fcs: bool = False) -> bool:
        """Take a frame; return whether it ends a queue pair or asks for data: then time must pass before the next."""
        counts, model = self.counts, self.model
        self.frames.append((frame, bad_fcs))
        counts.frames += 1
        counts.host += not bad_fcs and self._is_foreign(frame)
        event = judge(frame, bad_fcs=bad_fcs, mac=LOCAL_MAC, ip=LOCAL_IP)
        counts.marked += event.marked
        if event.kind == "drop":
            counts.drops += 1
            counts.invalid += (event.cause or 0) > 1
            return False
        if event.kind == "cnp":
            counts.notifications += 1
            return False
        ticket = event.ticket
        assert ticket is not None
        start = HEADERS + 4 * ticket.words
        payload = frame[start : start + ticket.payload_bytes]
        ended = len(self.fatals)
        if 0x0D <= ticket.opcode <= 0x11:
            self._answer(event, payload)
            return len(self.fatals) != ended
        asked = len(model.responses)
        model.packet(ticket, payload, frame)
        for number, code in model.fatals:
            self.fatals.append((number, code))
            self.senders[number].end(code, own=False)
        model.fatals.clear()
        return len(self.fatals) != ended or any(response.is_read for response in model.responses[asked:])

    def _answer(self, event: Event, payload: bytes) -> None:
        """An acknowledgement or READ response for the sending side."""
        ticket, counts = event.ticket, self.counts
        assert ticket is not None
        if ticket.opcode == 0x11:
            counts.acks += ticket.word >> 29 == 0
            counts.naks += ticket.word >> 29 != 0
        else:
            counts.read_responses += 1
        sender = self.senders.get(ticket.qpn)
        if sender is None or self.qps[ticket.qpn].dead or not sender.take(ticket, payload):
            counts.ignored += 1
        elif sender.fatal is not None:
            self.fatals.append((ticket.qpn, sender.fatal))
            self.qps[ticket.qpn].dead = True

    @staticmethod
    def _is_foreign(frame: bytes) -> bool:
        """Whether it is for the processing system: all but plain IPv4 UDP to the RoCEv2 port, and MAC control."""
        padded = frame.ljust(64, b"\0")
        if padded[12:14] == MAC_CONTROL.to_bytes(2, "big"):
            return False
        whole = int.from_bytes(padded[20:22], "big") & 0x3FFF == 0
        ours = padded[12:15] == b"\x08\x00\x45" and whole and padded[23] == 17 and len(frame) >= 38
        return not (ours and padded[36:38] == (4791).to_bytes(2, "big"))

    # ------------------------------------------------------------ what is right at the moment

    def peer(self, number: int, opcode: int, payload: bytes = b"", **fields: object) -> Packet:
        """A packet of a queue pair's peer at the PSN that is due."""
        qp = self.qps[number]
        return replace(
            Packet(
                opcode=opcode,
                payload=payload,
                psn=qp.last_psn + 1 & 0xFFFFFF,
                dest_qpn=number,
                pkey=qp.pkey,
                dest_mac=LOCAL_MAC,
                source_mac=qp.remote_mac,
                dest_ip=LOCAL_IP,
                source_ip=qp.remote_ip,
            ),
            **fields,
        )

    def request(self, number: int) -> Packet:
        """A request that is right now: the next packet of the message that is open, or the first of another."""
        rng, qp = self.rng, self.qps[number]
        if qp.transport == UD:
            qkey = 0x80010000 if number == 1 else qp.qkey
            data = rng.randbytes(rng.choice((0, 1, rng.randrange(qp.pmtu + 1))))
            fields = {"immediate": rng.getrandbits(32), "qkey": qkey, "source_qpn": rng.getrandbits(24)}
            return self.peer(number, rng.choice((0x64, 0x65)), data, **fields)
        if qp.open:
            packet = self._continued(qp)
        else:
            kinds = [self._send, self._write, self._write]
            packet = rng.choice([*kinds, self._read] if qp.transport == RC else kinds)(qp)
        return replace(
            packet,
            opcode=packet.opcode | (0x20 if qp.transport == UC else 0),
            immediate=rng.getrandbits(32),
            ack_request=qp.transport == RC and rng.random() < 0.6,
        )

    def _continued(self, qp: QueuePair) -> Packet:
        """The next packet of the open message."""
        rng = self.rng
        if qp.open == "write":
            if qp.total > qp.pmtu:
                return self.peer(qp.number, 0x07, rng.randbytes(qp.pmtu))
            return self.peer(qp.number, rng.choice((0x08, 0x09)), rng.randbytes(qp.total))
        left = ELEMENT - qp.total
        if left > qp.pmtu and rng.random() < 0.5:
            return self.peer(qp.number, 0x01, rng.randbytes(qp.pmtu))
        # With the element full, a packet that is too long is all that is left.
        data = rng.randbytes(rng.randrange(1, max(min(left, qp.pmtu), 1) + 1))
        return self.peer(qp.number, rng.choice((0x02, 0x03)), data)

    def _send(self, qp: QueuePair) -> Packet:
        rng = self.rng
        first = rng.random() < 0.4
        opcode = 0x00 if first else rng.choice((0x04, 0x05, 0x17) if qp.transport == RC else (0x04, 0x05))
        data = rng.randbytes(qp.pmtu if first else rng.choice((0, 1, rng.randrange(qp.pmtu + 1))))
        return self.peer(qp.number, opcode, data, remote_key=rng.getrandbits(32))

    def _read(self, qp: QueuePair) -> Packet:
        rng = self.rng
        length = rng.choice((0, 1, rng.randrange(1, 3 * qp.pmtu)))
        address = VIRTUAL + rng.randrange(READABLE_BYTES - 9 - length)
        key = READ_REGION + qp.number << 8 | KEY
        return self.peer(qp.number, 0x0C, remote_address=address, remote_key=key, dma_length=length)

    def _write(self, qp: QueuePair) -> Packet:
        rng = self.rng
        first = rng.random() < 0.4
        length = rng.randrange(qp.pmtu + 1, 4 * qp.pmtu) if first else rng.choice((0, 1, rng.randrange(qp.pmtu + 1)))
        return self.peer(
            qp.number,
            0x06 if first else rng.choice((0x0A, 0x0B)),
            rng.randbytes(min(length, qp.pmtu)),
            remote_address=VIRTUAL + rng.randrange(self.model.regions[qp.number].length - length),
            remote_key=qp.number << 8 | KEY,
            dma_length=length,
        )

    def answer(self, number: int) -> Packet | None:
        """The answer that is due for what a queue pair has sent, if there is one."""
        sender = self.senders[number]
        if sender.fatal is not None or not sender.open:
            return None
        message = sender.open[0]
        if message.work.opcode != READ:
            return self.peer(number, 0x11, psn=message.last, immediate=0x1F000001)
        offset = (sender.psn - message.first & 0xFFFFFF) * sender.pmtu
        first, last = sender.psn == message.first, sender.psn == message.last
        opcode = (0x10 if last else 0x0D) if first else (0x0F if last else 0x0E)
        data = self.rng.randbytes(min(sender.pmtu, message.work.length - offset))
        return self.peer(number, opcode, data, psn=sender.psn, immediate=0x1F000001)
