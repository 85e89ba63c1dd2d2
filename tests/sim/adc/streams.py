"""Endless sample streams for tests of the transmitter and the receiver (each a `SampleSource`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Constant:
    """The same value everywhere: the worst case for alignment characters."""

    channels: int
    value: int = 0

    def samples(self, first_tick: int, count: int) -> Samples:
        del first_tick
        return np.full((count, self.channels), self.value, np.int16)


@dataclass(frozen=True)
class UniqueCodes:
    """Channel ``c`` always sends ``step * c + offset``: shows channels swapped or doubled anywhere."""

    channels: int
    step: int = 257
    offset: int = -32768

    def samples(self, first_tick: int, count: int) -> Samples:
        del first_tick
        codes = (self.step * np.arange(self.channels) + self.offset).astype(np.int16)
        return np.broadcast_to(codes, (count, self.channels)).copy()


@dataclass(frozen=True)
class Ramp:
    """Channel ``c`` sends ``tick + stride * c``, modulo 2^16."""

    channels: int
    stride: int = 256

    def samples(self, first_tick: int, count: int) -> Samples:
        ticks = np.arange(first_tick, first_tick + count, dtype=np.int64)[:, None]
        return (ticks + self.stride * np.arange(self.channels)).astype(np.uint16).view(np.int16)


@dataclass(frozen=True)
class Noise:
    """Uniform random samples. Each (tick, channel) is hashed on its own, so that any part can be had at any time."""

    channels: int
    seed: int = 0

    def samples(self, first_tick: int, count: int) -> Samples:
        ticks = np.arange(first_tick, first_tick + count, dtype=np.uint64)[:, None]
        mixed = ticks * np.uint64(self.channels) + np.arange(self.channels, dtype=np.uint64)
        mixed = (mixed + np.uint64(self.seed * 0x632BE59BD9B4E019 & (1 << 64) - 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0xD6E8FEB86659FD93)
        return (mixed >> np.uint64(40)).astype(np.uint16).view(np.int16)
