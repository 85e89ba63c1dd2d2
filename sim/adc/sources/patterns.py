"""Test patterns: each makes another kind of mistake visible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.adc.sources.base import ShotSource, SourceError

_PRBS_TAPS = (28, 31)  # x^31 + x^28 + 1, ITU-T O.150


class Ramp(ShotSource):
    """``(running sample + channel) mod 65536``, running on from shot to shot: shows lost and repeated samples."""

    def _make(self, index: int) -> NDArray[np.int16]:
        sample = np.arange(index * self.samples, (index + 1) * self.samples, dtype=np.int64)[:, None]
        return (sample + np.arange(self.channels)).astype(np.uint16).view(np.int16)


class Unique(ShotSource):
    """Channel in the high octet, ``(sample + 37 * shot) mod 256`` in the low: shows swapped channels, lanes, octets."""

    def __init__(self, shots: int, samples: int, channels: int) -> None:
        super().__init__(shots, samples, channels)
        if channels > 256:
            raise SourceError(f"source 'unique' has 256 distinct codes, {channels} channels were asked for")

    def _make(self, index: int) -> NDArray[np.int16]:
        low = (np.arange(self.samples, dtype=np.int64) + 37 * index).astype(np.uint8).astype(np.uint16)[:, None]
        return (np.arange(self.channels, dtype=np.uint16) << 8 | low).view(np.int16)


class Constant(ShotSource):
    """One value in all samples of a shot: every frame ends as the one before, so each becomes an alignment character.

    That is so on links without scrambling. The octets are the codes of control characters themselves: /A/ and /F/,
    /F/ and /A/, /R/ and /K/, /Q/ and zero, in turn from shot to shot.
    """

    VALUES = (0x7CFC, 0xFC7C, 0x1CBC, 0x9C00)

    def _make(self, index: int) -> NDArray[np.int16]:
        value = self.VALUES[index % len(self.VALUES)]
        return np.full((self.samples, self.channels), value, np.uint16).view(np.int16)


class Square(ShotSource):
    """Full scale, eight samples each way: every bit turns at once, and edges show where.

    Each channel and each shot is a sample further on.
    """

    HALF_PERIOD = 8

    def _make(self, index: int) -> NDArray[np.int16]:
        phase = np.arange(self.samples)[:, None] + np.arange(self.channels) + index
        return np.where(phase // self.HALF_PERIOD % 2, np.int16(-32768), np.int16(32767))


class Prbs(ShotSource):
    """PRBS-31 in each channel, most significant bit first, started by seed, shot and channel: exercises every bit.

    Any run of a channel's bits satisfies ``b[n] = b[n - 28] ^ b[n - 31]``, so a receiver needs no seed to check it.
    """

    def __init__(self, shots: int, samples: int, channels: int, seed: int) -> None:
        super().__init__(shots, samples, channels)
        self._seed = seed

    def _make(self, index: int) -> NDArray[np.int16]:
        near, far = _PRBS_TAPS
        total = max(16 * self.samples, far)
        bits = np.empty((total, self.channels), np.uint8)
        states = np.random.default_rng((self._seed, index)).integers(1, 1 << far, self.channels)
        bits[:far] = states >> np.arange(far)[:, None] & 1
        done = far
        while done < total:
            # Over GF(2) the recurrence also holds with both taps doubled, so each step may be twice as long.
            doublings = (done // far).bit_length() - 1
            step = min(near << doublings, total - done)
            back_near, back_far = done - (near << doublings), done - (far << doublings)
            np.bitwise_xor(
                bits[back_near : back_near + step], bits[back_far : back_far + step], bits[done : done + step]
            )
            done += step
        octets = np.packbits(bits[: 16 * self.samples].reshape(self.samples, 16, self.channels), axis=1)
        return (octets[:, 0].astype(np.uint16) << 8 | octets[:, 1]).view(np.int16)
