"""Bench around ``respond_bench``: frames in, and everything that comes out compared with the model."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from host.control.registers import register_map
from sim.sources import HDL
from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.ernic_datapath.verdict import judge
from tests.hdl.ernic_respond.axi import WriteMemory, known
from tests.hdl.ernic_respond.model import ACK, RC, Access, Model, QueuePair, Region, Response, explained

BASE = 0x12_3400_0000
SIZE = 1 << 19
SHARE = 1 << 17
"""Memory of each queue pair: receive queue in the first half, memory region in the second."""
HALF = SHARE // 2
DOORBELLS = 0x56_0000_0000
LOCAL_MAC, LOCAL_IP = 0x020000000001, 0x0A000001
VIRTUAL = 0x7F00_0000_1003
KEY = 0x5C
PMTUS = {256: 0, 512: 1, 1024: 2, 2048: 3, 4096: 4}
NO_ROOM = 29
HEADERS = 54


def command_fields() -> dict[str, tuple[int, int]]:
    """(lowest bit, width) of each field of a packet command, from the RTL's own header."""
    fields = {}
    for line in (HDL / "ernic" / "ernic_command.vh").read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "`define" and words[1] != "EB_CMD_WIDTH" and words[1].startswith("EB_CMD_"):
            high, _, low = words[2].partition(":")
            first = int(low or high)
            fields[words[1].removeprefix("EB_CMD_")] = (first, int(high) - first + 1)
    return fields


def datagram(packet: Packet, qkey: int, source_qpn: int, data: bytes, immediate: int | None = None) -> bytes:
    """The frame of a UD SEND."""
    opcode = 0x64 if immediate is None else 0x65
    fields = {"opcode": opcode, "qkey": qkey, "source_qpn": source_qpn, "payload": data, "immediate": immediate or 0}
    return encode(replace(packet, **fields))


@dataclass
class Requester:
    """The far end of one queue pair: makes packets of messages, PSN after PSN."""

    qp: QueuePair
    rng: random.Random
    psn: int
    acks: float = 0.2
    """Share of packets that ask for an acknowledgement, besides the last one of each message."""

    def packet(self, opcode: int, payload: bytes = b"", *, advance: int = 1, **changes: Any) -> Packet:
        """One packet at the present PSN."""
        last = opcode & 0x1F not in (0x00, 0x01, 0x06, 0x07)
        rc = self.qp.transport == RC
        fields = {
            "opcode": opcode,
            "payload": payload,
            "psn": self.psn,
            "dest_qpn": self.qp.number,
            "ack_request": rc and (last or self.rng.random() < self.acks),
            "pkey": self.qp.pkey ^ self.rng.choice((0, 0x8000)),
            "dest_mac": LOCAL_MAC,
            "source_mac": self.qp.remote_mac,
            "dest_ip": LOCAL_IP,
            "source_ip": self.qp.remote_ip,
            "solicited": bool(self.rng.getrandbits(1)),
            **changes,
        }
        self.psn = self.psn + advance & 0xFFFFFF
        return Packet(**fields)

    def _message(self, codes: tuple[int, int, int, int], data: bytes, changes: dict[str, Any]) -> list[Packet]:
        """FIRST, MIDDLE, LAST, ONLY opcodes applied to ``data``."""
        first, middle, last, only = (code | (0x20 if self.qp.transport else 0) for code in codes)
        pieces = [data[start : start + self.qp.pmtu] for start in range(0, len(data), self.qp.pmtu)] or [b""]
        packets = []
        for index, piece in enumerate(pieces):
            begins, ends = index == 0, index == len(pieces) - 1
            opcode = only if begins and ends else first if begins else last if ends else middle
            packets.append(self.packet(opcode, piece, **changes))
        return packets

    def send(self, data: bytes, kind: str = "") -> list[Packet]:
        """A SEND; ``kind`` "immediate" or "invalidate"."""
        word = self.rng.getrandbits(32)
        last, only = {"": (0x02, 0x04), "immediate": (0x03, 0x05), "invalidate": (0x16, 0x17)}[kind]
        return self._message((0x00, 0x01, last, only), data, {"immediate": word, "remote_key": word})

    def write(self, offset: int, data: bytes, *, immediate: bool = False, **changes: Any) -> list[Packet]:
        """A WRITE to ``offset`` of the queue pair's region."""
        codes = (0x06, 0x07, 0x09, 0x0B) if immediate else (0x06, 0x07, 0x08, 0x0A)
        fields = {
            "remote_address": VIRTUAL + offset,
            "remote_key": self.qp.number << 8 | KEY,
            "dma_length": len(data),
            "immediate": self.rng.getrandbits(32),
            **changes,
        }
        return self._message(codes, data, fields)

    def read(self, offset: int, length: int, **changes: Any) -> list[Packet]:
        """A READ request."""
        fields = {
            "remote_address": VIRTUAL + offset,
            "remote_key": self.qp.number << 8 | KEY,
            "dma_length": length,
            "advance": max(1, -(-length // self.qp.pmtu)),
            **changes,
        }
        return [self.packet(0x0C, **fields)]


@dataclass
class Seen:
    """What the design has done since the last look."""

    responses: list[Response] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    """Responses that the model had given for the queue pair when each of these came."""
    notices: list[tuple[int, int, int, int]] = field(default_factory=list)
    fatals: list[tuple[int, int]] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)


EVENTS = ("send", "datagram", "duplicate", "refused", "not_ready", "notice_lost")


class Bench:
    def __init__(self, dut: Any, seed: int, *, queues: int = 4) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.data = WriteMemory(dut, "data", BASE, SIZE, seed=seed)
        self.indices = WriteMemory(dut, "index", DOORBELLS, 4096, seed=seed + 1)
        self.data.data[:] = self.random.randbytes(SIZE)
        self.qps = {
            number: QueuePair(
                number,
                rq_base=BASE + (number - 1) * SHARE,
                doorbell=DOORBELLS + 68 * number,
                remote_qpn=0x110 + number,
                domain=7 + number,
            )
            for number in range(1, queues + 1)
        }
        regions = {
            number: Region(7 + number, VIRTUAL, BASE + (number - 1) * SHARE + HALF + 5, HALF - 100, KEY)
            for number in self.qps
        }
        self.model = Model(regions, self.qps, BASE, bytearray(self.data.data))
        self.requesters = {number: Requester(qp, self.random, 1) for number, qp in self.qps.items()}
        self.seen = Seen(events=dict.fromkeys(EVENTS, 0))
        self.take_commands = 1.0
        self.take_notices = 1.0
        self.lost = 0
        self.cycle_number = 0
        self.quiet_since = 0
        self.queue: deque[bytes] = deque()
        self.gap = 0
        self._fields = command_fields()
        self._sent: deque[bytes] = deque()
        self._playing: deque[tuple[bytes, bool]] = deque()
        self._wait = 0
        self._ready = {"cmd": 0, "notice": 0}
        self._held: int | None = None
        self._filled = dict.fromkeys(self.qps, 0)
        self._bursts_seen = 0
        self._checked_writes = 0

    # ------------------------------------------------------------ configuration

    async def start(self) -> None:
        dut = self.dut
        for name in (
            *("cfg_valid", "cfg_region", "cfg_index", "cfg_offset", "cfg_data", "cfg_load", "notice_pop", "qp_fatal"),
            *("unread_valid", "unread_qp"),
            *("s_axis_tvalid", "s_axis_tlast", "m_cmd_ready", "m_notice_ready", "read_accept", "read_address"),
        ):
            getattr(dut, name).value = 0
        dut.read_valid.value = dut.engine_enabled.value = dut.m_fatal_ready.value = 1
        dut.local_mac.value, dut.local_ip.value = LOCAL_MAC, LOCAL_IP
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self._run())
        for number, region in self.model.regions.items():
            await self.program_region(number, region)
        for qp in self.qps.values():
            await self.program(qp)

    async def write(self, block: str, index: int, name: str, value: int) -> None:
        """One register write, once the design takes it."""
        dut = self.dut
        await self.ready()
        dut.cfg_region.value = block == "ERNIC_MR"
        dut.cfg_index.value = index
        dut.cfg_offset.value = register_map()[block][name].offset
        dut.cfg_data.value = value
        dut.cfg_valid.value = 1
        await RisingEdge(dut.clk)
        dut.cfg_valid.value = 0
        await self.clocks(2)

    async def ready(self) -> None:
        for _ in range(20000):
            await RisingEdge(self.dut.clk)
            if not int(self.dut.cfg_busy.value):
                return
        raise AssertionError("the design stays busy")

    async def program_region(self, index: int, region: Region) -> None:
        for name, value in {
            "PDPDNUM": region.domain,
            "VIRTADDRLSB": region.virtual & 0xFFFFFFFF,
            "VIRTADDRMSB": region.virtual >> 32,
            "BUFBASEADDRLSB": region.buffer & 0xFFFFFFFF,
            "BUFBASEADDRMSB": region.buffer >> 32,
            "BUFRKEY": region.key,
            "WRRDBUFLEN": region.length & 0xFFFFFFFF,
            "ACCESSDESC": region.length >> 32 << 16 | region.access.value,
        }.items():
            await self.write("ERNIC_MR", index, name, value)
        self.model.regions[index] = region

    async def program(self, qp: QueuePair) -> None:
        """Write all registers, enable; the model forgets what a disabled queue pair forgets."""
        index = qp.number - 1
        await self.write("ERNIC_QP", index, "QPCONF", 0)
        await self.ready()
        psn = self.requesters[qp.number].psn
        qp.last_psn = psn - 1 & 0xFFFFFF
        qp.open, qp.silent, qp.dead, qp.msn, qp.taken, qp.consumed, qp.last_opcode = "", False, False, 0, 0, 0, 0x0A
        self._filled[qp.number] = 0
        self.indices.write(qp.doorbell, bytes(4))
        for name, value in {
            "QPADVCONF": qp.pkey << 16 | 61 << 8 | 0x6A,
            "RQBA": qp.rq_base & 0xFFFFFFFF,
            "RQBAMSB": qp.rq_base >> 32,
            "RQWPTRDBADD": qp.doorbell & 0xFFFFFFFF,
            "RQWPTRDBADDMSB": qp.doorbell >> 32,
            "QDEPTH": qp.depth << 16 | 16,
            "LSTRQREQ": 0x0A << 24 | qp.last_psn,
            "DESTQPCONF": qp.remote_qpn,
            "TIMEOUTCONF": qp.rnr_code << 16 | 0x0E,
            "MACDESADDLSB": qp.remote_mac & 0xFFFFFFFF,
            "MACDESADDMSB": qp.remote_mac >> 32,
            "IPDESADDR1": qp.remote_ip,
            "PD": qp.domain,
            "QPEXT": qp.transport << 4 | 2,
            "QKEY": qp.qkey,
            "QPCONF": qp.element // 256 << 16 | PMTUS[qp.pmtu] << 8 | 1 << 2 | 1,
        }.items():
            await self.write("ERNIC_QP", index, name, value)
        await self.ready()

    async def reconnect(self, number: int, **changes: Any) -> Requester:
        """Disable, change the programming, enable again at another PSN."""
        qp = self.qps[number]
        for name, value in changes.items():
            setattr(qp, name, value)
        self.requesters[number].psn = changes.get("psn", self.random.getrandbits(24))
        await self.program(qp)
        return self.requesters[number]

    async def consume(self, number: int, count: int | None = None) -> None:
        """Software gives back elements of the receive queue; all by default."""
        qp = self.qps[number]
        qp.consumed += qp.taken - qp.consumed if count is None else count
        await self.write("ERNIC_QP", number - 1, "RQCI", qp.consumed % qp.depth)
        await self.ready()

    async def status(self, number: int) -> dict[str, int]:
        dut = self.dut
        await self.ready()
        dut.cfg_index.value = number - 1
        dut.cfg_load.value = 1
        await RisingEdge(dut.clk)
        dut.cfg_load.value = 0
        await self.clocks(2)
        return {
            name: int(getattr(dut, f"status_{name}").value) for name in ("request", "msn", "buffer", "rq_index")
        } | {"ended": int(dut.qp_ended.value) >> number - 1 & 1}

    # ------------------------------------------------------------ every clock

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def _run(self) -> None:
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            self.cycle_number += 1
            self._frames_in()
            self.data.cycle()
            self.indices.cycle()
            if not (self.data.idle and self.indices.idle):
                self._busy()
            self._index_writes()
            self._command()
            self._notice()
            self._events()
            self._play()

    def _busy(self) -> None:
        self.quiet_since = self.cycle_number

    def _frames_in(self) -> None:
        dut = self.dut
        if not dut.packet_in.value:
            return
        self._busy()
        frame = self._sent.popleft()
        verdict = judge(frame, bad_fcs=False, mac=LOCAL_MAC, ip=LOCAL_IP)
        if dut.drop_valid.value:
            cause = int(dut.drop_cause.value)
            assert cause == NO_ROOM or verdict.kind == "drop", f"good frame dropped with {cause}"
            self.lost += cause == NO_ROOM
            return
        if verdict.ticket is not None and not 0x0D <= verdict.ticket.opcode <= 0x11:
            start = HEADERS + 4 * verdict.ticket.words
            self.model.packet(verdict.ticket, frame[start : start + verdict.ticket.payload_bytes], frame)

    def _index_writes(self) -> None:
        """An index in memory must not run ahead of the data that it speaks of."""
        if self.indices.answered == self._bursts_seen:
            return
        self._bursts_seen = self.indices.answered
        self._busy()
        for number, qp in self.qps.items():
            index = int.from_bytes(self.indices.read(qp.doorbell, 4), "little")
            self._filled[number] += (index - self._filled[number]) % qp.depth
            for owner, count, address, content in self.model.fills:
                if owner == number and count <= self._filled[number]:
                    assert self.data.read(address, len(content)) == content, f"element {count} of queue pair {owner}"

    def _command(self) -> None:
        dut = self.dut
        if dut.m_cmd_valid.value:
            vector = known(dut.m_cmd.value)
            assert self._held in (None, vector), "command changed before it was taken"
            self._held = None if self._ready["cmd"] else vector
            if self._ready["cmd"]:
                self._response(vector)
        else:
            assert self._held is None, "command withdrawn"
        self._offer("cmd", self.take_commands)

    def _offer(self, name: str, share: float) -> None:
        ready = int(share >= 1.0 or self.random.random() < share)
        if ready != self._ready[name]:
            self._ready[name] = ready
            getattr(self.dut, f"m_{name}_ready").value = ready

    def _response(self, vector: int) -> None:
        self._busy()
        fields = {name: vector >> low & (1 << width) - 1 for name, (low, width) in self._fields.items()}
        qp = self.qps[fields["QP"] + 1]
        assert (fields["DEST_QPN"], fields["DEST_MAC"], fields["DEST_IP"]) == (
            qp.remote_qpn,
            qp.remote_mac,
            qp.remote_ip,
        )
        assert (fields["PKEY"], fields["TTL"], fields["TRAFFIC_CLASS"]) == (qp.pkey, 61, 0x6A)
        assert (fields["SOLICITED"], fields["ACK_REQUEST"], fields["REPORT"], fields["MIGREQ"]) == (0, 0, 0, 1)
        size = fields["PAYLOAD_BYTES"]
        assert fields["FROM_MEMORY"] == (size > 0)
        syndrome, msn = fields["IMMEDIATE"] >> 24, fields["IMMEDIATE"] & 0xFFFFFF
        address = fields["LOCAL_ADDRESS"] if size else 0
        response = Response(qp.number, fields["OPCODE"], fields["PSN"], syndrome, msn, address, size)
        self.seen.responses.append(response)
        self.seen.known.append(sum(other.qp == qp.number for other in self.model.responses))
        # What is acknowledged is in memory, unless something newer is.
        for number, psn, target, data in self.model.written:
            if number == qp.number and (response.psn - psn - int(response.is_nak)) & 0xFFFFFF < 0x800000:
                start = target - BASE
                if self.model.memory[start : start + len(data)] == data:
                    assert self.data.read(target, len(data)) == data, (
                        f"{response} before the data of {psn:#x} is in memory"
                    )
        self.model.written = [
            entry for entry in self.model.written if entry[0] != qp.number or self._open(entry, response)
        ]

    @staticmethod
    def _open(entry: tuple[int, int, int, bytes], response: Response) -> bool:
        return (response.psn - entry[1] - int(response.is_nak)) & 0xFFFFFF >= 0x800000

    def _notice(self) -> None:
        dut = self.dut
        if dut.m_notice_valid.value and self._ready["notice"]:
            self._busy()
            word = int(dut.m_notice.value)
            self.seen.notices.append((word >> 32 & 0xFF, word & 0xFFFFFFFF, word >> 40 & 0xFF, word >> 48))
        self._offer("notice", self.take_notices)

    def _events(self) -> None:
        dut = self.dut
        for name in EVENTS:
            self.seen.events[name] += int(getattr(dut, f"{name}_valid").value)
        if dut.m_fatal_valid.value:
            self._busy()
            self.seen.fatals.append((int(dut.m_fatal_qp.value) + 1, int(dut.m_fatal_code.value)))

    def _play(self) -> None:
        """One beat of the frames that are to be sent."""
        dut = self.dut
        if self._wait:
            self._wait -= 1
            if self._wait + 1 == self.gap:
                dut.s_axis_tvalid.value = 0
            return
        if not self._playing:
            if not self.queue:
                dut.s_axis_tvalid.value = 0
                return
            frame = self.queue.popleft()
            self._sent.append(frame)
            pieces = [frame[start : start + 64] for start in range(0, len(frame), 64)]
            self._playing.extend((piece, index == len(pieces) - 1) for index, piece in enumerate(pieces))
        self._busy()
        piece, last = self._playing.popleft()
        dut.s_axis_tdata.value = int.from_bytes(piece.ljust(64, b"\xa5"), "little")
        dut.s_axis_tkeep.value = (1 << len(piece)) - 1
        dut.s_axis_tlast.value = last
        dut.s_axis_tvalid.value = 1
        if last:
            self._wait = self.gap

    # ------------------------------------------------------------ checks

    async def settle(self, quiet: int = 120) -> None:
        """Wait until nothing has happened for ``quiet`` clocks."""
        self._busy()
        while self.cycle_number - self.quiet_since < quiet:
            await RisingEdge(self.dut.clk)

    async def check(self, items: Iterable[Packet | bytes], *, exact: bool = False) -> list[Response]:
        """Send frames and compare everything once all is quiet; return the responses.

        ``exact``: one frame at a time, so that no acknowledgement replaces another one.
        """
        frames = [item if isinstance(item, bytes) else encode(item) for item in items]
        if exact:
            responses = []
            for frame in frames:
                responses += await self._check([frame], exact=True)
            return responses
        return await self._check(frames, exact=False)

    async def _check(self, frames: list[bytes], *, exact: bool) -> list[Response]:
        self.queue.extend(frames)
        await self.settle()
        model, seen = self.model, self.seen
        assert not self._sent
        expected, got = model.responses, seen.responses
        if exact:
            assert got == expected
        for number in self.qps:
            explained(
                [response for response in expected if response.qp == number],
                [pair for pair in zip(got, seen.known, strict=True) if pair[0].qp == number],
            )
        assert seen.notices == model.notices
        assert sorted(seen.fatals) == sorted(model.fatals)
        counts = (model.sends, model.datagrams, model.duplicates, model.refused, model.not_ready, 0)
        assert seen.events == dict(zip(EVENTS, counts, strict=True))
        if self.data.data != model.memory:
            first = next(i for i, (a, b) in enumerate(zip(self.data.data, model.memory, strict=True)) if a != b)
            raise AssertionError(f"memory differs at {BASE + first:#x}")
        for qp in self.qps.values():
            if qp.taken:
                assert int.from_bytes(self.indices.read(qp.doorbell, 4), "little") == qp.taken % qp.depth
        responses = list(got)
        for history in (expected, got, seen.known, seen.notices, model.notices, seen.fatals, model.fatals, model.fills):
            history.clear()
        return responses

    def acks(self, responses: list[Response]) -> list[int]:
        return [response.psn for response in responses if response.syndrome == ACK and not response.is_read]


__all__ = ["BASE", "Access", "Bench", "Region", "datagram"]
