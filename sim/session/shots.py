"""Converters and pulser: lane beats chunk by chunk, triggers at their rate, echoes where they belong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from cocotb.triggers import Event
from cocotb.utils import get_sim_time
from numpy.typing import NDArray

from host.control.modes import MODES_BY_ID, Mode
from sim.bench.bench import Bench
from sim.bench.lane_player import (
    FLAG_NOT_IN_TABLE,
    PULSE_STEPS,
    SIDE_DELAY_SHIFT,
    SIDE_LASER,
    SIDE_SYSREF,
    SIDE_TRIGGER,
    ChunkRequest,
)
from sim.scenario.lane_fault_checks import SYSREF_MULTIFRAMES
from sim.scenario.model import Scenario
from sim.session.converters import Converters, Epoch
from sim.session.shot import STEPS_A_BEAT, Shot
from sim.session.stopwatch import Stopwatch

LEAD_BEATS = 8
"""Beats between the start of the first chunk after arming and the first trigger, jitter apart."""
LASER_ANSWER_NS = 200.0
"""From the generator's shot to the laser's pulse, at least; jitter makes it later."""
_FS_A_NS = 10**6
_JITTER_STREAM = 5
"""Keeps the random numbers of the jitter apart from those of the sources."""

assert STEPS_A_BEAT == PULSE_STEPS


@dataclass(frozen=True)
class Schedule:
    """What the front end was told: ``release_beat`` is the player's beat at which the receiver delivered tick 0.

    (If they had come up only once: the converters' ticks count from the first time.)
    ``window_delay`` and ``lag``, the part of it that is the link's latency, in 1/256 sample.
    """

    release_beat: int
    window_delay: int
    lag: int


@dataclass(frozen=True)
class _Generator:
    """The front end's generator of shots, as far as it can be foreseen."""

    start_beat: int
    period_beats: int
    first_shot: int

    def beat(self, shot: int) -> int:
        """The beat in which it fires ``shot``."""
        return self.start_beat + (shot - self.first_shot + 1) * self.period_beats


class ShotPlayer:
    """Keeps the lane player fed, and places each shot's pulse and echoes."""

    def __init__(self, bench: Bench, scenario: Scenario, stopwatch: Stopwatch) -> None:
        acquisition = scenario.acquisition
        self._bench = bench
        self._scenario = scenario
        self._stopwatch = stopwatch
        self._converters = Converters(scenario)
        self._sysref = self._converters.faults.sysref(scenario.seed)
        self.epoch: Epoch = self._begin(acquisition.mode_of(0), 0)
        self._schedule: Schedule | None = None
        self._silent = False
        self._next_mode: Mode | None = None
        self._generated = acquisition.trigger == "generator"
        self._generator: _Generator | None = None
        self._unplayed = 0
        self._origin_fs: int | None = None
        self._triggers = acquisition.triggers
        jitter = np.random.default_rng((scenario.seed, _JITTER_STREAM)).uniform(-1.0, 1.0, acquisition.shots)
        self._jitter_ns = jitter * acquisition.jitter_ns
        self._releases: list[int] = []
        self._begun = Event()
        self.shots: list[Shot] = []
        """Those whose pulse is in a chunk handed to the player; the position is the sequence number."""

    def as_counted(self) -> list[Shot]:
        """The shots by the receiver's count of ticks, which begins anew whenever the links have come up again."""
        found = []
        for shot in self.shots:
            mode = MODES_BY_ID[shot.mode]
            release = max((beat for beat in self._releases if beat <= shot.beat), default=None)
            if release is not None and shot.tick is not None:
                tick, beat_in_tick = divmod(shot.beat - release, mode.clocks_a_sample)
                shot = replace(shot, tick=tick, beat_in_tick=beat_in_tick)  # noqa: PLW2901
            found.append(shot)
        return found

    def _note_release(self) -> None:
        """Remember when the links came up. It takes more than a chunk, so that once a chunk is often enough."""
        release = self._bench.latest_release
        if release is not None and (not self._releases or self._releases[-1] != release):
            self._releases.append(release)

    def arm(self, schedule: Schedule) -> None:
        """Place echoes from the next chunk on; the first time, begin with the pulses."""
        self._schedule = schedule

    def follow_generator(self, start_beat: int, period_beats: int, first_shot: int) -> None:
        """Place echoes of shots that the front end fires, ``first_shot`` a period after ``start_beat``.

        A laser answers with a pulse.
        """
        self._generator = _Generator(start_beat, period_beats, first_shot)

    def silence(self) -> None:
        """Let the lanes be dead from the next chunk on; pulses come all the same."""
        self._silent = True
        self._schedule = None
        self._generator = None

    def reset(self, mode: Mode) -> None:
        """Let the converters begin anew with the next chunk, in ``mode``."""
        self._next_mode = mode

    @property
    def all_triggered(self) -> bool:
        """Every trigger is in a chunk that has been handed to the player."""
        return len(self.shots) == len(self._triggers)

    async def chunks_begun(self, count: int) -> None:
        """Wait until ``count`` further chunks have begun to play."""
        for _ in range(count):
            self._begun.clear()
            await self._begun.wait()

    async def play(self) -> None:
        """Feed the player for as long as the run lasts."""
        size = self._bench.lanes.chunk_beats
        request = ChunkRequest(0, 0, 0)
        while True:
            with self._stopwatch.in_python():
                self._note_release()
                self._supply(request, size)
            request = await self._bench.lanes.request()
            self._begun.set()

    def _begin(self, mode: Mode, first_beat: int) -> Epoch:
        epoch = self._converters.epoch(mode, first_beat)
        self._sysref.restart(first_beat, epoch.config.beats_per_multiframe * SYSREF_MULTIFRAMES)
        return epoch

    def lane_faults(self) -> list[int]:
        """How often each of the scenario's faults of the receive link has acted in what was played."""
        return self._converters.faults.times(self._unplayed)

    def _supply(self, request: ChunkRequest, size: int) -> None:
        self._unplayed = request.first_beat
        if self._next_mode is not None:
            self.epoch = self._begin(self._next_mode, request.first_beat)
            self._next_mode, self._silent = None, False
            self._converters.faults.carry(self.epoch.transmitter)
        side = np.zeros(size, np.uint8)
        self._place_shots(request.first_beat, side)
        side[self._sysref.pulses(request.first_beat, size)] |= SIDE_SYSREF
        if self._silent:
            lanes = self.epoch.config.lanes
            dead = np.full((size, lanes), FLAG_NOT_IN_TABLE, np.uint16)
            self._bench.lanes.supply(np.zeros((size, lanes), np.uint32), dead, side)
            return
        if self._converters.wiring.inverts:
            self.epoch.transmitter.set_polarity(self._bench.lane_polarity)
        beats = self.epoch.transmitter.beats(size, request.sync_n)
        self._bench.lanes.supply(beats.data, beats.flags, side)

    def _place_shots(self, first_beat: int, side: NDArray[np.uint8]) -> None:
        """Put the pulses that come during a chunk into it. It begins when the chunk that has just begun is over."""
        if self._generated:
            self._place_generated(first_beat, side)
            return
        if self._schedule is None and self._origin_fs is None:
            return
        beat_fs = round(_FS_A_NS * 1e9 / self._bench.link_clock_hz)
        start_fs = int(get_sim_time("step")) + len(side) * beat_fs
        if self._origin_fs is None:
            self._origin_fs = (
                start_fs + LEAD_BEATS * beat_fs + self._offset_fs(0.0, self._scenario.acquisition.jitter_ns)
            )
        while len(self.shots) < len(self._triggers):
            index, later_ns = self._triggers[len(self.shots)]
            time_fs = self._origin_fs + self._offset_fs(
                index / self._scenario.acquisition.prf_hz, self._jitter_ns[index] + later_ns
            )
            in_chunk, step = divmod(max(0, round((time_fs - start_fs) * STEPS_A_BEAT / beat_fs)), STEPS_A_BEAT)
            if in_chunk >= len(side):
                return
            mode = self._scenario.acquisition.mode_of(index)
            side[in_chunk] |= (SIDE_LASER if mode.one_way else SIDE_TRIGGER) | step << SIDE_DELAY_SHIFT
            beat = first_beat + in_chunk
            self.shots.append(
                self._shot(index, mode, beat, step) if later_ns == 0.0 else self._lost(index, mode, beat, step)
            )

    def _place_generated(self, first_beat: int, side: NDArray[np.uint8]) -> None:
        """Echoes of the generator's shots, and the laser's answers to them, as long as they are of the present mode."""
        acquisition, generator, mode = self._scenario.acquisition, self._generator, self.epoch.mode
        while generator is not None and len(self.shots) < len(self._triggers):
            index, _ = self._triggers[len(self.shots)]
            if acquisition.mode_of(index) is not mode:
                return
            beat, step = generator.beat(index), 0
            if mode.one_way:
                answer_ns = LASER_ANSWER_NS + acquisition.jitter_ns + float(self._jitter_ns[index])
                later, step = divmod(round(answer_ns * self._bench.link_clock_hz / 1e9 * STEPS_A_BEAT), STEPS_A_BEAT)
                beat += later
            if beat >= first_beat + len(side):
                return
            assert beat >= first_beat, "the generator's shot is known too late"
            if mode.one_way:
                side[beat - first_beat] |= SIDE_LASER | step << SIDE_DELAY_SHIFT
            self.shots.append(self._shot(index, mode, beat, step, exact=not mode.one_way))

    @staticmethod
    def _offset_fs(seconds: float, nanoseconds: float) -> int:
        return round((seconds * 1e9 + float(nanoseconds)) * _FS_A_NS)

    def _shot(self, index: int, mode: Mode, beat: int, step: int, *, exact: bool = False) -> Shot:
        """The shot of a pulse, its echoes scheduled if the front end is set up for it."""
        schedule = self._schedule
        if schedule is None or mode is not self.epoch.mode:
            return self._lost(index, mode, beat, step)
        tick, beat_in_tick = divmod(beat - schedule.release_beat, mode.clocks_a_sample)
        delay, lag = schedule.window_delay, schedule.lag
        shot = Shot(index, mode.identifier, beat, step, tick, beat_in_tick, delay, lag, exact)
        self.epoch.stream.schedule(index, shot.first_tick)
        self._converters.faults.place(index, shot.first_tick, self.epoch.transmitter)
        first_beat = beat + (shot.first_tick - tick) * mode.clocks_a_sample
        self._converters.faults.shift_sysref(
            index, self._sysref, lambda sample: first_beat + sample * mode.clocks_a_sample
        )
        return shot

    @staticmethod
    def _lost(index: int, mode: Mode, beat: int, step: int) -> Shot:
        """A trigger of which there can be no frame."""
        return Shot(index, mode.identifier, beat, step, None, 0, 0, 0)
