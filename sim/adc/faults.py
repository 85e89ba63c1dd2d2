"""Faults on the way from converter to receiver, put into the beats before the lanes' delays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sim.adc.beats import DISPARITY_SHIFT, K_SHIFT, NOT_IN_TABLE_SHIFT

Seen = Literal["disparity", "not_in_table", "unseen"]
"""How the receiver's decoder notices a changed octet."""

_SEEN_SHIFT = {"disparity": DISPARITY_SHIFT, "not_in_table": NOT_IN_TABLE_SHIFT}

BeatOfTick = Callable[[int], "int | None"]
"""First beat of the frame of a source tick, ``None`` before the first bring-up."""


@dataclass(frozen=True)
class OctetError:
    """One octet of ``lane`` changed in ``beat``: data exclusive-or ``flip``, ``control`` added, noticed or not."""

    lane: int
    beat: int
    octet: int = 0
    flip: int = 0
    seen: Seen = "unseen"
    control: bool = False

    def apply(self, first: int, data: NDArray[np.uint32], flags: NDArray[np.uint16], beat_of: BeatOfTick) -> None:
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

    def apply(self, first: int, data: NDArray[np.uint32], flags: NDArray[np.uint16], beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the fault falls into."""
        frame = beat_of(self.tick)
        if frame is None:
            return
        # Two samples a beat, most significant octet first.
        octet = 2 * (self.sample % 2) + (0 if self.bit >= 8 else 1)
        error = OctetError(self.lane, frame + self.sample // 2, octet, 1 << self.bit % 8, self.seen)
        error.apply(first, data, flags, beat_of)


@dataclass(frozen=True)
class LaneDrop:
    """``lane`` is dead, nothing in the table, for ``beats`` link clocks from source tick ``tick`` or beat ``beat``."""

    lane: int
    beats: int
    tick: int | None = None
    beat: int | None = None

    def __post_init__(self) -> None:
        if (self.tick is None) == (self.beat is None):
            raise ValueError("LaneDrop: give either tick or beat")

    def apply(self, first: int, data: NDArray[np.uint32], flags: NDArray[np.uint16], beat_of: BeatOfTick) -> None:
        """Change the beats from ``first`` on that the fault falls into."""
        start = self.beat if self.tick is None else beat_of(self.tick)
        if start is None:
            return
        rows = slice(max(0, start - first), max(0, start - first + self.beats))
        data[rows, self.lane] = 0
        flags[rows, self.lane] = 0xF << NOT_IN_TABLE_SHIFT


Fault = OctetError | BitError | LaneDrop
