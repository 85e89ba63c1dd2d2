"""The 8b/10b code and the line: tables, what a flipped bit looks like, polarity, lost bits."""

from __future__ import annotations

import numpy as np
import pytest

from sim.adc import AdcTransmitter, LinkConfig, characters
from sim.adc.code_8b10b import ALLOWED, CHARACTER, CODES, CONTROL, K28_5, decode, encode, to_bits, windows
from sim.adc.line import LineLevel
from tests.sim.adc.streams import Noise

CONTROLS = [0x1C, 0x3C, 0x5C, 0x7C, 0x9C, 0xBC, 0xDC, 0xFC, 0xF7, 0xFB, 0xFD, 0xFE]


def test_known_codes() -> None:
    assert [f"{code:010b}" for code in K28_5] == ["0011111010", "1100000101"]
    known = {0x00: "1001110100", 0x4A: "0101010101", 0xB5: "1010101010", 0xF1: "1000110111", 0xFF: "1010110001"}
    assert {octet: f"{CODES[0, octet]:010b}" for octet in known} == known
    assert f"{CODES[1, 0xEB]:010b}" == "1101001000"  # D.11.7 has its alternate form at positive disparity


def test_every_character_comes_back_and_all_codes_differ() -> None:
    every = [*range(256), *(octet + CONTROL for octet in CONTROLS)]
    for disparity in (0, 1):
        codes = CODES[disparity, every]
        assert len(set(codes.tolist())) == len(every)
        assert CHARACTER[codes].tolist() == every
        # From negative disparity never fewer ones than zeros, from positive never more.
        assert {int(code).bit_count() for code in codes} == ({4, 5} if disparity else {5, 6})
    assert np.count_nonzero(ALLOWED.any(axis=0)) == len(set(CODES[:, every].ravel().tolist()))
    missing = [octet for octet in range(256) if octet not in CONTROLS]
    assert not CODES[:, [octet + CONTROL for octet in missing]].any()


@pytest.mark.parametrize("seed", [1, 2])
def test_line_is_balanced_and_decodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sent = rng.integers(0, 256, 20000)
    sent[rng.integers(0, len(sent), 500)] = characters.A + CONTROL
    parts, state = [], 0
    for part in np.split(sent, [1, 7, 5000]):
        codes, _, state = encode(part, state)
        parts.append(codes)
    codes = np.concatenate(parts)
    bits = to_bits(codes).astype(int)
    assert np.abs(np.cumsum(2 * bits - 1)).max() <= 4
    edges = np.flatnonzero(np.diff(bits))
    assert np.diff(edges).max() <= 5
    found, missing, disparity, _ = decode(codes, 0)
    assert np.array_equal(found, sent) and not missing.any() and not disparity.any()
    assert np.array_equal(windows(to_bits(codes))[::10], codes)


def test_a_flipped_bit_looks_as_on_hardware() -> None:
    """Not in the table 33.5 %, wrong disparity 30.4 %, silently another valid character 36.2 %."""
    kinds = np.zeros(3)
    for disparity in (0, 1):
        for octet in range(256):
            for bit in range(10):
                code = np.array([CODES[disparity, octet] ^ 1 << bit], np.uint16)
                _, missing, wrong, _ = decode(code, disparity)
                kinds[0 if missing[0] else 1 if wrong[0] else 2] += 1
    assert (100 * kinds / kinds.sum()).round(1).tolist() == [33.5, 30.4, 36.2]


def test_silent_error_is_told_soon() -> None:
    """After a silent flip among random characters the disparity tells within 16 octets all but always."""
    rng = np.random.default_rng(3)
    waits = []
    for _ in range(1500):
        codes, _, _ = encode(rng.integers(0, 256, 40), 0)
        codes[0] ^= 1 << int(rng.integers(10))
        _, missing, wrong, _ = decode(codes, 0)
        if not missing[0] and not wrong[0]:
            waits.append(int(np.flatnonzero(wrong | missing)[0]))
    assert len(waits) > 400 and max(waits) <= 16
    assert np.mean(waits) < 2


def beats_of(line: LineLevel | None, count: int = 600) -> tuple[np.ndarray, np.ndarray]:
    config = LinkConfig(links=1, frames_per_multiframe=8)
    transmitter = AdcTransmitter(config, Noise(config.channels), line=line)
    parts = [transmitter.beats(100, 0)] + [transmitter.beats(50, 1) for _ in range(count // 50)]
    return np.concatenate([part.data for part in parts]), np.concatenate([part.flags for part in parts])


def test_a_line_without_faults_changes_nothing_but_the_time() -> None:
    data, flags = beats_of(None)
    on_line, on_line_flags = beats_of(LineLevel([0]))
    assert np.array_equal(on_line[2:, 0], data[:-2, 0]) and np.array_equal(on_line_flags[2:, 0], flags[:-2, 0])
    assert np.array_equal(on_line[:, 1], data[:, 1])


def test_polarity() -> None:
    """An inverted line is legal throughout, only most octets are others: the code alone does not tell."""
    data, flags = beats_of(None)
    wrong, wrong_flags = beats_of(LineLevel([0], inverted=[0]))
    assert np.array_equal(wrong_flags[2:, 0], flags[:-2, 0])
    assert np.count_nonzero(wrong[302:, 0] != data[300:-2, 0]) > 250
    right, right_flags = beats_of(LineLevel([0], inverted=[0], corrected=[0]))
    assert np.array_equal(right[2:, 0], data[:-2, 0]) and np.array_equal(right_flags[2:, 0], flags[:-2, 0])


def test_one_flipped_bit_is_seen_at_its_place() -> None:
    data, flags = beats_of(None)
    changed = 0
    for bit in range(40):
        line = LineLevel([0])
        line.flips[0].add(40 * 400 + bit)
        there, there_flags = beats_of(line)
        differs = np.flatnonzero((there[2:, 0] != data[:-2, 0]) | (there_flags[2:, 0] != flags[:-2, 0]))
        assert differs[0] in (400, 401) and differs[-1] <= 404
        changed += there[402, 0] != data[400, 0]
        assert np.any(there_flags[402:408, 0] & 0xFF0)
    assert changed > 20


def test_a_lost_bit_lasts_until_commas_come() -> None:
    line = LineLevel([0])
    line.slips[0].add(40 * 300 + 7)
    config = LinkConfig(links=1, frames_per_multiframe=8)
    transmitter = AdcTransmitter(config, Noise(config.channels), line=line)
    transmitter.beats(100, 0)
    good = transmitter.beats(200, 1)
    assert not np.any(good.flags & 0xFF0)
    bad = transmitter.beats(200, 1)
    assert np.count_nonzero(bad.flags[:, 0] & 0xF0) > 20 and not np.any(bad.flags[:, 1] & 0xFF0)
    transmitter.beats(60, 0)
    again = transmitter.beats(100, 0)
    assert np.all(again.data == characters.K_WORD) and np.all(again.flags == 0xF)
    data = transmitter.beats(500, 1)
    assert not np.any(data.flags & 0xFF0)


def test_marked_characters_stay_marked() -> None:
    line = LineLevel([0])
    data = np.full((4, 1), 0x01020304, np.uint32)
    flags = np.array([[0], [0x10], [0x400], [0]], np.uint16)
    line.apply(0, data, flags)
    more, more_flags = np.full((4, 1), 0x01020304, np.uint32), np.zeros((4, 1), np.uint16)
    line.apply(4, more, more_flags)
    seen = np.concatenate([flags, more_flags])[2:6, 0]
    assert seen[0] == 0 and seen[1] & 0xF0 == 0x10 and seen[2] & 0xF00 == 0x400
