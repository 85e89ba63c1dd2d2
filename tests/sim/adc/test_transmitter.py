"""The ADC model: golden vectors, alignment rules, any chunking, SYNC~, delays, faults."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sim.adc import AdcTransmitter, BitError, LaneDrop, LinkConfig, OctetError, characters, scrambler
from sim.adc.ilas import LinkFields
from tests.sim.adc.streams import Constant, Noise, Ramp

ALL = 0xFFFF


def octets_of(data: np.ndarray) -> np.ndarray:
    """Octets in the order of sending, one lane: ``uint8[4 * beats]``."""
    return np.ascontiguousarray(data).astype("<u4").view(np.uint8)


def bring_up(transmitter: AdcTransmitter, links: int = ALL) -> int:
    """Send a multiframe of commas and the alignment sequence; return the beats made."""
    config = transmitter.config
    count = config.beats_per_multiframe
    transmitter.beats(count, 0)
    transmitter.beats(config.ilas_beats, links)
    return count + config.ilas_beats


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (dict(l_minus_1=1, f_minus_1=15, k_minus_1=7, m_minus_1=15), "00 00 00 01 0F 07 0F 0F 2F 20 00 00 00 46"),
        (
            dict(l_minus_1=1, f_minus_1=15, k_minus_1=7, m_minus_1=15, lid=1),
            "00 00 01 01 0F 07 0F 0F 2F 20 00 00 00 47",
        ),
        (dict(l_minus_1=1, f_minus_1=15, k_minus_1=31, m_minus_1=15), "00 00 00 01 0F 1F 0F 0F 2F 20 00 00 00 5E"),
        (
            dict(l_minus_1=1, f_minus_1=15, k_minus_1=7, m_minus_1=15, scr=1),
            "00 00 00 81 0F 07 0F 0F 2F 20 00 00 00 47",
        ),
        (dict(l_minus_1=0, f_minus_1=15, k_minus_1=7, m_minus_1=7), "00 00 00 00 0F 07 07 0F 2F 20 00 00 00 3D"),
        (dict(l_minus_1=3, f_minus_1=3, k_minus_1=15, m_minus_1=7), "00 00 00 03 03 0F 07 0F 2F 20 00 00 00 3C"),
        (dict(l_minus_1=7, f_minus_1=3, k_minus_1=7, m_minus_1=15), "00 00 00 07 03 07 0F 0F 2F 20 00 00 00 40"),
    ],
)
def test_configuration_octets(fields: dict[str, int], expected: str) -> None:
    assert LinkFields(**fields).octets().hex(" ").upper() == expected


def test_checksum_over_octets_differs_from_fields() -> None:
    fields = LinkFields(l_minus_1=1, f_minus_1=15, k_minus_1=7, m_minus_1=15)
    assert fields.octets(fchk_over_octets=True)[-1] == sum(fields.octets()[:-1]) & 0xFF == 0x84


def test_configuration_of_a_link() -> None:
    config = LinkConfig(frames_per_multiframe=8, scrambling=True)
    assert (
        LinkFields.of(config, 0).octets()
        == LinkFields(scr=1, l_minus_1=1, f_minus_1=15, k_minus_1=7, m_minus_1=15).octets()
    )
    photoacoustic = LinkFields.of(LinkConfig(octets_per_frame=8), 1)
    assert (photoacoustic.f_minus_1, photoacoustic.m_minus_1, photoacoustic.lid) == (7, 7, 1)


@pytest.mark.parametrize(
    ("plain", "line"),
    [
        (bytes(16), "01 00 06 00 14 00 78 01 10 06 60 15 40 7F 81 01"),
        (bytes(range(16)), "01 01 04 05 1C 1B 4E 5C AD C2 E6 85 5B 12 D4 61"),
    ],
)
def test_scrambler_golden(plain: bytes, line: str) -> None:
    units = np.frombuffer(plain, ">u2").astype(np.uint16)[:, None]
    result, _ = scrambler.scramble(units, scrambler.history(1))
    assert result.astype(">u2").tobytes().hex(" ").upper() == line


def scramble_bits(octets: bytes, state: int) -> bytes:
    """The scrambler as the standard draws it, bit by bit."""
    out = bytearray()
    for octet in octets:
        value = 0
        for bit in range(7, -1, -1):
            y = octet >> bit & 1 ^ state >> 13 & 1 ^ state >> 14 & 1
            state = (state << 1 | y) & 0x7FFF
            value = value << 1 | y
        out.append(value)
    return bytes(out)


def test_scrambler_equals_shift_register() -> None:
    rng = np.random.default_rng(5)
    units = rng.integers(0, 1 << 16, (9001, 3)).astype(np.uint16)
    seed = 0x2A5F
    past = scrambler.history(3, seed)
    parts = []
    # One unit alone, parts shorter and longer than the recursion's reach, and more than a slab.
    for start, stop in pairwise([0, 1, 3, 31, 100, 4300, 9001]):
        part, past = scrambler.scramble(units[start:stop], past)
        parts.append(part)
    line = np.concatenate(parts)
    for lane in range(3):
        assert line[:, lane].astype(">u2").tobytes() == scramble_bits(units[:, lane].astype(">u2").tobytes(), seed)
    assert np.array_equal(scrambler.descramble(line)[1:], units[1:])


def test_alignment_sequence_on_the_lanes() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=8, scrambling=False)
    transmitter = AdcTransmitter(config, Ramp(config.channels))
    multiframe = config.beats_per_multiframe
    commas = transmitter.beats(multiframe, 0)
    assert np.all(commas.data == characters.K_WORD) and np.all(commas.charisk == 0xF)
    beats = transmitter.beats(config.ilas_beats, 1)
    for lane in range(2):
        octets = octets_of(beats.data[:, lane]).reshape(4, -1)
        control = np.unpackbits(beats.charisk[:, lane].astype(np.uint8)[:, None], axis=1, bitorder="little")[:, :4]
        control = control.reshape(4, -1)
        assert np.all(octets[:, 0] == characters.R) and np.all(octets[:, -1] == characters.A)
        assert octets[1, 1] == characters.Q
        assert octets[1, 2:16].tobytes() == LinkFields.of(config, lane).octets()
        assert control.sum() == 9 and np.all(control[:, [0, -1]] == 1) and control[1, 1] == 1


def test_mapping_of_channels_to_octets() -> None:
    """Lane l carries channels 8l to 8l+7, two a beat, most significant octet first (facts: L=2, M=16, F=16)."""
    config = LinkConfig(links=2, frames_per_multiframe=8, scrambling=False)
    transmitter = AdcTransmitter(config, Ramp(config.channels, stride=0x0101))
    bring_up(transmitter)
    beats = transmitter.beats(4, ALL)
    for channel in range(config.channels):
        lane, place = divmod(channel, 8)
        octets = octets_of(beats.data[:, lane])
        assert int.from_bytes(octets[2 * place : 2 * place + 2].tobytes(), "big") == 0x0101 * channel & 0xFFFF


@pytest.mark.parametrize(("k", "frame_ends", "multiframe_ends"), [(8, 3, 1), (32, 15, 1)])
def test_density_of_alignment_characters_in_constant_data(k: int, frame_ends: int, multiframe_ends: int) -> None:
    config = LinkConfig(links=1, frames_per_multiframe=k, scrambling=False)
    transmitter = AdcTransmitter(config, Constant(config.channels, 0x1234))
    bring_up(transmitter)
    transmitter.beats(config.beats_per_multiframe, 1)
    beats = transmitter.beats(10 * config.beats_per_multiframe, 1)
    last = octets_of(beats.data[:, 0])[3::4]
    control = beats.charisk[:, 0] >> 3 == 1
    assert np.count_nonzero(control & (last == characters.F)) == 10 * frame_ends
    assert np.count_nonzero(control & (last == characters.A)) == 10 * multiframe_ends
    assert np.count_nonzero(beats.charisk) == 10 * (frame_ends + multiframe_ends) * 2


def replaced_by_the_book(octets: list[int], k: int) -> list[int | None]:
    """JESD204B 5.3.3.4.2 frame by frame: the character sent in place of each frame's last octet."""
    sent: list[int | None] = []
    for frame, octet in enumerate(octets):
        repeats = frame > 0 and octet == octets[frame - 1]
        if frame % k == k - 1:
            sent.append(characters.A if repeats else None)
        else:
            sent.append(characters.F if repeats and sent[-1] is None else None)
    return sent


def test_replacement_without_scrambling_follows_the_book() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=8, scrambling=False)
    rng = np.random.default_rng(3)

    class Repetitive:
        values = rng.choice(
            np.array([0x1100, 0x1101, 0x117C, 0x11FC], np.int16), (500, config.channels), p=[0.7, 0.1, 0.1, 0.1]
        )

        def samples(self, first_tick: int, count: int) -> np.ndarray:
            return self.values[first_tick : first_tick + count]

    transmitter = AdcTransmitter(config, Repetitive())
    bring_up(transmitter)
    beats = transmitter.beats(500 * config.beats_per_frame, 1)
    for lane in range(2):
        plain = (Repetitive.values[:, lane * 8 + 7] & 0xFF).tolist()
        expected = replaced_by_the_book(plain, 8)
        last = octets_of(beats.data[3::4, lane])[3::4].tolist()
        control = (beats.charisk[3::4, lane] == 8).tolist()
        assert control == [character is not None for character in expected]
        assert last == [
            octet if character is None else character for octet, character in zip(plain, expected, strict=True)
        ]
        assert sum(control) > 50


def test_replacement_with_scrambling_marks_octets_that_look_alike() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=8)
    transmitter = AdcTransmitter(config, Noise(config.channels, seed=4))
    bring_up(transmitter)
    beats = transmitter.beats(8192 * config.beats_per_frame, 1)
    last = octets_of(beats.data[3::4, 0])[3::4]
    multiframe_end = np.arange(8192) % 8 == 7
    expected = np.where(multiframe_end, last == characters.A, last == characters.F)
    assert np.array_equal(beats.charisk[3::4, 0] == 8, expected)
    assert 10 < np.count_nonzero(expected) < 60
    assert np.count_nonzero(beats.charisk[:, 0]) == np.count_nonzero(expected)


@pytest.mark.parametrize("scrambling", [True, False])
@pytest.mark.parametrize("octets_per_frame", [16, 8])
@pytest.mark.parametrize("source", [Noise, Constant])
def test_any_chunking_gives_the_same_beats(scrambling: bool, octets_per_frame: int, source: type) -> None:
    config = LinkConfig(links=2, octets_per_frame=octets_per_frame, frames_per_multiframe=8, scrambling=scrambling)
    faults = [BitError(1, 40, 3, 9), LaneDrop(2, 30, tick=60), OctetError(0, 70, 1, 0x10, "not_in_table")]
    total = 1500

    def make(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        transmitter = AdcTransmitter(config, source(config.channels), seed=9, lane_skew_octets=37, faults=faults)
        parts = [transmitter.beats(40, 0), *(transmitter.beats(size, 3) for size in sizes)]
        assert all(part.data.flags.c_contiguous and part.flags.flags.c_contiguous for part in parts)
        return np.concatenate([p.data for p in parts]), np.concatenate([p.flags for p in parts])

    whole = make([total])
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.choice(np.arange(1, total), 60, replace=False))
    for sizes in ([1] * total, np.diff([0, *cuts, total]).tolist(), [64] * (total // 64) + [total % 64]):
        pieces = make(sizes)
        assert np.array_equal(whole[0], pieces[0]) and np.array_equal(whole[1], pieces[1])


def test_sync_starts_stops_and_restarts() -> None:
    config = LinkConfig(links=2, frames_per_multiframe=8, scrambling=False)
    source = Ramp(config.channels)
    transmitter = AdcTransmitter(config, source)
    per_multiframe, per_frame = config.beats_per_multiframe, config.beats_per_frame
    # Released in the middle of a multiframe: alignment waits for the next edge.
    transmitter.beats(per_multiframe + 5, 0)
    beats = transmitter.beats(200, 3)
    starts = [int(np.argmax(beats.data[:, lane] != characters.K_WORD)) for lane in range(4)]
    assert starts == [per_multiframe - 5] * 4
    (first,) = transmitter.bring_ups
    assert first.links == (0, 1) and first.first_tick == 0
    assert first.first_beat == 2 * per_multiframe + config.ilas_beats
    # Link 1 alone falls back, link 0 goes on undisturbed.
    transmitter.beats(first.first_beat + 20 * per_frame - transmitter.beat, 3)
    beats = transmitter.beats(8 * per_frame, 1)
    assert np.all(beats.data[:, 2:] == characters.K_WORD)
    assert octets_of(beats.data[:1, 0])[1] == 20
    # It comes back at a later tick of the same time line, so that all links send the same instant again.
    transmitter.beats(2000, 3)
    second = transmitter.bring_ups[1]
    assert second.links == (1,)
    assert second.first_tick == (second.first_beat - first.first_beat) // per_frame > 28
    at = (transmitter.beat + per_frame - 1) // per_frame * per_frame
    transmitter.beats(at - transmitter.beat or per_frame, 3)
    tick = (transmitter.beat - first.first_beat) // per_frame
    beats = transmitter.beats(4, 3)
    assert octets_of(beats.data[:1, 0])[1] == tick & 0xFF
    assert octets_of(beats.data[:1, 2])[1] == tick & 0xFF


def test_restart_sends_commas_whatever_sync_says() -> None:
    config = LinkConfig(links=2, frames_per_multiframe=8)
    transmitter = AdcTransmitter(config, Ramp(config.channels))
    bring_up(transmitter)
    assert not np.any(transmitter.beats(32, 3).data[4:] == characters.K_WORD)
    transmitter.restart([1], beats=50)
    beats = transmitter.beats(200, 3)
    assert not np.any(beats.data[:, :2] == characters.K_WORD)
    # Fifty beats, then the next edge of the multiframe.
    assert [int(np.argmax(beats.data[:, lane] != characters.K_WORD)) for lane in (2, 3)] == [64, 64]


def test_enough_commas_come_first() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=2, subclass=0)
    transmitter = AdcTransmitter(config, Ramp(config.channels))
    beats = transmitter.beats(40, 1)
    # One frame and nine octets are 25 octets, 6.25 beats; the next frame begins with beat 8.
    assert int(np.argmax(beats.data[:, 0] != characters.K_WORD)) == 8


def test_delay_moves_octets_and_flags() -> None:
    config = LinkConfig(links=2, frames_per_multiframe=8)
    delays = [0, 3, 10, 65]
    plain = AdcTransmitter(config, Noise(config.channels))
    late = AdcTransmitter(config, Noise(config.channels), lane_delays=delays)
    before = [plain.beats(count, sync) for count, sync in ((32, 0), (700, 3))]
    after = [late.beats(count, sync) for count, sync in ((32, 0), (700, 3))]
    for lane, delay in enumerate(delays):
        one = octets_of(np.concatenate([part.data[:, lane] for part in before]))
        two = octets_of(np.concatenate([part.data[:, lane] for part in after]))
        assert np.array_equal(one[: len(one) - delay], two[delay:])
        assert np.all(two[:delay] == characters.K)
        one, two = (
            np.unpackbits(
                np.concatenate([part.charisk[:, lane] for part in parts]).astype(np.uint8)[:, None],
                axis=1,
                bitorder="little",
            )[:, :4].reshape(-1)
            for parts in (before, after)
        )
        assert np.array_equal(one[: len(one) - delay], two[delay:])


def test_skew_is_drawn_from_the_seed() -> None:
    config = LinkConfig()
    draws = [AdcTransmitter(config, Noise(256), seed=seed, lane_skew_octets=100).delay.octets for seed in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1]) and not np.array_equal(draws[0], draws[2])
    assert draws[0].min() >= 0 and draws[0].max() <= 100 and len(set(draws[0].tolist())) > 10


def test_faults_hit_where_they_should() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=8, scrambling=False)
    faults = [BitError(1, tick=5, sample=3, bit=9, seen="not_in_table"), LaneDrop(0, beats=6, tick=7)]
    transmitter = AdcTransmitter(config, Constant(config.channels, 0), faults=faults)
    clean = AdcTransmitter(config, Constant(config.channels, 0))
    bring_up(transmitter), bring_up(clean)
    beats, expected = transmitter.beats(64, 1), clean.beats(64, 1)
    changed = expected.data.copy()
    # Sample 3 is the second of beat 1; bit 9 is in its first octet.
    changed[5 * 4 + 1, 1] ^= 1 << 16 + 1
    changed[7 * 4 : 7 * 4 + 6, 0] = 0
    assert np.array_equal(beats.data, changed)
    assert np.flatnonzero(beats.notintable[:, 1]).tolist() == [21] and beats.notintable[21, 1] == 0b0100
    assert np.flatnonzero(beats.notintable[:, 0]).tolist() == list(range(28, 34))
    assert not beats.disperr.any()


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        (dict(links=0), "links"),
        (dict(octets_per_frame=6), "octets_per_frame"),
        (dict(frames_per_multiframe=33), "frames_per_multiframe"),
        (dict(frames_per_multiframe=1), "frames_per_multiframe"),
        (dict(subclass=2), "subclass"),
        (dict(scrambler_seed=0x8000), "scrambler_seed"),
    ],
)
def test_impossible_links_are_refused(parameters: dict[str, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        LinkConfig(**parameters)


def test_source_of_the_wrong_shape_is_refused() -> None:
    config = LinkConfig(links=1, frames_per_multiframe=8)
    transmitter = AdcTransmitter(config, Constant(7))
    bring_up(transmitter)
    with pytest.raises(ValueError, match="source gave"):
        transmitter.beats(4, 1)
