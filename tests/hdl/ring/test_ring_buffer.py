"""ring_buffer against :class:`RingModel`: admission, data, blocks, interrupt, release, resets.

Two invariants are watched in every test that writes: a word is never written over bytes that were not released, and a
block that software can see holds what was written.
"""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from host.control.registers import register_map
from host.frame_layout import DropCause
from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module
from tests.hdl.ring.model import GRANULE, Block, RingModel

RING_BYTES = 65536
GRANULES = RING_BYTES // GRANULE
ENTRIES = 256
BLOCK = 8192
SETTLE = 40
FLUSH = 2  # CTRL.FLUSH_ON_FRAME_END
HOST_STALLED = 4


class TB:
    """Drives all ports; keeps the model beside the device."""

    def __init__(self, dut, seed=1, block_bytes=BLOCK):
        self.dut = dut
        self.rng = random.Random(seed)
        self.model = RingModel(RING_BYTES, block_bytes)
        self.sequence = 0
        self.high_water = 0
        dut.rst.value = 1
        for name in (
            "frame_request",
            "high_water_taken",
            "s_write_valid",
            "s_write_last",
            "read_enable",
            "release_valid",
            "by_hardware",
            "host_waits",
            "m_block_ready",
        ):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())
        self.bus = RegBusMaster(dut, dut.clk)
        self._registers = register_map()["RING"]

    # Registers by name.
    async def get(self, name, index=0):
        register = self._registers[name]
        return await self.bus.read(register.offset + index * register.stride)

    async def put(self, name, value):
        await self.bus.write(self._registers[name].offset, value)

    async def start(self, threshold=8, timeout=0, flush=False):
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await self.put("BLOCK_BYTES", self.model.block_bytes)
        await self.put("IRQ_THRESHOLD", threshold)
        await self.put("IRQ_TIMEOUT", timeout)
        await self.put("CTRL", 1 | FLUSH * flush)

    # Frames in.
    async def request(self, frame_bytes, mode=1):
        """Ask for admission; return whether it was granted."""
        dut = self.dut
        dut.frame_request.value = 1
        dut.frame_bytes.value = frame_bytes
        dut.frame_sequence.value = self.sequence
        dut.frame_mode.value = mode
        for _ in range(200):
            await RisingEdge(dut.clk)
            grant, deny = dut.frame_grant.value == 1, dut.frame_deny.value == 1
            if grant or deny:
                break
        else:
            raise AssertionError("neither granted nor denied")
        assert not (grant and deny)
        self.cause = int(dut.frame_deny_cause.value) if deny else None
        dut.frame_request.value = 0
        self.sequence += 1
        return grant

    async def write(self, frame_bytes, mode=1, gap_rate=0.0):
        """Write a frame that was just granted, whole; the model gets a block when its last word is written."""
        dut = self.dut
        model = self.model
        blocks = model.blocks_of(frame_bytes, self.sequence - 1, mode)
        start = model.admit(frame_bytes)
        for offset in range(0, frame_bytes, 128):
            while self.rng.random() < gap_rate:
                dut.s_write_valid.value = 0
                await RisingEdge(dut.clk)
            position = start + offset
            assert position + 128 - model.freed * GRANULE <= RING_BYTES, "overwrites bytes that are not released"
            data = self.rng.getrandbits(1024)
            model.data[position] = data
            model.data.pop(position - RING_BYTES, None)
            dut.s_write_valid.value = 1
            dut.s_write_data.value = data
            dut.s_write_last.value = int(offset + 128 == frame_bytes)
            await RisingEdge(dut.clk)
            if blocks and position + 128 == blocks[0].position + blocks[0].length:
                model.blocks.append(blocks.pop(0))
            self.high_water = max(self.high_water, position + 128 - model.freed * GRANULE)
        dut.s_write_valid.value = 0
        dut.s_write_last.value = 0
        assert not blocks

    async def frame(self, frame_bytes, **options):
        assert await self.request(frame_bytes, options.get("mode", 1))
        await self.write(frame_bytes, **options)

    # Blocks out.
    async def table(self, index):
        """Entry of block ``index`` as a :class:`Block` whose position is the ring address."""
        length = await self.get("BLOCK_LENGTH", index % ENTRIES)
        fields = self._registers["BLOCK_LENGTH"]
        return Block(
            position=await self.get("BLOCK_ADDRESS", index % ENTRIES),
            length=fields["BYTES"].get(length),
            first=bool(fields["FIRST"].get(length)),
            last=bool(fields["LAST"].get(length)),
            sequence=await self.get("BLOCK_SEQUENCE", index % ENTRIES),
            mode=await self.get("BLOCK_MODE", index % ENTRIES),
        )

    async def check_table(self, index):
        block = self.model.blocks[index]
        found = await self.table(index)
        assert found == Block(**{**vars(block), "position": block.position % RING_BYTES})
        return block

    async def check_data(self, block, step=1):
        """Read every ``step``-th row of ``block``, one a cycle, and compare."""
        dut = self.dut
        due = [None] * 3  # the read latency
        rows = list(range(0, block.length // 64, step))
        for offset in [*rows, None, None, None]:
            if offset is None:
                dut.read_enable.value = 0
                due.append(None)
            else:
                position = block.position + offset * 64
                row = position % RING_BYTES // 64
                dut.read_enable.value = 1
                dut.read_row.value = row
                due.append(self.model.row(row, position))
            await RisingEdge(dut.clk)
            expected = due.pop(0)
            if expected is not None:
                assert int(dut.read_data.value) == expected

    async def release(self, address, length, complete):
        dut = self.dut
        dut.release_valid.value = 1
        dut.release_address.value = address
        dut.release_bytes.value = length
        dut.release_complete.value = int(complete)
        for _ in range(200):
            await RisingEdge(dut.clk)
            if dut.release_ready.value == 1:
                break
        else:
            raise AssertionError("release not taken")
        dut.release_valid.value = 0

    async def free(self, position, length, complete=False):
        """Release stream bytes, in model and device."""
        self.model.release(position, length, complete)
        await self.release(position % RING_BYTES, length, complete)

    async def settle(self):
        await ClockCycles(self.dut.clk, SETTLE)

    async def check_positions(self):
        await self.settle()
        assert await self.get("FREE_POSITION") == self.model.freed * GRANULE
        assert await self.get("WRITE_POSITION") == self.model.reserved * GRANULE
        assert await self.get("USED_BYTES") == (self.model.reserved - self.model.freed) * GRANULE
        assert await self.get("BLOCK_COUNT") == len(self.model.blocks)
        assert await self.get("PROTOCOL_ERRORS") == 0


@cocotb.test()
async def test_frames_of_all_shapes(dut):
    tb = TB(dut)
    await tb.start()
    for frame_bytes in (128, 4096, 4096 + 128, BLOCK, BLOCK + 128, 3 * BLOCK, 5 * BLOCK - 128):
        start = len(tb.model.blocks)
        await tb.frame(frame_bytes, mode=frame_bytes // 128 % 7)
        await tb.settle()
        for index in range(start, len(tb.model.blocks)):
            block = await tb.check_table(index)
            await tb.check_data(block, step=5)
            await tb.free(block.position, block.length, block.last)
        await tb.put("BLOCK_ACK", len(tb.model.blocks))
        await tb.check_positions()
    assert await tb.get("FRAMES_ADMITTED") == 7
    assert await tb.get("RELEASES_IGNORED") == 0


@cocotb.test()
async def test_admission_of_whole_frames_only(dut):
    tb = TB(dut)
    await tb.start()
    half = RING_BYTES // 2
    assert not await tb.request(RING_BYTES + 128)
    await tb.frame(half)
    assert not await tb.request(half + 128)
    await tb.frame(half - GRANULE + 128)  # the rest of its last granule is taken too
    assert not await tb.request(128)
    assert await tb.get("DROPPED_RING_FULL") == 3
    assert await tb.get("USED_BYTES") == RING_BYTES
    # Bytes released behind a gap are of no use until the gap is filled.
    await tb.free(GRANULE, half - GRANULE, complete=True)
    await tb.settle()
    assert not await tb.request(128)
    await tb.free(0, GRANULE)
    await tb.settle()
    assert not await tb.request(half + 128)
    await tb.frame(half)
    assert await tb.get("DROPPED_RING_FULL") == 5
    assert await tb.get("FRAMES_ADMITTED") == 3
    await tb.check_positions()


@cocotb.test()
async def test_refusals_while_the_host_is_stalled(dut):
    """The same refusals count as the host's when software says so, and only they."""
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=1000)
    names = ("DROPPED_RING_FULL", "DROPPED_DESCRIPTORS_FULL", "DROPPED_HOST_STALLED")
    await tb.put("CTRL", 1 | HOST_STALLED)
    await tb.frame(RING_BYTES // 2)
    assert tb.cause is None
    for stalled in (True, False):
        await tb.put("CTRL", 1 | HOST_STALLED * stalled)
        assert not await tb.request(RING_BYTES)
        assert tb.cause == (DropCause.HOST_STALLED if stalled else DropCause.RING_FULL)
    assert [await tb.get(name) for name in names] == [1, 0, 1]
    await tb.put("CTRL", HOST_STALLED)
    assert not await tb.request(RING_BYTES)
    assert tb.cause == DropCause.RING_DISABLED
    await tb.put("CTRL", 1)
    # The block table full: all bytes freed, nothing acknowledged.
    await tb.free(0, RING_BYTES // 2, complete=True)
    while len(tb.model.blocks) < ENTRIES:
        await tb.frame(7 * 4096 + 128)
        await tb.free(tb.model.blocks[-8].position, 7 * 4096 + 128, complete=True)
        await tb.settle()
    for stalled in (False, True):
        await tb.put("CTRL", 1 | HOST_STALLED * stalled)
        assert not await tb.request(128)
        assert tb.cause == (DropCause.HOST_STALLED if stalled else DropCause.DESCRIPTORS_FULL)
    assert [await tb.get(name) for name in names] == [1, 1, 2]
    assert await tb.get("PROTOCOL_ERRORS") == 0


@cocotb.test()
async def test_blocks_by_hardware(dut):
    """Each block is offered once, in order, as in the table; taking acknowledges it; there is no interrupt."""
    tb = TB(dut, seed=9)
    await tb.start(threshold=1, timeout=20, flush=True)
    taken = []

    async def take(rate):
        while True:
            await RisingEdge(dut.clk)
            if dut.m_block_valid.value == 1 and dut.m_block_ready.value == 1:
                assert dut.by_hardware.value == 1
                names = ("address", "bytes", "first", "last", "sequence")
                taken.append([int(getattr(dut, f"m_block_{name}").value) for name in names])
            dut.m_block_ready.value = int(tb.rng.random() < rate)

    taker = cocotb.start_soon(take(0.3))
    # One block is software's and raises the interrupt; then hardware takes it, which lowers it.
    await tb.frame(4096)
    await tb.settle()
    assert dut.irq.value == 1
    assert not taken
    dut.by_hardware.value = 1
    for frame_bytes in (BLOCK + 128, 3 * BLOCK, 128, 2 * BLOCK):
        await tb.frame(frame_bytes)
        with pytest.raises(RegBusError):
            await tb.put("BLOCK_ACK", len(tb.model.blocks))
    await tb.settle()
    assert dut.irq.value == 0
    assert await tb.get("IRQ_COUNT") == 1
    count = len(tb.model.blocks)
    assert await tb.get("BLOCK_COUNT") == await tb.get("BLOCK_ACK") == count == len(taken)
    for index, block in enumerate(tb.model.blocks):
        await tb.check_table(index)
        length = await tb.get("BLOCK_LENGTH", index)
        address, sequence = await tb.get("BLOCK_ADDRESS", index), await tb.get("BLOCK_SEQUENCE", index)
        assert taken[index] == [address, length & 0xFFFFFF, length >> 30 & 1, length >> 31, sequence], index
        await tb.free(block.position, block.length, block.last)
    # What hardware does not take is software's again.
    taker.cancel()
    dut.m_block_ready.value = 0
    await tb.frame(4096)
    await tb.settle()
    assert dut.m_block_valid.value == 1
    assert dut.irq.value == 0
    dut.by_hardware.value = 0
    await tb.settle()
    assert dut.m_block_valid.value == 0
    assert dut.irq.value == 1
    await tb.put("BLOCK_ACK", count + 1)
    await tb.settle()
    assert dut.irq.value == 0
    # A wait for the receiving host that hardware tells of.
    for waits, cause in ((1, DropCause.HOST_STALLED), (0, DropCause.RING_FULL)):
        dut.host_waits.value = waits
        assert not await tb.request(RING_BYTES)
        assert tb.cause == cause
    await tb.check_positions()


@cocotb.test()
async def test_disabled_and_malformed(dut):
    tb = TB(dut)
    await tb.start()
    await tb.put("CTRL", 0)
    assert not await tb.request(4096)
    assert tb.cause == DropCause.RING_DISABLED
    assert await tb.get("DROPPED_DISABLED") == 1
    await tb.put("CTRL", 1)
    for frame_bytes in (0, 64, 4096 + 4):
        assert not await tb.request(frame_bytes)
        assert tb.cause == 0
    assert await tb.get("PROTOCOL_ERRORS") == 3
    dut.s_write_valid.value = 1  # a word without a frame
    await RisingEdge(dut.clk)
    dut.s_write_valid.value = 0
    await tb.settle()
    assert await tb.get("PROTOCOL_ERRORS") == 4
    assert await tb.get("WRITE_POSITION") == 0
    assert await tb.get("FRAMES_ADMITTED") == 0


@cocotb.test()
async def test_last_at_a_wrong_word(dut):
    tb = TB(dut)
    await tb.start()
    assert await tb.request(256)
    dut.s_write_valid.value = 1
    dut.s_write_last.value = 1
    await RisingEdge(dut.clk)  # early
    dut.s_write_last.value = 0
    await RisingEdge(dut.clk)  # missing: the frame ends here by its announced size
    await RisingEdge(dut.clk)  # too many
    dut.s_write_valid.value = 0
    await tb.settle()
    assert await tb.get("PROTOCOL_ERRORS") == 3
    assert await tb.get("WRITE_POSITION") == GRANULE
    assert (await tb.table(0)).length == 256


@cocotb.test()
async def test_table_full_until_acknowledged_and_freed(dut):
    """Entries come back when their blocks are acknowledged and freed, whichever is later."""
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=1000)
    # All bytes freed, nothing acknowledged: 256 entries in use.
    for _ in range(ENTRIES // 8):
        await tb.frame(7 * 4096 + 128)
        await tb.free(tb.model.blocks[-8].position, 7 * 4096 + 128, complete=True)
        await tb.settle()
    assert not await tb.request(128)
    await tb.put("BLOCK_ACK", 7)
    await tb.settle()
    assert not await tb.request(7 * 4096 + 128)
    assert await tb.get("DROPPED_DESCRIPTORS_FULL") == 2
    await tb.put("BLOCK_ACK", 8)
    await tb.settle()
    await tb.frame(7 * 4096 + 128)
    await tb.settle()
    await tb.check_table(8)  # not overwritten
    await tb.check_table(ENTRIES + 7)
    # All acknowledged, eight not freed: entries for 248 more.
    await tb.put("BLOCK_ACK", len(tb.model.blocks))
    await tb.settle()
    assert await tb.get("DROPPED_RING_FULL") == 0
    await tb.frame(4096)
    await tb.check_positions()


@cocotb.test()
async def test_interrupt_threshold(dut):
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=3)
    await tb.frame(2 * 4096)
    await tb.settle()
    assert dut.irq.value == 0
    await tb.frame(2 * 4096)
    await tb.settle()
    assert dut.irq.value == 1
    assert await tb.get("IRQ_STATUS") == 1
    assert await tb.get("IRQ_COUNT") == 1
    # Held until acknowledged; lowered by an acknowledgement; raised again while enough are left.
    await tb.put("BLOCK_ACK", 1)
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert dut.irq.value == 0
    await tb.settle()
    assert dut.irq.value == 1
    await tb.put("BLOCK_ACK", 2)
    await tb.settle()
    assert dut.irq.value == 0
    assert await tb.get("IRQ_COUNT") == 2
    # Impossible counts change nothing.
    for value in (1, 5, 0xFFFFFFFF):
        with pytest.raises(RegBusError):
            await tb.put("BLOCK_ACK", value)
    assert await tb.get("BLOCK_ACK") == 2
    await tb.put("BLOCK_ACK", 4)
    assert await tb.get("BLOCK_ACK") == 4


@cocotb.test()
async def test_interrupt_timeout(dut):
    timeout = 300
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=100, timeout=timeout)
    for round_ in range(2):
        await tb.frame(4096)
        await ClockCycles(dut.clk, 100)
        await tb.frame(4096)
        cycles = 100 + 32
        while dut.irq.value == 0:
            await RisingEdge(dut.clk)
            cycles += 1
            assert cycles < 2 * timeout
        assert abs(cycles - timeout) < 16
        # The second block is a hundred cycles younger: its interrupt comes that much later.
        await tb.put("BLOCK_ACK", 2 * round_ + 1)
        await ClockCycles(dut.clk, 60)
        assert dut.irq.value == 0
        await ClockCycles(dut.clk, 100)
        assert dut.irq.value == 1
        await tb.put("BLOCK_ACK", 2 * round_ + 2)
        await ClockCycles(dut.clk, 2 * timeout)
        assert dut.irq.value == 0


@cocotb.test()
async def test_interrupt_at_frame_end(dut):
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=100, flush=True)
    assert await tb.request(3 * 4096)
    await tb.write(3 * 4096, gap_rate=0.1)
    await tb.settle()
    assert dut.irq.value == 1
    assert await tb.get("IRQ_COUNT") == 1  # not for the blocks before the last
    await tb.put("BLOCK_ACK", 2)
    await tb.settle()
    assert dut.irq.value == 1
    await tb.put("BLOCK_ACK", 3)
    await tb.settle()
    assert dut.irq.value == 0


@cocotb.test()
@cocotb.parametrize(("threshold", [1, 2]))
async def test_no_interrupt_is_lost_between_commit_and_acknowledgement(dut, threshold):
    """An acknowledgement in each cycle around a commit: both count, and the interrupt is what the rest asks for."""
    tb = TB(dut, block_bytes=4096)
    await tb.start(threshold=threshold)
    outcomes = set()
    for delay in range(24, 40):
        for _ in range(threshold):
            await tb.frame(4096)
        await tb.settle()
        assert dut.irq.value == 1
        assert await tb.request(4096)
        writing = cocotb.start_soon(tb.write(4096))
        await ClockCycles(dut.clk, delay)
        acknowledged = len(tb.model.blocks)
        await tb.put("BLOCK_ACK", acknowledged)
        await writing
        await tb.settle()
        assert await tb.get("BLOCK_COUNT") == len(tb.model.blocks)
        assert await tb.get("BLOCK_ACK") == acknowledged
        pending = len(tb.model.blocks) - acknowledged
        outcomes.add(pending)
        assert dut.irq.value == int(pending >= threshold), f"delay {delay}"
        await tb.put("BLOCK_ACK", len(tb.model.blocks))
        await tb.settle()
        assert dut.irq.value == 0
        await tb.free(tb.model.blocks[-threshold - 1].position, (threshold + 1) * 4096)
    assert outcomes == {0, 1}, "the sweep must cross the commit"


@cocotb.test()
async def test_releases(dut):
    tb = TB(dut)
    await tb.start()
    await tb.frame(RING_BYTES)
    ignored = 0
    # Without a whole granule nothing is freed, with complete the granule of the end is.
    for address, length, complete in ((1, 4095, False), (0, 4095, False), (100, 0, True), (4000, 4192, False)):
        await tb.free(address, length, complete)
        await tb.check_positions()
        tb.model.release(address, length, complete)
    assert tb.model.freed == 0
    await tb.free(100, 200, True)
    await tb.check_positions()
    assert tb.model.freed == 2
    # Again, and backwards: freed or marked before.
    await tb.release(0, 8192, False)
    ignored += 2
    await tb.free(6 * GRANULE, GRANULE)
    await tb.free(6 * GRANULE, GRANULE)
    await tb.check_positions()
    assert await tb.get("RELEASES_IGNORED") == ignored
    for granule in (5, 3, 4, 2):
        await tb.free(granule * GRANULE, GRANULE)
        await tb.check_positions()
    assert tb.model.freed == 7
    # More than the ring, over its end: everything that is held, and no more.
    tb.model.release(7 * GRANULE, RING_BYTES - 7 * GRANULE, False)
    await tb.release(7 * GRANULE, 3 * RING_BYTES, True)
    await tb.check_positions()
    assert tb.model.freed == GRANULES
    # Never written.
    ignored = await tb.get("RELEASES_IGNORED")
    await tb.release(3 * GRANULE, 4 * GRANULE, True)
    await tb.check_positions()
    assert await tb.get("RELEASES_IGNORED") == ignored + 4
    await tb.frame(RING_BYTES)
    await tb.check_positions()


@cocotb.test()
async def test_levels(dut):
    tb = TB(dut)
    await tb.start()
    assert await tb.get("SIZE") == RING_BYTES
    await tb.frame(3 * 4096 + 128)
    await tb.settle()
    assert await tb.get("HIGH_WATER") == 4 * 4096
    assert dut.high_water.value == 4 * 4096
    await tb.free(0, 2 * 4096)
    await tb.settle()
    assert await tb.get("HIGH_WATER") == 4 * 4096
    await tb.put("HIGH_WATER", 0)
    dut.high_water_taken.value = 1
    await RisingEdge(dut.clk)
    dut.high_water_taken.value = 0
    await tb.settle()
    assert await tb.get("HIGH_WATER") == 2 * 4096
    assert dut.high_water.value == 2 * 4096
    # The two are restarted apart.
    await tb.frame(4096)
    await tb.settle()
    await tb.put("HIGH_WATER", 0)
    await tb.free(2 * 4096, 3 * 4096, complete=True)
    await tb.settle()
    assert await tb.get("HIGH_WATER") == 3 * 4096
    assert dut.high_water.value == 3 * 4096
    dut.high_water_taken.value = 1
    await RisingEdge(dut.clk)
    dut.high_water_taken.value = 0
    await tb.settle()
    assert dut.high_water.value == 0
    assert await tb.get("HIGH_WATER") == 3 * 4096


@cocotb.test()
async def test_registers(dut):
    tb = TB(dut)
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    block = register_map()["RING"]
    for register in block.registers:
        if register.count > 1:
            with pytest.raises(RegBusError):
                await tb.bus.write(register.offset, 1)
            continue
        value = await tb.bus.read(register.offset)
        assert value == (RING_BYTES if register.name == "SIZE" else register.reset), register.name
        if register.access == "RO":
            with pytest.raises(RegBusError):
                await tb.bus.write(register.offset, 1)
    for name, value in (("IRQ_THRESHOLD", 0xDEADBEEF), ("IRQ_TIMEOUT", 0x12345678), ("CTRL", 3), ("CTRL", 2)):
        await tb.put(name, value)
        assert await tb.get(name) == value
    for value in (4096, 1 << 23):
        await tb.put("BLOCK_BYTES", value)
        assert await tb.get("BLOCK_BYTES") == value
    for value in (0, 2048, 4097, 12288, 1 << 24, 0xFFFFFFFF):
        with pytest.raises(RegBusError):
            await tb.put("BLOCK_BYTES", value)
    assert await tb.get("BLOCK_BYTES") == 1 << 23
    for offset in (0x7C, 0xFFC):
        with pytest.raises(RegBusError):
            await tb.bus.read(offset)


@cocotb.test()
async def test_reset_forgets(dut):
    """After a reset in an odd lap, with marks left behind, the ring works as from power-up."""
    for granules in (3, 21, 5):
        tb = TB(dut)
        await tb.start()
        for _ in range(granules):
            await tb.frame(4096)
            await tb.free((tb.model.reserved - 1) * GRANULE, GRANULE)
        await tb.frame(2 * 4096)
        await tb.free((tb.model.reserved - 1) * GRANULE, GRANULE)  # a mark that waits for the granule before
        await tb.check_positions()


async def _produce(tb, frames, sizes):
    """Frames of random sizes; a frame that is denied is gone. Return the number admitted."""
    admitted = 0
    for _ in range(frames):
        frame_bytes = 128 * tb.rng.randint(*sizes)
        mode = tb.rng.randint(0, 255)
        if await tb.request(frame_bytes, mode):
            admitted += 1
            await tb.write(frame_bytes, mode, gap_rate=tb.rng.choice([0.0, 0.3]))
        await ClockCycles(tb.dut.clk, tb.rng.randint(1, 80))
    return admitted


async def _consume(tb, pieces, state):
    """Software: waits for the interrupt, takes blocks over, checks them, hands their bytes over for release."""
    taken = 0
    while True:
        while tb.dut.irq.value == 0:
            await RisingEdge(tb.dut.clk)
        count = await tb.get("BLOCK_COUNT")
        assert count <= len(tb.model.blocks), "a block is visible before its last word was written"
        blocks = [await tb.check_table(index) for index in range(taken, count)]
        await tb.put("BLOCK_ACK", count)
        taken = count
        for block in blocks:
            await tb.check_data(block, step=tb.rng.choice([3, 7]))
            position, end = block.position, block.position + block.length
            while position < end:
                cut = min(end, (position // GRANULE + tb.rng.randint(1, 2)) * GRANULE)
                pieces.append((position, cut - position, cut == end and block.last))
                position = cut
        state["taken"] = taken


async def _acknowledge(tb, pieces):
    """Several queue pairs: pieces are released in random order, at random times."""
    while True:
        await ClockCycles(tb.dut.clk, tb.rng.randint(1, 60))
        if pieces:
            index = tb.rng.randrange(min(len(pieces), 6))
            position, length, complete = pieces.pop(index)
            await tb.free(position, length, complete)


@cocotb.test()
@cocotb.parametrize(
    ("seed", [1, 2]),
    ("setup", [{"threshold": 1}, {"threshold": 4, "timeout": 200}, {"threshold": 50, "flush": True}]),
    ("sizes", [(1, 90), (1, 400)]),
)
async def test_random_interleaving(dut, seed, setup, sizes):
    tb = TB(dut, seed=seed)
    await tb.start(**setup)
    pieces = []
    state = {"taken": 0}
    tasks = [cocotb.start_soon(_consume(tb, pieces, state)), cocotb.start_soon(_acknowledge(tb, pieces))]
    frames = 25 if sizes[1] < 100 else 10
    admitted = await _produce(tb, frames, sizes)
    for _ in range(200):
        await ClockCycles(dut.clk, 100)
        if tb.model.freed == tb.model.reserved:
            break
    assert state["taken"] == len(tb.model.blocks), "blocks that no interrupt announced"
    for task in tasks:
        task.cancel()
    tb.bus.valid.value = 0
    await tb.check_positions()
    dropped = await tb.get("DROPPED_RING_FULL")
    assert (await tb.get("FRAMES_ADMITTED"), dropped) == (admitted, frames - admitted)
    assert admitted >= 5
    assert await tb.get("RELEASES_IGNORED") == 0
    # Whole granules count as written when a frame ends; the free position lags releases by some cycles.
    assert tb.high_water - GRANULE <= await tb.get("HIGH_WATER") <= RING_BYTES


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ring_buffer(simulator):
    run_module("ring/ring_buffer", __name__, simulator, parameters={"RING_BYTES": RING_BYTES})
