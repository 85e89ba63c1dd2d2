"""What can be set on the receive link: lane map, polarity, SYSREF, limits, reports, interrupt; habits of converters."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from host.frame_layout import LinkError
from sim.adc import AdcTransmitter, BitError, Character, LinkConfig, OctetError, characters
from sim.adc.ilas import Sequence
from tests.hdl.jesd204b.bench import CHUNK, REGISTERS, TB, WORD_CHANNELS
from tests.hdl.module_bench import SIMULATORS, run_module
from tests.sim.adc.streams import Constant, Noise, Ramp, UniqueCodes

LINKS = int(os.environ.get("TEST_LINKS", "4"))
MISMATCH = REGISTERS["LANE_ILAS_MISMATCH"]
STATUS = REGISTERS["STATUS"]


def link_config(**values) -> LinkConfig:
    return LinkConfig(**{"links": LINKS, "frames_per_multiframe": 8, **values})


async def write_map(tb: TB, physical: list[int]) -> None:
    for lane, where in enumerate(physical):
        await tb.write("LANE_MAP", where, lane)


def maps(lanes: int) -> dict[str, list[int]]:
    """Lane maps to try: each entry is the physical lane of a lane."""
    rng = np.random.default_rng(11)
    vendor = [lane ^ 3 if lane % 8 < 4 else lane ^ 1 for lane in range(lanes)]
    pairs = np.arange(lanes).reshape(-1, 2)
    within = rng.permuted(pairs, axis=1)
    rotated = [[(lane + step) % lanes for lane in range(lanes)] for step in range(1, lanes)]
    return {
        "identity": list(range(lanes)),
        "reversed": list(range(lanes))[::-1],
        "within each converter": within.ravel().tolist(),
        "every pair exchanged": pairs[:, ::-1].ravel().tolist(),
        "whole converters": rng.permutation(pairs).ravel().tolist(),
        "converters, and within them": rng.permutation(within).ravel().tolist(),
        "vendor": vendor,
        **{f"rotated {step}": order for step, order in enumerate(rotated, start=1)},
        **{f"random {n}": rng.permutation(lanes).tolist() for n in range(4)},
    }


@cocotb.test()
async def every_lane_map_gives_every_channel_its_place(dut):
    """Codes that differ on every channel, each exactly once and in order, whichever way the lanes are wired."""
    config = link_config()
    source = UniqueCodes(config.channels)
    tb = TB(dut, LINKS)
    per_sample = -(-config.channels // WORD_CHANNELS)
    for name, physical in maps(config.lanes).items():
        await tb.reset()
        await write_map(tb, physical)
        await tb.configure(config)
        order = np.argsort(physical).tolist()
        tb.play(AdcTransmitter(config, source, lane_order=order), sysref_period=config.beats_per_multiframe)
        await tb.until(lambda: len(tb.words) >= 2 * per_sample, 1500, "samples")
        codes = np.concatenate([word.samples for word in tb.words[per_sample : 2 * per_sample]])
        assert len(set(codes[: config.channels].tolist())) == config.channels, name
        assert not tb.check(config, source), name
        assert await tb.read("LANE_MAP", 1) == physical[1]
        # Errors are counted for the lane of the link, not for the transceiver.
        assert await tb.read("LANE_ILAS_MISMATCH", 1) == 0, name
    # And without the map they are not in their places, which the test sees.
    await tb.reset()
    await tb.configure(config)
    tb.play(AdcTransmitter(config, source, lane_order=order), sysref_period=config.beats_per_multiframe)
    await tb.until(lambda: len(tb.words) >= per_sample, 1500, "samples")
    codes = np.concatenate([word.samples for word in tb.words[:per_sample]])[: config.channels]
    assert sorted(codes) == sorted(source.samples(0, 1)[0]) and not np.array_equal(codes, source.samples(0, 1)[0])


@cocotb.test()
async def swapped_lanes_without_a_map_are_flagged(dut):
    """Two lanes of a converter exchanged: the lane identifiers tell."""
    config = link_config()
    tb = TB(dut, LINKS)
    order = list(range(config.lanes))
    order[2], order[3] = 3, 2
    await tb.bring_up(config, Noise(config.channels), lane_order=order)
    await tb.samples(3)
    assert [await tb.read("LANE_ILAS_MISMATCH", lane) for lane in (1, 2, 3)] == [
        0,
        MISMATCH["LID"].put(1),
        MISMATCH["LID"].put(1),
    ]
    assert all(word.kinds == LinkError.ILAS_MISMATCH and word.lanes == 0b1100 for word in tb.words if word.first)


@cocotb.test()
async def swapped_converters_are_flagged_if_devices_count(dut):
    """Whole converters exchanged have the same lane identifiers; device identifiers tell them apart."""
    config = link_config()
    tb = TB(dut, LINKS)
    devices = {lane: Sequence(add={"did": 0x40 + lane // 2}) for lane in range(config.lanes)}
    registers = {"ilas_expected": 0x40 | 1 << 16, "ilas_check": 0x37FFF9}
    await tb.bring_up(config, Noise(config.channels), ilas=devices, registers=registers)
    await tb.samples(3)
    assert not any(word.kinds for word in tb.words)
    order = [2, 3, 0, 1, *range(4, config.lanes)]
    await tb.bring_up(config, Noise(config.channels), ilas=devices, lane_order=order, registers=registers)
    assert [await tb.read("LANE_ILAS_MISMATCH", lane) for lane in range(5)] == [MISMATCH["DID"].put(1)] * 4 + [0]
    assert tb.words[0].kinds == LinkError.ILAS_MISMATCH and tb.words[0].lanes == 0b1111


@cocotb.test()
async def a_map_that_forgets_a_lane_cannot_be_enabled(dut):
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.write("LANE_MAP", 1, 0)
    assert (await tb.access(REGISTERS["CTRL"].address(), 1))[1]
    assert await tb.read("CTRL", field="ENABLE") == 0
    await tb.write("LANE_MAP", 0, 1)
    await tb.configure(config)
    assert (await tb.access(REGISTERS["LANE_MAP"].address(2), 2))[1], "map changed while enabled"
    await tb.write("CTRL", 0)
    assert (await tb.access(REGISTERS["LANE_MAP"].address(0), config.lanes))[1], "lane that is not there"
    if config.lanes < 32:
        assert (await tb.access(REGISTERS["LANE_MAP"].address(config.lanes), 0))[1]


@cocotb.test()
async def polarity_goes_to_the_transceivers(dut):
    tb = TB(dut, LINKS)
    await tb.reset()
    assert int(dut.lane_polarity.value) == 0
    for value in (0x81, 0x5A):
        await tb.write("POLARITY", value)
        assert int(dut.lane_polarity.value) == value
    await tb.configure(link_config())
    assert (await tb.access(REGISTERS["POLARITY"].address(), 0))[1]
    assert int(dut.lane_polarity.value) == 0x5A


@cocotb.test()
@cocotb.parametrize(f=[16, 8])
async def alignment_contents_of_a_die(dut, f: int):
    """Each lane a link of its own (L = 1, half of M, LID 0): right if so expected, else told field by field."""
    config = link_config(octets_per_frame=f, per_die=True)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, registers={"ilas_expected": 1 << 17, "frames_per_multiframe": 8})
    await tb.samples(5)
    assert not tb.check(config, source)
    assert await tb.read("LANE_ILAS_MISMATCH", 1) == 0
    await tb.bring_up(config, source)
    joined = MISMATCH["L"].put(1) | MISMATCH["M"].put(1)
    assert await tb.read("LANE_ILAS_MISMATCH", 0) == joined
    assert await tb.read("LANE_ILAS_MISMATCH", 1) == joined | MISMATCH["LID"].put(1)
    assert tb.words[0].kinds == LinkError.ILAS_MISMATCH
    # And the other way round.
    config = replace(config, per_die=False)
    await tb.bring_up(config, source, registers={"ilas_expected": 1 << 17})
    assert await tb.read("LANE_ILAS_MISMATCH", 1) == joined | MISMATCH["LID"].put(1)


@cocotb.test()
@cocotb.parametrize(
    deviation=[
        Sequence(multiframes=0),
        Sequence(multiframes=3),
        Sequence(multiframes=5),
        Sequence(configuration=False),
    ]
)
async def alignment_of_another_length_or_without_configuration_never_comes_up(dut, deviation: Sequence):
    """One lane's sequence is broken again and again: all start anew, no samples, and the lane is told."""
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    tb.play(
        AdcTransmitter(config, Noise(config.channels), ilas={3: deviation}), sysref_period=config.beats_per_multiframe
    )
    await tb.cycles(1500)
    assert not tb.words
    assert await tb.read("REINITIALISATIONS") > 1
    # The fifth multiframe begins where samples are due, with a character that is none.
    register = "LANE_UNEXPECTED_K" if deviation.multiframes == 5 else "LANE_ILAS_MISMATCH"
    told = [await tb.read(register, lane) for lane in range(config.lanes)]
    assert [lane for lane, value in enumerate(told) if value] == [3]
    assert deviation.multiframes == 5 or told[3] & MISMATCH["STRUCTURE"].mask


@cocotb.test()
async def identifiers_are_compared_with_registers(dut):
    config = link_config(device_id=0xA5, bank_id=6)
    tb = TB(dut, LINKS)
    source = Noise(config.channels)
    await tb.bring_up(config, source, registers={"ilas_expected": 0x6A5, "ilas_check": 0x3FFFFF})
    await tb.samples(3)
    assert not tb.check(config, source)
    await tb.bring_up(config, source, registers={"ilas_expected": 0x7A5, "ilas_check": 0x3FFFFF})
    assert await tb.read("LANE_ILAS_MISMATCH", 0) == MISMATCH["BID"].put(1)


def pulses(log: list[tuple[int, int]], link: int) -> list[int]:
    """Lengths of the times that a link's SYNC~ was low, between two times that it was high."""
    edges, state = [], None
    for cycle, value in log:
        if value >> link & 1 != state:
            state = value >> link & 1
            edges.append((cycle, state))
    return [b - a for (a, low), (b, _) in pairwise(edges) if low == 0][1:]


@cocotb.test()
@cocotb.parametrize(f=[16, 8])
async def errors_are_reported_for_two_frames(dut, f: int):
    """SYNC~ of the link that was hit goes low for two frames; converters do not take that as a request."""
    config = link_config(octets_per_frame=f)
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    # One error; several in a row, which are one report or more, but never one long pulse.
    ticks = [30, *range(60, 75)]
    faults = [BitError(2, tick, 1, 3, "not_in_table") for tick in ticks]
    await tb.bring_up(config, source, faults=faults, registers={"error_report": 1})
    await tb.samples(45)
    assert pulses(tb.sync_log, 1) == [2 * config.beats_per_frame]
    await tb.samples(60)
    lengths = pulses(tb.sync_log, 1)
    assert len(lengths) > 2 and set(lengths) == {2 * config.beats_per_frame}, lengths
    assert not pulses(tb.sync_log, 0) and not pulses(tb.sync_log, 2)
    highs = [b - a for (a, value), (b, _) in pairwise(tb.sync_log) if value == (1 << LINKS) - 1]
    assert min(highs) >= 2 * config.beats_per_frame
    tb.check(config, source)
    assert await tb.read("REINITIALISATIONS") == 0 and tb.runs == 1
    # Not unless it is asked for.
    await tb.bring_up(config, source, faults=faults)
    await tb.samples(45)
    assert not pulses(tb.sync_log, 1)


@cocotb.test()
async def converter_that_restarts_on_a_report_is_followed(dut):
    """A known bug of converters: two frames of SYNC~ are taken as a request. The link comes up again."""
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    faults = [BitError(2, tick, 1, 3, "not_in_table") for tick in range(30, 40)]
    await tb.bring_up(config, source, faults=faults, registers={"error_report": 1})
    tb.request_beats = 1
    await tb.until(lambda: tb.runs == 2, 4000, "restart")
    await tb.samples(20)
    assert await tb.read("REINITIALISATIONS") >= 1
    tb.check(config, source)


@cocotb.test()
async def sysref_once_takes_the_first_and_ignores_the_rest(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, registers={"sysref_once": 1})
    tb.sysref_shift = 1
    await tb.samples(40)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == 0
    assert not tb.check(config, source)


@cocotb.test()
@cocotb.parametrize((("period", "misaligned"), [(64, 0), (96, 0), (48, 1), (33, 1)]))
async def sysref_of_any_multiple_of_the_multiframe(dut, period: int, misaligned: int):
    """Several multiframes between two SYSREF are as good as one; a period that is no multiple is told."""
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    tb.play(AdcTransmitter(config, Noise(config.channels)), sysref_period=period)
    await tb.until(lambda: len(tb.words) > 0, 1500, "sample")
    await tb.samples(60)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == misaligned


@cocotb.test()
async def a_second_sysref_that_is_late_does_not_move_anything(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    await tb.samples(10)
    tb.sysref_shift = 5
    await tb.samples(40)
    assert await tb.read("STATUS", field="SYSREF_MISALIGNED") == 1
    assert tb.runs == 1
    marked = tb.check(config, source)
    assert marked and all(word.kinds == LinkError.SYSREF_MISALIGNED for word in marked)
    # And after a new start the latency is what the first SYSREF made it.
    transmitter.restart([1])
    await tb.until(lambda: tb.words[-1].run == 2, 3000, "restart")
    starts = [next(word.cycle for word in tb.words if word.run == run) for run in (1, 2)]
    assert starts[0] - transmitter.bring_ups[0].first_beat == starts[1] - transmitter.bring_ups[-1].first_beat


@cocotb.test()
@cocotb.parametrize(k=[8, 16])
async def converter_that_begins_a_multiframe_late_is_not_delivered(dut, k: int):
    """Its alignment sequence is right and its samples are those of a multiframe later: nothing but the time tells."""
    config = link_config(frames_per_multiframe=k)
    source = Ramp(config.channels)
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    reaction = [0] * LINKS
    reaction[1] = 1
    transmitter = AdcTransmitter(config, source, reaction_multiframes=reaction)
    tb.play(transmitter, sysref_period=config.beats_per_multiframe)
    await tb.cycles(12 * config.beats_per_multiframe + 300)
    assert not tb.words
    assert await tb.read("STATUS", field="SKEWED") == 1
    assert int(dut.m_axis_error_kinds.value) == LinkError.LINK_DOWN | LinkError.SKEWED
    assert await tb.read("REINITIALISATIONS") > 0
    # When it reacts as the others do, all is well.
    transmitter.reaction_multiframes[1] = 0
    await tb.until(lambda: len(tb.words) > 0, 3000, "sample")
    await tb.samples(20)
    transmitter.bring_ups[:-1] = []
    assert not tb.check(config, source)
    await tb.write("ERROR_CLEAR", 0)
    assert await tb.read("STATUS", field="SKEWED") == 0


@cocotb.test()
async def all_converters_late_alike_is_no_fault(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, reaction_multiframes=[3] * LINKS)
    await tb.samples(20)
    assert not tb.check(config, source)
    assert await tb.read("REINITIALISATIONS") == 0


@cocotb.test()
@cocotb.parametrize((("limit", "skew", "comes_up"), [(0, 15, 1), (0, 17, 0), (7, 7, 1), (7, 9, 0), (40, 40, 1)]))
async def skew_limit_is_kept(dut, limit: int, skew: int, comes_up: int):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    delays = [4] * config.lanes
    delays[3] += 4 * skew
    await tb.reset()
    await tb.configure(config, skew_limit=limit)
    transmitter = AdcTransmitter(config, source, lane_delays=delays)
    tb.play(transmitter, sysref_period=config.beats_per_multiframe)
    await tb.cycles(600)
    assert bool(tb.words) == bool(comes_up)
    assert await tb.read("STATUS", field="SKEWED") == (not comes_up)
    if comes_up:
        assert not tb.check(config, source)


@cocotb.test()
async def converters_that_never_begin_are_asked_again(dut):
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    transmitter = AdcTransmitter(config, Noise(config.channels), reaction_multiframes=[1000] * LINKS)
    tb.play(transmitter, sysref_period=config.beats_per_multiframe)
    await tb.until(lambda: int(dut.sync_n.value), 1000, "release of SYNC~")
    released = tb.cycle
    await tb.until(lambda: not int(dut.sync_n.value), 9000, "another request")
    assert 8190 <= tb.cycle - released <= 8196
    await tb.cycles(4)
    assert await tb.read("STATUS", field="TIMED_OUT") == 1
    assert await tb.read("REINITIALISATIONS") == 1
    transmitter.bring_ups.clear()
    transmitter.reaction_multiframes = [0] * LINKS
    await tb.until(lambda: len(tb.words) > 0, 2000, "sample")


@cocotb.test()
async def converter_deaf_to_sync_is_told_by_its_state(dut):
    """It sends samples whatever SYNC~ says: no synchronisation, SYNC~ stays low, the status says which lanes."""
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.bring_up(config, Noise(config.channels), deaf=[1])
    await tb.samples(10)
    await tb.write("CTRL", 0)
    await tb.configure(config)
    count = len(tb.words)
    await tb.cycles(2000)
    assert len(tb.words) == count and int(dut.sync_n.value) == 0
    states = [await tb.read("LANE_STATUS", lane, "CGS") for lane in range(config.lanes)]
    assert states[2:4] == [0, 0] and states[0] == states[4] == 2


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def wrong_octet_told_later_is_marked(dut, scrambling: int):
    """A flipped bit that makes another valid character shows by a later one's disparity: four beats are marked."""
    config = link_config(scrambling=bool(scrambling))
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    for later in (0, 1, 2, 3, 4):
        for place in (0, 3):
            await tb.samples(5)
            beat = transmitter.beat + 8 + place
            transmitter.inject(OctetError(2, beat, 3, 0x41))
            transmitter.inject(OctetError(2, beat + later, 3, 0, "disparity"))
            await tb.samples(2 * CHUNK // 4 + 6)
    marked = tb.check(config, source)
    assert len({word.tick for word in marked}) >= 10


@cocotb.test()
async def wrong_octet_told_later_taints_what_repeats_it(dut):
    """Without scrambling the octet that was hit may have been repeated by /F/ before it is told."""
    # With an odd K /A/ follows /F/ once a multiframe, so that a frame repeats what has been repeated.
    config = link_config(scrambling=False, octets_per_frame=8, frames_per_multiframe=9)
    source = Constant(config.channels, 0x0155)
    tb = TB(dut, LINKS)
    transmitter = await tb.bring_up(config, source)
    for frame in range(9):
        await tb.samples(10)
        # The last octet of a frame; told in the next frame.
        user_data = transmitter.bring_ups[0].first_beat
        beat = transmitter.beat + 8
        beat += (user_data + 2 * frame + 1 - beat) % config.beats_per_multiframe
        transmitter.inject(OctetError(2, beat, 3, 0x41))
        transmitter.inject(OctetError(2, beat + 1, 1, 0, "disparity"))
        await tb.samples(2 * CHUNK // 2 + 8)
    assert tb.check(config, source)


@cocotb.test()
@cocotb.parametrize(scrambling=[0, 1])
async def sender_that_never_replaces_can_be_used(dut, scrambling: int):
    """Samples are right either way; what is missing is marked and counted unless the sender is known to be so."""
    config = link_config(scrambling=bool(scrambling), replacement="never")
    # With scrambling the octets that would be replaced are one in 256.
    source = Constant(config.channels) if not scrambling else Noise(config.channels)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source, registers={"no_replacement": 1})
    await tb.samples(150)
    assert not tb.check(config, source)
    assert await tb.read("LANE_REPLACEMENTS", 0) == 0
    await tb.bring_up(config, source)
    await tb.samples(150)
    marked = tb.check(config, source)
    assert marked and {word.kinds for word in marked} <= {
        LinkError.FRAME_MISALIGNED,
        LinkError.MULTIFRAME_MISALIGNED,
        LinkError.FRAME_MISALIGNED | LinkError.MULTIFRAME_MISALIGNED,
    }
    counts = [await tb.read("LANE_REPLACEMENTS", lane) for lane in range(config.lanes)]
    assert sum(counts) > 0 and (scrambling or min(counts) > 50)
    assert await tb.read("REINITIALISATIONS") == 0


@cocotb.test()
async def sender_that_replaces_twice_in_a_row(dut):
    config = link_config(scrambling=False, replacement="always")
    source = Constant(config.channels, 0x0155)
    tb = TB(dut, LINKS)
    await tb.bring_up(config, source)
    await tb.samples(40)
    for word in tb.words:
        assert np.all(word.samples == 0x0155)
    assert await tb.read("LANE_REPLACEMENTS", 1) > 10
    assert any(word.kinds == LinkError.FRAME_MISALIGNED for word in tb.words)
    assert await tb.read("REINITIALISATIONS") == 0


@cocotb.test()
async def interrupt_tells_what_happened(dut):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    status = REGISTERS["IRQ_STATUS"]
    came_up = status["CAME_UP"].put(1)
    transmitter = await tb.bring_up(config, source, registers={"irq_enable": LinkError.NOT_IN_TABLE})
    await tb.cycles(4)
    assert await tb.read("IRQ_STATUS") == came_up and not int(dut.irq.value)
    await tb.write("IRQ_STATUS", came_up)
    assert await tb.read("IRQ_STATUS") == 0
    # Told, but not enabled.
    transmitter.inject(OctetError(1, transmitter.beat + 8, 1, 4, "disparity"))
    await tb.samples(CHUNK)
    assert await tb.read("IRQ_STATUS") == LinkError.DISPARITY and not int(dut.irq.value)
    transmitter.inject(OctetError(1, transmitter.beat + 8, 1, 4, "not_in_table"))
    await tb.samples(CHUNK)
    assert await tb.read("IRQ_STATUS") == LinkError.DISPARITY | LinkError.NOT_IN_TABLE and int(dut.irq.value)
    # While the links run, too.
    await tb.write("IRQ_STATUS", LinkError.NOT_IN_TABLE)
    await tb.cycles(2)
    assert await tb.read("IRQ_STATUS") == LinkError.DISPARITY and not int(dut.irq.value)
    await tb.write("IRQ_ENABLE", LinkError.LINK_DOWN | came_up)
    transmitter.restart([0])
    await tb.until(lambda: int(dut.irq.value), 300, "interrupt")
    assert await tb.read("IRQ_STATUS") & LinkError.LINK_DOWN
    await tb.write("IRQ_STATUS", 0x1FFF)
    await tb.until(lambda: int(dut.irq.value), 1500, "interrupt")
    assert await tb.read("IRQ_STATUS") == came_up


@cocotb.test()
async def counters_run_in_every_state_and_saturate(dut):
    """A lane that never synchronises still counts, up to the end of the counter."""
    config = link_config()
    tb = TB(dut, LINKS)
    await tb.reset()
    await tb.configure(config)
    dut.lane_notintable.value = 0xF << 4
    dut.lane_disperr.value = 0x3 << 8
    # 16 bits at four a clock: 16384 clocks.
    for _ in range(1000):
        await RisingEdge(dut.clk)
    early = [await tb.read("LANE_NOT_IN_TABLE", 1), await tb.read("LANE_DISPARITY", 2)]
    for _ in range(16000):
        await RisingEdge(dut.clk)
    assert 3980 <= early[0] <= 4120 and 1990 <= early[1] <= 2080
    assert await tb.read("LANE_NOT_IN_TABLE", 1) == 0xFFFF
    assert 34000 <= await tb.read("LANE_DISPARITY", 2) <= 34400
    assert await tb.read("LANE_NOT_IN_TABLE", 0) == 0


@cocotb.test()
@cocotb.parametrize(character=[characters.K, characters.R, characters.Q, 0xF7, 0xFB, 0x3C])
async def control_characters_among_samples_are_no_samples(dut, character: int):
    config = link_config()
    source = Noise(config.channels)
    tb = TB(dut, LINKS)
    faults = [
        Character(octet, tick=30 + 5 * octet, character=character, octet=octet, offset=octet) for octet in range(4)
    ]
    await tb.bring_up(config, source, faults=faults)
    await tb.samples(70)
    marked = tb.check(config, source)
    assert {word.kinds for word in marked} == {LinkError.UNEXPECTED_K}
    assert [await tb.read("LANE_UNEXPECTED_K", lane) for lane in range(5)] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_settings(simulator: str) -> None:
    run_module("jesd204b/jesd204b_receiver", __name__, simulator, parameters={"LINKS": 4})


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_lane_maps_of_all_lanes(simulator: str) -> None:
    """256 channels over 32 lanes."""
    run_module(
        "jesd204b/jesd204b_receiver",
        __name__,
        simulator,
        parameters={"LINKS": 16},
        environment={"TEST_LINKS": "16", "COCOTB_TEST_FILTER": "every_lane_map"},
    )
