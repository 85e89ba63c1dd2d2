"""Faults on the way from converter to receiver.

Those with ``apply`` change the beats before the lanes' delays. :class:`Slip` and :class:`Restart` change the
transmitter itself. A place in time is a beat, or the first beat of a source tick's frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters
from sim.adc.beats import DISPARITY_SHIFT, K_FLAGS, K_SHIFT, NOT_IN_TABLE_SHIFT

Seen = Literal["disparity", "not_in_table", "unseen"]
"""How the receiver's decoder notices a changed octet."""

_SEEN_SHIFT = {"disparity": DISPARITY_SHIFT, "not_in_table": NOT_IN_TABLE_SHIFT}

BeatOfTick = Callable[[int], "int | None"]
"""First beat of the frame of a source tick, ``None`` before the first bring-up."""

Data = NDArray[np.uint32]
Flags = NDArray[np.uint16]


@dataclass(frozen=True)
class OctetError:
    """One octet of ``lane`` changed in ``beat``: data exclusive-or ``flip``, ``control`` added, noticed or not."""

    lane: int
    beat: int
    octet: int = 0
    flip: int = 0
    seen: Seen = "unseen"
    control: bool = False

    def apply(self, first: int, data: Data, flags: Flags, beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the fault falls into."""
        del beat_of
        row = self.beat - first
        if not 0 <= row < len(data):
            return
        data[row, self.lane] ^= np.uint32(self.flip << 8 * self.octet)
        if self.control:
            flags[row, self.lane] |= np.uint16(1 << K_SHIFT + self.octet)
        if self.seen != "unseen":
            flags[row, self.lane] |= np.uint16(1 << _SEEN_SHIFT[self.seen] + self.octet)


@dataclass(frozen=True)
class BitError:
    """One bit of one sample flipped on the line: sample ``sample`` of ``lane``'s frame at source tick ``tick``.

    With scrambling on, the descrambler makes up to three wrong bits of it, in this sample and the next one of the lane.
    """

    lane: int
    tick: int
    sample: int = 0
    bit: int = 0
    seen: Seen = "disparity"

    def apply(self, first: int, data: Data, flags: Flags, beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the fault falls into."""
        frame = beat_of(self.tick)
        if frame is None:
            return
        # Two samples a beat, most significant octet first.
        octet = 2 * (self.sample % 2) + (0 if self.bit >= 8 else 1)
        error = OctetError(self.lane, frame + self.sample // 2, octet, 1 << self.bit % 8, self.seen)
        error.apply(first, data, flags, beat_of)


@dataclass(frozen=True)
class _Placed:
    """A fault of ``lane`` with a place in time: either source ``tick`` or ``beat``."""

    lane: int
    tick: int | None = field(default=None, kw_only=True)
    beat: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.tick is None) == (self.beat is None):
            raise ValueError(f"{type(self).__name__}: give either tick or beat")

    def start(self, beat_of: BeatOfTick) -> int | None:
        """The beat at which it begins, if that can be known yet."""
        return self.beat if self.tick is None else beat_of(self.tick)


@dataclass(frozen=True)
class Character(_Placed):
    """A control character instead of an octet: ``octet`` of the beat ``offset`` beats on."""

    character: int = characters.K
    octet: int = 0
    offset: int = 0

    def apply(self, first: int, data: Data, flags: Flags, beat_of: BeatOfTick) -> None:
        """Change the beat if it is among those from ``first`` on."""
        start = self.start(beat_of)
        if start is None or not 0 <= start + self.offset - first < len(data):
            return
        row, shift = start + self.offset - first, 8 * self.octet
        word = int(data[row, self.lane]) & ~(0xFF << shift) | self.character << shift
        data[row, self.lane] = np.uint32(word)
        flags[row, self.lane] |= np.uint16(1 << K_SHIFT + self.octet)


@dataclass(frozen=True)
class Burst(_Placed):
    """Noise for ``octets`` octets: each becomes another, noticed as single bit errors are; drawn from ``seed``.

    With ``wrong`` off the octets stay right and only the decoder complains (disparity).
    """

    octets: int = 4
    seed: int = 0
    wrong: bool = True

    def apply(self, first: int, data: Data, flags: Flags, beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the burst falls into."""
        start = self.start(beat_of)
        if start is None or start >= first + len(data) or start + -(-self.octets // 4) <= first:
            return
        rng = np.random.default_rng(self.seed)
        flips = rng.integers(1, 256, self.octets)
        kinds = rng.choice([NOT_IN_TABLE_SHIFT, DISPARITY_SHIFT], self.octets, p=[0.525, 0.475])
        for index in range(self.octets):
            beat, octet = divmod(index, 4)
            row = start + beat - first
            if 0 <= row < len(data):
                if self.wrong:
                    data[row, self.lane] ^= np.uint32(int(flips[index]) << 8 * octet)
                shift = int(kinds[index]) if self.wrong else DISPARITY_SHIFT
                flags[row, self.lane] |= np.uint16(1 << shift + octet)


@dataclass(frozen=True)
class LaneDrop(_Placed):
    """``lane`` gives nothing for ``beats`` link clocks.

    ``how``: ``dead``, nothing is in the table; ``stuck``, one valid data character (``octet``) for ever; ``commas``,
    only /K/.
    """

    beats: int = 1000
    how: Literal["dead", "stuck", "commas"] = "dead"
    octet: int = 0x4A

    def rows(self, first: int, beat_of: BeatOfTick) -> slice:
        """Which of the beats from ``first`` on it falls into."""
        start = self.start(beat_of)
        return slice(0) if start is None else slice(max(0, start - first), max(0, start - first + self.beats))

    def apply(self, first: int, data: Data, flags: Flags, beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the fault falls into."""
        rows = self.rows(first, beat_of)
        data[rows, self.lane] = {"dead": 0, "stuck": self.octet * 0x01010101, "commas": characters.K_WORD}[self.how]
        flags[rows, self.lane] = {"dead": 0xF << NOT_IN_TABLE_SHIFT, "stuck": 0, "commas": K_FLAGS}[self.how]


@dataclass(frozen=True)
class Slip(_Placed):
    """``lane`` loses ``octets`` octets (negative: repeats as many) and stays so until its delay is changed again.

    The first that is lost is one of the four that are sent in the beat.

    ``every``: again after so many beats, as with a clock that is off; ``times`` in all.
    """

    octets: int = 1
    every: int = 0
    times: int = 1

    def moments(self, beat_of: BeatOfTick) -> list[int]:
        """Beats before which the lane slips; none as long as they cannot be known."""
        start = self.start(beat_of)
        return [] if start is None else [start + number * self.every for number in range(self.times)]


@dataclass(frozen=True)
class Restart:
    """The converter of ``link`` falls back to commas on its own at ``beat``, or with source ``tick``."""

    link: int
    tick: int | None = None
    beat: int | None = None
    beats: int = 0
    """Commas are sent for at least so many beats."""


BeatFault = OctetError | BitError | Character | Burst | LaneDrop
Fault = BeatFault | Slip | Restart
