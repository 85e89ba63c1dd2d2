"""A scenario's faults of the receive link as the beats that come out of the ADC model."""

from __future__ import annotations

import numpy as np
import pytest

from sim.adc import AdcTransmitter, LinkConfig, characters
from sim.adc.sources import TickStream, make_shots
from sim.scenario.lane_faults import LaneFault
from sim.session.lane_faults import LaneFaults
from sim.session.sysref import Sysref
from tests.sim.adc.streams import Constant, Noise, Ramp

CONFIG = LinkConfig(links=2, frames_per_multiframe=8)
FIRST_TICK = 60
SEQUENCE = 4 * CONFIG.beats_per_multiframe


def beats(
    faults: list[LaneFault], config: LinkConfig = CONFIG, source=Noise
) -> tuple[np.ndarray, np.ndarray, AdcTransmitter]:
    """64 beats of commas, then 600 of alignment and samples, with the faults of shot 2 placed."""
    made = LaneFaults(faults)
    transmitter = made.transmitter(config, source(config.channels), seed=1, lane_skew_octets=0)
    parts = [transmitter.beats(64, 0), transmitter.beats(SEQUENCE, 3)]
    made.place(1, FIRST_TICK - 20, transmitter)
    made.place(2, FIRST_TICK, transmitter)
    parts += [transmitter.beats(200, 3), transmitter.beats(400 - SEQUENCE + 128, 3)]
    return np.concatenate([p.data for p in parts]), np.concatenate([p.flags for p in parts]), transmitter


def changed(fault: dict, *, config: LinkConfig = CONFIG, source=Noise, lag: int = 0) -> tuple[list[int], list[int]]:
    """Beats and lanes that differ from those without the fault; ``lag``: all come that much later."""
    clean, clean_flags, _ = beats([], config, source)
    data, flags, _ = beats([LaneFault(**fault)], config, source)
    end = len(clean) - lag
    differs = (data[lag:] != clean[:end]) | (flags[lag:] != clean_flags[:end])
    return np.flatnonzero(differs.any(axis=1)).tolist(), np.flatnonzero(differs.any(axis=0)).tolist()


PLACE = {"shot": 2, "sample": 5}
AT = 64 + SEQUENCE + 4 * (FIRST_TICK + 5)


@pytest.mark.parametrize(
    ("fault", "rows"),
    [
        ({"kind": "bit_error"}, [AT]),
        ({"kind": "burst", "octets": 6}, [AT, AT + 1]),
        ({"kind": "disparity", "octets": 3}, [AT]),
        ({"kind": "character", "character": 0x1C, "octet": 9}, [AT + 2]),
        ({"kind": "lane_drop", "beats": 3}, [AT, AT + 1, AT + 2]),
        ({"kind": "lane_drop", "beats": 3, "how": "stuck"}, [AT, AT + 1, AT + 2]),
        ({"kind": "lane_drop", "beats": 3, "how": "commas"}, [AT, AT + 1, AT + 2]),
    ],
)
def test_placed_faults_change_their_lane_at_their_place(fault: dict, rows: list[int]) -> None:
    assert changed({**fault, "lane": 2, **PLACE}) == (rows, [2])


def test_contents_of_faults() -> None:
    clean, _, _ = beats([])

    def at(**fault) -> tuple[int, int]:
        data, flags, _ = beats([LaneFault(lane=2, **fault, **PLACE)])
        return int(data[AT, 2]), int(flags[AT, 2])

    assert at(kind="character", character=0x1C) == (int(clean[AT, 2]) & ~0xFF | 0x1C, 1)
    assert at(kind="disparity", octets=2) == (int(clean[AT, 2]), 0x300)
    assert at(kind="lane_drop") == (0, 0xF0)
    assert at(kind="lane_drop", how="commas") == (characters.K_WORD, 0xF)
    assert at(kind="lane_drop", how="stuck")[1] == 0


def test_a_flipped_line_bit_is_seen_soon_after() -> None:
    fault = LaneFault(kind="line_bit", lane=2, bit=3, **PLACE)
    rows, lanes = changed(fault.model_dump(exclude_unset=True))
    assert set(range(64, 64 + SEQUENCE)) & set(rows)  # two beats later all along
    clean, clean_flags, _ = beats([])
    data, flags, _ = beats([fault])
    differs = np.flatnonzero((data[2:, 2] != clean[:-2, 2]) | (flags[2:, 2] != clean_flags[:-2, 2]))
    assert AT <= differs[0] <= AT + 1 and differs[-1] <= AT + 5 and lanes == [2]


def test_a_lost_line_bit_leaves_nothing_in_the_table() -> None:
    _, flags, _ = beats([LaneFault(kind="line_slip", lane=2, **PLACE)])
    after = flags[AT + 4 : AT + 60, 2]
    assert np.count_nonzero(after & 0xF0) > 20 and not np.any(flags[: AT - 2, 2] & 0xF0)


@pytest.mark.parametrize("octets", [1, 4, 16, -4])
def test_a_slip_moves_the_lane_for_good(octets: int) -> None:
    room = abs(octets)
    data, flags, transmitter = beats([LaneFault(kind="slip", lane=2, octets=octets, **PLACE)])
    clean = AdcTransmitter(CONFIG, Noise(CONFIG.channels), lane_delays=[room] * CONFIG.lanes)
    late = AdcTransmitter(CONFIG, Noise(CONFIG.channels), lane_delays=[room - octets] * CONFIG.lanes)
    del flags
    # A lane that is so much late brings what is sent in the fault's beat so much later.
    moment = AT + -(-room // 4)
    for other, rows in ((clean, slice(0, moment)), (late, slice(moment, None))):
        parts = [other.beats(64, 0), *(other.beats(200, 3) for _ in range(3))]
        expected = np.concatenate([part.data for part in parts])[: len(data)]
        assert np.array_equal(data[: len(expected)][rows, 2], expected[rows, 2])
    assert transmitter.delay.octets.tolist() == [room, room, room - octets, room]


def test_a_clock_slips_again_and_again() -> None:
    fault = LaneFault(kind="clock", lane=2, beats=20, octets=4, times=3, **PLACE)
    _, _, transmitter = beats([fault])
    assert transmitter.delay.octets.tolist() == [12, 12, 0, 12]


def test_a_restart_sends_commas() -> None:
    rows, lanes = changed({"kind": "restart", "link": 1, "beats": 40, **PLACE})
    assert lanes == [2, 3] and rows[0] <= AT
    data, flags, _ = beats([LaneFault(kind="restart", link=1, beats=40, **PLACE)])
    assert np.count_nonzero((data[:, 2] == characters.K_WORD) & (flags[:, 2] == 0xF)) >= 64 + 40


def test_standing_faults() -> None:
    clean, clean_flags, _ = beats([])
    second = 64 + CONFIG.beats_per_multiframe
    assert changed({"kind": "ilas_field", "lane": 1, "field": "cs", "add": 1}) == ([second + 2, second + 3], [1])
    assert changed({"kind": "ilas_sum", "lane": 1, "add": 3}) == ([second + 3], [1])
    data, flags, _ = beats([LaneFault(kind="ilas_length", lane=1, multiframes=3)])
    assert np.all(data[64:second, 1] == characters.K_WORD) and np.array_equal(data[:, 0], clean[:, 0])
    assert data[second, 1] & 0xFF == characters.R and flags[second, 1] == 1
    _, flags, _ = beats([LaneFault(kind="ilas_no_configuration", lane=1)])
    assert flags[second, 1] == 1 and clean_flags[second, 1] == 3
    data, _, _ = beats([LaneFault(kind="delay", lane=1, octets=8)])
    assert np.array_equal(data[2:, 1], clean[:-2, 1]) and np.array_equal(data[:, 2], clean[:, 2])
    data, _, _ = beats([LaneFault(kind="swap_lanes", lane=1, other=2)])
    assert np.array_equal(data, clean[:, [0, 2, 1, 3]])
    data, _, _ = beats([LaneFault(kind="late", link=1, multiframes=2)])
    assert np.array_equal(data[:, 0], clean[:, 0]) and data[64 + 64, 2] & 0xFF == characters.R
    assert np.all(data[: 64 + 64, 2] == characters.K_WORD)
    user = 64 + SEQUENCE
    data, _, _ = beats([LaneFault(kind="scrambler_seed", value=0x7FFF)])
    assert np.array_equal(data[:user], clean[:user]) and not np.array_equal(data[user], clean[user])


def test_lanes_rotate_at_each_start() -> None:
    made = LaneFaults([LaneFault(kind="rotation", octets=3)])
    transmitter = made.transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0)
    seen = set()
    for _ in range(12):
        transmitter.beats(64, 0)
        transmitter.beats(300, 3)
        seen.add(tuple(transmitter.delay.octets.tolist()))
    assert len(seen) > 8
    assert {octets for delays in seen for octets in delays} == {0, 1, 2, 3}


def test_a_deaf_converter_goes_on() -> None:
    made = LaneFaults([LaneFault(kind="deaf", link=1)])
    transmitter = made.transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0)
    transmitter.beats(64, 0)
    transmitter.beats(300, 3)
    data = transmitter.beats(100, 0)
    assert np.all(data.data[:, 0] == characters.K_WORD) and not np.any(data.data[:, 2] == characters.K_WORD)


def test_habits_of_replacement() -> None:
    config = LinkConfig(links=2, frames_per_multiframe=8, scrambling=False)

    def count(faults: list[LaneFault]) -> int:
        _, flags, _ = beats(faults, config, Constant)
        return int(np.count_nonzero(flags[64 + SEQUENCE :, 0] & 8))

    usual = count([])
    assert (
        count([LaneFault(kind="replacement", how="never")])
        == 0
        < usual
        < count([LaneFault(kind="replacement", how="always")])
    )


def test_a_doubled_channel_is_on_the_lanes() -> None:
    config = LinkConfig(links=2, frames_per_multiframe=8, scrambling=False)
    data, _, _ = beats([LaneFault(kind="duplicate_channel", channel=3, other=5)], config)
    clean, _, _ = beats([], config)
    frame = data[64 + SEQUENCE :][:4, 0]
    # Channels 2b and 2b+1 are the halves of beat b.
    assert frame[1] >> 16 == frame[2] >> 16 == clean[64 + SEQUENCE + 2, 0] >> 16


def test_sysref_shifts_are_those_of_the_shot() -> None:
    made = LaneFaults([LaneFault(kind="sysref", beats=3, shot=2, sample=7), LaneFault(kind="sysref", beats=1, shot=0)])
    sysref = Sysref(1)
    sysref.restart(0, 40)
    made.shift_sysref(1, sysref, lambda sample: sample)
    made.shift_sysref(2, sysref, lambda sample: 4 * sample + 60)
    assert np.flatnonzero(sysref.pulses(0, 200)).tolist() == [0, 40, 80, 123, 163]
    assert made.times(200) == [1, 0]


def sent_otherwise(fault: LaneFault) -> LinkConfig:
    return LaneFaults([fault]).transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0).config


def test_a_sender_that_is_set_up_otherwise() -> None:
    assert sent_otherwise(LaneFault(kind="sender_multiframe", frames=16)).frames_per_multiframe == 16
    assert sent_otherwise(LaneFault(kind="sender_scrambling")).scrambling is not CONFIG.scrambling


@pytest.mark.parametrize(("multiframes", "octets"), [(0, 0), (1, 4), (3, CONFIG.beats_per_multiframe * 4 - 1)])
def test_an_octet_of_the_first_alignment_is_hit_and_no_other(multiframes: int, octets: int) -> None:
    hit = LaneFaults([LaneFault(kind="ilas_hit", lane=2, multiframes=multiframes, octets=octets)])
    transmitters = [
        faults.transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0)
        for faults in (hit, LaneFaults([]))
    ]

    def aligned() -> tuple[np.ndarray, np.ndarray]:
        (data, flags), (clean, clean_flags) = [
            (made.data, made.flags)
            for transmitter in transmitters
            for made in [(transmitter.beats(64, 0), transmitter.beats(SEQUENCE, 3))[1]]
        ]
        return (data ^ clean).view(np.uint8), flags ^ clean_flags

    place = multiframes * CONFIG.beats_per_multiframe * 4 + octets
    beat, octet = divmod(place, 4)
    wrong, flags = aligned()
    assert np.argwhere(wrong).tolist() == [[beat, 2 * 4 + octet]] and wrong[beat, 2 * 4 + octet] == 1
    assert np.argwhere(flags).tolist() == [[beat, 2]]
    again, flags = aligned()
    assert not again.any() and not flags.any()


def test_a_line_bit_is_of_its_sample_however_late_the_lane_is() -> None:
    """A lane that is 27 octets late and two beats more."""
    found = []
    for shot in (2, 3):
        bit = LaneFault(kind="line_bit", lane=2, shot=shot, sample=5)
        made = LaneFaults([bit, LaneFault(kind="delay", lane=2, octets=27)])
        transmitter = made.transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0)
        parts = [transmitter.beats(64, 0), transmitter.beats(SEQUENCE, 3)]
        made.place(2, FIRST_TICK, transmitter)
        found.append(np.concatenate([part.data[:, 2] for part in (*parts, transmitter.beats(300, 3))]))
    differs = np.flatnonzero(found[0].astype("<u4").view(np.uint8) != found[1].astype("<u4").view(np.uint8))
    assert differs.tolist() == [4 * AT + 27 + 8]


def times(
    *faults: dict, sync: tuple[int, ...] = (0, 3, 3, 3), before: int = 10_000, source=Noise, **config
) -> list[int]:
    """How often each fault has acted after a stretch for each state of SYNC~, shot 2 placed behind the second."""
    config = LinkConfig(**{"links": 2, "frames_per_multiframe": 8, **config})
    made = LaneFaults([LaneFault(**fault) for fault in faults])
    transmitter = made.transmitter(config, source(config.channels), seed=1, lane_skew_octets=0, first_beat=1000)
    for index, sync_n in enumerate(sync):
        transmitter.beats(SEQUENCE + 64, sync_n)
        if index == 1:
            made.place(2, FIRST_TICK, transmitter)
    return made.times(before)


PLACED = [
    {"kind": "bit_error", "lane": 2},
    {"kind": "burst", "lane": 2},
    {"kind": "disparity", "lane": 2},
    {"kind": "character", "lane": 2, "character": 0x1C},
    {"kind": "line_bit", "lane": 2},
    {"kind": "line_slip", "lane": 2},
    {"kind": "lane_drop", "lane": 2},
    {"kind": "slip", "lane": 2, "octets": 4},
    {"kind": "restart", "link": 1},
]
AGAIN = (0, 3, 0, 3)
"""SYNC~ of a receiver that lets all start twice."""
LASTING = [
    ({"kind": "sender_multiframe", "frames": 16}, 2),
    ({"kind": "sender_scrambling"}, 2),
    ({"kind": "delay", "lane": 1, "octets": 8}, 2),
    ({"kind": "rotation", "octets": 8}, 2),
    ({"kind": "late", "link": 1}, 2),
    ({"kind": "ilas_field", "lane": 1, "field": "cs"}, 2),
    ({"kind": "ilas_sum", "lane": 1}, 2),
    ({"kind": "ilas_length", "lane": 1, "multiframes": 3}, 2),
    ({"kind": "ilas_no_configuration", "lane": 1}, 2),
    ({"kind": "ilas_hit", "lane": 1}, 1),
    ({"kind": "scrambler_seed", "value": 1}, 2),
    ({"kind": "swap_lanes", "lane": 1, "other": 2}, 2),
    ({"kind": "duplicate_channel", "channel": 1, "other": 2}, 1),
    ({"kind": "deaf", "link": 1}, 1),
]


@pytest.mark.parametrize("fault", PLACED)
def test_a_placed_fault_counts_once_when_its_beats_have_been_played(fault: dict) -> None:
    at = 1000 + 64 + 2 * SEQUENCE + 4 * (FIRST_TICK + 5)
    fault = {**fault, **PLACE}
    assert times(fault) == [1]
    assert times(fault, before=at) == [0]
    assert times(fault, before=at + 4) == [1]
    assert times({**fault, "shot": 1}) == times({**fault, "sample": 60_000}) == [0]


def test_each_slip_of_a_clock_counts() -> None:
    clock = {"kind": "clock", "lane": 2, "beats": 50, "octets": 4, "times": 3, **PLACE}
    at = 1000 + 64 + 2 * SEQUENCE + 4 * (FIRST_TICK + 5)
    assert times(clock) == [3] and times(clock, before=at + 60) == [2]


@pytest.mark.parametrize(("fault", "expected"), LASTING)
def test_what_is_there_from_the_beginning_counts_in_each_start(fault: dict, expected: int) -> None:
    assert times(fault, sync=AGAIN) == [expected]
    assert times(fault, sync=(0, 0)) == [0]


def test_of_one_link_the_starts_of_that_link_count() -> None:
    faults = [{"kind": "delay", "lane": lane, "octets": 8} for lane in (1, 2)]
    assert times(*faults, sync=(0, 3, 1, 3)) == [1, 2]


def test_a_fault_with_nothing_to_change_does_not_count() -> None:
    """A drop or a wrong bit within a drop, a deaf converter that is asked nothing, a copy of an equal channel."""
    drop = {"kind": "lane_drop", "lane": 2, **PLACE}
    assert times(drop, {**drop, "sample": 7, "beats": 50}) == [1, 0]
    for first in (0, 1):
        faults = [drop, {"kind": "bit_error", "lane": 2, "shot": 2, "sample": 9}]
        assert times(faults[first], faults[1 - first]) == [1 - first, first]
    assert times({"kind": "deaf", "link": 1}) == [0]
    assert times({"kind": "duplicate_channel", "channel": 1, "other": 2}, source=Constant) == [0]


def test_unusual_alignment_characters_count_where_there_are_any() -> None:
    never, always = ({"kind": "replacement", "how": how} for how in ("never", "always"))
    for fault in (never, always):
        assert times(fault, source=Constant, scrambling=False) == [1]
    assert times(always, source=Ramp, scrambling=False) == [0]


def test_a_lane_that_stays_dead_over_a_reset_counts_once() -> None:
    made = LaneFaults([LaneFault(kind="lane_drop", lane=2, beats=5000, **PLACE)])
    for first_beat in (0, 2000):
        transmitter = made.transmitter(CONFIG, Noise(4 * 8), seed=1, lane_skew_octets=0, first_beat=first_beat)
        made.carry(transmitter)
        transmitter.beats(SEQUENCE, 0)
        data = [transmitter.beats(SEQUENCE + 64, 3)]
        if first_beat == 0:
            made.place(2, FIRST_TICK, transmitter)
        data.append(transmitter.beats(400, 3))
        assert bool(np.all(data[0].flags[:, 2] == 0xF0)) is (first_beat == 2000)
        assert made.times(10_000) == [1]


def test_a_restart_is_in_its_beat_however_long_the_chunks_are() -> None:
    found = []
    for chunks in ([400], [100, 300], [399, 1], [50] * 8):
        made = LaneFaults([LaneFault(kind="restart", link=1, beats=40, **PLACE)])
        transmitter = made.transmitter(CONFIG, Noise(CONFIG.channels), seed=1, lane_skew_octets=0)
        parts = [transmitter.beats(64, 0), transmitter.beats(SEQUENCE, 3)]
        made.place(2, FIRST_TICK, transmitter)
        parts += [transmitter.beats(chunk, 3) for chunk in chunks]
        found.append(np.concatenate([part.data for part in parts]))
    commas = np.all(found[0][:, 2:] == characters.K_WORD, axis=1)
    assert not commas[64 + SEQUENCE : AT].any() and commas[AT : AT + 40].all()
    assert np.all(found[0][64 + SEQUENCE :, :2] != characters.K_WORD)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0][:, :2], found[3][:, :2])


@pytest.mark.parametrize("link", [0, 1])
@pytest.mark.parametrize("kind", ["late", "restart"])
def test_links_may_begin_their_samples_apart_in_any_order(kind: str, link: int) -> None:
    """Samples are made tick by tick, whichever link comes to them first; the lanes of the other are as without."""
    place = PLACE if kind == "restart" else {}
    found = []
    for faults in ([], [LaneFault(kind=kind, link=link, **place)]):
        stream = TickStream(make_shots("prbs", 1, 40, CONFIG.channels, 80e6, 1))
        stream.schedule(0, 10)
        made = LaneFaults(faults)
        transmitter = made.transmitter(CONFIG, stream, seed=1, lane_skew_octets=0)
        parts = [transmitter.beats(64, 0), transmitter.beats(SEQUENCE + 100, 3)]
        made.place(2, FIRST_TICK, transmitter)
        parts += [transmitter.beats(2000, 3)]
        found.append(np.concatenate([part.data for part in parts]))
    other = slice(2, 4) if link == 0 else slice(0, 2)
    assert np.array_equal(found[0][:, other], found[1][:, other]) and not np.array_equal(*found)
