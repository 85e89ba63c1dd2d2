"""Reference model of the ring as its users see it: positions in granules, marks, blocks. No timing."""

from __future__ import annotations

from dataclasses import dataclass, field

GRANULE = 4096


@dataclass(frozen=True)
class Block:
    """One entry of the block table; ``position`` is its first byte in the stream."""

    position: int
    length: int
    first: bool
    last: bool
    sequence: int
    mode: int


@dataclass
class RingModel:
    """What a ring of ``ring_bytes`` holds after a history of frames and releases."""

    ring_bytes: int
    block_bytes: int
    reserved: int = 0  # granules
    freed: int = 0  # granules
    marks: set[int] = field(default_factory=set)  # granules released, not yet freed
    data: dict[int, int] = field(default_factory=dict)  # stream position of a 128-byte word -> its value
    blocks: list[Block] = field(default_factory=list)

    def fits(self, frame_bytes: int) -> bool:
        """Whether the ring has room for the whole frame."""
        granules = -(-frame_bytes // GRANULE)
        return self.reserved + granules - self.freed <= self.ring_bytes // GRANULE

    def blocks_of(self, frame_bytes: int, sequence: int, mode: int) -> list[Block]:
        """Blocks that a frame admitted now will make."""
        start = self.reserved * GRANULE
        offsets = range(0, frame_bytes, self.block_bytes)
        return [
            Block(
                position=start + offset,
                length=min(self.block_bytes, frame_bytes - offset),
                first=offset == 0,
                last=offset == offsets[-1],
                sequence=sequence,
                mode=mode,
            )
            for offset in offsets
        ]

    def admit(self, frame_bytes: int) -> int:
        """Reserve a frame's granules; return the stream position of its first byte."""
        start = self.reserved
        self.reserved += -(-frame_bytes // GRANULE)
        return start * GRANULE

    def release(self, position: int, length: int, complete: bool) -> None:
        """Mark the granules of stream bytes ``[position, position + length)`` and move the free position on."""
        stop = position + length
        self.marks.update(range(-(-position // GRANULE), stop // GRANULE))
        if complete and length:
            self.marks.add((stop - 1) // GRANULE)
        while self.freed in self.marks:
            self.marks.remove(self.freed)
            self.freed += 1

    def row(self, row: int, position: int) -> int:
        """The 64-byte row of the ring that holds stream ``position``."""
        word = self.data[position // 128 * 128]
        return word >> 512 * (row % 2) & (1 << 512) - 1
