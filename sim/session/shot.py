"""A shot as it was played."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shot:
    """One trigger: the beat at which it was given, and where the front end should see it (ticks are samples)."""

    index: int
    beat: int
    tick: int
    beat_in_tick: int
    first_tick: int
