"""Shots on the converter's endless time line, with quiet between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.adc.sources.base import ShotSource

IDLE_PERIOD = 1024
"""Ticks after which the idle pattern repeats."""


@dataclass
class _Scheduled:
    index: int
    first: int
    data: NDArray[np.int16] | None = None


class TickStream:
    """What the converters put out at every tick (sample period) since the link came up.

    Between shots stands a fixed pattern of ``-idle_amplitude .. idle_amplitude`` around ``idle_value``, a function of
    tick, channel and ``seed``. A shot's samples are made in the call that first touches them (which so takes
    milliseconds, not microseconds) and forgotten when it has been passed, so memory holds one shot whatever is
    scheduled.
    """

    def __init__(self, shots: ShotSource, *, idle_value: int = 0, idle_amplitude: int = 3, seed: int = 1) -> None:
        self._shots = shots
        self._waiting: deque[_Scheduled] = deque()
        self._floor = 0
        self._position = 0
        low, high = idle_value - idle_amplitude, idle_value + idle_amplitude
        if idle_amplitude < 0 or low < -32768 or high > 32767:
            raise ValueError(f"idle pattern {idle_value} +- {idle_amplitude} does not fit into int16")
        pattern = np.random.default_rng((seed, 4)).integers(low, high + 1, (IDLE_PERIOD, shots.channels), np.int16)
        self._idle = np.concatenate([pattern, pattern])  # twice, so that any stretch up to a period lies in one piece
        self._idle.flags.writeable = False

    @property
    def position(self) -> int:
        """The tick after the last one that was handed out: the earliest at which a shot may begin."""
        return self._position

    def schedule(self, shot_index: int, first_tick: int) -> None:
        """Let shot ``shot_index`` begin at ``first_tick``.

        Raises ``IndexError`` for a shot that the source does not have, ``ValueError`` if that tick has been handed out
        already or an earlier scheduled shot is not over by then.
        """
        if not 0 <= shot_index < self._shots.shots:
            raise IndexError(f"shot {shot_index} of a source with {self._shots.shots} shots")
        if first_tick < self._position:
            raise ValueError(f"shot {shot_index} cannot begin at tick {first_tick}: tick {self._position} comes next")
        if self._waiting and first_tick < self._waiting[-1].first + self._shots.samples:
            last = self._waiting[-1]
            raise ValueError(
                f"shot {shot_index} at tick {first_tick} would overlap shot {last.index}, which ends at tick "
                f"{last.first + self._shots.samples}"
            )
        self._waiting.append(_Scheduled(shot_index, first_tick))

    def samples(self, first_tick: int, count: int) -> NDArray[np.int16]:
        """Return ``[count, channels]`` for the ticks from ``first_tick``; read-only, often a view that costs nothing.

        Ticks may be skipped or read again, but ``first_tick`` must not go below an earlier call's (``ValueError``).
        """
        if first_tick < self._floor:
            raise ValueError(f"tick {first_tick} is past: the last call began at tick {self._floor}")
        if count < 0:
            raise ValueError(f"count must not be negative, it is {count}")
        end = first_tick + count
        self._floor = first_tick
        self._position = max(self._position, end)
        length = self._shots.samples
        while self._waiting and self._waiting[0].first + length <= first_tick:
            self._waiting.popleft()
        if self._waiting and self._waiting[0].first <= first_tick and end <= self._waiting[0].first + length:
            scheduled = self._waiting[0]
            offset = first_tick - scheduled.first
            return self._data(scheduled)[offset : offset + count]
        quiet = self._quiet(first_tick, count)
        touched = [scheduled for scheduled in self._waiting if scheduled.first < end]
        if not touched:
            return quiet
        result = quiet.copy()
        for scheduled in touched:
            start, stop = max(first_tick, scheduled.first), min(end, scheduled.first + length)
            data = self._data(scheduled)
            result[start - first_tick : stop - first_tick] = data[start - scheduled.first : stop - scheduled.first]
        result.flags.writeable = False
        return result

    def _data(self, scheduled: _Scheduled) -> NDArray[np.int16]:
        if scheduled.data is None:
            scheduled.data = self._shots.shot(scheduled.index)
            scheduled.data.flags.writeable = False
        return scheduled.data

    def _quiet(self, first_tick: int, count: int) -> NDArray[np.int16]:
        offset = first_tick % IDLE_PERIOD
        if count <= IDLE_PERIOD:
            return self._idle[offset : offset + count]
        return self._idle[(np.arange(count) + offset) % IDLE_PERIOD]
