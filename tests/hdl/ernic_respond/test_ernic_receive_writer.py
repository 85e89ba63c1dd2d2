"""Receive writer: payload of frames to any address, byte for byte, its order, its counts, its errors."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.ernic_respond.axi import PAGE, WriteMemory
from tests.hdl.module_bench import SIMULATORS, run_module

BASE = 0x12_3400_0000
SIZE = 1 << 16
HEADER = 54


@dataclass(frozen=True)
class Frame:
    """A frame, what was decided about it, and where its payload goes."""

    octets: bytes
    words: int
    length: int
    source: str
    """Who decides: "read", "request", or "" for nobody."""
    address: int | None
    """None: discard."""
    datagram: bool = False

    @property
    def stored(self) -> bool:
        return self.length > 0 or self.datagram

    @property
    def data(self) -> bytes:
        payload = self.octets[HEADER + 4 * self.words :][: self.length]
        return self.octets[:62] + bytes(2) + payload if self.datagram else payload


class TB:
    def __init__(self, dut, seed: int, *, stall: float = 0.0, latency: int = 5) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.memory = WriteMemory(dut, "m_axi", BASE, SIZE, latency=latency, stall=stall, seed=seed)
        self.pace = 1.0
        """Share of cycles in which an order, a decision, a beat is offered when there is one."""
        self.orders: deque[Frame] = deque()
        self.decisions: dict[str, deque[Frame]] = {"read": deque(), "request": deque()}
        self.beats: deque[tuple[bytes, bool]] = deque()
        self.errors = {"read": 0, "request": 0}
        self.written = {"read": 0, "request": 0}
        self.cycles = 0
        self._offered: set[str] = set()

    async def start(self) -> None:
        dut = self.dut
        for name in ("s_order_valid", "s_read_valid", "s_request_valid", "s_beat_valid"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.cycles += 1
            self._count()
            self.memory.cycle()
            self._channel("order", self.orders)
            self._channel("read", self.decisions["read"])
            self._channel("request", self.decisions["request"])
            self._channel("beat", self.beats)

    def _count(self) -> None:
        for source in ("read", "request"):
            count = int(getattr(self.dut, f"m_{source}_written").value)
            assert (count - self.written[source]) % 256 in (0, 1)
            error = int(getattr(self.dut, f"m_{source}_error").value)
            assert not error or count != self.written[source] % 256
            self.errors[source] += error
            self.written[source] += (count - self.written[source]) % 256

    def _channel(self, name: str, queue: deque) -> None:
        dut = self.dut
        if name in self._offered:
            if not int(getattr(dut, f"s_{name}_ready").value):
                return
            queue.popleft()
            self._offered.discard(name)
            getattr(dut, f"s_{name}_valid").value = 0
        if not queue or self.random.random() >= self.pace:
            return
        self._offered.add(name)
        getattr(dut, f"s_{name}_valid").value = 1
        if name == "beat":
            dut.s_beat_data.value = int.from_bytes(queue[0][0], "little")
            dut.s_beat_end.value = queue[0][1]
            return
        frame: Frame = queue[0]
        if name == "order":
            dut.s_order_discard.value = frame.source == ""
            dut.s_order_is_read.value = frame.source == "read"
            dut.s_order_stored.value = frame.stored
            dut.s_order_datagram.value = frame.datagram
            dut.s_order_words.value = frame.words
            dut.s_order_bytes.value = frame.length
        else:
            getattr(dut, f"s_{name}_accept").value = frame.address is not None
            getattr(dut, f"s_{name}_address").value = frame.address or 0

    def frame(self, length: int, address: int | None = None, source: str = "request", words: int = 0) -> Frame:
        """A frame with ICRC and padding; lanes behind its end carry noise."""
        total = HEADER + 4 * words + length + -length % 4 + 4
        return Frame(self.random.randbytes(total), words, length, source, address, False)

    def datagram(self, length: int, address: int | None, words: int = 2) -> Frame:
        frame = self.frame(length, address, "request", words)
        return Frame(frame.octets, words, length, "request", address, True)

    async def check(self, frames: list[Frame]) -> None:
        """Play frames; memory must hold exactly what was accepted, and everything else what it held before."""
        before = dict(self.written)
        self.memory.data[:] = self.random.randbytes(SIZE)
        expected = bytearray(self.memory.data)
        counts = {"read": 0, "request": 0}
        for frame in frames:
            self.orders.append(frame)
            if frame.source:
                self.decisions[frame.source].append(frame)
            if frame.stored:
                octets = frame.octets + self.random.randbytes(-len(frame.octets) % 64)
                pieces = [octets[start : start + 64] for start in range(0, len(octets), 64)]
                self.beats.extend((piece, index == len(pieces) - 1) for index, piece in enumerate(pieces))
            if frame.source and frame.address is not None:
                counts[frame.source] += 1
                expected[frame.address - BASE : frame.address - BASE + len(frame.data)] = frame.data
        for _ in range(100000):
            await RisingEdge(self.dut.clk)
            if all(self.written[name] - before[name] == counts[name] for name in counts) and not (
                self.orders or self.beats or any(self.decisions.values())
            ):
                break
        else:
            raise AssertionError(f"not done: {self.written} written of {counts}")
        for _ in range(20):
            await RisingEdge(self.dut.clk)
        assert self.memory.idle
        assert all(self.written[name] - before[name] == counts[name] for name in counts)
        for frame in frames:
            if frame.address is not None and frame.source:
                start = frame.address - BASE
                assert self.memory.data[start : start + len(frame.data)] == expected[start : start + len(frame.data)], (
                    f"{frame.length} octets behind {frame.words} words to {frame.address:#x}"
                )
        assert self.memory.data == expected, "octets outside of the targets have changed"


def thin() -> bool:
    return os.environ.get("SWEEP") == "thin"


async def bench(dut, seed: int, **options) -> TB:
    tb = TB(dut, seed, **options)
    await tb.start()
    return tb


def places(tb: TB, lengths: list[tuple[int, int]]) -> list[Frame]:
    """Frames of (length, lane) one behind the other in memory."""
    frames, position = [], BASE + PAGE - 300
    for length, lane in lengths:
        position = (position + 63) // 64 * 64 + lane
        if position + length + 200 > BASE + SIZE:
            position = BASE + lane
        source = tb.random.choice(("read", "request"))
        frames.append(tb.frame(length, position, source, tb.random.choice((0, 1, 4, 5))))
        position += length
    return frames


@cocotb.test()
async def lengths_and_alignments(dut):
    """0 to 200 octets and around each path MTU, every lane, every length of headers."""
    tb = await bench(dut, 1)
    for words in (0, 1, 4, 5):
        for length in range(0, 201, 13 if thin() else 1):
            frames = []
            for lane in (0, 1, 63, tb.random.randrange(64)):
                address = BASE + PAGE * tb.random.randrange(1, 15) - 128 + lane
                frames.append(tb.frame(length, address, "request", words))
                await tb.check(frames[-1:])
            if thin():
                break


@cocotb.test()
async def around_path_mtu(dut):
    tb = await bench(dut, 2)
    for pmtu in (256, 1024, 4096) if thin() else (256, 512, 1024, 2048, 4096):
        for length in range(pmtu - 4, pmtu + 1):
            lengths = [(length, lane) for lane in (0, 1, 10, 54, 63, tb.random.randrange(64))]
            await tb.check(places(tb, lengths[:8])[: SIZE // 8192])


@cocotb.test()
async def datagrams(dut):
    """The frame's headers in the first 64 octets, the payload behind, with and without immediate."""
    tb = await bench(dut, 3)
    for length in [*range(0, 140, 9 if thin() else 1), 256, 1023, 4032, 4096]:
        for words in (2, 3):
            address = BASE + 256 * tb.random.randrange(SIZE // 256 - 20)
            await tb.check([tb.datagram(length, address, words), tb.datagram(length, None, words)])


@cocotb.test()
async def random_order(dut):
    """Accepted, refused and discarded packets of both sources, with pauses everywhere."""
    tb = await bench(dut, 10)
    for pace, stall, latency in ((1.0, 0.0, 1), (0.4, 0.0, 30), (1.0, 0.6, 3), (0.7, 0.3, 12)):
        tb.pace, tb.memory.stall, tb.memory.latency = pace, stall, latency
        for _ in range(2 if thin() else 8):
            frames, position = [], BASE
            while position < BASE + SIZE - 5000:
                length = tb.random.choice((0, 1, 5, tb.random.randrange(100), tb.random.randrange(1500), 4096))
                source = tb.random.choice(("read", "request", "request", ""))
                accept = source and tb.random.random() < 0.8
                if source == "request" and tb.random.random() < 0.2:
                    position = (position + 255) // 256 * 256
                    frames.append(tb.datagram(length, position if accept else None, tb.random.choice((2, 3))))
                    position += length + 64
                else:
                    position += tb.random.randrange(130)
                    words = tb.random.choice((0, 1, 4, 5))
                    frames.append(tb.frame(length, position if accept else None, source, words))
                    position += length
            await tb.check(frames)


@cocotb.test()
async def errors_of_memory(dut):
    """The packet of which a part failed is named: the first page, the second, none."""
    tb = await bench(dut, 4)
    tb.memory.bad_pages = {BASE // PAGE + 3}
    edge = BASE + 3 * PAGE
    for source in ("read", "request"):
        for address, length, failures in (
            (edge - 100, 100, 0),
            (edge - 100, 101, 1),
            (edge + PAGE - 1, 2, 1),
            (edge + PAGE, 4096, 0),
            (edge - 4000, 4096, 1),
            (edge, 64, 1),
        ):
            before = dict(tb.errors)
            await tb.check(
                [tb.frame(length, address, source), tb.frame(0, BASE, source), tb.frame(9, BASE + PAGE, source)]
            )
            assert tb.errors[source] - before[source] == failures, (source, hex(address), length)
            assert sum(tb.errors.values()) - sum(before.values()) == failures


@cocotb.test()
async def no_bubble(dut):
    """A cycle a beat and two more at most, so that a line at 100 Gb/s never waits."""
    tb = await bench(dut, 5)
    for length, limit in ((4096, 67), (256, 7)):
        count = 14 if length == 4096 else 100
        frames = [tb.frame(length, BASE + index * length + 7, "request", 0) for index in range(count)]
        begin = tb.cycles
        await tb.check(frames)
        assert tb.cycles - begin - 60 <= count * limit, (tb.cycles - begin) / count


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_receive_writer(simulator):
    sweep = "thin" if simulator == "icarus" else "full"
    run_module("ernic/ernic_receive_writer", __name__, simulator, environment={"SWEEP": sweep})
