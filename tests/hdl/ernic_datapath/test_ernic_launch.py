"""Launch stage: priority, order, payload from any place of memory, paused classes, packets that are not to be sent."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.ernic_datapath.command_word import pack, unpack
from tests.hdl.module_bench import SIMULATORS, run_module

CLOCK_NS = 3
WORD = 64
PAGE = 4096
MEMORY_BYTES = 64 * PAGE
LEVELS = 4
RESPONSES = 0
READ_LATENCY = 3
"""Cycles from a read of the stage to its data."""


@dataclass(frozen=True)
class Packet:
    """A packet by what the launch stage looks at; ``number`` tells packets apart."""

    number: int
    level: int
    address: int = 0
    length: int = 0
    traffic_class: int = 0
    qp: int = 0

    def word(self) -> int:
        return pack(
            psn=self.number,
            local_address=self.address,
            payload_bytes=self.length,
            from_memory=self.length > 0,
            traffic_class=self.traffic_class,
            qp=self.qp,
        )


class TB:
    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.memory = self.random.randbytes(MEMORY_BYTES)
        self.latency = 12
        self.stall = 0.0
        self.bad_words: set[int] = set()
        """Addresses of words that memory answers with an error."""
        self.waiting: list[deque[Packet]] = [deque() for _ in range(LEVELS)]
        self.launched: list[Packet] = []
        self.failed: list[tuple[int, bool]] = []
        self.known: dict[int, Packet] = {}
        self.hold = False
        """The datapath takes nothing."""
        self.numbers = 0
        self.cycle = 0

    def packet(self, level: int, **fields: int) -> Packet:
        self.numbers += 1
        found = Packet(self.numbers, level, **fields)
        self.known[found.number] = found
        return found

    def offer(self, *packets: Packet) -> None:
        for packet in packets:
            self.waiting[packet.level].append(packet)

    async def start(self) -> None:
        dut = self.dut
        for name in (
            *("purge_valid", "purge_qp", "paused_classes", "s_response_valid", "s_response_cmd", "s_request_valid"),
            *("s_request_level", "s_request_cmd", "m_cmd_ready", "stage_read_enable", "stage_read_row"),
            *("m_axi_arready", "m_axi_rdata", "m_axi_rresp", "m_axi_rlast", "m_axi_rvalid", "flush_valid", "flush_qp"),
        ):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        for process in (self._responses(), self._requests(), self._datapath(), self._memory(), self._watch()):
            cocotb.start_soon(process)

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def drain(self, count: int, limit: int = 60000) -> None:
        for _ in range(limit):
            if len(self.launched) + len(self.failed) >= count:
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{len(self.launched)} launched, {len(self.failed)} failed of {count}")

    async def _watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            if int(self.dut.failed_valid.value):
                self.failed.append((int(self.dut.failed_qp.value), bool(int(self.dut.failed_response.value))))

    async def _responses(self) -> None:
        dut = self.dut
        while True:
            if not self.waiting[RESPONSES]:
                await RisingEdge(dut.clk)
                continue
            dut.s_response_cmd.value = self.waiting[RESPONSES].popleft().word()
            dut.s_response_valid.value = 1
            while True:
                await RisingEdge(dut.clk)
                if int(dut.s_response_ready.value):
                    break
            dut.s_response_valid.value = 0

    async def _requests(self) -> None:
        """Give a request every few clocks, to a level that says it has room."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            dut.s_request_valid.value = 0
            await RisingEdge(dut.clk)
            room = int(dut.level_ready.value)
            levels = [level for level in range(1, LEVELS) if self.waiting[level] and room >> level & 1]
            if levels:
                level = self.random.choice(levels)
                dut.s_request_cmd.value = self.waiting[level].popleft().word()
                dut.s_request_level.value = level
                dut.s_request_valid.value = 1

    async def _datapath(self) -> None:
        """Take a packet, read all its rows from the stage, be busy meanwhile: as the beat sequencer does."""
        dut = self.dut
        while True:
            ready = not self.hold
            dut.m_cmd_ready.value = int(ready)
            await RisingEdge(dut.clk)
            if not ready or not int(dut.m_cmd_valid.value):
                continue
            fields = unpack(int(dut.m_cmd.value))
            area = int(dut.m_cmd_area.value)
            packet = self.known[fields["psn"]]
            self.launched.append(packet)
            assert fields["payload_bytes"] == packet.length
            if packet.length:
                dut.m_cmd_ready.value = 0
                await self._read(packet, area)

    async def _read(self, packet: Packet, area: int) -> None:
        dut = self.dut
        first = packet.address // WORD
        rows = -(-(packet.address % WORD + packet.length) // WORD)
        octets = bytearray()
        for cycle in range(rows + READ_LATENCY):
            dut.stage_read_enable.value = int(cycle < rows)
            dut.stage_read_row.value = area * 64 + (first + cycle) % 64
            await RisingEdge(dut.clk)
            if cycle >= READ_LATENCY:
                octets += int(dut.stage_read_data.value).to_bytes(WORD, "little")
        begin = packet.address % WORD
        expected = self.memory[packet.address : packet.address + packet.length]
        assert octets[begin : begin + packet.length] == expected, f"{packet}: wrong octets in area {area}"

    async def _memory(self) -> None:
        """An AXI4 memory: answers in order, no burst over a 4 KiB boundary."""
        dut = self.dut
        answers: deque[tuple[int, int, bool]] = deque()
        ready = 0
        valid = False
        while True:
            await RisingEdge(dut.clk)
            if valid and int(dut.m_axi_rready.value):
                valid = False
            if ready and int(dut.m_axi_arvalid.value):
                address, beats = int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1
                assert address % WORD == 0
                assert address // PAGE == (address + beats * WORD - 1) // PAGE
                for beat in range(beats):
                    answers.append((self.cycle + self.latency, address + beat * WORD, beat == beats - 1))
            ready = int(self.random.random() >= self.stall)
            dut.m_axi_arready.value = ready
            if not valid and answers and answers[0][0] <= self.cycle and self.random.random() >= self.stall:
                _, address, last = answers.popleft()
                dut.m_axi_rdata.value = int.from_bytes(self.memory[address : address + WORD], "little")
                dut.m_axi_rresp.value = 2 if address in self.bad_words else 0
                dut.m_axi_rlast.value = int(last)
                valid = True
            dut.m_axi_rvalid.value = int(valid)


@cocotb.test()
async def payload_at_any_place(dut):
    """Every alignment in its word, lengths around words and up to 4096 octets, which may take 65 words."""
    tb = TB(dut)
    await tb.start()
    packets = []
    for offset in range(WORD):
        for length in (1, WORD - offset, WORD - offset + 1, tb.random.randrange(1, 300)):
            address = tb.random.randrange(MEMORY_BYTES // WORD - 8) * WORD + offset
            packets.append(tb.packet(tb.random.randrange(LEVELS), address=address, length=length))
    for address in (0, 1, 63, PAGE - 1, PAGE + 64, 3 * PAGE + 4095, 7 * PAGE + 2000):
        packets += [tb.packet(2, address=address, length=length) for length in (4096, 4095, 4033)]
    tb.offer(*packets)
    await tb.drain(len(packets))
    for level in range(LEVELS):
        assert [p for p in tb.launched if p.level == level] == [p for p in packets if p.level == level]


@cocotb.test()
async def strict_priority(dut):
    """What waits when the datapath becomes free goes by level; within a level the order is kept."""
    tb = TB(dut, 2)
    await tb.start()
    tb.hold = True
    packets = [tb.packet(level) for level in (3, 2, 1, 0, 3, 2, 1, 0)]
    tb.offer(*packets)
    await tb.clocks(60)
    tb.hold = False
    await tb.drain(8)
    assert [packet.level for packet in tb.launched] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [packet.number for packet in tb.launched] == [4, 8, 3, 7, 2, 6, 1, 5]


@cocotb.test()
async def nobody_waits_for_the_memory_of_another_level(dut):
    tb = TB(dut, 3)
    await tb.start()
    tb.latency = 500
    slow = [tb.packet(1, address=64, length=100), tb.packet(1)]
    tb.offer(*slow)
    await tb.clocks(30)
    quick = [tb.packet(3) for _ in range(4)]
    tb.offer(*quick)
    await tb.drain(6)
    assert tb.launched == quick + slow


@cocotb.test()
async def paused_classes(dut):
    """Packets of a paused class stay, and those behind them at their level; not one starts; other levels go on."""
    tb = TB(dut, 4)
    await tb.start()
    dut.paused_classes.value = 1 << 26
    stays = [tb.packet(1, traffic_class=26 << 2 | 1), tb.packet(1, traffic_class=48 << 2)]
    goes = [tb.packet(2, traffic_class=48 << 2), tb.packet(3, traffic_class=27 << 2)]
    tb.offer(*stays, *goes)
    await tb.clocks(300)
    assert tb.launched == goes
    dut.paused_classes.value = 0
    await tb.drain(4)
    assert tb.launched == goes + stays


@cocotb.test()
async def switched_off_queue_pairs(dut):
    """All its packets are thrown away, even with payload on its way, none of another's; the places are free again."""
    tb = TB(dut, 5)
    await tb.start()
    for latency in (2, 12, 40):
        tb.latency = latency
        for delay in range(0, 60, 3):
            tb.hold = True
            tb.launched.clear()
            away = [tb.packet(level, address=777, length=500, qp=5) for level in (0, 1, 2)]
            stay = [tb.packet(level, address=999, length=300, qp=6) for level in (0, 1, 2)]
            tb.offer(*(packet for pair in zip(away, stay, strict=True) for packet in pair))
            await tb.clocks(20 + delay)
            dut.purge_qp.value = 5
            dut.purge_valid.value = 1
            await tb.clocks(1)
            dut.purge_valid.value = 0
            await tb.clocks(1)
            tb.hold = False
            await tb.drain(3)
            await tb.clocks(120)
            assert sorted(tb.launched, key=lambda p: p.level) == stay, (latency, delay)
            assert not tb.failed


@cocotb.test()
async def queue_pairs_with_an_error(dut):
    """Their requests are thrown away, on whatever level, but not their responses, and nothing of another's."""
    tb = TB(dut, 9)
    await tb.start()
    for latency in (2, 40):
        tb.latency = latency
        for delay in range(0, 60, 7):
            tb.hold = True
            tb.launched.clear()
            answers = [tb.packet(0, address=777, length=500, qp=5) for _ in range(2)]
            away = [tb.packet(level, address=777, length=500, qp=5) for level in (1, 2, 3)]
            stay = [tb.packet(level, address=999, length=300, qp=6) for level in (1, 2, 3)]
            tb.offer(*answers, *(packet for pair in zip(away, stay, strict=True) for packet in pair))
            await tb.clocks(40 + delay)
            dut.flush_qp.value = 5
            dut.flush_valid.value = 1
            await tb.clocks(1)
            dut.flush_valid.value = 0
            await tb.clocks(1)
            tb.hold = False
            await tb.drain(5)
            await tb.clocks(120)
            assert sorted(tb.launched, key=lambda p: (p.level, p.number)) == answers + stay, (latency, delay)
            assert not tb.failed


@cocotb.test()
async def place_of_a_thrown_away_packet(dut):
    """Its payload still arrives from memory; the next packet in that place is not taken for complete by it."""
    tb = TB(dut, 8)
    await tb.start()
    for latency in (20, 60):
        tb.latency = latency
        for delay in range(4, 70, 2):
            tb.launched.clear()
            tb.offer(*(tb.packet(2, address=0, length=1500, qp=5) for _ in range(2)))
            await tb.clocks(delay)
            gone = len(tb.launched)
            dut.purge_qp.value = 5
            dut.purge_valid.value = 1
            await tb.clocks(1)
            dut.purge_valid.value = 0
            after = [tb.packet(2, address=3 * PAGE + 7, length=2000, qp=6) for _ in range(3)]
            tb.offer(*after)
            await tb.drain(gone + 3)
            await tb.clocks(150)
            assert [packet for packet in tb.launched if packet.qp == 6] == after, (latency, delay)


@cocotb.test()
async def memory_errors(dut):
    """An error in any word of a payload: the packet is not sent, its queue pair is named, those behind it go on."""
    tb = TB(dut, 6)
    await tb.start()
    for bad in (0, 1, 4):
        tb.bad_words = {PAGE + bad * WORD}
        tb.launched.clear()
        tb.failed.clear()
        packets = [
            tb.packet(0, address=PAGE + 1, length=300, qp=9),
            tb.packet(2, address=PAGE + 5, length=300, qp=7),
            tb.packet(2, address=0, length=300, qp=7),
        ]
        tb.offer(*packets)
        await tb.drain(3)
        await tb.clocks(50)
        assert sorted(tb.failed) == [(7, False), (9, True)]
        assert tb.launched == packets[2:]


@cocotb.test()
async def random_mix(dut):
    tb = TB(dut, 7)
    await tb.start()
    for stall, latency in ((0.0, 3), (0.3, 30), (0.6, 8)):
        tb.stall, tb.latency = stall, latency
        tb.launched.clear()
        packets = []
        for _ in range(120):
            length = tb.random.choice((0, 0, tb.random.randrange(1, 200), tb.random.randrange(1, 4097)))
            address = tb.random.randrange(MEMORY_BYTES - length - WORD)
            packets.append(tb.packet(tb.random.randrange(LEVELS), address=address, length=length))
        tb.offer(*packets)
        await tb.drain(len(packets))
        for level in range(LEVELS):
            assert [p for p in tb.launched if p.level == level] == [p for p in packets if p.level == level]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_launch(simulator):
    run_module("ernic/ernic_launch", __name__, simulator)
