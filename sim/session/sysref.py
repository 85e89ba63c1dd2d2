"""SYSREF as the clock chip gives it: a pulse every few multiframes, or what a fault makes of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_JITTER_STREAM = 6
"""Keeps the random numbers apart from those of other users of the seed."""


class Sysref:
    """Pulses of one beat, from the converters' reset on; shifts add up.

    ``only_after``: one pulse, the first that comes so many beats after the reset or later. ``period`` in beats replaces
    the right one. Each pulse is up to ``jitter`` beats early or late, drawn from ``seed``.
    """

    def __init__(
        self,
        seed: int,
        *,
        missing: bool = False,
        only_after: int | None = None,
        period: int | None = None,
        jitter: int = 0,
    ) -> None:
        self._seed = seed
        self._missing = missing
        self._only_after = only_after
        self._wrong_period = period
        self._jitter = jitter
        self._origin = 0
        self._period = 1
        self._shifts: list[tuple[int, int]] = []

    def restart(self, origin_beat: int, period: int) -> None:
        """Begin anew: pulses at ``origin_beat`` and every ``period`` beats from there."""
        self._origin = origin_beat
        self._period = self._wrong_period or period
        self._shifts.clear()

    def shift(self, from_beat: int, beats: int) -> None:
        """Let it be off by so many beats more, from a pulse not before the chunk in which ``from_beat`` is."""
        self._shifts.append((from_beat, beats))

    def pulses(self, first_beat: int, count: int) -> NDArray[np.bool_]:
        """Return which of the beats have a pulse."""
        found = np.zeros(count, np.bool_)
        if self._missing:
            return found
        shift = sum(beats for from_beat, beats in self._shifts if from_beat < first_beat + count)
        reach = self._jitter
        begin = self._origin + shift
        earliest = max(0, -((begin + reach - first_beat) // self._period))
        latest = (first_beat + count - 1 + reach - begin) // self._period
        if self._only_after is not None:
            only = -(-self._only_after // self._period)
            earliest, latest = max(earliest, only), min(latest, only)
        for number in range(earliest, latest + 1):
            beat = begin + number * self._period + self._late(number) - first_beat
            if 0 <= beat < count:
                found[beat] = True
        return found

    def _late(self, number: int) -> int:
        if not self._jitter:
            return 0
        random = np.random.default_rng((self._seed, _JITTER_STREAM, number))
        return int(random.integers(-self._jitter, self._jitter + 1))
