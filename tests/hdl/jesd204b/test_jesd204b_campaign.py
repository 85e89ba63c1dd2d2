"""Random faults against the receive link: no wrong sample with all flags clear, and back to clean words afterwards.

``make test-faults`` runs some thousands; here a short draw. ``FAULT_SEED=n`` runs the case that a failure has named.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import cocotb
import numpy as np
import pytest

from host.frame_layout import LinkError
from sim.adc import AdcTransmitter
from sim.adc.line import LineLevel
from tests.hdl.fault_seeds import seeds
from tests.hdl.jesd204b.bench import TB, WORD_CHANNELS, Word
from tests.hdl.jesd204b.cases import LANES, LINKS, Case, draw
from tests.hdl.jesd204b.coverage import STATES, Coverage
from tests.hdl.module_bench import RUNS, SIMULATORS, run_module
from tests.sim.adc.streams import Constant

BLOCK = 125
SHORT_DRAW = 60
CLEAN_WORDS = 12
SUSPICION = LinkError.FRAME_MISALIGNED | LinkError.MULTIFRAME_MISALIGNED


class CaseTB(TB):
    """Knows the state of the links at every beat, for the coverage."""

    def forget(self) -> None:
        super().forget()
        self.states: list[int] = []

    def _observe(self) -> None:
        super()._observe()
        up, sync_n = self.link_up_log[-1][1], self.sync_log[-1][1]
        if up:
            state = STATES.index("samples")
        elif sync_n:
            state = STATES.index("alignment")
        elif self.runs or (self.transmitter is not None and self.transmitter.bring_ups):
            state = STATES.index("synchronisation again")
        else:
            state = STATES.index("synchronisation")
        self.states.append(state)


async def play(tb: CaseTB, case: Case) -> None:
    """Run the case up to its end."""
    await tb.reset()
    for lane, physical in enumerate(case.lane_map):
        if physical != lane:
            await tb.write("LANE_MAP", physical, lane)
    options = dict(case.transmitter)
    if case.flips or case.lost_bits:
        line = LineLevel(sorted({*case.flips, *case.lost_bits}))
        for lane, bits in case.flips.items():
            line.flips[lane] |= bits
        for lane, bits in case.lost_bits.items():
            line.slips[lane] |= bits
        options["line"] = line
    await tb.configure(case.config, **case.registers)
    tb.play(
        AdcTransmitter(case.config, case.source, faults=case.faults, **options),
        sysref_period=case.config.beats_per_multiframe,
    )
    if case.sysref_shift is not None:
        shift, start, stop = case.sysref_shift
        await tb.cycles(start)
        tb.sysref_shift = shift
        await tb.cycles(stop - start)
        tb.sysref_shift = 0
        await tb.cycles(case.end_beat - stop)
    else:
        await tb.cycles(case.end_beat)


def first_tick(tb: CaseTB, word: Word) -> int:
    """Source tick of a run's first word: of the latest start of user data that can have come out by then."""
    starts = [bring_up for bring_up in tb.transmitter.bring_ups if bring_up.first_beat <= word.cycle - 8]
    return starts[-1].first_tick


def wrong_words(tb: CaseTB, case: Case) -> tuple[list[Word], list[Word]]:
    """The words that are wrong and not marked, and those that are marked."""
    config = case.config
    width = -(-config.channels // WORD_CHANNELS) * WORD_CHANNELS
    wrong, marked = [], []
    for run in sorted({word.run for word in tb.words}):
        words = [word for word in tb.words if word.run == run]
        expected = np.zeros((len(words), width), np.int16)
        expected[:, : config.channels] = case.source.samples(first_tick(tb, words[0]), len(words))
        for index, word in enumerate(words):
            assert word.tick == index and word.first, "ticks do not count"
            if word.kinds:
                marked.append(word)
            elif not np.array_equal(word.samples, expected[index]):
                wrong.append(word)
    return wrong, marked


async def told(tb: CaseTB) -> bool:
    """Some counter, sticky bit or interrupt status says that not all was well."""
    for lane in range(LANES):
        for name in (
            "DISPARITY",
            "NOT_IN_TABLE",
            "UNEXPECTED_K",
            "MISALIGNED",
            "ILAS_MISMATCH",
            "CGS_LOSSES",
            "REPLACEMENTS",
        ):
            if await tb.read(f"LANE_{name}", lane):
                return True
    return bool(await tb.read("REINITIALISATIONS") or await tb.read("STATUS") & 0b11100)


async def check(tb: CaseTB, case: Case) -> None:
    wrong, marked = wrong_words(tb, case)
    assert not wrong, (
        f"{len(wrong)} words wrong and not marked, the first at tick {wrong[0].tick} of run {wrong[0].run}"
    )
    status = await tb.read("IRQ_STATUS")
    for word in marked:
        assert word.kinds & 0xFFF & ~status == 0, "a mark that the interrupt status does not know"
    if marked or tb.runs > 1:
        assert await told(tb), "marked words without a counter"
    if case.flagged:
        clean = [(word.run, word.tick) for word in tb.words if not word.kinds]
        assert not clean, f"words without the mark that all should have: {clean[:10]} of {len(tb.words)}"
    if case.recovers:
        last = tb.words[-CLEAN_WORDS:]
        assert len(last) == CLEAN_WORDS and tb.link_up_log[-1][1], "the links have not come up again"
        # The alignment character that would clear a suspicion may be long in coming, unless samples repeat; and a
        # configuration that was hit on its way is doubted until the next start.
        lasting = 0 if isinstance(case.source, Constant) and not case.config.scrambling else SUSPICION
        lasting |= LinkError.ILAS_MISMATCH
        assert not any(word.kinds & ~lasting for word in last), f"marks do not end: {last[-1]}"
        assert len({word.run for word in last}) == 1


@cocotb.test()
async def random_faults(dut):
    tb = CaseTB(dut, LINKS)
    coverage = Coverage()
    for seed in seeds(SHORT_DRAW):
        case = draw(seed)
        await play(tb, case)
        try:
            await check(tb, case)
        except AssertionError as error:
            raise AssertionError(f"{error}\nmake test-faults FAULTS=link FAULT_SEED={seed}\n{case}") from error
        fills = (
            [await tb.read("LANE_STATUS", lane, "LATENCY") for lane in range(LANES)] if tb.link_up_log[-1][1] else []
        )
        coverage.add(case, tb.states, fills, [(a, b) for a, b in pairwise(tb.states) if a != b])
    if "FAULT_COVERAGE" in os.environ:
        Path(os.environ["FAULT_COVERAGE"]).write_text(json.dumps(coverage.to_json()))


def blocks() -> list[tuple[int, int]]:
    """First seed and number of cases of each block."""
    chosen = seeds(SHORT_DRAW)
    return [(chosen[at], len(chosen[at : at + BLOCK])) for at in range(0, len(chosen), BLOCK)]


@pytest.mark.parametrize(("first", "count"), blocks())
def test_random_faults(first: int, count: int) -> None:
    _run("verilator", first, count)


@pytest.mark.icarus
def test_random_faults_on_icarus() -> None:
    _run(SIMULATORS[1].values[0], 900_001, 4)


def _run(simulator: str, first: int, count: int) -> None:
    folder = RUNS / "jesd204b-coverage"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {"FAULT_COVERAGE": str(folder / f"{simulator}-{first}.json"), "FAULT_BLOCK": f"{first} {count}"}
    run_module(
        "jesd204b/jesd204b_receiver",
        __name__,
        simulator,
        parameters={"LINKS": LINKS},
        environment=environment,
        seed=first,
    )
