"""Alignment characters in user data (JESD204B 5.3.3.4), put in for the last octets of frames and multiframes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters
from sim.adc.config import LinkConfig

LAST_OCTET_K = 1 << 3
"""Flag of a control character in a beat's last octet."""


@dataclass
class FrameEnds:
    """What a lane remembers of the frame before, without scrambling. Arrays have one element a lane."""

    octet: NDArray[np.uint8]
    replaced: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    """There has been a frame since the alignment sequence."""

    @classmethod
    def none(cls, lanes: int) -> FrameEnds:
        """Before the first frame."""
        return cls(np.zeros(lanes, np.uint8), np.zeros(lanes, bool), np.zeros(lanes, bool))

    def take(self, lanes: NDArray[np.intp]) -> FrameEnds:
        """Those of ``lanes`` (a copy)."""
        return FrameEnds(self.octet[lanes], self.replaced[lanes], self.seen[lanes])

    def put(self, lanes: NDArray[np.intp], ends: FrameEnds) -> None:
        """Set those of ``lanes``."""
        self.octet[lanes], self.replaced[lanes], self.seen[lanes] = ends.octet, ends.replaced, ends.seen


def replace(
    units: NDArray[np.uint16], flags: NDArray[np.uint16], position: int, config: LinkConfig, ends: FrameEnds
) -> FrameEnds:
    """Put alignment characters into ``units`` (``[2 * beats, lanes]``) and ``flags`` (``[beats, lanes]``), in place.

    ``position`` is the first beat's place since user data began. Returns the state for the beats that follow.
    """
    if config.replacement == "never":
        return ends
    per_frame, per_multiframe = config.beats_per_frame, config.beats_per_multiframe
    first_end = per_frame - 1 - position % per_frame
    last_units = units[2 * first_end + 1 :: 2 * per_frame]
    last_flags = flags[first_end::per_frame]
    octets = (last_units & 0xFF).astype(np.uint8)
    count = len(octets)
    if count == 0:
        return ends
    at = position + first_end + per_frame * np.arange(count)
    multiframe_end = (at % per_multiframe == per_multiframe - 1)[:, None]
    character = np.where(multiframe_end, characters.A, characters.F).astype(np.uint16)
    if config.scrambling:
        last_flags |= np.where(octets == character, LAST_OCTET_K, 0).astype(np.uint16)
        return ends
    same = np.empty(octets.shape, bool)
    same[0] = (octets[0] == ends.octet) & ends.seen
    same[1:] = octets[1:] == octets[:-1]
    replaced = same if config.replacement == "always" else _alternate(same, multiframe_end, ends.replaced)
    last_units[...] = np.where(replaced, last_units & 0xFF00 | character, last_units)
    last_flags |= np.where(replaced, LAST_OCTET_K, 0).astype(np.uint16)
    return FrameEnds(octets[-1], replaced[-1], np.ones_like(ends.seen))


def _alternate(
    same: NDArray[np.bool_], multiframe_end: NDArray[np.bool_], replaced_before: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which frames are replaced: those that repeat, but not two in a row; the end of a multiframe whenever it repeats.

    A frame that does not repeat, or ends a multiframe, is an anchor: its own case is clear. Behind it they alternate.
    """
    index = np.arange(1, len(same) + 1)[:, None]
    anchor = np.where(~same | multiframe_end, index, 0)
    nearest = np.maximum.accumulate(anchor, axis=0)
    at_anchor = np.concatenate([replaced_before[None], same & multiframe_end])
    start = np.take_along_axis(at_anchor, nearest, axis=0)
    result: NDArray[np.bool_] = start ^ ((index - nearest) % 2 == 1)
    return result
