"""What the receive link does about slips, restarts and inverted lines, with the figures that its chapter states."""

from __future__ import annotations

from itertools import pairwise

import cocotb
import numpy as np
import pytest

from host.frame_layout import LinkError
from sim.adc import Character, LaneDrop, LinkConfig, Slip, characters, scrambler
from sim.adc.line import LineLevel
from tests.hdl.jesd204b.bench import CHUNK, REGISTERS, TB
from tests.hdl.module_bench import SIMULATORS, run_module
from tests.sim.adc.streams import Constant, Noise, Ramp

LINKS = 4
MISPLACED = LinkError.FRAME_MISALIGNED | LinkError.MULTIFRAME_MISALIGNED
FRAMES_FOR_SURE = 900
"""Frames within which a slip not of whole frames is marked in scrambled data, all but once in a thousand times."""
MULTIFRAMES_FOR_SURE = 450
"""Likewise multiframes, for a slip of whole frames."""


def link_config(**values) -> LinkConfig:
    return LinkConfig(**{"links": LINKS, "frames_per_multiframe": 8, **values})


@cocotb.test()
async def latency_over_a_hundred_restarts(dut):
    """Skew within the budget, and each lane's delay drawn anew each time, rotation included: one latency."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    rng = np.random.default_rng(8)
    # Release in the middle of the window that skew (20 octets) and jitter (12) leave.
    registers = {"release_delay": 26}
    transmitter = await tb.bring_up(config, source, seed=5, lane_skew_octets=20, jitter_octets=12, registers=registers)
    for run in range(1, 100):
        await tb.samples(3)
        await tb.write("CTRL", 0)
        await tb.cycles(CHUNK + int(rng.integers(3 * CHUNK)))
        await tb.configure(config)
        await tb.until(lambda run=run: tb.words[-1].run > run, 1500, "restart")
    starts = {}
    for word in tb.words:
        starts.setdefault(word.run, word.cycle)
    assert len(starts) == len(transmitter.bring_ups) == 100
    found = {starts[run] - transmitter.bring_ups[run - 1].first_beat for run in starts}
    assert len(found) == 1, found
    # And from SYSREF, whose phase the first beats have.
    assert len({cycle % config.beats_per_multiframe for cycle in starts.values()}) == 1
    assert not tb.check(config, source)
    fills = [await tb.read("LANE_STATUS", lane, "LATENCY") for lane in range(config.lanes)]
    assert min(fills) > 0 and max(fills) < config.beats_per_multiframe, fills


async def slipped(dut, config: LinkConfig, source, octets: int, limit: int) -> tuple[TB, int]:
    """Let lane 3 slip; return the beats until the first mark or the fall of the links."""
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, faults=[Slip(3, tick=20, octets=octets)])
    begin = tb.transmitter.beat_of_tick(20)

    def seen() -> bool:
        return bool(tb.words[-1].kinds) or not int(dut.link_up.value)

    await tb.until(seen, limit + 200, f"mark within {limit} beats")
    return tb, tb.cycle - begin


@cocotb.test()
@cocotb.parametrize((("octets", "seed"), [(1, 1), (4, 2), (-4, 3), (1, 4), (6, 5)]))
async def slip_in_scrambled_data(dut, octets: int, seed: int):
    """Not of whole frames: a misplaced /F/ or a missed one tells, two in 256 frames."""
    config = link_config(frames_per_multiframe=32)
    limit = FRAMES_FOR_SURE * config.beats_per_frame
    tb, beats = await slipped(dut, config, Noise(config.channels, seed=seed), octets, limit)
    assert beats <= limit
    await tb.cycles(100)
    marks = [word.kinds for word in tb.words if word.kinds]
    assert marks and all(kinds & MISPLACED for kinds in marks)


@cocotb.test()
@cocotb.parametrize((("frames", "seed"), [(1, 1), (-1, 2), (3, 3)]))
async def slip_of_frames_in_scrambled_data(dut, frames: int, seed: int):
    """Only ends of multiframes tell: four in 256 multiframes."""
    config = link_config()
    limit = MULTIFRAMES_FOR_SURE * config.beats_per_multiframe
    _, beats = await slipped(dut, config, Noise(config.channels, seed=seed), 16 * frames, limit)
    assert beats <= limit


@cocotb.test()
@cocotb.parametrize((("octets", "multiframes"), [(1, 1), (4, 1), (-1, 1), (16, 2), (-16, 2)]))
async def slip_where_samples_repeat(dut, octets: int, multiframes: int):
    """Without scrambling and with samples that repeat, every frame's end tells; no word is wrong and unmarked."""
    config = link_config(scrambling=False)
    source = Constant(config.channels, 0x0155)
    limit = multiframes * config.beats_per_multiframe + 20
    tb, beats = await slipped(dut, config, source, octets, limit)
    assert beats <= limit
    await tb.until(lambda: tb.runs == 2, 2000, "restart")
    await tb.until(lambda: tb.words[-1].run == 2, 200, "samples")
    await tb.samples(20)
    tb.check(config, source)


@cocotb.test()
async def slip_of_multiframes_is_beyond_any_receiver(dut):
    """What comes is legal in every respect, only late: nothing is marked. Comparing samples is what finds it."""
    config = link_config()
    source = Ramp(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, faults=[Slip(3, tick=20, octets=16 * 8)])
    await tb.samples(400)
    assert tb.runs == 1 and not any(word.kinds & ~MISPLACED for word in tb.words)
    late = tb.words[-1]
    wrong = np.flatnonzero(late.samples[: config.channels] != source.samples(late.tick, 1)[0])
    assert wrong.tolist() == list(range(24, 32))
    assert np.array_equal(late.samples[24:32], source.samples(late.tick + 8, 1)[0, 24:32])


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def alignment_character_where_one_may_stand_is_taken_for_one(dut, scrambling: int):
    """Enough bits of a frame's last octet flip to make it /F/, with the right disparity: nothing is marked."""
    config = link_config(scrambling=bool(scrambling))
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    last = config.beats_per_frame - 1
    hit = Character(3, tick=20, character=characters.F, octet=3, offset=last)
    await tb.bring_up(config, source, faults=[hit])
    await tb.samples(40)
    assert not any(word.kinds for word in tb.words)
    wrong = {
        (word.tick, int(channel))
        for word in tb.words
        for channel in np.flatnonzero(word.samples[: config.channels] != source.samples(word.tick, 1)[0])
    }
    assert (20, 31) in wrong and wrong <= {(20, 31), (21, 24)}


@cocotb.test()
@cocotb.parametrize(lane=[0, 5])
async def inverted_line_is_told_and_mended(dut, lane: int):
    """An inverted line has legal codes only; the alignment sequence tells. POLARITY mends it in the transceiver."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, line=LineLevel([lane], inverted=[lane]))
    await tb.samples(5)
    assert all(word.kinds & LinkError.ILAS_MISMATCH and word.lanes == 1 << lane for word in tb.words)
    found = await tb.read("LANE_ILAS_MISMATCH", lane)
    assert found & REGISTERS["LANE_ILAS_MISMATCH"]["FCHK"].put(1)
    await tb.reset()
    await tb.configure(config, polarity=1 << lane)
    corrected = [n for n in range(config.lanes) if int(dut.lane_polarity.value) >> n & 1]
    await tb.bring_up(config, source, line=LineLevel([lane], inverted=[lane], corrected=corrected))
    await tb.samples(5)
    assert not tb.check(config, source)


@cocotb.test()
async def lost_line_bit_takes_the_link_down_and_it_comes_back(dut):
    """Not in the table until commas come, which align the transceiver anew at another rotation."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    line = LineLevel([2])
    line.slips[2].add(40 * 420 + 13)
    await tb.bring_up(config, source, line=line)
    await tb.until(lambda: tb.runs == 2, 4000, "restart")
    await tb.until(lambda: tb.words[-1].run == 2, 200, "samples")
    await tb.samples(20)
    assert await tb.read("LANE_CGS_LOSSES", 2) == 1 and await tb.read("LANE_NOT_IN_TABLE", 2) > 0
    tb.check(config, source)


@cocotb.test()
@cocotb.parametrize(
    (
        ("octet", "rotation", "clocks"),
        [(0x4A, 0, 8), (0x4A, 1, 9), (0x4A, 3, 9), (0x00, 0, 20), (0xFF, 0, 20), (0xFF, 2, 21)],
    )
)
async def stuck_lane_takes_the_link_down(dut, octet: int, rotation: int, clocks: int):
    """A valid character for ever, in scrambled data; characters that quiet samples repeat too take longer."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    drop = LaneDrop(5, 400, tick=30, how="stuck", octet=octet)
    transmitter = await tb.bring_up(config, source, lane_delays=[rotation] * config.lanes, faults=[drop])
    await tb.until(lambda: not int(dut.link_up.value), 400, "end of the run")
    found = tb.cycle - transmitter.beat_of_tick(30)
    assert found == clocks, found
    await tb.cycles(4)
    assert tb.down_kinds == LinkError.LINK_DOWN | LinkError.CGS_LOST
    await tb.until(lambda: tb.runs == 2, 3000, "restart")
    await tb.until(lambda: tb.words[-1].run == 2, 200, "samples")
    await tb.samples(20)
    tb.check(config, source)
    gaps = [b.cycle - a.cycle for a, b in pairwise(tb.words) if a.run == b.run]
    assert set(gaps) == {config.beats_per_frame}


@cocotb.test()
@cocotb.parametrize(f=[16, 8])
async def stuck_lane_without_scrambling_is_marked_in_every_frame(dut, f: int):
    """Ends of frames that are alike should have been replaced: the frame in which the lane got stuck is marked, too."""
    config = link_config(scrambling=False, octets_per_frame=f, frames_per_multiframe=16)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    frames = 100
    drop = LaneDrop(5, frames * config.beats_per_frame, tick=30, how="stuck")
    await tb.bring_up(config, source, faults=[drop])
    await tb.samples(60)
    stuck = [word for word in tb.words if word.run == 1 and 30 <= word.tick < 30 + frames]
    assert stuck and all(word.kinds & MISPLACED and word.lanes == 1 << 5 for word in stuck)
    tb.check(config, source)
    assert await tb.read("LANE_REPLACEMENTS", 5) >= len(stuck) - 2


class RepeatsOnTheLine:
    """Noise, but for some ticks one lane's samples are such that scrambled they repeat the beat before them."""

    def __init__(self, config: LinkConfig, lane: int, tick: int, ticks: int) -> None:
        self.channels = config.channels
        self._noise = Noise(config.channels)
        each = config.channels_per_lane
        self._columns = slice(each * lane, each * (lane + 1))
        self._ticks = range(tick, tick + ticks)
        plain = self._noise.samples(0, tick)[:, self._columns].reshape(-1, 1).view(np.uint16)
        line, _ = scrambler.scramble(plain, scrambler.history(1, config.scrambler_seed))
        self.beat = line[-2:, 0]
        repeated = scrambler.descramble(np.tile(self.beat, 2)[:, None])[2:, 0]
        self._samples = np.tile(repeated, each // 2).view(np.int16)

    def samples(self, first_tick: int, count: int):
        samples = self._noise.samples(first_tick, count)
        for tick in self._ticks:
            if 0 <= tick - first_tick < count:
                samples[tick - first_tick, self._columns] = self._samples
        return samples


class SteadyOnTheLine:
    """Noise, but for some ticks one lane's samples are such that scrambled they are one octet again and again."""

    def __init__(self, config: LinkConfig, lane: int, tick: int, ticks: int, octet: int) -> None:
        self.channels = config.channels
        self._noise = Noise(config.channels)
        each = config.channels_per_lane
        self._columns = slice(each * lane, each * (lane + 1))
        self._first = tick
        plain = self._noise.samples(0, tick)[:, self._columns].reshape(-1, 1).view(np.uint16)
        line, _ = scrambler.scramble(plain, scrambler.history(1, config.scrambler_seed))
        steady = np.full((ticks * each, 1), octet << 8 | octet, np.uint16)
        samples = scrambler.descramble(np.concatenate([line[-1:], steady]))[1:, 0]
        self._samples = samples.view(np.int16).reshape(ticks, each)

    def samples(self, first_tick: int, count: int):
        samples = self._noise.samples(first_tick, count)
        for tick, values in enumerate(self._samples, self._first):
            if 0 <= tick - first_tick < count:
                samples[tick - first_tick, self._columns] = values
        return samples


@cocotb.test()
@cocotb.parametrize(octet=[0x00, 0xFF])
async def quiet_samples_may_repeat_longer_than_others(dut, octet: int):
    """Scrambled, samples of 0 and -1 are 00 and ff for some beats now and then: that is no stuck lane before 16."""
    config = link_config()
    source = SteadyOnTheLine(config, lane=5, tick=30, ticks=3, octet=octet)
    tb = TB(dut, LINKS)
    seen = 0
    transmitter = await tb.bring_up(config, source)
    while tb.cycle < transmitter.beat_of_tick(60):
        seen += int(dut.lane_data.value) >> 32 * 5 & 0xFFFFFFFF == octet * 0x01010101
        await tb.cycles(1)
    assert seen == 3 * config.beats_per_frame
    assert tb.runs == 1 and int(dut.link_up.value)
    assert not tb.check(config, source)


@cocotb.test()
async def samples_that_repeat_on_the_line_are_no_stuck_lane(dut):
    """Scrambled, steady samples can repeat themselves beat by beat; only one character repeated is a stuck lane."""
    config = link_config()
    source = RepeatsOnTheLine(config, lane=5, tick=30, ticks=6)
    repeats = []
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    while tb.cycle < transmitter.beat_of_tick(60):
        repeats.append(int(dut.lane_data.value) >> 32 * 5 & 0xFFFFFFFF)
        await tb.cycles(1)
    octets = source.beat.byteswap().tobytes()
    assert repeats.count(int.from_bytes(octets, "little")) == 1 + 6 * config.beats_per_frame
    assert tb.runs == 1 and int(dut.link_up.value)
    assert not tb.check(config, source)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_faults(simulator: str) -> None:
    run_module("jesd204b/jesd204b_receiver", __name__, simulator, parameters={"LINKS": LINKS})
