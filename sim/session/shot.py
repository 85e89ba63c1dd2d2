"""A shot as it was played."""

from __future__ import annotations

from dataclasses import dataclass

from host.control.modes import FRACTION, MODES_BY_ID, Mode

STEPS_A_BEAT = 32
"""A pulse comes at a multiple of 1/32 link clock."""


@dataclass(frozen=True)
class Shot:
    """One trigger: the beat in which it was given, and where the front end should see it.

    ``tick`` is ``None`` for a trigger of which there can be no frame: the mode was being changed, or a window was open.

    Ticks are samples since the receiver came up. ``step`` counts 1/32 beat from the beat's begin to the pulse.
    ``window_delay`` is the setting of the front end, and ``lag`` the part of it that is the receive link's latency,
    both in 1/256 sample. ``mode`` is the header's mode id.
    """

    index: int
    mode: int
    beat: int
    step: int
    tick: int | None
    beat_in_tick: int
    window_delay: int
    lag: int
    exact: bool = False
    """The front end fired it, and knows its time to the clock edge."""

    @property
    def _mode(self) -> Mode:
        return MODES_BY_ID[self.mode]

    @property
    def _tick(self) -> int:
        if self.tick is None:
            raise ValueError(f"shot {self.index} came when no window could open")
        return self.tick

    @property
    def _beat_parts(self) -> int:
        return FRACTION // self._mode.clocks_a_sample

    @property
    def true_time(self) -> float:
        """When the pulse really came, in 1/256 sample."""
        return self._tick * FRACTION + (self.beat_in_tick + self.step / STEPS_A_BEAT) * self._beat_parts

    @property
    def seen_time(self) -> int:
        """The time that the front end should give it in 1/256 sample: the middle of its link clock, unless exact."""
        middle = 0 if self.exact else self._beat_parts // 2
        return self._tick * FRACTION + self.beat_in_tick * self._beat_parts + middle

    @property
    def first_tick(self) -> int:
        """The window's first sample: the nearest to the trigger and its delay."""
        return (self.seen_time + self.window_delay + FRACTION // 2) // FRACTION

    @property
    def to_first_sample_ns(self) -> float:
        """From the pulse to the instant at which the first sample was taken."""
        parts = self.first_tick * FRACTION - self.lag - self.true_time
        return parts / FRACTION * self._mode.sample_ns

    def error_ns(self, header_time: int) -> float:
        """How far a header's ``trigger`` is from the truth."""
        return (header_time - self.true_time) / FRACTION * self._mode.sample_ns
