"""What the lanes bring, one row a link clock, and the delay of each lane on its way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters

K_SHIFT, NOT_IN_TABLE_SHIFT, DISPARITY_SHIFT = 0, 4, 8
"""Place of a beat's four bits of each kind in its flags; bit ``i`` of a kind is octet ``i``, the earlier ones lower."""
K_FLAGS = 0xF << K_SHIFT


@dataclass(frozen=True)
class Beats:
    """Lane words from beat ``first`` on. Both arrays are C-contiguous, shape ``[beats, lanes]``."""

    first: int
    data: NDArray[np.uint32]
    """Four octets, the first in bits 7:0."""
    flags: NDArray[np.uint16]
    """Bits 3:0 control characters, 7:4 not in the table, 11:8 disparity error."""

    def __len__(self) -> int:
        return len(self.data)

    def _nibbles(self, shift: int) -> NDArray[np.uint16]:
        return (self.flags >> np.uint16(shift)) & np.uint16(0xF)

    @property
    def charisk(self) -> NDArray[np.uint16]:
        """Control character flags, four bits a lane and beat."""
        return self._nibbles(K_SHIFT)

    @property
    def notintable(self) -> NDArray[np.uint16]:
        """Not-in-table flags, four bits a lane and beat."""
        return self._nibbles(NOT_IN_TABLE_SHIFT)

    @property
    def disperr(self) -> NDArray[np.uint16]:
        """Disparity error flags, four bits a lane and beat."""
        return self._nibbles(DISPARITY_SHIFT)


class LaneDelay:
    """Delays each lane by its own number of octets; the rest modulo four rotates the octets in the beat.

    ``octets`` may be changed between calls, up to ``most``: the lane slips.
    """

    def __init__(self, octets: NDArray[np.integer], most: int = 0) -> None:
        if np.any(octets < 0):
            raise ValueError("a lane's delay cannot be negative")
        self.octets = np.asarray(octets, np.int64)
        self._reach = max(int(self.octets.max(initial=0)), most) // 4 + 1
        lanes = len(self.octets)
        self._data = np.full((self._reach, lanes), characters.K_WORD, np.uint32)
        self._flags = np.full((self._reach, lanes), K_FLAGS, np.uint16)

    def slip(self, lane: int, octets: int) -> None:
        """Let ``lane`` come ``octets`` later from here on (negative: earlier; what is between is lost)."""
        wanted = int(self.octets[lane]) + octets
        if not 0 <= wanted < 4 * self._reach:
            raise ValueError(f"lane {lane} cannot be delayed by {wanted} octets: 0 to {4 * self._reach - 1}")
        self.octets[lane] = wanted

    def apply(
        self, data: NDArray[np.uint32], flags: NDArray[np.uint16]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """The next beats of all lanes, delayed; before the first beat there were commas."""
        if self._reach == 1 and not self.octets.any():
            return data, flags
        past_data = np.concatenate([self._data, data])
        past_flags = np.concatenate([self._flags, flags])
        self._data, self._flags = past_data[-self._reach :].copy(), past_flags[-self._reach :].copy()
        late_data, late_flags = np.empty_like(data), np.empty_like(flags)
        count = len(data)
        for lane, octets in enumerate(self.octets):
            beats, rotation = divmod(int(octets), 4)
            start = self._reach - beats
            now, before = past_data[start : start + count, lane], past_data[start - 1 : start - 1 + count, lane]
            now_flags = past_flags[start : start + count, lane]
            if rotation == 0:
                late_data[:, lane], late_flags[:, lane] = now, now_flags
                continue
            before_flags = past_flags[start - 1 : start - 1 + count, lane]
            late_data[:, lane] = now << np.uint32(8 * rotation) | before >> np.uint32(32 - 8 * rotation)
            keep = 0x111 * (0xF << rotation & 0xF)
            late_flags[:, lane] = now_flags << rotation & keep | before_flags >> (4 - rotation) & (0xFFF ^ keep)
        return late_data, late_flags
