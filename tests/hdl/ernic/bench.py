"""Test benches of the engine: register bus, memory, ring space, and a remote end that answers packets.

:class:`Bench` is what all have in common, :class:`ControlBench` the control half alone, with packet commands and
acknowledgements as they pass to and from the datapath. The whole engine has its bench in ``test_ernic.py``.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from host.control.registers import register_map
from host.control.registers.address_map import V3, V4
from tests.hdl.ernic.memory import Memory
from tests.hdl.ernic.model import ACK, RC, UD, Command, Responder, Work, distance, psn_after
from tests.hdl.ernic_datapath.command_word import unpack
from tests.hdl.ernic_datapath.verdict import Ticket
from tests.hdl.ernic_respond.axi import known
from tests.hdl.lib.reg_bus import RegBusMaster

CLOCK_NS = 3
RING_BYTES = 65536
MEMORY_BASE = 0x12_3400_0000
LOCAL_MAC = 0x020000000001
LOCAL_IP = 0x0A000001
PMTU_CODES = {256: 0, 512: 1, 1024: 2, 2048: 3, 4096: 4}
GRANULE = 4096
ALL_LEVELS = 0xF
ACK_FIELDS = ("is_read", "is_last", "bytes", "qpn", "psn", "syndrome", "source_ip", "source_mac", "pkey")
DOORBELL_PORTS = tuple(f"s_{side}_doorbell_{name}" for side in ("sq", "rq") for name in ("valid", "address", "index"))
COMMAND_FIELDS = tuple(entry.name for entry in fields(Command) if entry.name != "cycle")


@dataclass(frozen=True)
class Connection:
    """How a queue pair is programmed."""

    pmtu: int = 1024
    depth: int = 64
    psn: int = 0
    timeout: int = 0
    retry: int = 7
    rnr_retry: int = 7
    remote_qpn: int = 0x111
    remote_mac: int = 0x020000000002
    remote_ip: int = 0x0A000002
    pkey: int = 0xFFFF
    traffic_class: int = 0x68
    ttl: int = 63
    write_completions: bool = True
    interrupt: bool = False
    index_to_memory: bool = True
    transport: int = 0
    level: int = 0
    write_each: bool = False
    reads: int = 16
    qkey: int = 0x11223344
    tail_loss: int = 0
    hardware_doorbell: bool = False
    """Doorbells come by the handshake ports, not by register."""


@dataclass
class Freed:
    """One release: bytes [address, address + length) of the ring."""

    address: int
    length: int
    complete: bool


def in_ring(work: Work) -> bool:
    """Whether the message's payload is in the ring."""
    return work.local_address < RING_BYTES and not work.in_entry()


@dataclass(frozen=True)
class Response:
    """One READ response: where its data belong."""

    psn: int
    address: int
    length: int
    last: bool


class Queue:
    """One queue pair: its memory, what was posted to it, what came back, and the remote end."""

    def __init__(self, bench: Bench, number: int, send_queue: int, completion_queue: int, index_address: int) -> None:
        self.bench = bench
        self.number = number
        self.send_queue = send_queue
        self.completion_queue = completion_queue
        self.index_address = index_address
        self.connection = Connection()
        self.works: list[Work] = []
        self.commands: list[Command] = []
        self.responder = Responder([], 256, 0, RING_BYTES)
        # Acknowledged so far, in packets since the connection began, as the remote end has told the engine.
        self.acked_packets = 0
        self.freed: list[int] = []
        self.freed_complete: list[bool] = []
        self.lose_command: Callable[[Command], bool] = lambda _: False
        self.lose_answer: Callable[[tuple[int, int]], bool] = lambda _: False
        self.lose_response: Callable[[Response], bool] = lambda _: False
        self.accepted: list[Response] = []
        self.answers = True
        self.posted = 0
        self.writes_seen = 0
        self.completed: list[tuple[int, int, int]] = []

    def _address(self, name: str) -> int:
        return register_map()["ERNIC_QP"][name].address(self.number - 1)

    async def write(self, name: str, value: int) -> None:
        await self.bench.bus.write(self._address(name), value)

    async def read(self, name: str) -> int:
        return await self.bench.bus.read(self._address(name))

    async def field(self, name: str, part: str) -> int:
        return register_map()["ERNIC_QP"][name][part].get(await self.read(name))

    async def connect(self, connection: Connection, *, disable: bool = True) -> None:
        """Program everything in the order of PG332 and enable the queue pair, forgetting all that was."""
        c = self.connection = connection
        if disable:
            await self.write("QPCONF", 0)
        self.works.clear()
        self.commands.clear()
        self.freed.clear()
        self.freed_complete.clear()
        self.acked_packets = 0
        self.lose_command = lambda _: False
        self.lose_answer = lambda _: False
        self.lose_response = lambda _: False
        self.accepted.clear()
        self.answers = True
        self.posted = 0
        self.writes_seen = len(self.bench.memory.writes)
        self.completed = []
        self.responder = Responder(
            self.works,
            c.pmtu,
            c.psn,
            RING_BYTES,
            transport=c.transport,
            each=c.write_each,
            entry_address=lambda number: self.send_queue + number % c.depth * 64,
            on_read=lambda work, offset, psn: self.bench.respond(self, work, offset, psn),
        )
        index_address = self.index_address if c.index_to_memory else 0
        for name, address in (
            ("SQBA", self.send_queue),
            ("CQBA", self.completion_queue),
            ("CQDBADD", index_address),
        ):
            await self.write(name, address & 0xFFFFFFFF)
            await self.write(name + "MSB", address >> 32)
        await self.write("QDEPTH", 16 << 16 | c.depth)
        await self.write("MACDESADDLSB", c.remote_mac & 0xFFFFFFFF)
        await self.write("MACDESADDMSB", c.remote_mac >> 32)
        await self.write("IPDESADDR1", c.remote_ip)
        await self.write("DESTQPCONF", c.remote_qpn)
        await self.write("SQPSN", c.psn)
        await self.write("QPEXT", c.reads << 8 | int(c.write_each) << 6 | c.transport << 4 | c.level)
        await self.write("QKEY", c.qkey)
        await self.write("TAIL_LOSS", c.tail_loss)
        await self.write("QPADVCONF", c.pkey << 16 | c.ttl << 8 | c.traffic_class)
        await self.write("TIMEOUTCONF", c.rnr_retry << 11 | c.retry << 8 | c.timeout)
        self.bench.memory.write(self.index_address, bytes(4))
        self.bench.memory.write(self.completion_queue, bytes(4 * c.depth))
        value = PMTU_CODES[c.pmtu] << 8 | int(c.write_completions) << 5 | int(c.interrupt) << 3 | 1
        await self.write("QPCONF", value | int(not c.hardware_doorbell) << 4)

    def store(self, works: list[Work]) -> None:
        """Put entries into the send queue without ringing."""
        for work in works:
            self.bench.memory.write(self.next_entry(), work.pack())
            self.note(work)

    def next_entry(self) -> int:
        """Where the next entry belongs."""
        return self.send_queue + self.posted % self.connection.depth * 64

    def note(self, work: Work) -> None:
        """Count on an entry that is in the send queue now."""
        self.works.append(work)
        self.freed.append(0)
        self.freed_complete.append(False)
        self.posted += 1

    async def post(self, works: list[Work]) -> None:
        """Store and ring, the index modulo the depth."""
        self.store(works)
        await self.write("SQPI", self.posted % self.connection.depth)

    async def ring(self, index: int, register: str = "SQPI", side: str = "sq") -> int:
        """Ring by the handshake port; return the cycle in which the doorbell was accepted."""
        return await self.bench.doorbell(side, self._address(register), index)

    def total_packets(self) -> int:
        return sum(work.packets(self.connection.pmtu) for work in self.works)

    def answer(self, psn: int, syndrome: int = ACK, **changes: int) -> None:
        """Queue an acknowledgement for the engine; with ``changes`` it is one that must be ignored."""
        if not changes:
            self.acknowledged(psn, syndrome)
        self.bench.send_ack(
            {
                "qpn": self.number,
                "psn": psn,
                "syndrome": syndrome,
                "source_ip": self.connection.remote_ip,
                "source_mac": self.connection.remote_mac,
                "pkey": self.connection.pkey,
            }
            | changes
        )

    def acknowledged(self, psn: int, syndrome: int) -> None:
        """Note what an answer acknowledges (both kinds of recoverable NAK: everything before)."""
        reach = self.acked_packets + distance(psn, psn_after(self.connection.psn, self.acked_packets))
        reach += syndrome >> 5 == 0
        self.acked_packets = max(self.acked_packets, reach)

    def acked_bytes(self, index: int) -> tuple[int, bool]:
        """Bytes of message ``index`` that are acknowledged, and whether it is as a whole."""
        pmtu = self.connection.pmtu
        before = sum(work.packets(pmtu) for work in self.works[:index])
        packets = self.works[index].packets(pmtu)
        acked = min(max(self.acked_packets - before, 0), packets)
        return min(acked * pmtu, self.works[index].length), acked == packets

    def owns(self, freed: Freed) -> bool:
        """Take a release if it continues the oldest message of this queue that is not wholly freed."""
        for index, work in enumerate(self.works):
            if self.freed_complete[index] or work.length == 0 or not in_ring(work):
                continue
            if freed.address != (work.local_address + self.freed[index]) % RING_BYTES:
                return False
            acked, whole = self.acked_bytes(index)
            reached = self.freed[index] + freed.length
            if reached > acked or freed.complete != (whole and reached == work.length):
                return False  # not acknowledged like this; another queue pair's message may begin at the same address
            self.freed[index] = reached
            self.freed_complete[index] = freed.complete
            if not freed.complete:
                assert (freed.address + freed.length) % GRANULE == 0, "part of a granule freed"
            return True
        return False

    def check_freed(self) -> None:
        """All that is acknowledged as whole messages is freed, no more; of the one in flight whole granules are."""
        for index, work in enumerate(self.works):
            acked, whole = self.acked_bytes(index)
            if not in_ring(work):
                assert self.freed[index] == 0
            elif whole:
                assert self.freed[index] == work.length, (index, work, self.freed[index])
                assert self.freed_complete[index] or work.length == 0
            else:
                end = (work.local_address + acked) // GRANULE * GRANULE - work.local_address
                assert self.freed[index] == max(end, 0), (index, work, acked, self.freed[index])

    def completions(self) -> list[tuple[int, int, int]]:
        """(identifier, opcode, error) of all completion entries in the order in which they were written."""
        end = self.completion_queue + 4 * self.connection.depth
        writes = self.bench.memory.writes
        for address, data in writes[self.writes_seen :]:
            if self.completion_queue <= address < end:
                assert address == self.completion_queue + len(self.completed) % self.connection.depth * 4
                self.completed.append((int.from_bytes(data[:2], "little"), data[2], data[3]))
        self.writes_seen = len(writes)
        return self.completed

    def index_in_memory(self) -> int:
        return int.from_bytes(self.bench.memory.read(self.index_address, 4), "little")


MAPS = {"v3": V3, "v4": V4}


class EngineBus(RegBusMaster):
    """Takes the addresses of v3.1's map to the one that the design was built with, by the environment's ADDRESS_MAP."""

    places = MAPS[os.environ.get("ADDRESS_MAP", "v3")]

    async def access(self, address: int, wdata: int | None, *, back_to_back: bool = False) -> int:
        return await super().access(self.places.place(address), wdata, back_to_back=back_to_back)


class Bench:
    """The design under test with everything around it but the packet side, which subclasses add."""

    def __init__(self, dut: Any, *, seed: int = 1, latency: int = 20, stall: float = 0.0, queues: int = 4) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.bus = EngineBus(dut, dut.clk)
        self.memory = Memory(dut, MEMORY_BASE, 1 << 19, latency, stall, seed)
        self.queues = [
            Queue(
                self,
                n + 1,
                MEMORY_BASE + n * 0x10000,
                MEMORY_BASE + n * 0x10000 + 0xE000,
                MEMORY_BASE + n * 0x10000 + 0xF000,
            )
            for n in range(queues)
        ]
        self.cycle = 0
        self.answer_delay = 30
        self.take_releases = 1.0
        self.freed: list[Freed] = []
        self.order: list[int] = []
        self._by_remote: dict[int, Queue] = {}
        self._acks: deque[tuple[int, dict[str, int]]] = deque()
        self._release_ready = 0

    inputs: tuple[str, ...] = ()
    """Further inputs to be driven to 0 at first."""

    def packet_side(self) -> None:
        """What happens at the packet side in a clock."""
        raise NotImplementedError

    async def start(self, *, tick_width: int = 4, ack_interval: int = 16) -> None:
        """Clock, reset, global configuration."""
        dut = self.dut
        for name in ("release_ready", *self.inputs):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self._run())
        await self.write("INTEN", 0)
        await self.write("MACXADDLSB", LOCAL_MAC & 0xFFFFFFFF)
        await self.write("MACXADDMSB", LOCAL_MAC >> 32)
        await self.write("IPV4XADD", LOCAL_IP)
        await self.write("ACKREQ_INTERVAL", ack_interval)
        await self.write("XRNICADCONF", tick_width << 16)
        await self.write("XRNICCONF", 0xC000 << 16 | len(self.queues) << 8 | 1)

    async def write(self, name: str, value: int) -> None:
        await self.bus.write(register_map()["ERNIC"][name].address(), value)

    async def read(self, name: str) -> int:
        return await self.bus.read(register_map()["ERNIC"][name].address())

    async def connect(self, number: int, connection: Connection | None = None) -> Queue:
        queue = self.queues[number - 1]
        connection = connection or Connection()
        connection = Connection(**(connection.__dict__ | {"remote_qpn": 0x110 + number}))
        self._by_remote[connection.remote_qpn] = queue
        await queue.connect(connection)
        return queue

    def send_ack(self, fields: dict[str, int]) -> None:
        self._acks.append((self.cycle + self.answer_delay, fields))

    async def doorbell(self, side: str, address: int, index: int, limit: int = 2000) -> int:
        """A doorbell at a handshake port (``sq`` or ``rq``); return the cycle in which it was accepted."""
        ports = {
            name: getattr(self.dut, f"s_{side}_doorbell_{name}") for name in ("valid", "ready", "address", "index")
        }
        ports["address"].value = address
        ports["index"].value = index
        ports["valid"].value = 1
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            if ports["ready"].value:
                ports["valid"].value = 0
                return self.cycle
        raise AssertionError(f"no doorbell taken within {limit} clocks")

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def until(self, condition: Callable[[], bool], limit: int = 20000, what: str = "") -> None:
        for _ in range(limit):
            if condition():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"not within {limit} clocks: {what or condition}")

    async def settle(self, quiet: int = 200) -> None:
        """Wait until neither command nor acknowledgement nor write has come for ``quiet`` clocks."""
        while True:
            before = (len(self.order), len(self._acks), len(self.memory.writes))
            await self.clocks(quiet)
            if before == (len(self.order), len(self._acks), len(self.memory.writes)):
                return

    async def done(self, *queues: Queue, limit: int = 40000) -> None:
        """Wait until all that was posted is complete, and check completions, index, pointers and freed memory."""
        for queue in queues:
            await self.until(
                lambda q=queue: len(q.completions()) >= len(q.works), limit, f"completions of queue pair {queue.number}"
            )
        await self.settle(60 + 2 * self.memory.latency)
        for queue in queues:
            assert queue.completions() == [(work.identifier, work.opcode, 0) for work in queue.works]
            expected = len(queue.works) % queue.connection.depth
            assert await queue.read("CQHEAD") % queue.connection.depth == expected
            assert await queue.read("SQPI") == await queue.read("CQHEAD")
            if queue.connection.index_to_memory:
                assert queue.index_in_memory() == await queue.read("CQHEAD")
            assert queue.responder.executed == len(queue.works)
            assert queue.acked_packets == queue.total_packets()
            queue.check_freed()
            assert await queue.read("STATQP") & 0x601 == 0x600

    # ---------------------------------------------------------------------------------------------------- every clock

    async def _run(self) -> None:
        edge = RisingEdge(self.dut.clk)
        dut = self.dut
        while True:
            await edge
            self.cycle += 1
            self.memory.cycle()
            self.packet_side()
            if dut.release_valid.value and self._release_ready:
                freed = Freed(
                    int(dut.release_address.value), int(dut.release_bytes.value), bool(dut.release_complete.value)
                )
                self.freed.append(freed)
                assert freed.length > 0
                assert any(queue.owns(freed) for queue in self.queues), f"{freed} is not of an acknowledged message"
            self._drive()

    def _drive(self) -> None:
        ready = int(self.take_releases >= 1.0 or self.random.random() < self.take_releases)
        if ready != self._release_ready:
            self._release_ready = ready
            self.dut.release_ready.value = ready

    def take(self, queue: Queue, command: Command) -> None:
        """A packet of this queue has left; the remote end answers it."""
        queue.commands.append(command)
        self.order.append(queue.number)
        if queue.answers and not queue.lose_command(command):
            answer = queue.responder.receive(command)
            if answer is not None and not queue.lose_answer(answer):
                queue.answer(*answer)

    def respond(self, queue: Queue, work: Work, offset: int, psn: int) -> None:
        """Answer a READ; benches without READs have nothing to answer with."""
        raise NotImplementedError

    def due_ack(self) -> dict[str, int] | None:
        """The acknowledgement that arrives now, if there is one."""
        return self._acks.popleft()[1] if self._acks and self._acks[0][0] <= self.cycle else None

    def queue_of(self, remote_qpn: int) -> Queue:
        """The queue pair that is connected to this one."""
        return self._by_remote[remote_qpn]


class ControlBench(Bench):
    """``ernic_control`` with its commands taken, in a share ``take_commands`` of cycles, and acknowledgements given."""

    inputs = (
        *(
            "level_ready",
            "memory_read_data",
            "memory_touched_valid",
            "memory_touched_row",
            "memory_given_valid",
            "memory_given_qpn",
            "memory_given_number",
            "memory_given_row",
            "memory_given_data",
            "memory_look_ready",
            "memory_look_data",
            "failed_valid",
            "failed_qp",
            "report_valid",
            "report_qp",
            "report_epoch",
            "report_psn",
            "m_decision_ready",
            "read_writes_done",
            "read_write_error",
            "frame_out",
            "packet_in",
            "drop_valid",
            "drop_cause",
            "other_valid",
            "other_opcode",
            "other_qpn",
        ),
        *DOORBELL_PORTS,
        "s_ack_valid",
        *(f"s_ack_{name}" for name in ACK_FIELDS),
        *("port_rate", "port_size", "cnp_interval", "cnp_class", "cnp_in_valid", "m_cnp_ready"),
        *("good_valid", "good_marked", "good_opcode", "good_qpn"),
        *(
            "s_request_valid",
            "s_request_ticket",
            "m_accept_ready",
            "request_written",
            "request_error",
            "m_response_ready",
            "unread_valid",
            "unread_qp",
            "m_notice_ready",
        ),
    )

    def __init__(self, dut: Any, *, seed: int = 1, latency: int = 20, stall: float = 0.0, queues: int = 4) -> None:
        super().__init__(dut, seed=seed, latency=latency, stall=stall, queues=queues)
        self.take_commands = 1.0
        self.purged: list[int] = []
        """Indices of queue pairs whose packets are to be thrown away."""
        self.leave_delay = 10
        """Clocks that a packet of an unreliable transport takes to leave."""
        self._leaving: deque[tuple[int, Queue, Command]] = deque()
        self.take_decisions = 1.0
        self.write_delay = 20
        """Clocks that the data of a response take to get into memory."""
        self.refuse_data: Callable[[Queue, Response], bool] = lambda *_: False
        """Whether memory refuses the data of a response."""
        self.written = 0
        self._writing: deque[tuple[int, bool]] = deque()
        self._write_error = 0
        self.requests: deque[Ticket] = deque()
        """Requests of peers, to be given to the responder side one after the other."""
        self.refuse_requests = False
        """Whether memory refuses the data of requests."""
        self.accepted_requests = 0
        self.responses: list[dict[str, int]] = []
        """Packets of the responder side."""
        self._request_offered = False
        self._request_writes: deque[int] = deque()
        self._requests_written = 0
        self._open_sides = False
        self._expected: deque[tuple[Queue, Response]] = deque()
        self._decision_ready = 0
        self._ack_is_read = False
        self._level_ready = 0
        self._ack_valid = 0
        self._report_valid = 0

    def packet_side(self) -> None:
        dut = self.dut
        taken = bool(dut.m_cmd_valid.value)
        if taken:
            self._command()
        if dut.purge_valid.value:
            self.purged.append(int(dut.purge_qp.value))
        # Room stays until a packet takes it, as the launch stage has it.
        roomy = (self._level_ready and not taken) or self.random.random() < self.take_commands
        ready = ALL_LEVELS if roomy and self.take_commands > 0 else 0
        if ready != self._level_ready:
            self._level_ready = ready
            dut.level_ready.value = ready
        self._responses()
        self._requests()
        left = self._leaving.popleft() if self._leaving and self._leaving[0][0] <= self.cycle else None
        if left is not None:
            _, queue, command = left
            dut.report_qp.value = queue.number - 1
            dut.report_epoch.value = command.epoch
            dut.report_psn.value = command.psn
            if queue.connection.transport != RC:
                queue.acknowledged(command.psn, ACK)
        if (left is not None) != self._report_valid:
            self._report_valid = left is not None
            dut.report_valid.value = int(self._report_valid)
        if self._ack_valid and self._ack_is_read and not dut.s_ack_ready.value:
            return
        ack = self.due_ack()
        if ack is not None:
            self._ack_is_read = bool(ack.get("is_read", 0))
            for name in ACK_FIELDS:
                getattr(dut, f"s_ack_{name}").value = ack.get(name, 0)
            dut.s_ack_valid.value = 1
            self._ack_valid = 1
        elif self._ack_valid:
            dut.s_ack_valid.value = 0
            self._ack_valid = 0

    def respond(self, queue: Queue, work: Work, offset: int, psn: int) -> None:
        """Queue the responses to a READ of ``work`` from byte ``offset`` on, the first with this PSN."""
        pmtu = queue.connection.pmtu
        packets = max(1, -(-(work.length - offset) // pmtu))
        for number in range(packets):
            at = offset + number * pmtu
            response = Response(
                psn_after(psn, number), work.local_address + at, min(pmtu, work.length - at), number == packets - 1
            )
            if queue.lose_response(response):
                continue
            self.send_ack(
                {
                    "is_read": 1,
                    "is_last": int(response.last),
                    "bytes": response.length,
                    "qpn": queue.number,
                    "psn": response.psn,
                    "syndrome": ACK,
                    "source_ip": queue.connection.remote_ip,
                    "source_mac": queue.connection.remote_mac,
                    "pkey": queue.connection.pkey,
                }
            )
            self._expected.append((queue, response))

    def _responses(self) -> None:
        """Take a decision about a response: in order, for the right place, accepted once."""
        dut = self.dut
        if dut.m_decision_valid.value and self._decision_ready:
            queue, response = self._expected.popleft()
            accepted = bool(dut.m_decision_accept.value)
            if accepted:
                assert response not in queue.accepted, f"{response} taken twice"
                assert int(dut.m_decision_address.value) == response.address, response
            # Without data there is nothing to accept.
            if accepted or response.length == 0:
                queue.acknowledged(response.psn, ACK)
                queue.accepted.append(response)
            if accepted:
                self._writing.append((self.cycle + self.write_delay, self.refuse_data(queue, response)))
        ready = int(self.random.random() < self.take_decisions)
        if ready != self._decision_ready:
            self._decision_ready = ready
            dut.m_decision_ready.value = ready
        error = 0
        if self._writing and self._writing[0][0] <= self.cycle:
            error = int(self._writing.popleft()[1])
            self.written += 1
            dut.read_writes_done.value = self.written % 256
        if error != self._write_error:
            self._write_error = error
            dut.read_write_error.value = error

    def _command(self) -> None:
        offered = unpack(int(self.dut.m_cmd.value))
        level = int(self.dut.m_cmd_level.value)
        assert self._level_ready >> level & 1, f"a packet of level {level}, which has no room"
        command = Command(**{name: offered[name] for name in COMMAND_FIELDS}, cycle=self.cycle)
        queue = self.queue_of(command.dest_qpn)
        connection = queue.connection
        assert (command.dest_mac, command.dest_ip) == (connection.remote_mac, connection.remote_ip)
        assert (command.pkey, command.traffic_class, command.ttl) == (
            connection.pkey,
            connection.traffic_class,
            connection.ttl,
        )
        assert level == (connection.level or 2)
        if connection.transport == UD:
            assert (command.qkey, command.source_qpn) == (connection.qkey, queue.number)
        self.take(queue, command)
        if command.report:
            self._leaving.append((self.cycle + self.leave_delay, queue, command))

    def _requests(self) -> None:
        """The responder side: a request is held until it is taken, and its data are written some clocks later."""
        dut = self.dut
        if not self._open_sides:
            self._open_sides = True
            dut.m_accept_ready.value = 1
            dut.m_response_ready.value = 1
            return
        if self._request_offered and dut.s_request_ready.value:
            self.requests.popleft()
            self._request_offered = False
            dut.s_request_valid.value = 0
        elif self.requests and not self._request_offered:
            dut.s_request_ticket.value = self.requests[0].pack()
            dut.s_request_valid.value = 1
            self._request_offered = True
        if dut.m_accept_valid.value and dut.m_accept_accept.value:
            self._request_writes.append(self.cycle + self.write_delay)
            self.accepted_requests += 1
        if self._request_writes and self._request_writes[0] <= self.cycle:
            self._request_writes.popleft()
            self._requests_written += 1
            dut.request_written.value = self._requests_written % 256
            dut.request_error.value = int(self.refuse_requests)
        if dut.m_response_valid.value:
            # What an acknowledgement does not use may be undefined.
            self.responses.append(unpack(known(dut.m_response_cmd.value)))


def works(lengths: list[int], rng: random.Random, *, aligned: bool = False, start: int = 1) -> list[Work]:
    """Messages of these lengths, every third with an immediate, each at another place of the ring."""
    found = []
    position = rng.randrange(RING_BYTES)
    for index, length in enumerate(lengths, start):
        address = position // GRANULE * GRANULE if aligned else position
        found.append(
            Work(
                index,
                address % RING_BYTES,
                length,
                opcode=int(index % 3 == 0),
                remote_address=rng.getrandbits(64),
                remote_key=rng.getrandbits(32),
                immediate=rng.getrandbits(32),
            )
        )
        position = (address + length + rng.randrange(1, 200)) % RING_BYTES
    return found
