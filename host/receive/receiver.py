"""Frames as they arrive: verified, as numpy views of the memory that the FPGA wrote, released in any order."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from host.frame_layout import HEADER_BYTES, FrameShape, split_immediate
from host.receive.connection import Arrival, Connection
from host.receive.inspection import inspect
from host.receive.pool import MemoryPool
from host.receive.release import ReleaseOrder

_FIRST_NAP_SECONDS = 20e-6
_LONGEST_NAP_SECONDS = 1e-3


class ReceiveFailed(RuntimeError):
    """No more frames will come; the text names the cause."""


class FrameGone(RuntimeError):
    """Samples were asked of a frame that was released, or that is too broken to have any."""


class Frame:
    """One received frame. Release it (or leave its ``with`` block) when its samples are no longer needed.

    ``header`` and ``trailer`` are records of :mod:`host.frame_layout` (``trailer`` is ``None`` if the header cannot be
    trusted); ``problems`` says what is wrong, in words; ``ok`` is true when nothing is.
    """

    def __init__(
        self,
        receiver: Receiver,
        queue_pair: int,
        arrival: Arrival,
        memory: NDArray[np.uint8],
        *,
        index: int,
        held: bool,
    ) -> None:
        self._receiver = receiver
        self._memory: NDArray[np.uint8] | None = memory
        self.queue_pair = queue_pair
        self.index = index
        """Place in the order of use on its queue pair, from 0; frames that were lost have theirs."""
        self.immediate = arrival.immediate
        self.slot, self._low_bits = split_immediate(arrival.immediate)
        findings = inspect(memory, arrival.immediate, arrival.length)
        self.header: Any = findings.header.copy()
        self.trailer: Any = None if findings.trailer is None else findings.trailer.copy()
        self.shape: FrameShape | None = findings.shape
        self.payload_crc = findings.payload_crc
        overrun = (f"overrun: slot {self.slot} was written before its frame was released",) if held else ()
        self.problems: tuple[str, ...] = findings.problems + arrival.problems + overrun

    @property
    def ok(self) -> bool:
        """Nothing is wrong with the frame."""
        return not self.problems

    @property
    def sequence(self) -> int:
        """Sequence number from the header; if that is not valid, the low bits that the immediate carries."""
        return self._low_bits if self.shape is None else int(self.header["sequence"])

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The frame's bytes as they were received, header to trailer; the whole slot if the header is not valid."""
        if self._memory is None:
            raise FrameGone(f"frame {self.sequence} was released; its memory belongs to another frame now")
        return self._memory if self.shape is None else self._memory[: self.shape.frame_bytes]

    @property
    def samples(self) -> NDArray[np.int16]:
        """The samples, int16 ``[sample, channel]``, without a copy: copy them to keep them beyond the release."""
        memory = self.memory
        if self.shape is None:
            raise FrameGone(f"frame in slot {self.slot} has no valid header: {'; '.join(self.problems)}")
        payload = memory[HEADER_BYTES : HEADER_BYTES + self.shape.payload_bytes]
        return payload.view("<i2").reshape(self.shape.samples, self.shape.channels)

    def release(self) -> None:
        """Give the slot back to the sender. A second call does nothing."""
        if self._memory is not None:
            self._memory = None
            self._receiver._release(self)

    def __enter__(self) -> Frame:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Receiver:
    """Frames of one or more connected queue pairs that share a pool; each owns an equal run of the slots, in order.

    Iterate over it for ever, or call :meth:`poll` (never waits) or :meth:`receive` (waits a limited time).
    """

    def __init__(self, connections: Sequence[Connection], pool: MemoryPool) -> None:
        if pool.slots % len(connections):
            raise ValueError(f"{pool.slots} slots cannot be shared equally by {len(connections)} queue pairs")
        self._connections = tuple(connections)
        self._slots_each = pool.slots // len(connections)
        self._memories = [np.frombuffer(pool.slot(slot), np.uint8) for slot in range(pool.slots)]
        self._held: set[tuple[int, int]] = set()
        self._orders = [ReleaseOrder() for _ in connections]
        self._next_slots = [0] * len(connections)
        self._ready: list[Frame] = []

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

        Raise :class:`ReceiveFailed` when a queue pair has failed and all its frames are out.
        """
        frames = [
            self._frame(index, arrival)
            for index, connection in enumerate(self._connections)
            for arrival in connection.poll()
        ]
        failures = [connection.failure for connection in self._connections if connection.failure]
        if failures and not frames:
            raise ReceiveFailed("; ".join(failures))
        return frames

    def receive(self, timeout_seconds: float) -> Frame | None:
        """Return the next frame, or ``None`` after ``timeout_seconds``. Other threads run while this one waits."""
        deadline = time.monotonic() + timeout_seconds
        poller = select.poll()
        for connection in self._connections:
            poller.register(connection.event.fileno(), select.POLLIN)
        nap = _FIRST_NAP_SECONDS
        while not self._ready:
            self._ready = self.poll()
            left = deadline - time.monotonic()
            if self._ready or left <= 0:
                break
            if (
                nap < _LONGEST_NAP_SECONDS
            ):  # a frame that is about to come is met sooner by looking than by an interrupt
                time.sleep(min(nap, left))
                nap *= 2
            elif poller.poll(left * 1000):
                for connection in self._connections:
                    connection.acknowledge_event()
            else:
                for connection in self._connections:
                    connection.check()
        return self._ready.pop(0) if self._ready else None

    def __iter__(self) -> Iterator[Frame]:
        while True:
            frame = self.receive(1.0)
            if frame is not None:
                yield frame

    def _frame(self, queue_pair: int, arrival: Arrival) -> Frame:
        slot, _ = split_immediate(arrival.immediate)
        if slot >= self._slots_each:
            raise ReceiveFailed(
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
        held = (queue_pair, slot) in self._held
        frame = Frame(self, queue_pair, arrival, memory, index=self._orders[queue_pair].arrived(), held=held)
        self._held.add((queue_pair, slot))
        self._connections[queue_pair].repost()
        return frame

    def _numbered(self, queue_pair: int, arrival: Arrival, memory: NDArray[np.uint8], number: int) -> Frame:
        """A frame that came in datagrams: its number tells how many before it were lost."""
        order = self._orders[queue_pair]
        while (index := order.arrived()) < number:
            order.release(index)
        return Frame(self, queue_pair, arrival, memory, index=index, held=False)

    def finish(self) -> list[Frame]:
        """Return what is left of frames of which parts were lost, when no more will come."""
        return [
            self._frame(index, arrival)
            for index, connection in enumerate(self._connections)
            for arrival in connection.finish()
        ]

    def _release(self, frame: Frame) -> None:
        self._held.discard((frame.queue_pair, frame.slot))
        self._orders[frame.queue_pair].release(frame.index)
        self._connections[frame.queue_pair].released(self._orders[frame.queue_pair].count)
