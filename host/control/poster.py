"""Driver of the poster, which turns the ring's blocks into work requests without software: where to, and credits."""

from __future__ import annotations

from host.control.block_pump import RemoteSlots
from host.control.platform import Platform
from host.control.registers import register_map

CHIP = 1 << 63
"""Address of the engine's memory on the chip, as the engine sees it."""
MOST_ENTRIES = register_map()["ERNIC_MEMORY"]["WORD"].count * 4 // 64
"""Entries of a send queue that fills the memory on the chip."""
_REASONS = {
    1: "a frame is larger than a receive slot; give the receiver larger slots",
    2: "a block does not continue the frame that was begun",
}


class Poster:
    """The poster and the queue pair that it posts to, whose send queue is in the memory on the chip."""

    def __init__(self, platform: Platform) -> None:
        self._registers = platform.registers
        self._block = register_map()["POSTER"]

    async def _write(self, name: str, value: int) -> None:
        await self._registers.write(self._block[name].address(), value)

    async def _read(self, name: str) -> int:
        return await self._registers.read(self._block[name].address())

    async def start(self, slots: RemoteSlots, *, queue_pair: int, send_queue: int, depth: int) -> None:
        """Let it post from the next block on. The queue pair has just been connected, for doorbells by hardware."""
        await self.stop()
        await self._write("QUEUE_PAIR", queue_pair)
        await self._write("QUEUE_ADDRESS", send_queue - CHIP)
        await self._write("QUEUE_DEPTH", depth)
        await self._write("REMOTE_ADDRESS", slots.address & 0xFFFFFFFF)
        await self._write("REMOTE_ADDRESS_MSB", slots.address >> 32)
        await self._write("REMOTE_KEY", slots.key)
        await self._write("SLOT_BYTES", slots.slot_bytes)
        await self._write("SLOTS", slots.count)
        await self._write("CTRL", 1)

    async def stop(self) -> None:
        """Blocks are software's again."""
        await self._write("CTRL", 0)

    async def completions_taken(self, total: int) -> None:
        """Give room in the queues: so many completions have been read since the start."""
        await self._write("COMPLETIONS", total)

    async def frames_arrived(self, total: int) -> None:
        """Say that so many frames have arrived since the start; who holds their slots is the receiving host."""
        await self._write("FRAMES_ARRIVED", total)

    async def slots_released(self, total: int) -> None:
        """Give slots back: the receiver has released so many since the start."""
        await self._write("SLOTS_RELEASED", total)

    async def posted(self) -> int:
        """Work requests posted since the start."""
        return await self._read("POSTED")

    async def frames_started(self) -> int:
        """Frames of which at least a block has been posted since the start."""
        return await self._read("FRAMES_STARTED")

    async def why_stopped(self) -> str:
        """What stopped it, in words; empty if nothing did."""
        cause = self._block["STATUS"]["STOPPED"].get(await self._read("STATUS"))
        return _REASONS[cause] if cause else ""
