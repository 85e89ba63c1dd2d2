"""The whole engine: doorbell to Ethernet frames out of the ring, byte for byte; recovery by acknowledgement frames."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from host.control.registers import register_map
from tests.hdl.ernic.bench import (
    DOORBELL_PORTS,
    LOCAL_IP,
    LOCAL_MAC,
    MEMORY_BASE,
    RING_BYTES,
    Bench,
    Connection,
    Queue,
    in_ring,
    works,
)
from tests.hdl.ernic.model import INLINE_OFFSET, SEND, SEND_IMMEDIATE, WRITE, Command, Work, distance, opcode_of
from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.module_bench import SIMULATORS, run_module

BEAT = 64
ETHERNET = 14
QPN_AT = ETHERNET + 20 + 8 + 5
PSN_AT = QPN_AT + 4
ACKNOWLEDGE = 0x11
ICRC_WAIT = 5
CHIP = 1 << 63
"""Where the engine sees its memory on the chip."""
QUEUE_MEMORY_BYTES = 4096
BUFFERS = MEMORY_BASE + 0x40000


class EngineBench(Bench):
    """``ernic`` with a ring that answers after three cycles, a MAC, and a remote end that is told whole frames."""

    inputs = (
        *DOORBELL_PORTS,
        *("s_entry_valid", "s_entry_qpn", "s_entry_number", "s_entry_row", "s_entry"),
        *("ring_read_data", "m_axis_mac_tready", "m_notice_ready", "mac_pause_request", "m_axis_host_tready"),
        *("s_axis_host_tdata", "s_axis_host_tkeep", "s_axis_host_tvalid", "s_axis_host_tlast"),
        *("s_traffic_reg_valid", "s_traffic_reg_write", "s_traffic_reg_addr", "s_traffic_reg_wdata"),
        *("s_axis_mac_tdata", "s_axis_mac_tkeep", "s_axis_mac_tvalid", "s_axis_mac_tlast", "s_axis_mac_tuser"),
    )

    def __init__(self, dut: Any, **options: Any) -> None:
        super().__init__(dut, **options)
        self.ring = self.random.randbytes(RING_BYTES)
        self.chip = bytearray(QUEUE_MEMORY_BYTES)
        self.take_beats = 1.0
        self.corrupt: set[int] = set()
        """Numbers of acknowledgement frames that arrive with a wrong octet."""
        self.frames: list[bytes] = []
        self.beats: list[int] = []
        """Cycles in which a beat was taken."""
        self._rows: deque[int | None] = deque([None, None])
        self._frame = bytearray()
        self._ready = 0
        self._receiving: deque[bytes] = deque()
        self._acks_sent = 0

    def expected(self, queue: Queue, psn: int) -> tuple[Packet, Command]:
        """The packet with this PSN, from what was posted."""
        connection = queue.connection
        number = distance(psn, connection.psn)
        work, offset = self._place(queue, number)
        left = work.length - offset
        length = min(left, connection.pmtu)
        address, payload = self._payload(queue, work, offset, length)
        opcode = opcode_of(work, offset == 0, left <= connection.pmtu)
        packet = Packet(
            opcode=opcode,
            payload=payload,
            psn=psn,
            dest_qpn=connection.remote_qpn,
            migreq=True,
            pkey=connection.pkey,
            remote_address=work.remote_address,
            remote_key=work.remote_key,
            dma_length=work.length,
            immediate=work.immediate,
            dest_mac=connection.remote_mac,
            source_mac=LOCAL_MAC,
            dest_ip=connection.remote_ip,
            source_ip=LOCAL_IP,
            source_port=0xC000,
            traffic_class=connection.traffic_class,
            ttl=connection.ttl,
        )
        command = Command(
            opcode=opcode,
            psn=psn,
            ack_request=False,
            local_address=address,
            payload_bytes=length,
            remote_address=work.remote_address,
            remote_key=work.remote_key,
            dma_length=work.length,
            immediate=work.immediate,
            dest_qpn=connection.remote_qpn,
            dest_mac=connection.remote_mac,
            dest_ip=connection.remote_ip,
            pkey=connection.pkey,
            traffic_class=connection.traffic_class,
            ttl=connection.ttl,
            from_memory=int(not in_ring(work)),
        )
        return packet, command

    def _payload(self, queue: Queue, work: Work, offset: int, length: int) -> tuple[int, bytes]:
        """Where the octets of a packet are, and what they are."""
        if work.in_entry():
            entry = queue.send_queue + queue.works.index(work) % queue.connection.depth * 64
            return entry + INLINE_OFFSET, work.inline
        address = work.local_address + offset
        if in_ring(work):
            address %= RING_BYTES
            return address, (self.ring + self.ring)[address : address + length]
        if address >= CHIP:
            return address, bytes(self.chip[address - CHIP : address - CHIP + length])
        return address, self.memory.read(address, length)

    async def write_chip(self, offset: int, octets: bytes) -> None:
        """Write words of the memory on the chip, through registers."""
        for at in range(0, len(octets), 4):
            word = int.from_bytes(octets[at : at + 4], "little")
            await self.bus.write(register_map()["ERNIC_MEMORY"]["WORD"].address((offset + at) // 4), word)
        self.chip[offset : offset + len(octets)] = octets

    async def store_on_chip(self, queue: Queue, posted: list[Work]) -> None:
        """Put entries into a send queue on the chip without ringing."""
        for work in posted:
            await self.write_chip(queue.next_entry() - CHIP, work.pack())
            queue.note(work)

    @staticmethod
    def _place(queue: Queue, number: int) -> tuple[Work, int]:
        for work in queue.works:
            packets = work.packets(queue.connection.pmtu)
            if number < packets:
                return work, number * queue.connection.pmtu
            number -= packets
        raise AssertionError("a packet beyond what was posted")

    def packet_side(self) -> None:
        dut = self.dut
        row = int(dut.ring_read_row.value) if dut.ring_read_enable.value else None
        self._rows.append(row)
        due = self._rows.popleft()
        if due is not None:
            dut.ring_read_data.value = int.from_bytes(self.ring[due * BEAT : due * BEAT + BEAT], "little")
        if dut.m_axis_mac_tvalid.value and self._ready:
            octets = int(dut.m_axis_mac_tdata.value).to_bytes(BEAT, "little")
            self._frame += octets[: int(dut.m_axis_mac_tkeep.value).bit_length()]
            self.beats.append(self.cycle)
            if dut.m_axis_mac_tlast.value:
                self._frame_out(bytes(self._frame))
                self._frame.clear()
        ready = int(self.take_beats >= 1.0 or self.random.random() < self.take_beats)
        if ready != self._ready:
            self._ready = ready
            dut.m_axis_mac_tready.value = ready
        self._frame_in()

    def _frame_out(self, frame: bytes) -> None:
        queue = self.queue_of(int.from_bytes(frame[QPN_AT : QPN_AT + 3], "big"))
        ack_request = bool(frame[QPN_AT + 3] >> 7)
        psn = int.from_bytes(frame[PSN_AT : PSN_AT + 3], "big")
        packet, command = self.expected(queue, psn)
        wanted = encode(Packet(**(packet.__dict__ | {"ack_request": ack_request})))
        assert frame == wanted, f"PSN {psn:#x}:\n{frame.hex()}\n{wanted.hex()}"
        self.frames.append(frame)
        self.take(queue, Command(**(command.__dict__ | {"ack_request": ack_request, "cycle": self.cycle})))

    def _frame_in(self) -> None:
        dut = self.dut
        fields = self.due_ack()
        if fields is not None:
            frame = bytearray(
                encode(
                    Packet(
                        opcode=ACKNOWLEDGE,
                        psn=fields["psn"],
                        dest_qpn=fields["qpn"],
                        pkey=fields["pkey"],
                        immediate=fields["syndrome"] << 24 | 1,
                        dest_mac=LOCAL_MAC,
                        source_mac=fields["source_mac"],
                        dest_ip=LOCAL_IP,
                        source_ip=fields["source_ip"],
                    )
                )
            )
            if self._acks_sent in self.corrupt:
                frame[-7] ^= 0x10
            self._acks_sent += 1
            self._receiving.append(bytes(frame))
        if self._receiving:
            frame = self._receiving.popleft()
            assert len(frame) <= BEAT, "an acknowledgement fits into one beat"
            dut.s_axis_mac_tdata.value = int.from_bytes(frame, "little")
            dut.s_axis_mac_tkeep.value = (1 << len(frame)) - 1
            dut.s_axis_mac_tlast.value = 1
            dut.s_axis_mac_tvalid.value = 1
        elif self._acks_sent:
            dut.s_axis_mac_tvalid.value = 0


@cocotb.test()
async def doorbell_to_frames(dut):
    bench = EngineBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=1024, psn=0xFFFFFE))
    queue.store(works([0, 1, 64, 1024, 1025, 4097, 130, 3000], bench.random))
    rung = bench.cycle
    await queue.write("SQPI", queue.posted)
    await bench.done(queue)
    dut._log.info("doorbell to first beat: %d clocks, memory latency %d", bench.beats[0] - rung, bench.memory.latency)
    assert len(bench.frames) == queue.total_packets()
    assert await bench.read("FRAMES_OUT") == len(bench.frames)
    assert await bench.read("RETRANSMITTED") == 0


@cocotb.test()
async def payload_from_memory(dut):
    """SENDs and WRITEs out of memory at any alignment, of their entries, and of the ring, one behind the other."""
    bench = EngineBench(dut, stall=0.1)
    await bench.start()
    bench.memory.write(BUFFERS, bench.random.randbytes(0x20000))
    for pmtu in (256, 4096):
        queue = await bench.connect(2, Connection(pmtu=pmtu, psn=0xFFFFFE, depth=16))
        lengths = [0, 1, 16, 17, 63, 64, pmtu, pmtu + 1, 2 * pmtu + 5, 300, 12]
        posted = []
        for index, work in enumerate(works(lengths, bench.random)):
            address = work.local_address if index % 4 == 3 else BUFFERS + bench.random.randrange(0x10000)
            kind = (SEND, WRITE, SEND_IMMEDIATE)[index % 3]
            posted.append(
                replace(work, opcode=kind, local_address=address, inline=bench.random.randbytes(work.length)[:16])
            )
        await queue.post([replace(work, inline=b"" if work.length > 16 else work.inline) for work in posted])
        await bench.done(queue)


@cocotb.test()
async def payload_that_memory_does_not_give(dut):
    """No packet is sent for it; its entry completes with code 05, those behind are flushed; other queue pairs go on."""
    bench = EngineBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256))
    other = await bench.connect(3, Connection(pmtu=256))
    bench.memory.bad_pages = {BUFFERS // 4096}
    await queue.post([Work(1, BUFFERS + 100, 200, opcode=SEND), Work(2, 64, 100)])
    await other.post(works([1000], bench.random))
    await bench.until(lambda: len(queue.completions()) == 2)
    assert queue.completions() == [(1, SEND, 0x05), (2, WRITE, 0x85)]
    await bench.done(other)
    assert not [command for command in queue.commands if command.from_memory]


@cocotb.test()
async def send_queue_on_the_chip(dut):
    """Entries, data in entries and short payload in the memory on the chip; the way to the first beat is shorter."""
    bench = EngineBench(dut, latency=60)
    await bench.start()
    word = register_map()["ERNIC_MEMORY"]["WORD"]
    for index in (0, 1, 15, 16, QUEUE_MEMORY_BYTES // 4 - 1):
        await bench.bus.write(word.address(index), 0xABC00000 + index)
    for index in (0, 1, 15, 16, QUEUE_MEMORY_BYTES // 4 - 1):
        assert await bench.bus.read(word.address(index)) == 0xABC00000 + index
    queue = bench.queues[1]
    queue.send_queue = CHIP + 0x400
    await bench.connect(2, Connection(pmtu=256, depth=16))
    await bench.write_chip(0xC00, bench.random.randbytes(512))
    inline = bench.random.randbytes(11)
    posted = [
        Work(1, 128, 4096),
        Work(2, CHIP + 0xC07, 300, opcode=SEND),
        Work(3, 0, 11, opcode=SEND_IMMEDIATE, immediate=7, inline=inline),
        Work(4, 4000, 700),
    ] * 3
    posted = [replace(work, identifier=index) for index, work in enumerate(posted)]
    for begin in (0, 4, 8):
        await bench.store_on_chip(queue, posted[begin : begin + 4])
        rung = bench.cycle
        bench.beats.clear()
        await queue.write("SQPI", queue.posted % 16)
        await bench.done(queue)
        assert bench.beats[0] - rung <= 26, "memory is sixty clocks away; the chip's is not"
    assert not [read for read in bench.memory.reads if read[0] >= CHIP]
    assert not bench.memory.reads
    dut._log.info("doorbell to first beat, entry on the chip: %d clocks", bench.beats[0] - rung)


@cocotb.test()
async def doorbells_by_hardware(dut):
    """By the handshake port, while the register bus is busy: each posts exactly its entries, on both queue pairs."""
    bench = EngineBench(dut, stall=0.1)
    await bench.start()
    queues = [await bench.connect(n, Connection(pmtu=256, depth=16, hardware_doorbell=True)) for n in (2, 3)]
    software = await bench.connect(4, Connection(pmtu=256, depth=16))
    number = 1
    for _ in range(12):
        for queue in queues:
            queue.store(
                works([bench.random.randrange(1, 700)] * bench.random.randrange(1, 4), bench.random, start=number)
            )
        software.store(works([300], bench.random, start=number))
        bus = cocotb.start_soon(_bus_is_busy(bench, software))
        for queue in queues:
            await bench.clocks(bench.random.randrange(8))
            await queue.ring(queue.posted % 16)
        await bus
        number += 4
        await bench.done(*queues, software)
    assert await bench.read("DOORBELLS_REFUSED") == 0
    assert await bench.read("DOORBELLS") == 36


async def _bus_is_busy(bench: EngineBench, software: Queue) -> None:
    for _ in range(4):
        await bench.read("FRAMES_OUT")
    await software.write("SQPI", software.posted % 16)
    for _ in range(4):
        await bench.read("FRAMES_OUT")


@cocotb.test()
async def bus_and_ports_take_turns(dut):
    """A port that rings without end does not keep the bus away, nor one port the other."""
    bench = EngineBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, depth=16, hardware_doorbell=True))
    rings = {"sq": 0, "rq": 0}

    async def ring_on(side: str, register: str) -> None:
        for _ in range(200):
            await queue.ring(0, register, side)
            rings[side] += 1

    tasks = [cocotb.start_soon(ring_on("sq", "SQPI")), cocotb.start_soon(ring_on("rq", "RQCI"))]
    for _ in range(30):
        begin, before = bench.cycle, dict(rings)
        await bench.read("FRAMES_OUT")
        assert bench.cycle - begin <= 20
        assert all(rings[side] - before[side] <= 3 for side in rings)
    assert min(rings.values()) > 10
    assert abs(rings["sq"] - rings["rq"]) <= 1
    for task in tasks:
        await task
    assert await bench.read("DOORBELLS_REFUSED") == 0


@cocotb.test()
async def doorbells_that_are_refused(dut):
    """Wrong address, disabled queue pair, the other way than configured, too many: without effect, and told."""
    bench = EngineBench(dut)
    await bench.start()
    hardware = await bench.connect(2, Connection(pmtu=256, depth=16, hardware_doorbell=True))
    software = await bench.connect(3, Connection(pmtu=256, depth=16))
    disabled = await bench.connect(4, Connection(pmtu=256, depth=16, hardware_doorbell=True))
    await disabled.write("QPCONF", 0)
    address = register_map()["ERNIC_QP"]
    count = 0

    async def refused(queue_pair: int, cause: int) -> None:
        nonlocal count
        count += 1
        assert await bench.read("DOORBELLS_REFUSED") == cause << 24 | queue_pair << 16 | count

    for side, wrong in (
        ("sq", address["SQPI"].address(1) + 4),
        ("sq", address["RQCI"].address(1)),
        ("rq", address["SQPI"].address(1)),
        ("sq", address["SQPI"].address(4)),  # four queue pairs were built
        ("sq", address["SQPI"].address(1) + (1 << 18)),
        ("sq", register_map()["ERNIC"]["FRAMES_OUT"].address()),
        ("sq", register_map()["ERNIC"]["XRNICCONF"].address()),
        ("rq", register_map()["ERNIC_MEMORY"]["WORD"].address(14)),
    ):
        await bench.doorbell(side, wrong, 1)
        await refused(0, 1)
    await disabled.ring(1)
    await refused(4, 2)
    await disabled.ring(1, "RQCI", "rq")
    await refused(4, 2)
    await software.ring(1)
    await refused(3, 3)
    await software.ring(1, "RQCI", "rq")
    await refused(3, 3)
    await hardware.write("SQPI", 1)
    await refused(2, 3)
    await hardware.write("RQCI", 1)
    await refused(2, 3)
    hardware.answers = False
    hardware.store(works([40] * 12, bench.random))
    await hardware.ring(12)
    await hardware.ring(7)
    await refused(2, 4)
    for queue in (hardware, software, disabled):
        assert await queue.read("SQPI") == (12 if queue is hardware else 0)
        assert await queue.read("RQCI") == 0
    await bench.settle()
    assert len(bench.frames) == 12
    # RQCI comes through: it is kept, and one for more than was received is not believed by the responder.
    await hardware.ring(3, "RQCI", "rq")
    assert await hardware.read("RQCI") == 3
    assert await bench.read("XRNICCONF") & 1
    await refused_still(bench, count)


async def refused_still(bench: EngineBench, count: int) -> None:
    assert await bench.read("DOORBELLS_REFUSED") & 0xFFFF == count


async def _first_beat(bench: EngineBench, since: int) -> int:
    """Clocks from ``since`` to the first beat that is there to be taken."""
    while not bench.dut.m_axis_mac_tvalid.value:
        await RisingEdge(bench.dut.clk)
    return bench.cycle - since


@cocotb.test()
async def doorbell_three_clocks_behind_its_entry(dut):
    """An entry given by hardware with its queue pair and number is ready for its doorbell from the third clock on."""
    bench = EngineBench(dut)
    await bench.start()
    queue = bench.queues[1]
    queue.send_queue = CHIP + 0x400
    await bench.connect(2, Connection(pmtu=1024, depth=16, hardware_doorbell=True))
    waits = []
    for number in range(1, 20):
        (work,) = works([640], bench.random, aligned=True, start=number)
        at = queue.next_entry() - CHIP
        bench.chip[at : at + 64] = work.pack()
        dut.s_entry_qpn.value = queue.number
        dut.s_entry_number.value = queue.posted
        dut.s_entry_row.value = at // 64
        dut.s_entry.value = int.from_bytes(work.pack(), "little")
        dut.s_entry_valid.value = 1
        await RisingEdge(dut.clk)
        dut.s_entry_valid.value = 0
        queue.note(work)
        gap = number % 5
        await bench.clocks(gap)
        waits.append((gap, await _first_beat(bench, await queue.ring(queue.posted % 16))))
        await bench.done(queue)
    assert all(wait == ARMED_CLOCKS for gap, wait in waits if gap >= 2), waits


ARMED_CLOCKS = 7
"""23 ns at 322 MHz."""


@cocotb.test()
async def doorbell_finds_its_packet_ready(dut):
    """An entry that has been in the memory on the chip for a while leaves with its doorbell, in seven clocks."""
    bench = EngineBench(dut, latency=60)
    await bench.start()
    queues = bench.queues[1:4]
    for queue in queues:
        queue.send_queue = CHIP + 0x400 * queue.number - 0x400
        await bench.connect(queue.number, Connection(pmtu=1024, depth=16, hardware_doorbell=queue.number != 4))
    number = 1
    for lengths in ([64], [1024], [5000], [0], [300, 40, 2000]) * 8:
        queue = bench.random.choice(queues)
        posted = works(lengths, bench.random, aligned=True, start=number)
        number += len(posted)
        await bench.store_on_chip(queue, posted)
        await bench.clocks(40)
        if queue.connection.hardware_doorbell:
            waited = await _first_beat(bench, await queue.ring(queue.posted % 16))
            assert waited == ARMED_CLOCKS, f"{waited} clocks for {lengths}"
        else:
            began = bench.cycle
            await queue.write("SQPI", queue.posted % 16)
            waited = await _first_beat(bench, began)
            assert waited <= ARMED_CLOCKS + 1, f"{waited} clocks for {lengths}"
        await bench.done(queue)
    assert not bench.memory.reads


@cocotb.test()
async def what_was_read_too_early_is_not_sent(dut):
    """Entries rewritten word by word, at any time around the doorbell of another queue pair or before their own."""
    bench = EngineBench(dut)
    await bench.start()
    queues = bench.queues[1:4]
    for queue in queues:
        queue.send_queue = CHIP + 0x400 * queue.number - 0x400
        await bench.connect(queue.number, Connection(pmtu=256, depth=16, hardware_doorbell=True))
    for number in range(1, 60):
        queue, other = bench.random.sample(queues, 2)
        decoy, *posted = works([bench.random.randrange(1, 600) for _ in range(2)], bench.random, start=number * 4)
        await bench.write_chip(queue.next_entry() - CHIP, decoy.pack())
        await bench.clocks(bench.random.randrange(40))
        if number % 3 == 0:
            await bench.store_on_chip(other, works([100], bench.random, start=number * 4 + 2))
            await other.ring(other.posted % 16)
        if number % 5 == 0:
            # By hardware, a row at once, and the doorbell right behind it.
            (work,) = posted
            at = queue.next_entry() - CHIP
            bench.chip[at : at + 64] = work.pack()
            dut.s_entry_qpn.value = queue.number if number % 2 else 0
            dut.s_entry_number.value = queue.posted
            dut.s_entry_row.value = at // 64
            dut.s_entry.value = int.from_bytes(work.pack(), "little")
            dut.s_entry_valid.value = 1
            await RisingEdge(dut.clk)
            dut.s_entry_valid.value = 0
            queue.note(work)
            await bench.clocks(bench.random.randrange(5))
        else:
            await bench.store_on_chip(queue, posted)
            await bench.clocks(bench.random.randrange(12))
        if number % 7 == 0:
            # Posted, and before that forgotten: a new connection begins with its first entry.
            work = queue.works[-1]
            await queue.connect(queue.connection)
            await bench.store_on_chip(queue, [work])
            await bench.clocks(bench.random.randrange(30))
        await queue.ring(queue.posted % 16)
        await bench.done(queue, other)


@cocotb.test()
async def ready_packets_wait_for_everything(dut):
    """Pause, rate, an engine or a queue pair that is switched off: the packet leaves when it may, or not at all."""
    bench = EngineBench(dut)
    await bench.start()
    queue = bench.queues[1]
    queue.send_queue = CHIP + 0x400
    await bench.connect(2, Connection(pmtu=256, depth=16, hardware_doorbell=True))
    await bench.write("PAUSE_CONF", 1 | 3 << 4)
    for number in range(1, 9):
        await bench.store_on_chip(queue, works([200], bench.random, start=number))
        await bench.clocks(40)
        before = len(bench.frames)
        if number % 2:
            dut.mac_pause_request.value = 0x1FF
        else:
            await bench.write("XRNICCONF", 0xC000 << 16)
        await bench.clocks(4)
        await queue.ring(queue.posted % 16)
        await bench.clocks(60)
        assert len(bench.frames) == before
        dut.mac_pause_request.value = 0
        await bench.write("XRNICCONF", 0xC000 << 16 | 4 << 8 | 1)
        await bench.done(queue)
    await bench.store_on_chip(queue, works([200], bench.random, start=20))
    await bench.clocks(40)
    before = len(bench.frames)
    await queue.write("QPCONF", 0)
    await queue.ring(queue.posted % 16)
    await bench.clocks(100)
    assert len(bench.frames) == before


@cocotb.test()
async def lost_packet_and_lost_answer(dut):
    bench = EngineBench(dut, stall=0.2)
    await bench.start(tick_width=6, ack_interval=3)
    bench.take_beats = 0.8
    for drop in (0, 5, 9):
        queue = await bench.connect(3, Connection(pmtu=512, psn=0x1000 + drop, timeout=4))
        gone: list[int] = []
        queue.lose_command = lambda c, n=drop, g=gone: c.psn == 0x1000 + 2 * n and not g and not g.append(1)
        await queue.post(works([512 * 6, 512 * 2 + 3, 512 * 2], bench.random))
        await bench.done(queue)
        assert bool(gone)
    assert await bench.read("RETRANSMITTED") > 0
    # The only answer is damaged on its way: the time runs out and the message is sent again.
    queue = await bench.connect(3, Connection(pmtu=512, psn=5, timeout=4))
    bench.corrupt.add(bench._acks_sent)
    await queue.post(works([700], bench.random))
    await bench.done(queue)
    assert await bench.read("TIMEOUTS") == 1
    assert len(queue.commands) == 4
    assert await bench.read("ININVDUPCNT") == 1


@cocotb.test()
async def line_is_kept_busy(dut):
    """Small messages and long ones: the MAC waits for the first ICRC of a stream only."""
    bench = EngineBench(dut, latency=60)
    await bench.start()
    for pmtu, lengths in ((256, [256 * 30] * 2), (256, [256] * 24), (1024, [4096] * 6)):
        queue = await bench.connect(2, Connection(pmtu=pmtu))
        bench.beats.clear()
        aligned = works(lengths, bench.random, aligned=True)
        await queue.post(aligned)
        await bench.done(queue)
        idle = bench.beats[-1] - bench.beats[0] + 1 - len(bench.beats)
        beats = len(bench.beats)
        dut._log.info("PMTU %d, %d x %d bytes: %d beats, %d idle", pmtu, len(lengths), lengths[0], beats, idle)
        assert idle <= ICRC_WAIT


@cocotb.test()
async def two_queue_pairs(dut):
    bench = EngineBench(dut, stall=0.2)
    await bench.start()
    queues = [await bench.connect(n, Connection(pmtu=256, psn=n)) for n in (2, 4)]
    for queue in queues:
        await queue.post(works([256 * 6 + 1, 40, 256 * 5], bench.random))
    await bench.done(*queues)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic(simulator):
    run_module(
        "ernic/ernic",
        __name__,
        simulator,
        parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32, "QUEUE_MEMORY_BYTES": QUEUE_MEMORY_BYTES},
    )
