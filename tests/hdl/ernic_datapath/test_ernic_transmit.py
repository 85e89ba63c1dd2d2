"""Transmit datapath: golden vectors, lengths and alignments against the reference, rate, latency, back-pressure."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from tests.hdl.ernic_datapath.command_word import pack
from tests.hdl.ernic_datapath.reference import CNP, VECTORS, Packet, encode
from tests.hdl.module_bench import SIMULATORS, run_module

RING_BYTES = 8192
AREAS = 8
AREA_BYTES = 4096
CLOCK_NS = 3
ALL_LANES = (1 << 64) - 1
ICRC_WAIT = 5
"""Cycles that a frame's last beat may lag behind the one before, once after a pause."""


@dataclass(frozen=True)
class Command:
    """A packet whose payload lies in the ring at ``address``, or in an area of the stage at ``address`` modulo 4096."""

    packet: Packet
    address: int
    area: int | None = None
    report: tuple[int, int] | None = None
    """Queue pair and connection to be named when it has left."""


@dataclass
class Frame:
    octets: bytes
    cycles: list[int] = field(default_factory=list)
    """Cycle of acceptance of each beat."""


class TB:
    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.ring = bytearray(self.random.randbytes(RING_BYTES))
        self.stage = self.random.randbytes(AREAS * AREA_BYTES)
        self.reports: list[tuple[int, int, int]] = []
        self.frames: list[Frame] = []
        self.accepted: list[int] = []
        self.valid_since: list[int] = []
        self.first_events = 0
        self.last_events = 0
        self.ready: Callable[[], bool] = lambda: True
        self.rows_read = 0

    async def start(self) -> None:
        dut = self.dut
        dut.s_cmd_valid.value = 0
        dut.m_axis_tready.value = 0
        dut.ring_read_data.value = 0
        dut.stage_read_data.value = 0
        dut.local_mac.value = 0x020000000001
        dut.local_ip.value = 0x0A000001
        dut.udp_source_port.value = 0xC000
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk)
        ring = (dut.ring_read_enable, dut.ring_read_row, dut.ring_read_data, self.ring)
        stage = (dut.stage_read_enable, dut.stage_read_row, dut.stage_read_data, self.stage)
        for process in (self._read_port(*ring), self._read_port(*stage), self._mac()):
            cocotb.start_soon(process)

    @property
    def cycle(self) -> int:
        """Number of the cycle that ends with the present clock edge."""
        return int(get_sim_time("ns")) // CLOCK_NS

    async def _read_port(self, enable, address, data, memory: bytes | bytearray) -> None:
        """Serve rows three cycles after enable; at all other times the port carries noise."""
        pipeline: list[int | None] = [None, None]
        while True:
            await RisingEdge(self.dut.clk)
            row = int(address.value) if int(enable.value) else None
            self.rows_read += row is not None
            pipeline.append(row)
            due = pipeline.pop(0)
            octets = self.random.randbytes(64) if due is None else memory[64 * due : 64 * due + 64]
            data.value = int.from_bytes(octets, "little")

    async def _mac(self) -> None:
        """Take beats when ``ready`` says so; check the stream's rules and collect frames."""
        dut = self.dut
        octets = bytearray()
        cycles: list[int] = []
        held: tuple[int, int, int] | None = None
        ready = False
        while True:
            dut.m_axis_tready.value = ready = self.ready()
            await RisingEdge(dut.clk)
            valid = bool(int(dut.m_axis_tvalid.value))
            if int(dut.m_report_valid.value):
                assert int(dut.m_packet_last.value)
                self.reports.append(
                    (int(dut.m_report_qp.value), int(dut.m_report_epoch.value), int(dut.m_report_psn.value))
                )
            if held is not None:
                assert valid, "tvalid fell before tready"
            if not valid:
                assert not int(dut.m_packet_first.value)
                assert not int(dut.m_packet_last.value)
                continue
            beat = (int(dut.m_axis_tdata.value), int(dut.m_axis_tkeep.value), int(dut.m_axis_tlast.value))
            if held is None:
                self.valid_since.append(self.cycle)
            else:
                assert beat == held, "beat changed while it waited"
            held = beat
            first, last = bool(int(dut.m_packet_first.value)), bool(int(dut.m_packet_last.value))
            assert first == (ready and not cycles)
            assert last == (ready and bool(beat[2]))
            if not ready:
                continue
            held = None
            data, keep, end = beat
            assert keep & (keep + 1) == 0, f"tkeep {keep:#x} has holes"
            assert keep, "empty beat"
            assert end or keep == ALL_LANES, "partial beat inside a frame"
            octets += data.to_bytes(64, "little")[: keep.bit_length()]
            cycles.append(self.cycle)
            if end:
                self.frames.append(Frame(bytes(octets), cycles))
                octets, cycles = bytearray(), []

    def payload(self, address: int, length: int) -> bytes:
        return bytes(self.ring[(address + index) % RING_BYTES] for index in range(length))

    def staged(self, area: int, address: int, length: int) -> bytes:
        start = area * AREA_BYTES
        return bytes(self.stage[start + (address + index) % AREA_BYTES] for index in range(length))

    def command(
        self, opcode: int, length: int, address: int, area: int | None = None, report: bool = False, **changes: object
    ) -> Command:
        """A packet of random fields around the given ones."""
        packet = Packet(
            opcode=opcode,
            payload=self.payload(address, length) if area is None else self.staged(area, address, length),
            psn=self.random.getrandbits(24),
            dest_qpn=self.random.getrandbits(24),
            ack_request=bool(self.random.getrandbits(1)),
            solicited=bool(self.random.getrandbits(1)),
            migreq=bool(self.random.getrandbits(1)),
            pkey=self.random.getrandbits(16),
            remote_address=self.random.getrandbits(64),
            remote_key=self.random.getrandbits(32),
            dma_length=self.random.getrandbits(32),
            immediate=self.random.getrandbits(32),
            qkey=self.random.getrandbits(32),
            source_qpn=self.random.getrandbits(24),
            becn=bool(self.random.getrandbits(1)),
            dest_mac=self.random.getrandbits(48),
            dest_ip=self.random.getrandbits(32),
            traffic_class=self.random.getrandbits(8),
            ttl=self.random.getrandbits(8),
        )
        told = (self.random.getrandbits(8), self.random.getrandbits(2)) if report else None
        return Command(replace(packet, **changes), address, area, told)

    async def send(self, commands: Iterable[Command], pause: Callable[[], int] = lambda: 0) -> None:
        dut = self.dut
        for command in commands:
            for _ in range(pause()):
                await RisingEdge(dut.clk)
            packet = command.packet
            queue_pair, epoch = command.report or (self.random.getrandbits(8), self.random.getrandbits(2))
            dut.s_cmd.value = pack(
                opcode=packet.opcode,
                solicited=packet.solicited,
                migreq=packet.migreq,
                becn=packet.becn,
                ack_request=packet.ack_request,
                pkey=packet.pkey,
                dest_qpn=packet.dest_qpn,
                psn=packet.psn,
                remote_address=packet.remote_address,
                remote_key=packet.remote_key,
                dma_length=packet.dma_length,
                immediate=packet.immediate,
                qkey=packet.qkey,
                source_qpn=packet.source_qpn,
                # Only the low bits of an address select; the rest is noise.
                local_address=command.address | self.random.getrandbits(64) // RING_BYTES * RING_BYTES,
                payload_bytes=len(packet.payload),
                from_memory=command.area is not None,
                dest_mac=packet.dest_mac,
                dest_ip=packet.dest_ip,
                traffic_class=packet.traffic_class,
                ttl=packet.ttl,
                qp=queue_pair,
                epoch=epoch,
                report=command.report is not None,
            )
            dut.s_cmd_area.value = self.random.randrange(AREAS) if command.area is None else command.area
            dut.s_cmd_valid.value = 1
            while True:
                await RisingEdge(dut.clk)
                if int(dut.s_cmd_ready.value):
                    break
            self.accepted.append(self.cycle)
            dut.s_cmd_valid.value = 0

    async def drain(self, count: int) -> None:
        for _ in range(20000):
            if len(self.frames) >= count:
                break
            await RisingEdge(self.dut.clk)
        for _ in range(40):
            await RisingEdge(self.dut.clk)
        assert len(self.frames) == count, f"{len(self.frames)} frames for {count} commands"

    async def check(self, commands: list[Command], pause: Callable[[], int] = lambda: 0) -> None:
        """Send and compare octet for octet."""
        self.frames.clear()
        self.accepted.clear()
        self.valid_since.clear()
        self.reports.clear()
        await self.send(commands, pause)
        await self.drain(len(commands))
        for command, frame in zip(commands, self.frames, strict=True):
            packet = command.packet
            expected = encode(packet)
            assert frame.octets == expected, (
                f"opcode {packet.opcode:#x}, {len(packet.payload)} octets at {command.address}:\n"
                f"  got      {frame.octets.hex()}\n  expected {expected.hex()}"
            )
        assert self.reports == [(*command.report, command.packet.psn) for command in commands if command.report]

    def write(self, address: int, octets: bytes) -> None:
        for index, octet in enumerate(octets):
            self.ring[(address + index) % RING_BYTES] = octet


def small() -> bool:
    """Whether the run is on the slow simulator, which gets a thinner sweep."""
    return os.environ.get("SWEEP") == "thin"


@cocotb.test()
async def golden_vectors(dut):
    tb = TB(dut)
    await tb.start()
    for name, (packet, frame) in VECTORS.items():
        dut.local_mac.value = packet.source_mac
        dut.local_ip.value = packet.source_ip
        for address in (0, 61, RING_BYTES - 3):
            tb.write(address, packet.payload)
            for _ in range(3):
                await RisingEdge(dut.clk)
            await tb.check([Command(packet, address)])
            assert tb.frames[0].octets == frame, name


@cocotb.test()
async def short_lengths(dut):
    """Every length from 0 to 200 under each header layout, alignment at random, back to back."""
    tb = TB(dut, 2)
    await tb.start()
    opcodes = (0x09, 0x17, 0x07, 0x0A, 0x0B, 0x2A)
    for opcode in opcodes[:2] if small() else opcodes:
        lengths = range(0, 201, 7 if small() else 1)
        await tb.check([tb.command(opcode, length, tb.random.randrange(RING_BYTES)) for length in lengths])


@cocotb.test()
async def datagrams_and_notifications(dut):
    """A DETH with and without an immediate; a congestion notification's 16 reserved octets are zero."""
    tb = TB(dut, 11)
    await tb.start()
    lengths = (0, 1, 3, 64, 117, 256) if small() else (*range(0, 140), 255, 1024, 4095, 4096)
    for opcode in (0x64, 0x65):
        await tb.check([tb.command(opcode, length, tb.random.randrange(RING_BYTES)) for length in lengths])
    nothing = {"remote_address": 0, "remote_key": 0, "dma_length": 0}
    await tb.check([tb.command(CNP, 0, 0, **nothing) for _ in range(8)])


@cocotb.test()
async def payload_from_the_stage(dut):
    """Any place of any area, over its end too, mixed with packets from the ring and with reports."""
    tb = TB(dut, 12)
    await tb.start()
    for ready_rate in (1.0, 0.4):
        tb.ready = lambda rate=ready_rate: tb.random.random() < rate
        commands = []
        for _ in range(10 if small() else 150):
            length = tb.random.choice((0, 1, tb.random.randrange(300), 1024, 4095, 4096))
            area = tb.random.choice((None, *range(AREAS)))
            address = tb.random.randrange(AREA_BYTES)
            commands.append(
                tb.command(
                    tb.random.choice((0x00, 0x04, 0x0D, 0x0E, 0x64)), length, address, area, report=length % 3 == 0
                )
            )
        await tb.check(commands, lambda: tb.random.randrange(4))


@cocotb.test()
async def header_checksum_carries(dut):
    """Header sums whose first fold carries once more, and checksums of all zeros and all ones."""
    tb = TB(dut, 10)
    await tb.start()
    base = tb.command(0x07, 0, 0, dest_ip=0, traffic_class=0, ttl=0)
    lowest = 0xFFFF - int.from_bytes(encode(base.packet)[24:26], "big")
    # A destination address adds its two halves to the sum; these bring its low 16 bits to the edge, with carries above.
    addresses = [0xFFFF0000 | (wanted - lowest - 0xFFFF) % 0xFFFF for wanted in (*range(8), *range(0xFFF0, 0xFFFF))]
    await tb.check([replace(base, packet=replace(base.packet, dest_ip=address)) for address in addresses])


@cocotb.test()
async def alignments(dut):
    """Every alignment for lengths around one beat, two beats and an ICRC that straddles beats."""
    tb = TB(dut, 3)
    await tb.start()
    for opcode in (0x07, 0x08, 0x0A, 0x0B):
        commands = []
        for offset in range(0, 64, 13 if small() else 1):
            for length in tb.random.sample(range(1, 136), 1 if small() else 4):
                commands.append(tb.command(opcode, length, 64 * tb.random.randrange(RING_BYTES // 64) + offset))
        await tb.check(commands)


@cocotb.test()
async def around_pmtu(dut):
    """PMTU - 4 to PMTU + 4 (as far as there is room), ring wrap inside the packet among them."""
    tb = TB(dut, 4)
    await tb.start()
    tb.ready = lambda: tb.random.random() < 0.8
    for pmtu in (256, 1024) if small() else (256, 512, 1024, 2048, 4096):
        lengths = [length for length in range(pmtu - 4, pmtu + 5) if length <= 4096]
        commands = [
            tb.command(tb.random.choice((0x06, 0x07, 0x08, 0x09)), length, address)
            for length in (tb.random.sample(lengths, 2) if small() else lengths)
            for address in (tb.random.randrange(RING_BYTES), RING_BYTES - tb.random.randrange(1, length))
        ]
        await tb.check(commands)


@cocotb.test()
async def random_mix(dut):
    """Anything after anything, with pauses on both sides."""
    tb = TB(dut, 5)
    await tb.start()
    for ready_rate, pause_rate in ((1.0, 0.5), (0.5, 0.0), (0.1, 0.2)):
        tb.ready = lambda rate=ready_rate: tb.random.random() < rate
        commands = []
        for _ in range(8 if small() else 120):
            length = tb.random.choice((0, 1, 2, tb.random.randrange(64), tb.random.randrange(700)))
            address = tb.random.choice((0, 64, tb.random.randrange(RING_BYTES)))
            commands.append(
                tb.command(tb.random.choice((0x00, 0x03, 0x05, 0x06, 0x07, 0x0B, 0x0C, 0x11, 0x16)), length, address)
            )
        await tb.check(commands, lambda rate=pause_rate: tb.random.randrange(1, 12) if tb.random.random() < rate else 0)


@cocotb.test()
async def stalled_mac(dut):
    """A MAC that stops for long never loses or repeats a beat, and rows are not read without end."""
    tb = TB(dut, 6)
    await tb.start()
    opens = tb.cycle + 200
    tb.ready = lambda: tb.cycle >= opens
    commands = [tb.command(0x07, 1024, tb.random.randrange(RING_BYTES)) for _ in range(3)]
    sender = cocotb.start_soon(tb.send(commands))
    while tb.cycle < opens - 1:
        await RisingEdge(dut.clk)
    assert tb.rows_read <= 16 + 2
    await sender
    await tb.drain(3)
    assert [frame.octets for frame in tb.frames] == [encode(command.packet) for command in commands]


@cocotb.test()
async def rate(dut):
    """Back to back: no idle beat once the stream runs, one at most a packet whose first row only reads."""
    tb = TB(dut, 7)
    await tb.start()
    cases = [
        # opcode, payload, offset in its row, idle beats allowed per packet
        (0x07, 4096, 0, 0),
        (0x0A, 4096, 0, 0),
        (0x0A, 4096, 17, 0),
        (0x07, 4096, 60, 1),
        (0x07, 1024, 0, 0),
        (0x07, 256, 0, 0),
        (0x0A, 256, 0, 0),
        (0x0A, 256, 63, 0),
        (0x07, 256, 60, 1),
        (0x0B, 0, 0, 0),
    ]
    for opcode, length, offset, allowed in cases[4:7] if small() else cases:
        count = 3 if length == 4096 else 8
        commands = [
            tb.command(opcode, length, 64 * tb.random.randrange(RING_BYTES // 64) + offset) for _ in range(count)
        ]
        await tb.check(commands)
        beats = [cycle for frame in tb.frames for cycle in frame.cycles]
        size = -(-len(encode(commands[0].packet)) // 64)
        assert len(beats) == size * count
        # The first frame's last beat waits for its ICRC; from then on the stream has that much in hand.
        steady = beats[size:]
        idle = steady[-1] - steady[0] + 1 - len(steady)
        assert idle <= allowed * count, f"{opcode:#x} {length}+{offset}: {idle} idle beats in {len(steady)}"
        assert len(steady) / (len(steady) + idle) >= 0.75
        start_up = beats[size] - beats[0] - size
        assert start_up <= ICRC_WAIT + allowed, f"{start_up} idle beats at the start"
        dut._log.info(f"{opcode:#04x} {length:4} octets, offset {offset:2}: {len(steady)} beats, {idle} idle")


@cocotb.test()
async def single_beat_frames(dut):
    """Acknowledges of one beat leave every other cycle: 62 octets take 2.2 cycles of a 100 Gb/s wire."""
    tb = TB(dut, 8)
    await tb.start()
    await tb.check([tb.command(0x11, 0, 0) for _ in range(20)])
    cycles = [frame.cycles[0] for frame in tb.frames]
    assert cycles[-1] - cycles[0] <= 2 * 19


@cocotb.test()
async def latency(dut):
    """Cycles from acceptance of the command to the first beat's tvalid, on an idle engine."""
    tb = TB(dut, 9)
    await tb.start()
    gapless = int(os.environ.get("GAPLESS", "0"))
    cases = [
        (0x0A, 4096, 0, 4),  # a message's first packet: header alone fills the beat
        (0x0A, 256, 0, 4),
        (0x0B, 0, 0, 4),
        (0x07, 256, 0, 5),  # waits for its first row
        (0x07, 256, 60, 6),  # waits for two rows
        (0x0A, 256, 63, 5),
    ]
    for opcode, length, offset, expected in cases:
        await tb.check([tb.command(opcode, length, offset)])
        measured = tb.valid_since[0] - tb.accepted[0]
        assert measured == expected + ICRC_WAIT * gapless, f"{opcode:#x} {length}+{offset}: {measured} cycles"
        gaps = [after - before for before, after in itertools.pairwise(tb.frames[0].cycles)]
        assert sum(gaps) - len(gaps) <= (0 if gapless else ICRC_WAIT), f"pauses inside the frame: {gaps}"
        assert all(gap == 1 for gap in gaps[:-2]), "only beats with ICRC octets may wait"


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_transmit(simulator):
    sweep = "thin" if simulator == "icarus" else "full"
    run_module(
        "ernic/ernic_transmit",
        __name__,
        simulator,
        parameters={"RING_BYTES": RING_BYTES},
        environment={"SWEEP": sweep},
    )


@pytest.mark.icarus
def test_ernic_transmit_gapless():
    """Only the output stage differs; the simulator that builds quickly will do."""
    run_module(
        "ernic/ernic_transmit",
        __name__,
        "icarus",
        parameters={"RING_BYTES": RING_BYTES, "GAPLESS": 1},
        environment={"SWEEP": "thin", "GAPLESS": "1"},
    )
