"""acquisition_packer: layout, a word a cycle, missing words, overtaking windows, a reset of the link side."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from host.frame_layout import DropCause, LinkError
from tests.hdl.acquisition.frames import RingModel
from tests.hdl.module_bench import SIMULATORS, run_module


@dataclass
class Window:
    """What the link side sends for one window; ``sent`` words of ``words`` arrive, those of ``filled`` as zeros."""

    number: int
    samples: int
    words_a_sample: int
    rng: random.Random
    sent: int | None = None
    filled: frozenset[int] = frozenset()
    tag: int = 0
    data: list[int] = field(init=False)

    def __post_init__(self):
        rng = self.rng
        self.shot, self.configuration = rng.getrandbits(32), rng.getrandbits(32)
        self.time, self.trigger, self.end_time = (rng.getrandbits(64) for _ in range(3))
        self.sample_rate, self.mode = rng.getrandbits(16), rng.getrandbits(8)
        self.kinds, self.lanes = rng.getrandbits(16), rng.getrandbits(64)
        self.causes = 0
        self.words = self.samples * self.words_a_sample
        if self.sent is None:
            self.sent = self.words
        self.data = [rng.getrandbits(1024) for _ in range(self.sent)]

    @property
    def payload(self):
        words = [0 if index in self.filled else word for index, word in enumerate(self.data)]
        words += [0] * (self.words - self.sent)
        return b"".join(word.to_bytes(128, "little") for word in words)


class TB:
    """Three queues as the crossings are, and the ring."""

    def __init__(self, dut, seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.ring = RingModel(dut, seed)
        self.begins, self.words, self.ends = [], [], []
        self.word_rate = 1.0
        self.opened = 0
        dut.rst.value = 1
        for name in ("source_reset", "begin_valid", "word_valid", "end_valid"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk, 3104, unit="ps").start())

    async def start(self):
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        self.ring.start()
        for queue, drive, port in (
            (self.begins, self._drive_begin, "begin"),
            (self.words, self._drive_word, "word"),
            (self.ends, self._drive_end, "end"),
        ):
            cocotb.start_soon(self._serve(queue, drive, port))

    def window(self, number, samples, words_a_sample, **options):
        self.opened += 1
        return Window(number, samples, words_a_sample, self.rng, tag=self.opened % 2, **options)

    def send(self, window, end=True):
        self.begins.append(window)
        self.words.extend((window.tag, index in window.filled, word) for index, word in enumerate(window.data))
        if end:
            self.ends.append(window)

    def check(self, frame, window, dropped, causes=0):
        header, trailer = frame.header, frame.trailer
        names = {"sequence": "number", "timestamp": "time"}
        for name in ("sequence", "shot", "configuration", "timestamp", "trigger", "samples", "sample_rate", "mode"):
            assert header[name] == getattr(window, names.get(name, name)), name
        assert header["channels"] == 64 * window.words_a_sample
        assert header["dropped_before"] == dropped
        assert frame.causes == causes
        assert frame.payload == window.payload
        assert frame.link_errors == window.kinds
        assert trailer["error_lanes"] == window.lanes
        assert trailer["timestamp"] == window.end_time

    async def _serve(self, queue, drive, port):
        valid, ready = getattr(self.dut, f"{port}_valid"), getattr(self.dut, f"{port}_ready")
        while True:
            offered = bool(queue) and (port != "word" or self.rng.random() < self.word_rate)
            valid.value = int(offered)
            if offered:
                drive(queue[0])
            await RisingEdge(self.dut.clk)
            while offered and ready.value != 1 and queue:
                await RisingEdge(self.dut.clk)
            if offered and queue:
                queue.pop(0)

    def _drive_begin(self, window):
        dut = self.dut
        dut.begin_tag.value = window.tag
        dut.begin_causes.value = window.causes
        dut.begin_sequence.value = window.number
        dut.begin_shot.value = window.shot
        dut.begin_configuration.value = window.configuration
        dut.begin_time.value = window.time
        dut.begin_trigger.value = window.trigger
        dut.begin_samples.value = window.samples
        dut.begin_words_last.value = window.words_a_sample - 1
        dut.begin_sample_rate.value = window.sample_rate
        dut.begin_mode.value = window.mode

    def _drive_word(self, word):
        self.dut.word_tag.value, self.dut.word_filled.value, self.dut.word_data.value = word

    def _drive_end(self, window):
        self.dut.end_words.value = window.sent
        self.dut.end_kinds.value = window.kinds
        self.dut.end_lanes.value = window.lanes
        self.dut.end_time.value = window.end_time


@cocotb.test()
async def test_frames_of_all_shapes(dut):
    tb = TB(dut)
    await tb.start()
    windows = [
        tb.window(number, samples, words, filled=frozenset(range(2, number)))
        for number, (samples, words) in enumerate([(1, 1), (1, 2), (1, 4), (2, 1), (17, 2), (40, 4), (3, 1)])
    ]
    for window in windows:
        tb.send(window)
    await tb.ring.wait(len(windows))
    for frame, window in zip(tb.ring.frames, windows, strict=True):
        tb.check(frame, window, dropped=0)


@cocotb.test()
async def test_a_word_a_cycle(dut):
    tb = TB(dut)
    await tb.start()
    window = tb.window(0, 128, 4)
    tb.send(window)
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], window, dropped=0)
    # Only the trailer waits for the payload's CRC and its own.
    assert tb.ring.longest_gap <= 5


@cocotb.test()
async def test_pauses_of_the_source(dut):
    tb = TB(dut)
    await tb.start()
    tb.word_rate = 0.4
    windows = [tb.window(number, 20, 2) for number in range(3)]
    for window in windows:
        tb.send(window)
    await tb.ring.wait(3)
    for frame, window in zip(tb.ring.frames, windows, strict=True):
        tb.check(frame, window, dropped=0)


@cocotb.test()
async def test_dropped_frames_are_in_the_next_header(dut):
    tb = TB(dut)
    await tb.start()
    tb.ring.deny = {3, 4, 9}
    numbers = [0, 1, 3, 4, 7, 9, 10, 0x1_0000_0000, 0x1_0000_FFFF + 1, 0x1_0002_0001 + 1]
    dropped = {0: 0, 1: 0, 7: 5, 10: 2, 0x1_0000_0000: 0xFFFF, 0x1_0001_0000: 0xFFFF, 0x1_0002_0002: 0xFFFF}
    windows = {number: tb.window(number, 3, 1) for number in numbers}
    for window in windows.values():
        tb.send(window)
    await tb.ring.wait(len(dropped))
    assert [frame.sequence for frame in tb.ring.frames] == list(dropped)
    full = {7: DropCause.RING_FULL, 10: DropCause.RING_FULL}
    for frame in tb.ring.frames:
        tb.check(frame, windows[frame.sequence], dropped[frame.sequence], full.get(frame.sequence, 0))
    assert tb.ring.denied == 3


@cocotb.test()
async def test_causes_of_drops_are_in_the_next_header(dut):
    """Those of the link side and of refused frames, each in one header; one bit at a time, then several."""
    tb = TB(dut)
    await tb.start()
    tb.ring.deny = {1, 4, 7, 10, 11, 13}
    frames = 0
    for step, cause in enumerate((1, 2, 4, 8)):
        tb.ring.deny_cause = cause
        denied = tb.window(3 * step + 1, 2, 1)
        denied.causes = 1 << step
        after = tb.window(3 * step + 2, 2, 1)
        plain = tb.window(3 * step + 3, 2, 1)
        for window in (denied, after, plain):
            tb.send(window)
        await tb.ring.wait(frames + 2, limit=2000) if step < 3 else await tb.ring.wait(frames + 1, limit=2000)
        found = tb.ring.frames[frames:]
        if step < 3:
            assert [frame.causes for frame in found] == [16 << step | cause, 0]
            assert [int(frame.header["dropped_before"]) for frame in found] == [1 if step else 2, 0]
            frames += 2
            continue
        # 10 and 11 are refused: 12 tells of both.
        tb.check(found[0], plain, dropped=2, causes=16 << 3 | 8)
    own = tb.window(14, 2, 1)
    own.causes = 0b0101
    tb.send(own)
    await tb.ring.wait(frames + 2, limit=2000)
    tb.check(tb.ring.frames[-1], own, dropped=1, causes=0b0101 << 4)


@cocotb.test()
async def test_missing_words_become_zeros(dut):
    """Also when the next window's words arrive before this one's end record."""
    tb = TB(dut)
    await tb.start()
    for number, sent in enumerate([5, 0, 12, 1]):
        short = tb.window(2 * number, 6, 2, sent=sent)
        after = tb.window(2 * number + 1, 6, 2)
        tb.send(short, end=False)
        tb.send(after, end=False)
        await ClockCycles(dut.clk, 60)
        assert len(tb.ring.frames) == 2 * number
        tb.ends.extend([short, after])
        await tb.ring.wait(2 * number + 2)
        tb.check(tb.ring.frames[-2], short, dropped=0)
        tb.check(tb.ring.frames[-1], after, dropped=0)


@cocotb.test()
@cocotb.parametrize(("denied", [False, True]))
async def test_reset_of_the_link_side(dut, denied):
    tb = TB(dut)
    await tb.start()
    first = tb.window(0, 2, 1)
    tb.send(first)
    await tb.ring.wait(1)
    if denied:
        tb.ring.deny = {1}
    torn = tb.window(1, 20, 4, sent=30)
    tb.send(torn, end=False)
    await ClockCycles(dut.clk, 70)
    for queue in (tb.begins, tb.words, tb.ends):
        queue.clear()
    dut.source_reset.value = 1
    await ClockCycles(dut.clk, 12)
    dut.source_reset.value = 0
    # The link side counts from 0 again.
    after = tb.window(0, 4, 4)
    tb.send(after)
    await tb.ring.wait(2 if denied else 3)
    if not denied:
        frame = tb.ring.frames[1]
        assert frame.payload == torn.payload
        assert frame.link_errors == LinkError.LINK_DOWN
        assert frame.trailer["timestamp"] == torn.time
    tb.check(tb.ring.frames[-1], after, dropped=0)


@cocotb.test()
@cocotb.parametrize(("lead", list(range(1, 9))), ("denied", [False, True]))
async def test_short_reset_of_the_link_side_around_admission(dut, lead, denied):
    """The header of the frame goes by the old numbers, all behind it by the new ones."""
    tb = TB(dut)
    tb.ring.latency = 0
    await tb.start()
    tb.send(tb.window(0, 2, 1))
    await tb.ring.wait(1)
    if denied:
        tb.ring.deny = {5}
    torn = tb.window(5, 20, 4, sent=0)
    torn.causes = 0b0001
    tb.send(torn, end=False)
    await RisingEdge(dut.clk)
    while not (dut.begin_valid.value == 1 and dut.begin_ready.value == 1):
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, lead)
    tb.begins.clear()
    dut.source_reset.value = 1
    await ClockCycles(dut.clk, 4)
    dut.source_reset.value = 0
    after = tb.window(0, 4, 4)
    tb.send(after)
    await tb.ring.wait(2 if denied else 3)
    if not denied:
        frame = tb.ring.frames[1]
        assert (frame.header["dropped_before"], frame.causes) == (4, DropCause.TRIGGER_TOO_EARLY)
        assert frame.link_errors == LinkError.LINK_DOWN
    tb.check(tb.ring.frames[-1], after, dropped=0)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_acquisition_packer(simulator):
    run_module("acquisition/acquisition_packer", __name__, simulator)
