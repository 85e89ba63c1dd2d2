"""Frames out of datagrams: receives posted where the octets belong, and what to do when datagrams are lost.

A datagram takes the oldest receive that is posted, whatever it carries. While none is lost, late or doubled, that is
the one made for it, and its octets go straight to their place in the slot. After a loss each goes to the place of an
earlier one until the receives that were posted before are used up: such a stray is copied at once, and its frame is put
together in memory of its own. So memory that was handed out is never written to again.

No verbs in here: receives are posted through a function, completions come as calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from host.frame_layout import FRAME_NUMBERS, HEADER_BYTES, HEADER_MAGIC, header_of, immediate, split_datagram_immediate

RECEIVE_DEPTH = 16384
"""Most receives that are posted at once; with as many as the free slots have places, no datagram finds none."""
SPARES = 256
"""Buffers for datagrams that come where none is due: late or doubled ones."""
PATIENCE = 32
"""Datagrams of the next frame after which one that is not complete is given up; or with the first of the one behind."""


@dataclass(frozen=True)
class Assembled:
    """A frame that is complete, or that was given up; ``memory`` is as long as a slot, zero where datagrams miss."""

    number: int
    """Place in the order of frames on the queue pair, from 0; those that were lost whole have theirs."""
    slot: int
    immediate: int
    """As the last WRITE of a reliable connection would carry it."""
    memory: NDArray[np.uint8]
    octets: int
    """Octets of the frame, 0 if its last datagram is missing."""
    problems: tuple[str, ...]


@dataclass
class _Open:
    """A frame of which datagrams have come: those in their places, and those beside them."""

    placed: set[int] = field(default_factory=set)
    strays: dict[int, bytes] = field(default_factory=dict)
    last: int | None = None
    octets: int = 0

    @property
    def count(self) -> int:
        return len(self.placed) + len(self.strays)

    @property
    def complete(self) -> bool:
        return self.last is not None and self.count == self.last + 1


class DatagramFrames:
    """The slots of one queue pair, filled by datagrams of ``octets`` each.

    ``post(token, memory)`` must post a receive of ``memory``; its completion goes to :meth:`arrived` with the token.
    """

    def __init__(
        self,
        slots: Sequence[NDArray[np.uint8]],
        octets: int,
        frame_bytes: int,
        post: Callable[[int, NDArray[np.uint8]], None],
        *,
        depth: int = RECEIVE_DEPTH,
        spares: NDArray[np.uint8] | None = None,
    ) -> None:
        """Prepare for frames of up to ``frame_bytes``; ``spares`` is memory for datagrams that have no place."""
        self._slots = slots
        self._octets = octets
        self._places = -(-frame_bytes // octets)
        self._post = post
        self._depth = min(depth, len(slots) * self._places)
        memory = np.zeros(SPARES * octets, np.uint8) if spares is None else spares
        self._spares = [memory[start : start + octets] for start in range(0, memory.size, octets)]
        # Places of all frames are numbered through. The datagram behind the newest takes the oldest receive.
        self._newest = -1
        self._next = 0
        self._posted: dict[int, tuple[int | None, NDArray[np.uint8]]] = {}
        self._tokens = 0
        self._released = 0
        self._open: dict[int, _Open] = {}
        self._first_open = 0
        self._newest_frame = 0

    def fill(self) -> None:
        """Post receives: for what is free, in the order in which datagrams are due."""
        while len(self._posted) < self._depth:
            due = self._newest + len(self._posted) + 1
            place: int | None = None
            if due < self._next:  # that one has its receive: another datagram will take this one
                if not self._spares:
                    return
                memory = self._spares.pop()
            else:
                frame, index = divmod(due, self._places)
                if frame >= self._released + len(self._slots):
                    return
                place, self._next = due, due + 1
                memory = self._slots[frame % len(self._slots)][index * self._octets : (index + 1) * self._octets]
            self._tokens += 1
            self._posted[self._tokens] = (place, memory)
            self._post(self._tokens, memory)

    def release(self, total: int) -> None:
        """Note that the slots of the first ``total`` frames may be written to again."""
        self._released = max(self._released, total)
        self.fill()

    def arrived(self, token: int, carried: int | None, length: int) -> list[Assembled]:
        """Take a completion; return the frames that it completes, or shows to be lost.

        ``carried`` is the datagram's immediate, None for one that is not the sender's.
        """
        place, memory = self._posted.pop(token)
        found = [] if carried is None else self._take(place, memory[:length], carried)
        if place is None:
            self._spares.append(memory)
        self.fill()
        return found

    def finish(self) -> list[Assembled]:
        """Return what has come of the frames that are not complete."""
        return self._close(self._newest_frame)

    def _take(self, place: int | None, data: NDArray[np.uint8], carried: int) -> list[Assembled]:
        low, index, last = split_datagram_immediate(carried)
        half = FRAME_NUMBERS // 2
        number = self._newest_frame + (low - self._newest_frame + half) % FRAME_NUMBERS - half
        if number < self._first_open or (index + 1) * self._octets > self._slots[0].size:
            return []
        frame = self._open.setdefault(number, _Open())
        position = number * self._places + min(index, self._places - 1)
        self._newest = max(self._newest, position)
        self._newest_frame = max(self._newest_frame, number)
        if index not in frame.placed and index not in frame.strays:
            if place == position and index < self._places:
                frame.placed.add(index)
            else:
                frame.strays[index] = data.tobytes()
            if last:
                frame.last, frame.octets = index, index * self._octets + data.size
        # A sender with few slots waits for those of frames that will never be complete: they must not be kept long.
        lost = self._newest_frame - 2
        if frame.complete:
            lost = max(lost, number)
        elif frame.count >= PATIENCE:
            lost = max(lost, number - 1)
        return self._close(lost)

    def _close(self, through: int) -> list[Assembled]:
        """Hand out all open frames up to and with number ``through``, complete or not."""
        found = [
            self._assemble(number, self._open.pop(number))
            for number in range(self._first_open, through + 1)
            if number in self._open
        ]
        self._first_open = max(self._first_open, through + 1)
        return found

    def _assemble(self, number: int, frame: _Open) -> Assembled:
        slot = number % len(self._slots)
        memory, problems = self._slots[slot], []
        if frame.strays or not frame.complete:
            memory = np.zeros_like(memory)
            for index in frame.placed:
                part = slice(index * self._octets, (index + 1) * self._octets)
                memory[part] = self._slots[slot][part]
            for index, octets in frame.strays.items():
                start = index * self._octets
                memory[start : start + len(octets)] = np.frombuffer(octets, np.uint8)
        if not frame.complete:
            due = "all" if frame.last is None else str(frame.last + 1)
            problems.append(f"incomplete: {frame.count} of {due} datagrams came, and others after them")
        header = header_of(memory[:HEADER_BYTES])
        sequence = int(header["sequence"]) if header["magic"] == HEADER_MAGIC else number
        return Assembled(number, slot, immediate(slot, sequence & 0xFFFFF), memory, frame.octets, tuple(problems))
