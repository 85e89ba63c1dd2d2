"""Converters and pulser: lane beats chunk by chunk, triggers at their rate, echoes where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.adc import AdcTransmitter, BitError, Fault, LaneDrop
from sim.adc.sources import TickStream
from sim.bench.bench import Bench
from sim.bench.lane_player import SIDE_SYSREF, SIDE_TRIGGER, ChunkRequest
from sim.scenario.model import LaneFault
from sim.session.shot import Shot
from sim.session.stopwatch import Stopwatch

LEAD_BEATS = 8
"""Beats between the start of the first chunk after arming and the first trigger."""
SYSREF_MULTIFRAMES = 4
"""Multiframes between two pulses of the periodic SYSREF."""


@dataclass(frozen=True)
class Schedule:
    """Where shots go: ``release_beat`` is the player's beat at which the receiver delivered tick 0."""

    release_beat: int
    window_delay: int
    period_beats: float
    shots: int


class ShotPlayer:
    """Keeps the lane player fed, and places each shot's trigger and echoes."""

    def __init__(
        self,
        bench: Bench,
        transmitter: AdcTransmitter,
        stream: TickStream,
        beats_a_tick: int,
        beats_a_multiframe: int,
        faults: Sequence[LaneFault],
        stopwatch: Stopwatch,
    ) -> None:
        self._bench = bench
        self._transmitter = transmitter
        self._stream = stream
        self._beats_a_tick = beats_a_tick
        self._sysref_beats = beats_a_multiframe * SYSREF_MULTIFRAMES
        self._faults = faults
        self._stopwatch = stopwatch
        self._schedule: Schedule | None = None
        self._first_trigger: int | None = None
        self._next_shot = 0
        self.shots: list[Shot] = []
        self.beats_played = 0

    def arm(self, schedule: Schedule) -> None:
        """Begin with the shots in the next chunk that is made."""
        self._schedule = schedule

    @property
    def all_triggered(self) -> bool:
        """Every shot's trigger is in a chunk that has been handed to the player."""
        return self._schedule is not None and len(self.shots) == self._schedule.shots

    async def play(self) -> None:
        """Feed the player for as long as the run lasts."""
        size = self._bench.lanes.chunk_beats
        request = ChunkRequest(0, 0, 0)
        while True:
            with self._stopwatch.in_python():
                self._supply(request, size)
            request = await self._bench.lanes.request()
            self.beats_played = request.first_beat - size

    def _supply(self, request: ChunkRequest, size: int) -> None:
        side = np.zeros(size, np.uint8)
        side[-request.first_beat % self._sysref_beats :: self._sysref_beats] = SIDE_SYSREF
        self._place_shots(request.first_beat, side)
        beats = self._transmitter.beats(size, request.sync_n)
        self._bench.lanes.supply(beats.data, beats.flags, side)

    def _place_shots(self, first_beat: int, side: NDArray[np.uint8]) -> None:
        schedule = self._schedule
        if schedule is None:
            return
        if self._first_trigger is None:
            self._first_trigger = first_beat + LEAD_BEATS
        while self._next_shot < schedule.shots:
            beat = self._first_trigger + round(self._next_shot * schedule.period_beats)
            if beat >= first_beat + len(side):
                return
            side[beat - first_beat] |= SIDE_TRIGGER
            tick, beat_in_tick = divmod(beat - schedule.release_beat, self._beats_a_tick)
            shot = Shot(self._next_shot, beat, tick, beat_in_tick, tick + schedule.window_delay)
            self._stream.schedule(shot.index, shot.first_tick)
            self._place_faults(shot)
            self.shots.append(shot)
            self._next_shot += 1

    def _place_faults(self, shot: Shot) -> None:
        """Put the lane faults of a shot into the beats of its samples."""
        for fault in self._faults:
            if fault.shot != shot.index:
                continue
            tick = shot.first_tick + fault.sample
            placed: Fault = BitError(fault.lane, tick)
            if fault.kind == "lane_drop":
                placed = LaneDrop(fault.lane, fault.beats, tick=tick)
            self._transmitter.inject(placed)
