"""From a scenario's faults of the receive link to those of the ADC model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.adc import (
    AdcTransmitter,
    BitError,
    Burst,
    Character,
    Fault,
    LaneDrop,
    LinkConfig,
    Restart,
    SampleSource,
    Slip,
)
from sim.adc.ilas import Sequence as AlignmentSequence
from sim.adc.line import LineLevel
from sim.scenario.lane_faults import LaneFault
from sim.session.sysref import Sysref

_BITS_AN_OCTET, _BITS_A_BEAT = 10, 40
_ON_THE_LINE = ("line_bit", "line_slip")


@dataclass(frozen=True)
class _Doubled:
    """A source of which one channel is a copy of another."""

    source: SampleSource
    channel: int
    other: int
    acted: list[int] = field(default_factory=list)
    """The first tick asked for in which that changed a sample."""

    def samples(self, first_tick: int, count: int) -> NDArray[np.int16]:
        result = self.source.samples(first_tick, count).copy()
        if not self.acted:
            differs = np.flatnonzero(result[:, self.channel] != result[:, self.other])
            self.acted.extend((first_tick + differs[:1]).tolist())
        result[:, self.channel] = result[:, self.other]
        return result


@dataclass(frozen=True)
class LaneWiring:
    """From the converters to the transceivers.

    ``lane_map[n]`` is the transceiver (physical lane) of lane ``n``; ``inverted`` are those whose two wires are
    exchanged, ``corrected`` those that software may tell to invert their line.
    """

    lane_map: tuple[int, ...]
    inverted: frozenset[int] = frozenset()
    corrected: frozenset[int] = frozenset()

    @property
    def inverts(self) -> bool:
        """Polarity matters."""
        return bool(self.inverted or self.corrected)

    @property
    def lanes_by_transceiver(self) -> list[int]:
        """The lane that each transceiver receives."""
        return [self.lane_map.index(physical) for physical in range(len(self.lane_map))]


class LaneFaults:
    """The faults of a scenario, for one transmitter after another; counts what they did, not what was asked for."""

    def __init__(self, faults: Sequence[LaneFault]) -> None:
        self._faults = faults
        self._first_beat = 0
        self._acts: list[tuple[int, int, Callable[[], Iterable[int]]]] = []
        """Of a fault (by its place): where the beats count from, and those in which it acted."""
        self._drops: list[tuple[int, int]] = []
        """Lanes that died: from which beat of the player on, by which fault."""

    def times(self, before: int) -> list[int]:
        """How often each fault has acted in beats of the player before ``before``.

        A placed one acts once, but for the slips of a ``clock``; what is there from the beginning acts in each start of
        its link, unless its kind says when (``deaf``: when it does not listen).
        """
        counts = [0] * len(self._faults)
        for index, first, beats in self._acts:
            counts[index] += sum(first + beat < before for beat in beats())
        return [
            min(count, 1) if fault.placed and fault.kind != "clock" else count
            for count, fault in zip(counts, self._faults, strict=True)
        ]

    def _watch(self, index: int, beats: Callable[[], Iterable[int]]) -> None:
        self._acts.append((index, self._first_beat, beats))

    def _of(self, *kinds: str) -> list[LaneFault]:
        return [fault for fault in self._faults if fault.kind in kinds]

    def transmitter(
        self,
        config: LinkConfig,
        source: SampleSource,
        *,
        seed: int,
        lane_skew_octets: int,
        wiring: LaneWiring | None = None,
        first_beat: int = 0,
    ) -> AdcTransmitter:
        """Return a transmitter with the faults that are there from the beginning, and ready for the others.

        Its beat 0 is the player's ``first_beat``.
        """
        self._first_beat = first_beat
        wiring = wiring or LaneWiring(tuple(range(config.lanes)))
        config = self._sender(config)
        doubled: dict[int, _Doubled] = {}
        for index, fault in enumerate(self._faults):
            if fault.kind == "duplicate_channel":
                source = doubled[index] = _Doubled(source, _known(fault.channel), _known(fault.other))
        delays = np.random.default_rng(seed).integers(0, lane_skew_octets + 1, config.lanes).tolist()
        for fault in self._of("delay"):
            delays[_known(fault.lane)] += fault.octets
        options: dict[str, Any] = {"lane_delays": delays, "deaf": [_known(fault.link) for fault in self._of("deaf")]}
        if slips := self._of("slip", "clock"):
            options["slip_octets"] = max(
                abs(fault.octets) * (fault.times if fault.kind == "clock" else 1) for fault in slips
            )
        if rotations := self._of("rotation"):
            options["jitter_octets"] = max(fault.octets for fault in rotations)
        if late := self._of("late"):
            options["reaction_multiframes"] = [
                sum(fault.multiframes for fault in late if fault.link == link) for link in range(config.links)
            ]
        if deviations := self._deviations():
            options["ilas"] = deviations
        octets = config.octets_per_frame * config.frames_per_multiframe
        options["ilas_hits"] = [
            (_known(fault.lane), fault.multiframes * octets + fault.octets) for fault in self._of("ilas_hit")
        ]
        swapped = list(range(config.lanes))
        for fault in self._of("swap_lanes"):
            a, b = _known(fault.lane), _known(fault.other)
            swapped[a], swapped[b] = swapped[b], swapped[a]
        order = [swapped[lane] for lane in wiring.lanes_by_transceiver]
        if order != list(range(config.lanes)):
            options["lane_order"] = order
        inverted = {order[physical] for physical in wiring.inverted}
        on_line = {_known(fault.lane) for fault in self._of(*_ON_THE_LINE)}
        on_line |= {order[physical] for physical in wiring.inverted | wiring.corrected}
        if on_line:
            options["line"] = LineLevel(sorted(on_line), inverted=inverted)
        transmitter = AdcTransmitter(config, source, seed=seed, **options)
        for index, fault in enumerate(self._faults):
            if not fault.placed and not fault.kind.startswith("sysref"):
                self._watch(index, _standing(fault, transmitter, octets, doubled.get(index)))
        return transmitter

    def _sender(self, config: LinkConfig) -> LinkConfig:
        """Return what the converters are set up for when the receiver expects ``config``."""
        for fault in self._of("replacement"):
            config = replace(config, replacement=fault.how)  # type: ignore[arg-type]
        for fault in self._of("scrambler_seed"):
            config = replace(config, scrambler_seed=fault.value)
        for fault in self._of("sender_multiframe"):
            config = replace(config, frames_per_multiframe=fault.frames)
        for _ in self._of("sender_scrambling"):
            config = replace(config, scrambling=not config.scrambling)
        return config

    def _deviations(self) -> dict[int, AlignmentSequence]:
        found: dict[int, AlignmentSequence] = {}
        for fault in self._of("ilas_field", "ilas_sum", "ilas_length", "ilas_no_configuration"):
            lane = _known(fault.lane)
            before = found.get(lane, AlignmentSequence())
            if fault.kind == "ilas_field":
                changed = replace(before, add={**before.add, fault.field: fault.add})
            elif fault.kind == "ilas_sum":
                changed = replace(before, add_to_sum=fault.add)
            elif fault.kind == "ilas_length":
                changed = replace(before, multiframes=fault.multiframes)
            else:
                changed = replace(before, configuration=False)
            found[lane] = changed
        return found

    def place(self, shot: int, first_tick: int, transmitter: AdcTransmitter) -> None:
        """Put the faults of a shot into the beats of its samples; its window begins with source tick ``first_tick``."""
        for index, fault in enumerate(self._faults):
            if not fault.placed or fault.shot != shot or fault.kind == "sysref":
                continue
            tick = first_tick + fault.sample
            if fault.kind in _ON_THE_LINE:
                self._on_the_line(index, tick, transmitter)
                continue
            self._inject(index, _placed(fault, tick, index), transmitter)
            if fault.kind == "lane_drop":
                start = transmitter.beat_of_tick(tick)
                assert start is not None
                self._drops.append((self._first_beat + start, index))

    def carry(self, transmitter: AdcTransmitter) -> None:
        """Let lanes that are dead stay so when their converters begin anew, as ``transmitter``."""
        for start, index in self._drops:
            fault = self._faults[index]
            begin = max(0, start - self._first_beat)
            left = start + fault.beats - self._first_beat - begin
            if left > 0:
                drop = LaneDrop(_known(fault.lane), beats=left, beat=begin, how=fault.how)  # type: ignore[arg-type]
                self._inject(index, drop, transmitter)

    def _inject(self, index: int, fault: Fault, transmitter: AdcTransmitter) -> None:
        at = transmitter.inject(fault)
        self._watch(index, lambda: transmitter.acts.get(at, ()))

    def _on_the_line(self, index: int, tick: int, transmitter: AdcTransmitter) -> None:
        fault, line, beat = self._faults[index], transmitter.line, transmitter.beat_of_tick(tick)
        assert beat is not None and line is not None
        lane = _known(fault.lane)
        events = line.flips if fault.kind == "line_bit" else line.slips
        bit = beat * _BITS_A_BEAT + int(transmitter.delay.octets[lane]) * _BITS_AN_OCTET + fault.bit
        events[lane].add(bit)
        self._watch(index, lambda: [bit // _BITS_A_BEAT] if (lane, bit) in line.acts else ())

    def sysref(self, seed: int) -> Sysref:
        """Return the SYSREF of the run, with what is wrong with it from the beginning."""
        periods = [fault.beats for fault in self._of("sysref_period")]
        waits = [fault.beats for fault in self._of("sysref_once")]
        sysref = Sysref(
            seed,
            missing=bool(self._of("sysref_missing")),
            only_after=waits[-1] if waits else None,
            period=periods[-1] if periods else None,
            jitter=max((fault.beats for fault in self._of("sysref_jitter")), default=0),
        )
        for index, fault in enumerate(self._faults):
            if fault.kind.startswith("sysref_"):
                self._acts.append((index, 0, lambda: sysref.deviations))
        return sysref

    def shift_sysref(self, shot: int, sysref: Sysref, beat_of_sample: Callable[[int], int]) -> None:
        """Let SYSREF be off as the shot's faults have it, from the beats of the player of their samples on."""
        for index, fault in enumerate(self._faults):
            if fault.kind == "sysref" and fault.shot == shot:
                acted = sysref.shift(beat_of_sample(fault.sample), fault.beats)
                self._acts.append((index, 0, acted.copy))


def _standing(
    fault: LaneFault, transmitter: AdcTransmitter, multiframe: int, doubled: _Doubled | None
) -> Callable[[], Iterable[int]]:
    """Beats in which a fault that is there from the beginning acts; ``multiframe`` in octets."""
    place = (fault.lane or 0, fault.multiframes * multiframe + fault.octets)
    special: dict[str, Callable[[], Iterable[int | None]]] = {
        "duplicate_channel": lambda: map(transmitter.beat_of_tick, doubled.acted if doubled else ()),
        "ilas_hit": lambda: transmitter.acts.get(transmitter.hits.get(place, -1), ()),
        "rotation": lambda: set(transmitter.rotations),
        "replacement": lambda: transmitter.replaced_otherwise,
        "deaf": lambda: transmitter.ignored[_known(fault.link)],
    }
    if fault.kind in special:
        return lambda: [beat for beat in special[fault.kind]() if beat is not None]
    link = fault.link if fault.lane is None else fault.lane // transmitter.config.lanes_per_link
    starts = transmitter.starts
    return lambda: {beat for index, begun in enumerate(starts) if link in (None, index) for beat in begun}


def _placed(fault: LaneFault, tick: int, seed: int) -> Fault:
    lane = fault.lane if fault.lane is not None else 0
    placed: dict[str, Fault] = {
        "bit_error": BitError(lane, tick),
        "burst": Burst(lane, tick=tick, octets=fault.octets, seed=seed),
        "disparity": Burst(lane, tick=tick, octets=fault.octets, wrong=False),
        "character": Character(
            lane, tick=tick, character=fault.character, octet=fault.octet % 4, offset=fault.octet // 4
        ),
        "slip": Slip(lane, tick=tick, octets=fault.octets),
        "clock": Slip(lane, tick=tick, octets=fault.octets, every=fault.beats, times=fault.times),
        "restart": Restart(fault.link or 0, tick=tick, beats=fault.beats),
    }
    if fault.kind == "lane_drop":
        return LaneDrop(lane, tick=tick, beats=fault.beats, how=fault.how)  # type: ignore[arg-type]
    return placed[fault.kind]


def _known(number: int | None) -> int:
    assert number is not None, "the scenario's model demands it"
    return number
