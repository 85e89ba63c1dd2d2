"""The receive link against the transmitter model: bit-exact samples, alignment, faults, registers."""

from __future__ import annotations

import itertools
import os

import cocotb
import numpy as np
import pytest

from host.frame_layout import LinkError
from sim.adc import AdcTransmitter, BitError, LaneDrop, LinkConfig, OctetError, characters
from sim.adc.ilas import LinkFields
from tests.hdl.jesd204b.bench import CHUNK, REGISTERS, TB, WORD_CHANNELS
from tests.hdl.module_bench import SIMULATORS, run_module
from tests.sim.adc.streams import Constant, Noise, Ramp, UniqueCodes

LINKS = int(os.environ.get("TEST_LINKS", "4"))
MISMATCH = REGISTERS["LANE_ILAS_MISMATCH"]
ILAS_STRUCTURE = MISMATCH["STRUCTURE"].put(1)


def mismatch(*fields: str) -> int:
    """LANE_ILAS_MISMATCH with these bits set."""
    return sum(MISMATCH[field].put(1) for field in fields)


LEAST_FILL = 2
"""Beats that the last lane has in its buffer at least when all are released: it takes two to see that it is ready."""

MAPPING_TESTS = "samples_are_exact|every_channel_has_its_own_place|bit_errors_are_marked_with_their_samples"


def link_config(**values) -> LinkConfig:
    return LinkConfig(**{"links": LINKS, "frames_per_multiframe": 8, **values})


@cocotb.test()
@cocotb.parametrize(
    (
        ("source", "scrambling", "k", "f"),
        [
            (Ramp, 1, 8, 16),
            (UniqueCodes, 1, 16, 16),
            (Noise, 1, 32, 16),
            (Noise, 0, 8, 16),
            (Constant, 0, 8, 16),
            (Constant, 0, 32, 16),
            (Constant, 1, 8, 16),
            (Ramp, 0, 16, 16),
            (Noise, 1, 32, 8),
            (UniqueCodes, 0, 16, 8),
            (Noise, 1, 9, 16),
        ],
    )
)
async def samples_are_exact(dut, source, scrambling: int, k: int, f: int):
    config = link_config(frames_per_multiframe=k, octets_per_frame=f, scrambling=bool(scrambling))
    samples = source(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, samples, seed=k, lane_skew_octets=30)
    await tb.samples(5 * k + 20)
    assert not tb.check(config, samples)
    assert await tb.read("STATUS") == 0b011
    assert await tb.read("LINK_UP") == await tb.read("SYNC_N") == (1 << LINKS) - 1
    for lane in range(config.lanes):
        assert await tb.read("LANE_STATUS", lane) & 0x3F == 0b001110
        for name in ("DISPARITY", "NOT_IN_TABLE", "UNEXPECTED_K", "MISALIGNED", "ILAS_MISMATCH", "CGS_LOSSES"):
            assert await tb.read(f"LANE_{name}", lane) == 0, f"{name}[{lane}]"


@cocotb.test()
async def every_channel_has_its_own_place(dut):
    """Codes that differ on every channel, each exactly once: no channel swapped with another or doubled."""
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.bring_up(config, UniqueCodes(config.channels))
    await tb.samples(3)
    words = -(-config.channels // WORD_CHANNELS)
    codes = np.concatenate([word.samples for word in tb.words[words : 2 * words]])
    assert len(set(codes.tolist())) == config.channels
    assert np.array_equal(codes, UniqueCodes(config.channels).samples(0, 1)[0])


async def latency(tb: TB, config: LinkConfig, delays: list[int], **registers: int) -> int:
    """Beats from a frame's first beat at the transmitter to its word; all samples checked."""
    source = Noise(config.channels, seed=3)
    transmitter = await tb.bring_up(config, source, lane_delays=delays, registers=registers)
    await tb.samples(12)
    assert not tb.check(config, source)
    return tb.words[0].cycle - transmitter.bring_ups[0].first_beat


@cocotb.test()
async def latency_does_not_depend_on_rotation_or_skew(dut):
    """Whatever the lanes' delays, as long as they arrive before the release: the same latency, and right samples."""
    config = link_config()
    tb = TB(dut, LINKS)
    found = {}
    for skew in (0, 1, 2, 3, 5, 18, 56):
        delays = [(7 * lane * lane + lane) % (skew + 1) for lane in range(config.lanes)]
        delays[-1] = skew
        found[skew] = await latency(tb, config, delays, release_delay=30)
    # Rotation alone, the same on all lanes.
    for rotation in (1, 2, 3):
        found[f"rotation {rotation}"] = await latency(tb, config, [rotation] * config.lanes, release_delay=30)
    assert len(set(found.values())) == 1, found


@cocotb.test()
async def skew_sweep_across_the_release_point(dut):
    """One lane later beat by beat: latency steps by one multiframe once, and no sample is wrong on either side."""
    config = link_config()
    tb = TB(dut, LINKS)
    steps, fills = [], []
    for beats in range(config.beats_per_multiframe + 1):
        delays = [0] * config.lanes
        delays[1] = 4 * beats
        steps.append(await latency(tb, config, delays, release_delay=20, skew_limit=64))
        fills.append(await tb.read("LANE_STATUS", 1, "LATENCY"))
    jumps = [b - a for a, b in itertools.pairwise(steps) if a != b]
    assert jumps == [config.beats_per_multiframe], steps
    # The late lane's margin goes down beat by beat to the least there is, and then to a multiframe more.
    expected = [
        (fills[0] - LEAST_FILL - beats) % config.beats_per_multiframe + LEAST_FILL for beats in range(len(fills))
    ]
    assert fills == expected


@cocotb.test()
async def release_delay_and_lmfc_offset_move_the_release(dut):
    config = link_config()
    tb = TB(dut, LINKS)
    delays = [0] * config.lanes
    base = await latency(tb, config, delays, release_delay=20)
    fill = await tb.read("LANE_STATUS", 0, "LATENCY")
    later = await latency(tb, config, delays, release_delay=25)
    assert later == base + 5
    assert await tb.read("LANE_STATUS", 0, "LATENCY") == fill + 5
    shifted = await latency(tb, config, delays, release_delay=20, lmfc_offset=3)
    assert shifted == base + 3
    # Beyond the multiframe: its last beat.
    clipped = await latency(tb, config, delays, release_delay=1000)
    assert (clipped - base) % config.beats_per_multiframe == 31 - 20


@cocotb.test()
async def same_latency_after_every_restart(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source, lane_skew_octets=40, registers={"release_delay": 24})
    for run in range(1, 5):
        await tb.samples(10 + 3 * run)
        await tb.write("CTRL", 0)
        assert int(dut.sync_n.value) == 0
        await tb.cycles(2 * CHUNK + 7 * run)
        await tb.configure(config)
        await tb.until(lambda run=run: tb.runs > run, 1500, "restart")
        await tb.until(lambda run=run: tb.words[-1].run > run, 100, "samples")
    starts = {run: next(word.cycle for word in tb.words if word.run == run) for run in range(1, 6)}
    found = {starts[run] - transmitter.bring_ups[run - 1].first_beat for run in starts}
    assert len(found) == 1, found
    assert not tb.check(config, source)


@cocotb.test()
async def no_release_without_sysref(dut):
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    tb.play(AdcTransmitter(config, Noise(config.channels)), sysref_period=None)
    await tb.cycles(1200)
    assert not tb.words and tb.sync_log == [(1, 0)]
    assert await tb.read("STATUS") == 0
    # The lanes are ready all the same, and SYSREF is all that is missing.
    assert await tb.read("LANE_STATUS", 0, "CGS") == 2
    tb.sysref_period = config.beats_per_multiframe
    await tb.until(lambda: len(tb.words) > 3, 1000, "sample")
    assert await tb.read("STATUS", field="SYSREF_SEEN") == 1


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def subclass_0_needs_no_sysref(dut, scrambling: int):
    config = link_config(subclass=0, scrambling=bool(scrambling))
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    tb.play(AdcTransmitter(config, source, seed=4, lane_skew_octets=50), sysref_period=None)
    await tb.until(lambda: len(tb.words) > 0, 1500, "sample")
    await tb.samples(20)
    assert not tb.check(config, source)
    # The last lane to come waits for nobody.
    fills = [await tb.read("LANE_STATUS", lane, "LATENCY") for lane in range(config.lanes)]
    assert min(fills) <= 3


@cocotb.test()
async def sysref_off_the_lmfc_is_flagged(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source)
    await tb.samples(10)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == 0
    tb.sysref_shift = 1
    await tb.samples(20)
    tb.sysref_shift = 0
    await tb.samples(20)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == 1
    assert LinkError.SYSREF_MISALIGNED in {word.kinds for word in tb.check(config, source)}
    assert not tb.words[-1].kinds
    await tb.write("ERROR_CLEAR", 0)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == 0


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def bit_errors_are_marked_with_their_samples(dut, scrambling: int):
    """Every sample of a frame hit once: counted once, marked where it is wrong and nowhere else."""
    config = link_config(scrambling=bool(scrambling))
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    seen = ("disparity", "not_in_table")
    hits = [(30 + 4 * n, n % 8, (5 * n) % 16, seen[n % 2]) for n in range(16)]
    faults = [BitError(1 + n % 3, tick, sample, bit, how) for n, (tick, sample, bit, how) in enumerate(hits)]
    await tb.bring_up(config, source, faults=faults)
    await tb.samples(110)
    marked = tb.check(config, source)
    wanted = {"disparity": LinkError.DISPARITY, "not_in_table": LinkError.NOT_IN_TABLE}
    for fault in faults:
        hit = [word for word in marked if word.tick in (fault.tick - 1, fault.tick, fault.tick + 1)]
        assert any(word.tick == fault.tick for word in hit), fault
        assert all(word.kinds == wanted[fault.seen] and word.lanes == 1 << fault.lane for word in hit), fault
    # The descrambler's memory reaches from a frame's last beat into the next frame; a disparity error may come from an
    # octet of the four beats before. No farther.
    after = {0, 1} if scrambling else {0}
    reach = {fault.tick: after | ({-1} if fault.seen == "disparity" else set()) for fault in faults}
    assert all(any(word.tick - tick in near for tick, near in reach.items()) for word in marked)
    for lane in range(config.lanes):
        for register, how in (("LANE_DISPARITY", "disparity"), ("LANE_NOT_IN_TABLE", "not_in_table")):
            expected = sum(fault.lane == lane and fault.seen == how for fault in faults)
            assert await tb.read(register, lane) == expected
    assert await tb.read("REINITIALISATIONS") == 0
    await tb.write("ERROR_CLEAR", 1)
    assert await tb.read("LANE_DISPARITY", 1) == await tb.read("LANE_NOT_IN_TABLE", 2) == 0


@cocotb.test()
async def error_in_a_repeated_octet_marks_all_frames_that_repeat_it(dut):
    """Without scrambling /F/ and /A/ stand for the octet of the frame before: if that was hit, so are they."""
    config = link_config(scrambling=False)
    tb = TB(dut, LINKS)
    source = Constant(config.channels, 0x0155)
    # Frame ends alternate between octet and /F/: hit two neighbours, so that one of them is the octet itself.
    faults = [BitError(0, tick, 7, 3, "disparity") for tick in (40, 51)]
    await tb.bring_up(config, source, faults=faults)
    await tb.samples(80)
    marked = tb.check(config, source)
    assert {word.tick for word in marked} >= {40, 51}
    assert all(word.lanes == 1 for word in marked)


@cocotb.test()
@cocotb.parametrize(octet=[0, 1, 2, 3])
async def misplaced_characters_are_seen_at_every_octet(dut, octet: int):
    """/F/, /A/ and characters that never belong in data, at octet ``octet`` of a beat in mid-frame."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    lane = 2
    kinds = {
        characters.F: LinkError.FRAME_MISALIGNED,
        characters.A: LinkError.MULTIFRAME_MISALIGNED,
        characters.R: LinkError.UNEXPECTED_K,
        0xF7: LinkError.UNEXPECTED_K,
    }
    for number, (character, kind) in enumerate(kinds.items()):
        tick = transmitter.beat // 4 - transmitter.bring_ups[0].first_beat // 4 + CHUNK
        beat = transmitter.beat_of_tick(tick) + 1
        clean = AdcTransmitter(config, source)
        clean.beats(CHUNK, 0)
        # Bring a second transmitter to the same place to know the octet that the character takes the place of.
        while not clean.bring_ups:
            clean.beats(CHUNK, (1 << LINKS) - 1)
        offset = transmitter.bring_ups[0].first_beat - clean.bring_ups[0].first_beat
        data = []
        while clean.beat + offset <= beat:
            data.append(clean.beats(CHUNK, (1 << LINKS) - 1))
        row = next(part for part in data if part.first + offset <= beat < part.first + offset + CHUNK)
        octet_there = int(row.data[beat - offset - row.first, lane]) >> 8 * octet & 0xFF
        transmitter.inject(OctetError(lane, beat, octet, octet_there ^ character, control=True))
        await tb.until(lambda tick=tick: tb.words[-1].tick > tick + 2, 2000, "samples")
        word = next(word for word in tb.words if word.tick == tick)
        assert word.kinds & kind and word.lanes == 1 << lane, (number, word)
    assert await tb.read("LANE_MISALIGNED", lane) == 1 << 16 | 1
    assert await tb.read("LANE_UNEXPECTED_K", lane) == 2
    tb.check(config, source)


@cocotb.test()
@cocotb.parametrize((("octets", "detected_by"), [(1, "frame"), (4, "frame"), (16, "multiframe"), (-1, "frame")]))
async def slips_in_mid_stream_end_the_run(dut, octets: int, detected_by: str):
    """A lane that loses or gains octets starts anew; with repeating data within a few multiframes."""
    config = link_config(scrambling=False)
    source = Constant(config.channels, 0x0155)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source, lane_delays=[40] * config.lanes)
    await tb.samples(10)
    transmitter.delay.octets[3] -= octets
    await tb.until(lambda: not int(dut.link_up.value), 8 * config.beats_per_multiframe, "end of the run")
    await tb.cycles(2)
    assert tb.down_kinds & LinkError.LINK_DOWN
    misaligned = REGISTERS["LANE_MISALIGNED"]["FRAME" if detected_by == "frame" else "MULTIFRAME"]
    assert misaligned.get(await tb.read("LANE_MISALIGNED", 3)) >= 2
    await tb.until(lambda: tb.runs == 2, 2000, "restart")
    await tb.samples(20)
    tb.check(config, source)
    assert not any(word.kinds for word in tb.words if word.run == 2)


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def lane_drop_takes_the_link_down_and_it_comes_back(dut, scrambling: int):
    config = link_config(scrambling=bool(scrambling))
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    dropped, length = 40, 400
    lane = config.lanes - 1
    transmitter = await tb.bring_up(config, source, faults=[LaneDrop(lane, length, tick=dropped)])
    await tb.until(lambda: not int(dut.link_up.value), 2000, "end of the run")
    # The dead lane's first beat reaches the receiver one clock after it is driven.
    at = transmitter.beat_of_tick(dropped)
    down = tb.cycle - at
    assert down <= 7, f"valid for {down} clocks after the lane died"
    assert int(dut.sync_n.value) == 0
    await tb.cycles(10)
    assert tb.words[-1].cycle <= at + 7
    assert tb.down_kinds == LinkError.LINK_DOWN | LinkError.CGS_LOST
    await tb.until(lambda: tb.runs == 2, 3000, "restart")
    assert tb.cycle > at + length
    low, high = (cycle for cycle, _ in tb.sync_log[-2:])
    assert high - low >= 23
    await tb.samples(30)
    assert await tb.read("REINITIALISATIONS") == 1
    assert await tb.read("LANE_CGS_LOSSES", lane) == 1
    # Not gated by the lane's state: every dead octet counts.
    assert await tb.read("LANE_NOT_IN_TABLE", lane) == 4 * length
    assert [await tb.read("LANE_CGS_LOSSES", other) for other in range(lane)] == [0] * lane
    tb.check(config, source)
    assert len(transmitter.bring_ups) == 2
    assert not any(word.kinds for word in tb.words if word.run == 2)


@cocotb.test()
async def sender_that_restarts_on_its_own_is_followed(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    await tb.samples(10)
    transmitter.restart([1])
    await tb.until(lambda: not int(dut.link_up.value), 200, "end of the run")
    await tb.cycles(2)
    assert tb.down_kinds & LinkError.UNEXPECTED_K
    await tb.until(lambda: tb.runs == 2, 2000, "restart")


@cocotb.test()
@cocotb.parametrize((("f", "beats"), [(16, 23), (8, 13)]))
async def sync_asks_long_enough(dut, f: int, beats: int):
    """Commas are there at once and frames short, and still SYNC~ is low for five frames and nine octets."""
    config = link_config(octets_per_frame=f, frames_per_multiframe=16, subclass=0)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, Noise(config.channels))
    transmitter.restart(range(LINKS), beats=4 * CHUNK)
    await tb.until(lambda: tb.runs == 2, 2000, "restart")
    (low, _), (high, _) = tb.sync_log[-2:]
    assert beats <= high - low <= beats + 2 * f // 4


async def until_alignment(tb: TB, config: LinkConfig, source, **registers: int) -> AdcTransmitter:
    """Bring the links to where the alignment sequence begins with the transmitter's next beat."""
    await tb.reset()
    await tb.configure(config, **registers)
    transmitter = AdcTransmitter(config, source)
    tb.play(transmitter, sysref_period=config.beats_per_multiframe)
    await tb.until(lambda: int(tb.dut.sync_n.value), 1500, "release of SYNC~")
    # A chunk is a multiframe, so the sequence begins with the next one.
    assert transmitter.beat % config.beats_per_multiframe == 0 and not transmitter.bring_ups
    return transmitter


@cocotb.test()
@cocotb.parametrize(
    (
        ("what", "multiframe", "beat", "octet", "flip", "control", "seen"),
        [
            # Other receivers leave the sequence at once, and the lane is wrong for good with all flags clear.
            ("first /R/", 0, 0, 0, 0, False, "not_in_table"),
            ("later /R/", 2, 0, 0, 1, False, "unseen"),
            ("/Q/", 1, 0, 1, 1, False, "unseen"),
            ("/A/", 0, 31, 3, 1, False, "unseen"),
            ("last /A/", 3, 31, 3, 1, False, "unseen"),
            # The filler is a ramp of octets.
            ("one /R/ too many", 2, 5, 2, 22 ^ characters.R, True, "unseen"),
            ("one /A/ too many", 2, 5, 2, 22 ^ characters.A, True, "unseen"),
        ],
    )
)
async def hit_structure_is_noticed_and_retried(dut, what, multiframe, beat, octet, flip, control, seen):
    config = link_config(scrambling=False)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await until_alignment(tb, config, source)
    at = transmitter.beat + multiframe * config.beats_per_multiframe + beat
    transmitter.inject(OctetError(2, at, octet, flip, seen, control))
    await tb.until(lambda: len(tb.words) > 0, 3000, "sample")
    await tb.samples(20)
    assert await tb.read("LANE_ILAS_MISMATCH", 2) == ILAS_STRUCTURE, what
    assert await tb.read("LANE_ILAS_MISMATCH", 1) == 0
    assert await tb.read("REINITIALISATIONS") == 1
    # The sequence that was hit is a bring-up of the transmitter's only.
    assert len(transmitter.bring_ups) == 2
    del transmitter.bring_ups[0]
    assert not tb.check(config, source)


@cocotb.test()
async def configuration_is_captured_and_compared(dut):
    config = link_config(device_id=0xA5, bank_id=6)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source)
    await tb.samples(5)
    for lane in range(config.lanes):
        words = [await tb.read("LANE_ILAS", 4 * lane + word) for word in range(4)]
        octets = b"".join(word.to_bytes(4, "little") for word in words)
        assert octets == bytes([characters.R, characters.Q]) + LinkFields.of(config, lane % 2).octets()
        # Identifiers are anybody's choice.
        assert await tb.read("LANE_ILAS_MISMATCH", lane) == 0
    assert not tb.check(config, source)
    # Unless one is asked for.
    await tb.bring_up(config, source, registers={"ilas_check": 0x3FFFFF})
    assert await tb.read("LANE_ILAS_MISMATCH", 1) == mismatch("DID", "BID")
    assert tb.words[0].kinds == LinkError.ILAS_MISMATCH


# Configuration octet, bit flipped in it, field that it belongs to.
FIELD_BITS = [
    (0, 0, "DID"),
    (1, 4, "ADJCNT"),
    (1, 3, "BID"),
    (2, 6, "ADJDIR"),
    (2, 5, "PHADJ"),
    (2, 4, "LID"),
    (3, 7, "SCR"),
    (3, 1, "L"),
    (4, 4, "F"),
    (5, 2, "K"),
    (6, 0, "M"),
    (7, 6, "CS"),
    (7, 2, "N"),
    (8, 7, "SUBCLASSV"),
    (8, 3, "N_TOTAL"),
    (9, 5, "JESDV"),
    (9, 1, "S"),
    (10, 7, "HD"),
    (10, 0, "CF"),
]


@cocotb.test()
async def each_wrong_field_has_its_bit(dut):
    """One bit of one lane's configuration changed on the line: the bit of its field, and that of the check sum."""
    config = link_config()
    source = Constant(config.channels)
    lane = 5
    tb = TB(dut, LINKS)
    for octet, bit, field in FIELD_BITS:
        transmitter = await until_alignment(tb, config, source, ilas_check=0x3FFFFF)
        beat, place = divmod(2 + octet, 4)
        transmitter.inject(OctetError(lane, transmitter.beat + config.beats_per_multiframe + beat, place, 1 << bit))
        await tb.until(lambda: len(tb.words) > 0, 1500, "sample")
        assert await tb.read("LANE_ILAS_MISMATCH", lane) == mismatch(field, "FCHK"), field
        assert await tb.read("LANE_ILAS_MISMATCH", lane - 1) == 0
        assert tb.words[0].kinds == LinkError.ILAS_MISMATCH and tb.words[0].lanes == 1 << lane
    # A bit that is always zero belongs to no field, and the sum of fields does not know it.
    for octet, bit in ((2, 7), (3, 5), (5, 7), (7, 5), (10, 6), (11, 0), (12, 7)):
        transmitter = await until_alignment(tb, config, source, ilas_check=0x3FFFFF)
        beat, place = divmod(2 + octet, 4)
        transmitter.inject(OctetError(lane, transmitter.beat + config.beats_per_multiframe + beat, place, 1 << bit))
        await tb.until(lambda: len(tb.words) > 0, 1500, "sample")
        assert await tb.read("LANE_ILAS_MISMATCH", lane) == mismatch("RESERVED"), (octet, bit)


@cocotb.test()
async def check_sum_over_octets_is_an_option(dut):
    config = link_config(fchk_over_octets=True)
    source = Constant(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source)
    assert await tb.read("LANE_ILAS_MISMATCH", 0) == 0 and not tb.words[0].kinds
    await tb.bring_up(config, source, registers={"sum_octets": 0})
    assert await tb.read("LANE_ILAS_MISMATCH", 0) == mismatch("FCHK") and tb.words[0].kinds == LinkError.ILAS_MISMATCH


@cocotb.test()
@cocotb.parametrize((("sender", "receiver"), [(8, 16), (16, 8)]))
async def different_multiframe_lengths_never_come_up(dut, sender: int, receiver: int):
    config = link_config(frames_per_multiframe=sender)
    source = Constant(config.channels)
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config, frames_per_multiframe=receiver)
    tb.play(AdcTransmitter(config, source), sysref_period=64)
    await tb.cycles(2500)
    assert not tb.words
    found = await tb.read("LANE_ILAS_MISMATCH", 0)
    assert found & ILAS_STRUCTURE and found & mismatch("K"), hex(found)
    assert await tb.read("REINITIALISATIONS") > 0


@cocotb.test()
@cocotb.parametrize(receiver=[0, 1])
async def different_scrambling_marks_every_word(dut, receiver: int):
    config = link_config(scrambling=not receiver)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, Noise(config.channels), registers={"scrambling": receiver})
    await tb.samples(10)
    assert await tb.read("LANE_ILAS_MISMATCH", 0) == mismatch("SCR")
    assert all(word.kinds & LinkError.ILAS_MISMATCH for word in tb.words)


@cocotb.test()
async def wrong_seed_spoils_only_the_first_sample(dut):
    """The descrambler is self-synchronous: 15 bits later it is right whatever it began with."""
    config = link_config(scrambler_seed=0x7FFF)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source)
    await tb.samples(20)
    good = source.samples(0, 1)[0]
    wrong = np.flatnonzero(tb.words[0].samples[: min(64, config.channels)] != good[:64])
    assert len(wrong) and set((wrong % 8).tolist()) == {0}
    tb.words[0].samples.flags.writeable = False
    object.__setattr__(tb.words[0], "samples", good[:64])
    for index in range(1, -(-config.channels // 64)):
        object.__setattr__(tb.words[index], "samples", good[64 * index : 64 * index + 64])
    assert not tb.check(config, source)


@cocotb.test()
async def disabled_link_is_not_awaited(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    enabled = (1 << LINKS) - 1 & ~0b10
    await tb.bring_up(config, source, registers={"link_enable": enabled}, faults=[LaneDrop(2, 100000, beat=0)])
    await tb.samples(20)
    channels = np.ones(-(-config.channels // 64) * 64, bool)
    channels[16:32] = False
    assert not tb.check(config, source, channels=channels)
    assert await tb.read("LINK_UP") == await tb.read("SYNC_N") == enabled
    assert await tb.read("LANE_NOT_IN_TABLE", 2) == 0


@cocotb.test()
async def skew_beyond_the_buffer_overflows_visibly(dut):
    config = link_config()
    source = Constant(config.channels)
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config, skew_limit=511)
    delays = [0] * config.lanes
    delays[4] = 4 * 520
    tb.play(AdcTransmitter(config, source, lane_delays=delays), sysref_period=config.beats_per_multiframe)
    await tb.cycles(1400)
    assert not tb.words
    assert await tb.read("LANE_STATUS", 0, "OVERFLOW") == 1
    assert await tb.read("LANE_STATUS", 4, "OVERFLOW") == 0
    assert await tb.read("REINITIALISATIONS") > 0
    # Just inside it, all is well.
    delays[4] = 4 * 470
    await latency(tb, config, delays, skew_limit=511)
    assert await tb.read("LANE_STATUS", 0, "LATENCY") > 470


@cocotb.test()
async def registers_keep_and_refuse(dut):
    tb = TB(dut, LINKS)
    await tb.reset()
    for lane in range(LINKS * 2):
        assert await tb.read("LANE_MAP", lane) == lane
    for register in REGISTERS.registers:
        if register.access == "RW" and register.count == 1:
            expected = register.reset & (1 << LINKS) - 1 if register.name == "LINK_ENABLE" else register.reset
            assert await tb.read(register.name) == expected, register.name
    good = {
        "FRAMES_PER_MULTIFRAME": (8, 9, 16, 31, 32),
        "OCTETS_PER_FRAME": (8, 16),
        "RELEASE_DELAY": (0, 5, 200),
        "LMFC_OFFSET": (0, 17),
        "LINK_ENABLE": (1, (1 << LINKS) - 1),
        "ILAS_CHECK": (0, 0x3FFFFF),
        "ILAS_EXPECTED": (0xF00, 0x30FFF),
        "POLARITY": (0x5, 0xA0),
        "SKEW_LIMIT": (1, 511),
    }
    for name, values in good.items():
        for value in values:
            await tb.write(name, value)
            assert await tb.read(name) == value
    for name, value in (
        ("FRAMES_PER_MULTIFRAME", 7),
        ("FRAMES_PER_MULTIFRAME", 33),
        ("OCTETS_PER_FRAME", 12),
        ("SKEW_LIMIT", 512),
    ):
        before = await tb.read(name)
        assert (await tb.access(REGISTERS[name].address(), value))[1], f"{name} = {value} taken"
        assert await tb.read(name) == before
    await tb.write("CTRL", 0b0101)
    for name, values in good.items():
        before = await tb.read(name)
        assert (await tb.access(REGISTERS[name].address(), values[0]))[1], f"{name} changed while enabled"
        assert await tb.read(name) == before
    assert (await tb.access(REGISTERS["CTRL"].address(), 0b0111))[1]
    await tb.write("CTRL", 0b0101)
    await tb.write("CTRL", 0)
    # Read-only, lanes that are not built, addresses without a register.
    assert (await tb.access(REGISTERS["STATUS"].address(), 1))[1]
    assert (await tb.access(REGISTERS["LANE_STATUS"].address(0), 1))[1]
    for address in (0x044, 0x3FC, 0xA80, 0x1FFC):
        assert (await tb.access(address))[1], hex(address)
    if LINKS < 16:
        assert (await tb.access(REGISTERS["LANE_STATUS"].address(31)))[1]
        assert (await tb.access(REGISTERS["LANE_ILAS"].address(127)))[1]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_receiver(simulator: str) -> None:
    run_module("jesd204b/jesd204b_receiver", __name__, simulator, parameters={"LINKS": 4})


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("links", [8, 16])
def test_receiver_of_more_links(simulator: str, links: int) -> None:
    """Several words a sample: the corner turn in all its shapes."""
    run_module(
        "jesd204b/jesd204b_receiver",
        __name__,
        simulator,
        parameters={"LINKS": links},
        environment={"TEST_LINKS": str(links), "COCOTB_TEST_FILTER": MAPPING_TESTS},
    )
