"""Blocks of the ring in, work requests out: the control software's policy, without input or output of its own.

A frame takes the next receive slot when its first block appears, if that slot has been released; its blocks become
WRITEs to consecutive addresses of the slot, the last one with the immediate that names slot and sequence. Where there
are only datagrams, each block becomes as many SENDs as it takes packets, each with an immediate that says where its
octets belong. Work requests are handed out in batches, as long as the send queue has room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from host.control.work_queue import Opcode, WorkRequest
from host.frame_layout import datagram_immediate, immediate


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


@dataclass(frozen=True)
class Datagrams:
    """How frames go by datagrams: ``octets`` in each but a frame's last, out of a ring of ``ring_bytes``."""

    octets: int
    ring_bytes: int

    def pieces(self, block: Block) -> Iterator[Block]:
        """Cut a block into what one datagram carries."""
        for start in range(0, block.length, self.octets):
            length = min(self.octets, block.length - start)
            yield replace(
                block,
                address=(block.address + start) % self.ring_bytes,
                length=length,
                first=block.first and start == 0,
                last=block.last and start + length == block.length,
            )


class FrameTooLarge(ValueError):
    """A frame that does not fit into a receive slot."""


class BlockPump:
    """Turn blocks into work requests for one queue pair."""

    def __init__(self, slots: RemoteSlots, *, sq_depth: int, batch: int, datagrams: Datagrams | None = None) -> None:
        """Pump into ``slots``; ``datagrams`` if the connection carries no WRITEs."""
        self._slots = slots
        self._datagrams = datagrams
        self._outstanding: deque[WorkRequest] = deque()
        self._again: deque[WorkRequest] = deque()
        self._room = sq_depth - 1  # a full queue must differ from an empty one in its indices
        self._batch = batch
        self._waiting: deque[Block] = deque()
        self._frames_started = 0
        self.slots_released = 0
        """Slots that the receiver has released since the start, as far as is known."""
        self._slot = 0
        self._offset = 0
        self._open = False
        self.frames_completed = 0
        """Frames that have arrived, or only left if nothing is acknowledged: their last work requests are complete."""
        self.posted = 0
        self.completed = 0

    @property
    def outstanding(self) -> int:
        """Work requests handed out and not completed."""
        return self.posted - self.completed

    @property
    def waiting(self) -> int:
        """Blocks that are not yet work requests, and work requests that have to be posted anew."""
        return len(self._waiting) + len(self._again)

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
        for block in blocks:
            self._waiting.extend([block] if self._datagrams is None else self._datagrams.pieces(block))

    def complete(self, count: int) -> list[bool]:
        """Note ``count`` further completions; return for each whether it ends a frame.

        Raise ``ValueError`` if more complete than were posted.
        """
        if count > self.outstanding:
            raise ValueError(f"{count} completions for {self.outstanding} outstanding work requests")
        self.completed += count
        endings = [self._outstanding.popleft().ends_frame for _ in range(count)]
        self.frames_completed += sum(endings)
        return endings

    def release(self, total: int) -> None:
        """Note that the receiver has released ``total`` slots since the start."""
        self.slots_released = max(self.slots_released, total)

    def next_batch(self) -> list[WorkRequest]:
        """Return the next work requests, at most a batch; an empty list if nothing can be posted now."""
        requests: list[WorkRequest] = []
        while self._again and len(requests) < self._batch and self.outstanding < self._room:
            requests.append(self._again.popleft())
            self._note(requests[-1])
        while self._waiting and len(requests) < self._batch and self.outstanding < self._room:
            if not self._open and not self._slot_free():
                break
            requests.append(self._request(self._waiting.popleft()))
            self._note(requests[-1])
        return requests

    def _note(self, request: WorkRequest) -> None:
        self._outstanding.append(request)
        self.posted += 1

    def start_over(self, acknowledged: Callable[[WorkRequest], int], arrived: int) -> int:
        """Hand out all outstanding work requests again, after their queue pair was reset; return how many.

        ``acknowledged`` bytes of the first have arrived, as the sender knows, and ``arrived`` frames are complete, as
        the receiver knows: theirs go out without the immediate that would announce them a second time.
        """
        frame, found = self.frames_completed, []
        for index, request in enumerate(self._outstanding):
            done = acknowledged(request) if index == 0 else 0
            known = request.ends_frame and frame < arrived
            found.append(
                replace(
                    request,
                    local_address=request.local_address + done,
                    length=request.length - done,
                    remote_address=request.remote_address + done,
                    opcode=Opcode.WRITE if known else request.opcode,
                )
            )
            frame += request.ends_frame
        self._again.extendleft(reversed(found))
        self._outstanding.clear()
        self.posted = self.completed
        return len(found)

    def _slot_free(self) -> bool:
        return self._frames_started - self.slots_released < self._slots.count

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
        request = self._write(block) if self._datagrams is None else self._send(block, self._datagrams)
        self._offset += block.length
        if block.last:
            self._open = False
        return request

    def _write(self, block: Block) -> WorkRequest:
        return WorkRequest(
            identifier=self.posted & 0xFFFF,
            opcode=Opcode.WRITE_IMMEDIATE if block.last else Opcode.WRITE,
            local_address=block.address,
            length=block.length,
            remote_address=self._slots.address + self._slot * self._slots.slot_bytes + self._offset,
            remote_key=self._slots.key,
            immediate=immediate(self._slot, block.sequence) if block.last else 0,
            ends_frame=block.last,
            frame=self._frames_started - 1,
        )

    def _send(self, block: Block, datagrams: Datagrams) -> WorkRequest:
        place = self._offset // datagrams.octets
        return WorkRequest(
            identifier=self.posted & 0xFFFF,
            opcode=Opcode.SEND_IMMEDIATE,
            local_address=block.address,
            length=block.length,
            remote_address=0,
            remote_key=0,
            immediate=datagram_immediate(self._frames_started - 1, place, last=block.last),
            ends_frame=block.last,
            frame=self._frames_started - 1,
        )
