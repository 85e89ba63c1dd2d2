"""Completions in, frames out, credit back: the queue pairs of one front end over their part of the pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from host.frame_layout import split_immediate
from host.receive.arrival import Arrival
from host.receive.connection import Connection
from host.receive.frame import Frame
from host.receive.release import ReleaseOrder


class QueuePairFailed(RuntimeError):
    """A queue pair brings no more frames; the text names the cause."""


class FrameCollector:
    """Frames of connected queue pairs; each owns an equal run of ``slots``, in order.

    Not thread-safe; it never waits.
    """

    def __init__(
        self, connections: Sequence[Connection], slots: Sequence[NDArray[np.uint8]], front_end: int = 0
    ) -> None:
        if len(slots) % len(connections):
            raise ValueError(f"{len(slots)} slots cannot be shared equally by {len(connections)} queue pairs")
        self._connections = tuple(connections)
        self._slots_each = len(slots) // len(connections)
        self._memories = tuple(slots)
        self._front_end = front_end
        self._held: dict[tuple[int, int], Frame] = {}
        self._orders = [ReleaseOrder() for _ in connections]
        self._next_slots = [0] * len(connections)

    @property
    def held(self) -> int:
        """Frames that were given out and are not released."""
        return len(self._held)

    @property
    def slots(self) -> int:
        """All slots of the queue pairs together."""
        return len(self._memories)

    def released(self, queue_pair: int) -> int:
        """Return how many frames of a queue pair are released with all before them: the sender's credit.

        A frame that was lost counts as released when a later one has arrived.
        """
        return self._orders[queue_pair].count

    def arrived(self, queue_pair: int) -> int:
        """Return how many frames have come on a queue pair."""
        return self._orders[queue_pair].total

    def poll(self) -> list[Frame]:
        """Return the frames that have arrived, without waiting.

        Raise :class:`QueuePairFailed` when a queue pair has failed and all its frames are out.
        """
        frames = [
            self._frame(index, arrival)
            for index, connection in enumerate(self._connections)
            for arrival in connection.poll()
        ]
        failures = [connection.failure for connection in self._connections if connection.failure]
        if failures and not frames:
            raise QueuePairFailed("; ".join(failures))
        return frames

    def finish(self) -> list[Frame]:
        """Return what is left of frames of which parts were lost, when no more will come."""
        return [
            self._frame(index, arrival)
            for index, connection in enumerate(self._connections)
            for arrival in connection.finish()
        ]

    def _frame(self, queue_pair: int, arrival: Arrival) -> Frame:
        slot, _ = split_immediate(arrival.immediate)
        if slot >= self._slots_each:
            raise QueuePairFailed(
                f"immediate 0x{arrival.immediate:08x} names slot {slot}; queue pair {queue_pair} has {self._slots_each}"
            )
        if arrival.number is not None and arrival.memory is not None:
            return self._numbered(queue_pair, arrival, arrival.memory, arrival.number)
        memory = self._memories[queue_pair * self._slots_each + slot]
        # Slots are used in turn. One that is passed over on an unreliable connection belongs to a frame that was lost
        # on its way, and goes back to the sender with those before it.
        passed_over = (slot - self._next_slots[queue_pair]) % self._slots_each
        for _ in range(passed_over if self._connections[queue_pair].unreliable else 0):
            self._orders[queue_pair].release(self._orders[queue_pair].arrived())
        self._next_slots[queue_pair] = (slot + 1) % self._slots_each
        before = self._held.get((queue_pair, slot))
        frame = self._made(queue_pair, arrival, memory, self._orders[queue_pair].arrived())
        if before is not None:  # neither of the two can be trusted: the next may be on its way already
            for victim in (before, frame):
                victim.add_problem(f"overrun: slot {slot} was written before its frame was released")
        self._connections[queue_pair].repost()
        return frame

    def _numbered(self, queue_pair: int, arrival: Arrival, memory: NDArray[np.uint8], number: int) -> Frame:
        """A frame that came in datagrams: its number tells how many before it were lost."""
        order = self._orders[queue_pair]
        while (index := order.arrived()) < number:
            order.release(index)
        return self._made(queue_pair, arrival, memory, index)

    def _made(self, queue_pair: int, arrival: Arrival, memory: NDArray[np.uint8], index: int) -> Frame:
        frame = Frame(
            arrival,
            memory,
            queue_pair=queue_pair,
            index=index,
            release=self._release,
            front_end=self._front_end,
        )
        self._held[queue_pair, frame.slot] = frame
        return frame

    def _release(self, frame: Frame) -> None:
        if self._held.get((frame.queue_pair, frame.slot)) is frame:
            del self._held[frame.queue_pair, frame.slot]
        self._orders[frame.queue_pair].release(frame.index)
        self._connections[frame.queue_pair].released(self._orders[frame.queue_pair].count)
