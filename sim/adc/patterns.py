"""Where samples come from: the interface, and test patterns that name their own channel and tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]


class SampleSource(Protocol):
    """An endless stream of samples of all channels by tick (frame clock); the same tick always gives the same."""

    def samples(self, first_tick: int, count: int) -> Samples:
        """Return ``int16[count, channels]`` from tick ``first_tick`` on."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same value everywhere: the worst case for alignment characters."""

    channels: int
    value: int = 0

    def samples(self, first_tick: int, count: int) -> Samples:
        """See :class:`SampleSource`."""
        del first_tick
        return np.full((count, self.channels), self.value, np.int16)


@dataclass(frozen=True)
class UniqueCodes:
    """Channel ``c`` always sends ``step * c + offset``: shows channels swapped or doubled anywhere."""

    channels: int
    step: int = 257
    offset: int = -32768

    def samples(self, first_tick: int, count: int) -> Samples:
        """See :class:`SampleSource`."""
        del first_tick
        codes = (self.step * np.arange(self.channels) + self.offset).astype(np.int16)
        return np.broadcast_to(codes, (count, self.channels)).copy()


@dataclass(frozen=True)
class Ramp:
    """Channel ``c`` sends ``tick + stride * c``, modulo 2^16."""

    channels: int
    stride: int = 256

    def samples(self, first_tick: int, count: int) -> Samples:
        """See :class:`SampleSource`."""
        ticks = np.arange(first_tick, first_tick + count, dtype=np.int64)[:, None]
        return (ticks + self.stride * np.arange(self.channels)).astype(np.uint16).view(np.int16)


@dataclass(frozen=True)
class Noise:
    """Uniform random samples. Each (tick, channel) is hashed on its own, so that any part can be had at any time."""

    channels: int
    seed: int = 0

    def samples(self, first_tick: int, count: int) -> Samples:
        """See :class:`SampleSource`."""
        ticks = np.arange(first_tick, first_tick + count, dtype=np.uint64)[:, None]
        mixed = ticks * np.uint64(self.channels) + np.arange(self.channels, dtype=np.uint64)
        mixed = (mixed + np.uint64(self.seed * 0x632BE59BD9B4E019 & (1 << 64) - 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0xD6E8FEB86659FD93)
        return (mixed >> np.uint64(40)).astype(np.uint16).view(np.int16)


class ArraySource:
    """Samples of an array ``int16[ticks, channels]`` starting at ``first_tick``; zero before and after it."""

    def __init__(self, array: Samples, first_tick: int = 0) -> None:
        if array.ndim != 2 or array.dtype != np.int16:
            raise ValueError(f"samples must be int16[ticks, channels], not {array.dtype}{list(array.shape)}")
        self.array = array
        self.first_tick = first_tick

    def samples(self, first_tick: int, count: int) -> Samples:
        """See :class:`SampleSource`."""
        result = np.zeros((count, self.array.shape[1]), np.int16)
        start = max(first_tick, self.first_tick)
        stop = min(first_tick + count, self.first_tick + len(self.array))
        if start < stop:
            part = self.array[start - self.first_tick : stop - self.first_tick]
            result[start - first_tick : stop - first_tick] = part
        return result
