"""Python's side of ``mac_port.v``: whole Ethernet frames out of the design, and into it."""

from __future__ import annotations

import ctypes
import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import ValueChange

from sim.bench.clocks import Clocks
from sim.bench.dpi import library
from sim.bench.errors import BenchError, flagged
from sim.bench.vpi import WordArray, number

LONGEST_FRAME = 8192
"""Octets of the longest frame, without preamble and FCS."""

OVERHEAD_OCTETS = 24
"""Octets of line time that a frame takes beside its own: preamble 8, FCS 4, gap 12 (IEEE 802.3)."""

SHORTEST_FRAME = 60
"""Shorter frames take the line time of this many octets (padding)."""

_ERRORS = (
    "an offered beat was withdrawn or changed before it was taken",
    "tvalid is undefined",
    "tkeep has a hole, or a beat before the last is not full",
    "a beat without an octet",
    f"a frame of more than {LONGEST_FRAME} octets",
    "Python did not take the frames in time",
)


@dataclass(frozen=True, slots=True)
class TxFrame:
    """A frame that left the design: octets without preamble and FCS, core cycles of its first and last beat."""

    data: bytes
    first_cycle: int
    last_cycle: int


def line_octets(octets: int) -> int:
    """Octets of line time of a frame of ``octets`` octets."""
    return max(octets, SHORTEST_FRAME) + OVERHEAD_OCTETS


class _Store(ABC):
    """Where frames are kept between the design and Python: the part that differs between the two HDL bodies."""

    @abstractmethod
    def pending(self) -> bool:
        """Whether a collected frame is there."""

    @abstractmethod
    def take(self) -> TxFrame:
        """Remove and return the oldest collected frame."""

    @abstractmethod
    def inject(self, frame: bytes, cycle: int, bad_fcs: bool) -> None:
        """Queue a frame for the design."""


class _DpiStore(_Store):
    """Frames in C++ memory (``mac_port.cpp``)."""

    def __init__(self, program: ctypes.CDLL, port: int) -> None:
        self._program = program
        self._port = port
        self._cycles = (ctypes.c_uint64 * 2)()
        self._octets = ctypes.c_uint32()
        self._octets_pointer = ctypes.pointer(self._octets)

    def pending(self) -> bool:
        return bool(self._program.eb_mac_pending(self._port))

    def take(self) -> TxFrame:
        address = self._program.eb_mac_take(self._port, self._cycles, self._octets_pointer)
        return TxFrame(ctypes.string_at(address, self._octets.value), self._cycles[0], self._cycles[1])

    def inject(self, frame: bytes, cycle: int, bad_fcs: bool) -> None:
        self._program.eb_mac_inject(self._port, frame, len(frame), cycle, bad_fcs)


class _VpiStore(_Store):
    """Frames in HDL arrays (``mac_port_vpi.v``)."""

    def __init__(self, body: Any, clocks: Clocks) -> None:
        self._clocks = clocks
        self._slots = int(body.SLOTS.value)
        self._words = int(body.WORDS.value)
        self._tx_words = WordArray(body.tx_words)
        self._tx_records = WordArray(body.tx_records)
        self._tx_count = body.tx_count
        self._tx_taken_signal = body.tx_taken
        self._tx_taken = number(body.tx_taken)
        self._rx_words = WordArray(body.rx_words)
        self._rx_orders = WordArray(body.rx_orders)
        self._rx_queued_signal = body.rx_queued
        self._rx_started = body.rx_started
        self._rx_played = body.rx_played
        self._queued = number(body.rx_queued)
        # In the hardware's queue and perhaps not played yet: (earliest cycle, order word), in order of playing.
        unplayed = self._queued - number(body.rx_played) & 0xFFFFFFFF
        words = [self._rx_orders[(self._queued - i) % self._slots] for i in range(unplayed, 0, -1)]
        self._orders = [(word & (1 << 64) - 1, word) for word in words]
        self._free = list({*range(self._slots)} - {word >> 80 & 0xFFFF for word in words})
        # Beyond the hardware's slots: (earliest cycle, number of injection, bad FCS, frame).
        self._backlog: list[tuple[int, int, bool, bytes]] = []
        self._injected = 0
        self._feeder: cocotb.task.Task[None] | None = None

    def pending(self) -> bool:
        return int(self._tx_count.value) != self._tx_taken

    def take(self) -> TxFrame:
        slot = self._tx_taken % self._slots
        record = self._tx_records[slot]
        data = self._tx_words.octets(slot * self._words, record & 0xFFFF)
        self._tx_taken = self._tx_taken + 1 & 0xFFFFFFFF
        self._tx_taken_signal.value = self._tx_taken
        return TxFrame(data, record >> 16 & (1 << 64) - 1, record >> 80)

    def inject(self, frame: bytes, cycle: int, bad_fcs: bool) -> None:
        heapq.heappush(self._backlog, (cycle, self._injected, bad_fcs, frame))
        self._injected += 1
        self._feed()

    def _feed(self) -> None:
        """Move frames from the backlog into free slots; leave a task that goes on when slots become free."""
        played = int(self._rx_played.value)
        while len(self._orders) > (self._queued - played) & 0xFFFFFFFF:
            self._free.append(self._orders.pop(0)[1] >> 80 & 0xFFFF)
        while self._backlog and self._free:
            self._queue(*heapq.heappop(self._backlog))
        if self._backlog and self._feeder is None:
            self._feeder = cocotb.start_soon(self._keep_feeding())

    async def _keep_feeding(self) -> None:
        change = ValueChange(self._rx_played)
        while self._backlog:
            await change
            self._feed()
        self._feeder = None

    def _queue(self, cycle: int, _: int, bad_fcs: bool, frame: bytes) -> None:
        slot = self._free.pop()
        self._rx_words.set_octets(slot * self._words, frame)
        # Put it after all that are due no later, and after all that the hardware may already have begun.
        begun = len(self._orders) - (self._queued - int(self._rx_started.value) & 0xFFFFFFFF)
        soon = self._clocks.now + 2
        position = len(self._orders)
        while position > begun and self._orders[position - 1][0] > max(cycle, soon):
            position -= 1
        word = bad_fcs << 96 | slot << 80 | len(frame) << 64 | cycle
        self._orders.insert(position, (cycle, word))
        first = self._queued - len(self._orders) + 1
        for i in range(position, len(self._orders)):
            self._rx_orders[(first + i) % self._slots] = self._orders[i][1]
        self._queued = self._queued + 1 & 0xFFFFFFFF
        self._rx_queued_signal.value = self._queued


class MacPort:
    """The MAC of the bench.

    Frames from the design are collected whole. The usual loop is::

        while True:
            await mac.frame()
            for frame in mac.take():
                ...

    Nothing here runs once a clock: Python wakes once a frame.
    """

    def __init__(self, handle: Any, clocks: Clocks, port: int = 0) -> None:
        """Take the handle of a ``mac_port`` instance; ``port`` is its parameter PORT."""
        self._clocks = clocks
        self._rate = handle.rate
        self._errors = handle.errors
        self._events = ValueChange(handle.events)
        program = library("eb_mac_take")
        self._store: _Store = _VpiStore(handle.body, clocks) if program is None else _DpiStore(program, port)

    def rate_word(self, gigabits_per_second: float) -> int:
        """Octets a core cycle at a line rate in Gb/s, 16.16 fixed point.

        Raise ``ValueError`` unless between 0 and 512 octets.
        """
        octets = gigabits_per_second * 1e9 / 8 * self._clocks.core_period_s
        if not 0 <= octets <= 512:
            raise ValueError(f"line rate of {gigabits_per_second} Gb/s is not between 0 and 512 octets a core cycle")
        return round(octets * 65536)

    def set_rate(self, gigabits_per_second: float) -> None:
        """Set the line rate, framing overhead included; 0 holds the design back until the rate is set again.

        Raise ``ValueError`` as :meth:`rate_word` does.
        """
        self._rate.value = self.rate_word(gigabits_per_second)

    async def frame(self) -> None:
        """Return as soon as a frame is there to be taken.

        Raise :class:`BenchError` if the design breaks the protocol meanwhile.
        """
        while not self._store.pending():
            await self._events
            if not self._store.pending():
                self.check()

    def take(self) -> list[TxFrame]:
        """Return the frames collected since the last call, oldest first."""
        frames = []
        while self._store.pending():
            frames.append(self._store.take())
        return frames

    def inject(self, frame: bytes, cycle: int, *, bad_fcs: bool = False) -> None:
        """Replay ``frame``: its first beat is sampled at core edge ``cycle``, or as soon after as the line is free.

        Frames go in the order of their cycles, equal cycles in the order of the calls; one that has begun is never
        interrupted. The earliest cycle that can be kept is ``clocks.now + 1``. Raise ``ValueError`` if the frame is
        empty or too long.
        """
        if not 0 < len(frame) <= LONGEST_FRAME:
            raise ValueError(f"frame of {len(frame)} octets; 1 to {LONGEST_FRAME} can be replayed")
        self._store.inject(bytes(frame), max(0, cycle), bad_fcs)

    def error(self) -> BenchError | None:
        """What the protocol checks have found so far."""
        return flagged("MAC port", int(self._errors.value), _ERRORS)

    def check(self) -> None:
        """Raise :class:`BenchError` if the protocol checks have found anything."""
        if error := self.error():
            raise error
