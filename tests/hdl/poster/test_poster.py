"""The poster against the control software's own block pump: entries, doorbells, credits, and what stops it."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from host.control.block_pump import Block, BlockPump, RemoteSlots
from host.control.registers import register_map
from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

QUEUE_PAIR = 3
QUEUE_ADDRESS = 0x2040
DEPTH = 16
SLOTS = RemoteSlots(address=0x7F_FFFF_F000, key=0xCAFE0117, slot_bytes=0x3000, count=3)
DOORBELL = register_map()["ERNIC_QP"]["SQPI"].address(QUEUE_PAIR - 1)
CREDITS = ("SLOTS_RELEASED", "FRAMES_ARRIVED", "COMPLETIONS")
CHIP_ROWS = 1024


class Bench:
    """``poster`` between blocks that wait and an engine that takes entries and doorbells sooner or later."""

    def __init__(self, dut: Any, seed: int = 1) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.bus = RegBusMaster(dut, dut.clk)
        self.blocks: deque[Block] = deque()
        self._offered: Block | None = None
        self.entries: list[tuple[int, bytes]] = []
        """Rows of the memory on the chip, and what was written there."""
        self.rung: list[int] = []
        self.taken: list[Block] = []
        self.eager = 1.0
        """Probability with which blocks come, and entries and doorbells are taken, in a clock."""
        self.cycle = 0
        self.taken_at: list[int] = []
        self.rung_at: list[int] = []

    async def start(self) -> None:
        dut = self.dut
        for name in ("s_block_valid", "m_entry_ready", "m_doorbell_ready", "s_block_address", "s_block_bytes"):
            getattr(dut, name).value = 0
        for name in ("s_block_first", "s_block_last", "s_block_sequence"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self._run())

    async def write(self, name: str, value: int) -> None:
        await self.bus.write(self._address(name), value)

    async def read(self, name: str) -> int:
        return await self.bus.read(self._address(name))

    @staticmethod
    def _address(name: str) -> int:
        return register_map()["POSTER"][name].offset

    async def enable(self, slots: RemoteSlots = SLOTS, depth: int = DEPTH) -> BlockPump:
        """Program everything and begin anew; return the software that does the same."""
        await self.write("CTRL", 0)
        for name, value in {
            "QUEUE_PAIR": QUEUE_PAIR,
            "QUEUE_ADDRESS": QUEUE_ADDRESS,
            "QUEUE_DEPTH": depth,
            "REMOTE_ADDRESS": slots.address & 0xFFFFFFFF,
            "REMOTE_ADDRESS_MSB": slots.address >> 32,
            "REMOTE_KEY": slots.key,
            "SLOT_BYTES": slots.slot_bytes,
            "SLOTS": slots.count,
        }.items():
            await self.write(name, value)
        self.entries.clear()
        self.rung.clear()
        self.taken.clear()
        await self.write("CTRL", 1)
        return BlockPump(slots, sq_depth=depth, batch=1)

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    def withdraw(self) -> None:
        """No blocks any more, not even the one that is offered."""
        self.blocks.clear()
        self._offered = None
        self.dut.s_block_valid.value = 0

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            self.cycle += 1
            if self._offered is not None and dut.s_block_ready.value:
                self.taken.append(self._offered)
                self.taken_at.append(self.cycle)
                self._offered = None
                dut.s_block_valid.value = 0
            elif self._offered is None and self.blocks and self.random.random() < self.eager:
                self._offered = offered = self.blocks.popleft()
                dut.s_block_address.value = offered.address
                dut.s_block_bytes.value = offered.length
                dut.s_block_first.value = int(offered.first)
                dut.s_block_last.value = int(offered.last)
                dut.s_block_sequence.value = offered.sequence
                dut.s_block_valid.value = 1
            if dut.m_entry_valid.value and dut.m_entry_ready.value:
                assert int(dut.m_entry_qpn.value) == QUEUE_PAIR
                assert int(dut.m_entry_number.value) == len(self.entries)
                self.entries.append((int(dut.m_entry_row.value), int(dut.m_entry.value).to_bytes(64, "little")))
            if dut.m_doorbell_valid.value and dut.m_doorbell_ready.value:
                assert int(dut.m_doorbell_address.value) == DOORBELL
                self.rung.append(int(dut.m_doorbell_index.value))
                self.rung_at.append(self.cycle)
                assert len(self.entries) == len(self.rung), "a doorbell for an entry that is not stored"
            dut.m_entry_ready.value = int(self.random.random() < self.eager)
            dut.m_doorbell_ready.value = int(self.random.random() < self.eager)


def frames(rng: random.Random, count: int, largest: int, first_sequence: int = 0) -> list[Block]:
    """Blocks of ``count`` frames of up to ``largest`` bytes, the largest one among them."""
    blocks = []
    for number in range(count):
        left = largest if number == 1 else rng.randrange(1, largest // 128 + 1) * 128
        size = 128 << rng.randrange(4, 8)
        first = True
        while left:
            length = min(left, size)
            left -= length
            sequence = first_sequence + number * 0x4321
            blocks.append(Block(rng.randrange(1 << 15) * 128, length, first, left == 0, sequence & 0xFFFFFFFF))
            first = False
    return blocks


def check(bench: Bench, pump: BlockPump) -> None:
    """What was posted is what software posts for the same blocks and credits, in the same order and place."""
    while len(bench.entries) > pump.posted:
        number = pump.posted
        pump.add([bench.taken[number]])
        (request,) = pump.next_batch()
        row, entry = bench.entries[number]
        assert row == (QUEUE_ADDRESS // 64 + number % DEPTH) % CHIP_ROWS
        assert entry == request.pack(), f"entry {number}: {entry.hex()}"
    assert bench.rung == [(number + 1) % DEPTH for number in range(len(bench.rung))]


@cocotb.test()
async def as_software_posts(dut):
    """Frames of all sizes; credits come late and in steps; not one entry is posted that software would not have."""
    bench = Bench(dut, seed=5)
    await bench.start()
    for eager in (1.0, 0.3):
        bench.eager = eager
        pump = await bench.enable()
        bench.blocks.extend(frames(bench.random, 40, SLOTS.slot_bytes, first_sequence=0xFFFF0000))
        total = len(bench.blocks)
        last_posted = 0
        while last_posted < total:
            await bench.clocks(bench.random.randrange(1, 60))
            check(bench, pump)
            last_posted = len(bench.entries)
            # As far as a peer could have come: some of it completes, some of those frames' slots are released.
            completed = bench.random.randint(pump.completed, len(bench.rung))
            pump.complete(completed - pump.completed)
            finished = sum(block.last for block in bench.taken[:completed])
            pump.frames_completed = finished
            pump.release(bench.random.randint(max(0, finished - 1), finished))
            await bench.write("COMPLETIONS", completed)
            await bench.write("FRAMES_ARRIVED", finished)
            await bench.write("SLOTS_RELEASED", pump.slots_released)
        assert await bench.read("POSTED") == total
        assert await bench.read("FRAMES_STARTED") == 40
        assert await bench.read("STATUS") == 0


@cocotb.test()
async def five_clocks_a_block(dut):
    bench = Bench(dut)
    await bench.start()
    pump = await bench.enable()
    bench.blocks.extend(frames(bench.random, 2, SLOTS.slot_bytes)[: DEPTH - 1])
    count = len(bench.blocks)
    await bench.clocks(120)
    check(bench, pump)
    waits = [rung - taken for taken, rung in zip(bench.taken_at, bench.rung_at, strict=True)]
    assert len(waits) == count
    assert waits == [4] * count


@cocotb.test()
async def credits_hold_it_back(dut):
    """Each credit alone: the block stays, the status says why, and only a wait for the host alone is told as that."""
    bench = Bench(dut)
    await bench.start()
    await bench.enable()
    bench.blocks.extend(Block(0, 128, True, True, number) for number in range(4 * DEPTH))
    await bench.clocks(60)
    assert len(bench.rung) == SLOTS.count
    assert await bench.read("STATUS") == 1
    assert dut.host_waits.value == 0
    await bench.write("FRAMES_ARRIVED", 1)
    assert dut.host_waits.value == 1
    await bench.write("SLOTS_RELEASED", 1)
    await bench.clocks(20)
    assert len(bench.rung) == SLOTS.count + 1
    assert dut.host_waits.value == 0
    # Slots without end: the queues are full with one entry less than they hold.
    await bench.write("SLOTS_RELEASED", 1000)  # more than there were, which is no reason to stop
    await bench.clocks(100)
    assert len(bench.rung) == DEPTH - 1
    assert await bench.read("STATUS") == 2
    assert dut.host_waits.value == 0
    await bench.write("COMPLETIONS", 2)
    await bench.clocks(30)
    assert len(bench.rung) == DEPTH + 1
    # Switched off it takes nothing more; switched on again it begins anew.
    await bench.write("CTRL", 0)
    await bench.write("COMPLETIONS", 10)
    await bench.clocks(30)
    assert len(bench.rung) == DEPTH + 1
    assert dut.by_hardware.value == 0
    pump = await bench.enable()
    assert [await bench.read(name) for name in CREDITS] == [0, 0, 0]
    await bench.clocks(40)
    assert len(bench.rung) == SLOTS.count
    check(bench, pump)


@cocotb.test()
async def what_cannot_be_posted_stops_it(dut):
    bench = Bench(dut)
    await bench.start()
    fits = [Block(0, SLOTS.slot_bytes - 128, True, False, 1), Block(0, 128, False, True, 1)]
    for blocks, posted, cause in (
        ([*fits, Block(0, SLOTS.slot_bytes + 128, True, True, 2)], 2, 1),
        ([fits[0], Block(0, 256, False, True, 1)], 1, 1),
        ([fits[0], Block(0, 128, True, True, 2)], 1, 2),
        ([Block(0, 128, False, True, 1)], 0, 2),
    ):
        pump = await bench.enable()
        bench.blocks.extend([*blocks, *fits])
        await bench.clocks(60)
        assert len(bench.rung) == posted
        assert await bench.read("STATUS") == cause << 4
        assert dut.by_hardware.value == 0, "software is to see the block that waits"
        check(bench, pump)
        bench.withdraw()
    pump = await bench.enable()
    bench.blocks.extend(fits)
    await bench.clocks(60)
    check(bench, pump)
    assert await bench.read("POSTED") == 2


@cocotb.test()
async def registers(dut):
    """Reset values, what can be written, what is refused with an error, holes."""
    bench = Bench(dut)
    await bench.start()
    block = register_map()["POSTER"]
    for register in block.registers:
        assert await bench.read(register.name) == register.reset, register.name
    values = {"QUEUE_DEPTH": 256, "SLOTS": 4096, "CTRL": 0, "QUEUE_ADDRESS": 0xFFC0, "QUEUE_PAIR": 0xFF}
    for register in block.registers:
        if register.access == "RW":
            value = values.get(register.name, 0xDEADBEEF)
            await bench.write(register.name, value)
            assert await bench.read(register.name) == value, register.name
        else:
            with pytest.raises(RegBusError):
                await bench.write(register.name, 0)
    for name, wrong in {"QUEUE_DEPTH": (0, 1, 3, 2048, 65552), "SLOTS": (0, 4097, 0x10001)}.items():
        for value in wrong:
            with pytest.raises(RegBusError):
                await bench.write(name, value)
        assert await bench.read(name) == values[name]
    await bench.write("CTRL", 1)
    for register in block.registers:
        if register.access == "RW" and register.name not in (*CREDITS, "CTRL"):
            before = await bench.read(register.name)
            with pytest.raises(RegBusError):
                await bench.write(register.name, 2)
            assert await bench.read(register.name) == before
    with pytest.raises(RegBusError):
        await bench.bus.read(0x100)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_poster(simulator):
    run_module("poster/poster", __name__, simulator)
