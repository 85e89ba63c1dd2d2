"""Blocks of the ring in, work requests out: the control software's policy, without input or output of its own.

A frame takes the next receive slot when its first block appears, if that slot has been released; its blocks become
WRITEs to consecutive addresses of the slot, the last one with the immediate that names slot and sequence. Work requests
are handed out in batches, as long as the send queue has room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from host.control.work_queue import Opcode, WorkRequest
from host.frame_layout import immediate


@dataclass(frozen=True)
class Block:
    """One completed block of the ring, as its table entry says."""

    address: int
    length: int
    first: bool
    last: bool
    sequence: int


@dataclass(frozen=True)
class RemoteSlots:
    """The receiver's memory: ``count`` slots of ``slot_bytes`` from ``address``, reached with ``key``."""

    address: int
    key: int
    slot_bytes: int
    count: int


class FrameTooLarge(ValueError):
    """A frame that does not fit into a receive slot."""


class BlockPump:
    """Turn blocks into work requests for one queue pair."""

    def __init__(self, slots: RemoteSlots, *, sq_depth: int, batch: int) -> None:
        self._slots = slots
        self._room = sq_depth - 1  # a full queue must differ from an empty one in its indices
        self._batch = batch
        self._waiting: deque[Block] = deque()
        self._frames_started = 0
        self._slots_released = 0
        self._slot = 0
        self._offset = 0
        self._open = False
        self.frames_completed = 0
        """Frames that have arrived, by completions of their last work requests; counted by whoever reads those."""
        self.posted = 0
        self.completed = 0

    @property
    def outstanding(self) -> int:
        """Work requests handed out and not completed."""
        return self.posted - self.completed

    @property
    def waiting(self) -> int:
        """Blocks that are not yet work requests."""
        return len(self._waiting)

    @property
    def starved_of_slots(self) -> bool:
        """The next block starts a frame for which no slot is free."""
        return bool(self._waiting) and not self._open and not self._slot_free()

    @property
    def awaits_host(self) -> bool:
        """The next block waits for a slot, and the frame in it has arrived: only the receiving host holds it."""
        return self.starved_of_slots and self.slots_needed <= self.frames_completed

    @property
    def slots_needed(self) -> int:
        """Total of releases after which the next frame may start."""
        return self._frames_started - self._slots.count + 1

    def add(self, blocks: Iterable[Block]) -> None:
        """Take blocks over, in ring order."""
        self._waiting.extend(blocks)

    def complete(self, count: int) -> None:
        """Note ``count`` further completions; raise ``ValueError`` if more complete than were posted."""
        if count > self.outstanding:
            raise ValueError(f"{count} completions for {self.outstanding} outstanding work requests")
        self.completed += count

    def release(self, total: int) -> None:
        """Note that the receiver has released ``total`` slots since the start."""
        self._slots_released = max(self._slots_released, total)

    def next_batch(self) -> list[WorkRequest]:
        """Return the next work requests, at most a batch; an empty list if nothing can be posted now."""
        requests: list[WorkRequest] = []
        while self._waiting and len(requests) < self._batch and self.outstanding < self._room:
            if not self._open and not self._slot_free():
                break
            requests.append(self._request(self._waiting.popleft()))
            self.posted += 1
        return requests

    def _slot_free(self) -> bool:
        return self._frames_started - self._slots_released < self._slots.count

    def _request(self, block: Block) -> WorkRequest:
        if block.first != (not self._open):
            raise ValueError(
                f"block of frame {block.sequence} out of order: first={block.first}, frame open={self._open}"
            )
        if block.first:
            self._slot = self._frames_started % self._slots.count
            self._frames_started += 1
            self._offset = 0
            self._open = True
        if self._offset + block.length > self._slots.slot_bytes:
            raise FrameTooLarge(
                f"frame {block.sequence} is larger than a receive slot of {self._slots.slot_bytes} bytes; "
                "give the receiver larger slots"
            )
        request = WorkRequest(
            identifier=self.posted & 0xFFFF,
            opcode=Opcode.WRITE_IMMEDIATE if block.last else Opcode.WRITE,
            local_address=block.address,
            length=block.length,
            remote_address=self._slots.address + self._slot * self._slots.slot_bytes + self._offset,
            remote_key=self._slots.key,
            immediate=immediate(self._slot, block.sequence) if block.last else 0,
        )
        self._offset += block.length
        if block.last:
            self._open = False
        return request
