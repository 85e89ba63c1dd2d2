"""The transmitters of all links: commas, alignment sequence, user data, and what happens to them on their way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_parameters

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters, scrambler
from sim.adc import ilas as alignment
from sim.adc.beats import K_FLAGS, Beats, LaneDelay
from sim.adc.config import OCTETS_PER_BEAT, LinkConfig
from sim.adc.faults import BeatFault, Fault, LaneDrop, OctetError, Restart, Slip
from sim.adc.line import LineLevel
from sim.adc.replacement import FrameEnds, replace
from sim.adc.sample_source import SampleSource


@dataclass(frozen=True)
class BringUp:
    """One start of user data: receiver tick ``n`` after it is source tick ``first_tick + n``."""

    links: tuple[int, ...]
    first_beat: int
    """Beat (before lane delays) of the first frame."""
    first_tick: int
    """Source tick of the first frame; the source runs on in time while links are down, so this grows."""


class AdcTransmitter:
    """All links' transmitters, as beats of the receiver's fabric clock.

    Time is counted in beats from 0; the transmitters' own LMFC has its edges at multiples of the multiframe, so a
    SYSREF that is high in such beats is aligned with it. Source tick 0 is the first frame after the first bring-up,
    one tick a frame from there on, whether or not a link is up.

    ``lane_skew_octets`` draws a delay from 0 to that many octets for each lane from ``seed``; ``lane_delays`` gives
    them outright. ``jitter_octets`` draws a further one at each bring-up: lanes come out of a transceiver's alignment
    differently each time. ``slip_octets`` keeps room for slips injected later; all lanes are that much later (those
    of ``faults`` are provided for). ``lane_order[p]`` is the lane that physical lane ``p`` carries. ``ilas`` says
    which lanes' alignment sequences are not as they should be. ``reaction_multiframes[k]`` is how many LMFC edges
    link ``k`` lets pass before it begins alignment; ``ilas_hits`` are octets (lane, place in the sequence) that
    arrive with a wrong bit in the first alignment of their link, and only there. Links in ``deaf`` do not listen to
    SYNC~ once they have begun. The lanes of ``line`` go over the line bit by bit, last of all.

    What is asked for need not happen: ``acts[i]`` are the beats in which ``faults[i]`` changed something (of what
    lasts, the first), ``starts[k]`` those in which link ``k`` began alignment, ``ignored[k]`` those in which it did not
    listen to SYNC~, ``rotations`` starts with lanes aligned otherwise, ``replaced_otherwise`` the first beats with an
    unusual alignment character.
    """

    def __init__(
        self,
        config: LinkConfig,
        source: SampleSource,
        *,
        seed: int = 0,
        lane_skew_octets: int = 0,
        lane_delays: Sequence[int] | None = None,
        jitter_octets: int = 0,
        slip_octets: int = 0,
        lane_order: Sequence[int] | None = None,
        ilas: Mapping[int, alignment.Sequence] | None = None,
        ilas_hits: Iterable[tuple[int, int]] = (),
        reaction_multiframes: Sequence[int] | None = None,
        deaf: Iterable[int] = (),
        line: LineLevel | None = None,
        faults: Iterable[Fault] = (),
    ) -> None:
        if lane_delays is None:
            lane_delays = np.random.default_rng(seed).integers(0, lane_skew_octets + 1, config.lanes).tolist()
        if len(lane_delays) != config.lanes:
            raise ValueError(f"{len(lane_delays)} lane delays for {config.lanes} lanes")
        self.config = config
        self._usual = with_parameters(config, replacement="standard")
        self.source = source
        self.faults: list[Fault] = list(faults)
        # Octets that a lane loses must have been on their way: all lanes are that much later.
        planned = (abs(fault.octets) * fault.times for fault in self.faults if isinstance(fault, Slip))
        room = slip_octets or max(planned, default=0)
        self._base_delays = np.array(lane_delays) + room
        most = int(self._base_delays.max(initial=0)) + room + jitter_octets
        self.delay = LaneDelay(self._base_delays.copy(), most if room or jitter_octets else 0)
        self._jitter = np.random.default_rng((seed, 1))
        self._jitter_octets = jitter_octets
        self._order = None if lane_order is None else np.array(lane_order)
        self._ilas_hits = list(ilas_hits)
        self.reaction_multiframes = list(reaction_multiframes or [0] * config.links)
        self._deaf = frozenset(deaf)
        self.line = line
        self._done: set[int] = set()
        self.acts: dict[int, list[int]] = {}
        self.starts: list[list[int]] = [[] for _ in range(config.links)]
        self.ignored: list[list[int]] = [[] for _ in range(config.links)]
        self.rotations: list[int] = []
        self.replaced_otherwise: list[int] = []
        self.hits: dict[tuple[int, int], int] = {}
        """Which of the faults each of the ``ilas_hits`` (lane, place) has become."""
        self._not_listening: set[int] = set()
        self.bring_ups: list[BringUp] = []
        self.beat = 0
        """The next beat to be made."""
        self._alignment_start: list[int | None] = [None] * config.links
        self._commas_since = [0] * config.links
        self._scrambler_past = scrambler.history(config.lanes, config.scrambler_seed)
        self._frame_ends = FrameEnds.none(config.lanes)
        deviations = ilas or {}
        self._longest = max((deviation.multiframes for deviation in deviations.values()), default=0)
        self._long_lanes = [
            lane for lane, deviation in deviations.items() if deviation.multiframes > alignment.MULTIFRAMES
        ]
        beats = max(alignment.MULTIFRAMES, self._longest) * config.beats_per_multiframe
        self._ilas_data = np.zeros((beats, config.lanes), np.uint32)
        self._ilas_flags = np.zeros((beats, config.lanes), np.uint16)
        for lane in range(config.lanes):
            fields = alignment.LinkFields.of(config, lane % config.lanes_per_link, lane // config.lanes_per_link)
            sequence, flags = alignment.sequence(config, fields, deviations.get(lane, alignment.Sequence()))
            self._ilas_data[: len(sequence), lane], self._ilas_flags[: len(flags), lane] = sequence, flags

    def inject(self, fault: Fault) -> int:
        """Add a fault, which has effect on beats not yet made; return its place among the faults."""
        self.faults.append(fault)
        return len(self.faults) - 1

    def restart(self, links: Iterable[int], beats: int = 0) -> None:
        """Let ``links`` send commas for ``beats`` or more from the next one on, as converters that are reset.

        SYNC~ does not matter for that; when it is high, alignment begins as soon as it may.
        """
        for link in links:
            self._alignment_start[link] = None
            self._commas_since[link] = self.beat + max(0, beats - self.config.least_comma_beats)

    def set_polarity(self, physical: int) -> None:
        """Bit ``p``: the transceiver of physical lane ``p`` inverts its line, for beats not yet made."""
        if self.line is not None:
            order = range(self.config.lanes) if self._order is None else self._order.tolist()
            self.line.correct(lane for place, lane in enumerate(order) if physical >> place & 1)

    def beat_of_tick(self, tick: int) -> int | None:
        """First beat (before lane delays) of source tick ``tick``; ``None`` before the first bring-up."""
        if not self.bring_ups:
            return None
        return self.bring_ups[0].first_beat + tick * self.config.beats_per_frame

    def beats(self, count: int, sync_n: int) -> Beats:
        """Make the next ``count`` beats; bit ``k`` of ``sync_n`` is SYNC~ of link ``k`` as seen before the first.

        A link whose SYNC~ is low sends commas. One whose SYNC~ is high begins alignment at the first LMFC edge
        (subclass 0: frame) of these beats, if it has sent enough commas; all that begin in one call begin at one edge.
        """
        if count <= 0:
            raise ValueError(f"count = {count}: at least one beat")
        first, stop = self.beat, self.beat + count
        parts = []
        while self.beat < stop:
            parts.append(self._steady(self._restart_links(stop) - self.beat, sync_n))
        data, flags = parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))
        return Beats(first, data, flags)

    def _steady(self, count: int, sync_n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Make beats in which no converter restarts on its own."""
        config = self.config
        self._follow_sync(count, sync_n)
        data = np.empty((count, config.lanes), np.uint32)
        flags = np.empty((count, config.lanes), np.uint16)
        starts = self._alignment_start
        # Samples are asked for in the order of their ticks: whoever began first is the first to have some.
        for start in sorted(set(starts), key=lambda start: (start is None, start)):
            links = [link for link in range(config.links) if starts[link] == start]
            self._fill(data, flags, links, start)
        self._lengthen(data, flags)
        self._apply_faults(data, flags)
        data, flags = self._delayed(data, flags)
        if self.line is not None:
            data, flags = np.ascontiguousarray(data), np.ascontiguousarray(flags)
            self.line.apply(self.beat, data, flags)
        self.beat += count
        if self._order is not None:
            data, flags = data[:, self._order], flags[:, self._order]
        return data, flags

    def _apply_faults(self, data: NDArray[np.uint32], flags: NDArray[np.uint16]) -> None:
        """Change the beats as the faults have it; dead lanes last, since nothing else shows on them."""
        faults = [(index, fault) for index, fault in enumerate(self.faults) if isinstance(fault, BeatFault)]
        if not faults:
            return
        faults.sort(key=lambda entry: isinstance(entry[1], LaneDrop))
        dead = np.zeros(data.shape, np.bool_)
        for _, fault in faults:
            if isinstance(fault, LaneDrop):
                dead[fault.rows(self.beat, self.beat_of_tick), fault.lane] = True
        for index, fault in faults:
            lane = fault.lane
            before, flags_before = data[:, lane].copy(), flags[:, lane].copy()
            fault.apply(self.beat, data, flags, self.beat_of_tick)
            if index in self.acts:
                continue
            changed = (data[:, lane] != before) | (flags[:, lane] != flags_before)
            if not isinstance(fault, LaneDrop):
                changed &= ~dead[:, lane]
            if changed.any():
                self.acts[index] = [self.beat + int(changed.argmax())]

    def _restart_links(self, stop: int) -> int:
        """Restart the links that are due; return the next beat up to ``stop`` with a restart."""
        for index, fault in enumerate(self.faults):
            if not isinstance(fault, Restart) or index in self._done:
                continue
            beat = fault.beat if fault.tick is None else self.beat_of_tick(fault.tick)
            if beat is None:
                continue
            if beat <= self.beat:
                self.restart([fault.link], fault.beats)
                self._done.add(index)
                self.acts[index] = [self.beat]
            else:
                stop = min(stop, beat)
        return stop

    def _lengthen(self, data: NDArray[np.uint32], flags: NDArray[np.uint16]) -> None:
        """Put in fifth multiframes of alignment sequences."""
        for lane in self._long_lanes:
            start = self._alignment_start[lane // self.config.lanes_per_link]
            if start is None:
                continue
            end = start + len(self._ilas_data)
            low, high = max(start + self.config.ilas_beats, self.beat), min(end, self.beat + len(data))
            if low < high:
                rows, sequence = slice(low - self.beat, high - self.beat), slice(low - start, high - start)
                data[rows, lane], flags[rows, lane] = self._ilas_data[sequence, lane], self._ilas_flags[sequence, lane]

    def _delayed(
        self, data: NDArray[np.uint32], flags: NDArray[np.uint16]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Let the lanes be late, each by its own delay, which slips change on the way."""
        stop = self.beat + len(data)
        cuts: dict[int, list[tuple[int, int]]] = {}
        for index, fault in enumerate(self.faults):
            if isinstance(fault, Slip):
                # What is lost must be what is sent then, and comes out of the delay as much later.
                later = -(-int(self._base_delays[fault.lane]) // OCTETS_PER_BEAT)
                for moment in fault.moments(self.beat_of_tick):
                    if self.beat <= moment + later < stop:
                        cuts.setdefault(moment + later - self.beat, []).append((fault.lane, -fault.octets))
                        self.acts.setdefault(index, []).append(moment + later)
        if not cuts:
            return self.delay.apply(data, flags)
        parts, row = [], 0
        for cut in [*sorted(cuts), len(data)]:
            if cut > row:
                parts.append(self.delay.apply(data[row:cut], flags[row:cut]))
            for lane, octets in cuts.get(cut, []):
                self.delay.slip(lane, octets)
            row = cut
        return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])

    def _follow_sync(self, count: int, sync_n: int) -> None:
        config = self.config
        edge = config.beats_per_multiframe if config.subclass == 1 else config.beats_per_frame
        ready: list[int] = []
        for link in range(config.links):
            asked = not sync_n >> link & 1
            if asked and self._alignment_start[link] is not None:
                if link not in self._deaf:
                    self._alignment_start[link] = None
                    self._commas_since[link] = self.beat
                elif link not in self._not_listening:
                    self._not_listening.add(link)
                    self.ignored[link].append(self.beat)
            elif not asked:
                self._not_listening.discard(link)
                if self._alignment_start[link] is None:
                    ready.append(link)
        if not ready:
            return
        earliest = max(self.beat, *(self._commas_since[link] + config.least_comma_beats for link in ready))
        start = -(-earliest // edge) * edge
        if start >= self.beat + count:
            return
        for link in ready:
            begin = start + self.reaction_multiframes[link] * config.beats_per_multiframe
            self._alignment_start[link] = begin
            self.starts[link].append(begin)
            self._hit_alignment(link)
            lanes = slice(link * config.lanes_per_link, (link + 1) * config.lanes_per_link)
            # A new alignment ends slips, and transceivers come up with another rotation.
            drawn = self._jitter.integers(0, self._jitter_octets + 1, config.lanes_per_link)
            if self.bring_ups or self._jitter_octets:
                self.delay.octets[lanes] = self._base_delays[lanes] + drawn
            if drawn.any():
                self.rotations.append(begin)
        first_beat = (
            start
            + config.ilas_beats
            + min(self.reaction_multiframes[link] for link in ready) * config.beats_per_multiframe
        )
        origin = self.bring_ups[0].first_beat if self.bring_ups else first_beat
        self.bring_ups.append(BringUp(tuple(ready), first_beat, (first_beat - origin) // config.beats_per_frame))

    def _hit_alignment(self, link: int) -> None:
        start = self._alignment_start[link]
        assert start is not None
        hits = [(lane, place) for lane, place in self._ilas_hits if lane // self.config.lanes_per_link == link]
        for lane, place in hits:
            beat, octet = divmod(place, OCTETS_PER_BEAT)
            hit = OctetError(lane, start + beat, octet, flip=1, seen="disparity")
            self.hits[lane, place] = self.inject(hit)
            self._ilas_hits.remove((lane, place))

    def _fill(
        self, data: NDArray[np.uint32], flags: NDArray[np.uint16], links: Sequence[int], start: int | None
    ) -> None:
        """Fill in all beats of ``links``, which all begin alignment at ``start`` or not at all."""
        per_link = self.config.lanes_per_link
        lanes = np.concatenate([np.arange(link * per_link, (link + 1) * per_link) for link in links])
        # A slice is a view; an index list makes numpy copy.
        columns = slice(None) if len(lanes) == self.config.lanes else lanes
        stop = self.beat + len(data)
        aligning = stop if start is None else min(max(start, self.beat), stop)
        rows = slice(0, aligning - self.beat)
        data[rows, columns] = characters.K_WORD
        flags[rows, columns] = K_FLAGS
        if start is None or aligning == stop:
            return
        user = start + self.config.ilas_beats
        ilas_stop = min(max(user, self.beat), stop)
        rows = slice(aligning - self.beat, ilas_stop - self.beat)
        sequence = slice(aligning - start, ilas_stop - start)
        data[rows, columns] = self._ilas_data[sequence, columns]
        flags[rows, columns] = self._ilas_flags[sequence, columns]
        if ilas_stop == stop:
            return
        rows = slice(ilas_stop - self.beat, None)
        if ilas_stop == user:
            self._scrambler_past[:, lanes] = scrambler.history(len(lanes), self.config.scrambler_seed)
            self._frame_ends.put(lanes, FrameEnds.none(len(lanes)))
        data[rows, columns], flags[rows, columns] = self._user_data(lanes, user, ilas_stop, stop - ilas_stop)

    def _user_data(
        self, lanes: NDArray[np.intp], user: int, first: int, count: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """``count`` beats of samples from beat ``first`` on, of ``lanes`` whose user data began at beat ``user``."""
        units = self._sample_units(lanes, first, count)
        if self.config.scrambling:
            units, past = scrambler.scramble(units, self._scrambler_past[:, lanes])
            self._scrambler_past[:, lanes] = past
        flags = np.zeros((count, len(lanes)), np.uint16)
        before = self._frame_ends.take(lanes)
        if self.config.replacement != "standard" and not self.replaced_otherwise:
            usual = np.zeros_like(flags)
            replace(units.copy(), usual, first - user, self._usual, before)
        else:
            usual = None
        ends = replace(units, flags, first - user, self.config, before)
        if usual is not None and not np.array_equal(flags, usual):
            self.replaced_otherwise.append(first)
        self._frame_ends.put(lanes, ends)
        # First octet of a unit is its upper one; first octet of a beat is its lowest one.
        octets_swapped = units.byteswap()
        words = octets_swapped[1::2].astype(np.uint32)
        words <<= np.uint32(16)
        words |= octets_swapped[0::2]
        return words, flags

    def _sample_units(self, lanes: NDArray[np.intp], first: int, count: int) -> NDArray[np.uint16]:
        """Samples in the order of sending, ``uint16[2 * count, lanes]``, two a beat and lane."""
        config = self.config
        per_frame, per_lane = config.beats_per_frame, config.channels_per_lane
        first_tick, skipped = divmod(first - self.bring_ups[0].first_beat, per_frame)
        ticks = -(-(skipped + count) // per_frame)
        samples = self.source.samples(first_tick, ticks)
        if samples.shape != (ticks, config.channels) or samples.dtype != np.int16:
            raise ValueError(
                f"source gave {samples.dtype}{list(samples.shape)} instead of int16{[ticks, config.channels]} "
                f"at tick {first_tick}"
            )
        by_lane = samples.view(np.uint16).reshape(ticks, config.lanes, per_lane)
        if len(lanes) != config.lanes:
            by_lane = by_lane[:, lanes]
        units = by_lane.transpose(0, 2, 1).reshape(ticks * per_lane, len(lanes))
        return units[2 * skipped : 2 * (skipped + count)]
