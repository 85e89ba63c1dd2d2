"""SYSREF as the clock chip gives it: a pulse every few multiframes, or what a fault makes of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_JITTER_STREAM = 6
"""Keeps the random numbers apart from those of other users of the seed."""


class Sysref:
    """Pulses of one beat, from the converters' reset on; shifts add up, each from the first pulse due then or later.

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
        self._period = self._right_period = 1
        self._shifts: list[tuple[int, int, list[int]]] = []
        self.deviations: list[int] = []
        """The first beat in which a pulse came, or did not, because of what the keyword arguments say."""

    def restart(self, origin_beat: int, period: int) -> None:
        """Begin anew: pulses at ``origin_beat`` and every ``period`` beats from there."""
        self._origin = origin_beat
        self._right_period = period
        self._period = self._wrong_period or period
        self._shifts.clear()

    def shift(self, from_beat: int, beats: int) -> list[int]:
        """Let it be off by so many beats more from ``from_beat`` on; return a list for the first beat that is."""
        acted: list[int] = []
        self._shifts.append((from_beat, beats, acted))
        return acted

    def pulses(self, first_beat: int, count: int) -> NDArray[np.bool_]:
        """Return which of the beats have a pulse."""
        found = np.zeros(count, np.bool_)
        reach = self._jitter + sum(abs(beats) for _, beats, _ in self._shifts)
        earliest = max(0, -((self._origin + reach - first_beat) // self._period))
        latest = (first_beat + count - 1 + reach - self._origin) // self._period
        for number in [] if self._missing else range(earliest, latest + 1):
            due = self._origin + number * self._period
            shifts = [shift for shift in self._shifts if shift[0] <= due]
            beat = due + sum(beats for _, beats, _ in shifts) + self._late(number)
            if not first_beat <= beat < first_beat + count or not self._comes(number):
                continue
            found[beat - first_beat] = True
            for _, _, acted in shifts:
                if not acted:
                    acted.append(beat)
        if not self._shifts and not self.deviations:
            right = (np.arange(first_beat, first_beat + count) - self._origin) % self._right_period == 0
            self.deviations.extend((first_beat + np.flatnonzero(right != found)[:1]).tolist())
        return found

    def _comes(self, number: int) -> bool:
        return self._only_after is None or number == -(-self._only_after // self._period)

    def _late(self, number: int) -> int:
        if not self._jitter:
            return 0
        random = np.random.default_rng((self._seed, _JITTER_STREAM, number))
        return int(random.integers(-self._jitter, self._jitter + 1))
