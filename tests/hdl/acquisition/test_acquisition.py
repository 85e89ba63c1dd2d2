"""acquisition, lanes' words in to frames out, with two clocks: windows, drops, link faults, overflow, resets."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from host.control.registers import register_map
from host.frame_layout import DropCause, LinkError
from tests.hdl.acquisition.frames import RingModel
from tests.hdl.lib.reg_bus import RegBusError, RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

LINK_PS = 3126  # 320 MHz
CORE_PS = 3104  # 322.27 MHz
SLOW_CORE_PS = 9000
LANES = 32
CTRL_ENABLE = 1
CTRL_LASER = 1 << 1
CTRL_GENERATOR = 2 << 1
CTRL_HOLD = 1 << 3
CTRL_GENERATE = 1 << 4
SAMPLE = 256  # units of WINDOW_DELAY and of times in the header


@dataclass
class Beat:
    """What was on the stream in one link clock."""

    tick: int
    phase: int  # clocks since the sample began
    epoch: int  # times the link came up


def word_of(epoch, tick, index):
    """The 64 channels of word ``index`` of a sample."""
    return random.Random(epoch << 40 | tick << 8 | index).getrandbits(1024)


class Link:
    """The link receiver's side: a sample every ``clocks`` link clocks, ``words`` words of it at its first clocks."""

    def __init__(self, dut, clocks=4, words=4):
        self.dut = dut
        self.clocks = clocks
        self.words = words
        self.up = False
        self.silent = False
        self.epoch = 0
        self.beat = None  # of the present clock
        self.errors = {}  # (tick, word) -> (kinds, lanes)
        self.reason = 0  # error kinds shown while down
        self.stamps = {}  # (epoch, tick) -> time of the sample's first word

    async def run(self):
        dut = self.dut
        tick = phase = 0
        while True:
            await RisingEdge(dut.link_clk)
            if self.beat and self.beat.phase == 0:
                self.stamps[self.beat.epoch, self.beat.tick] = int(dut.now.value)
            dut.link_up.value = int(self.up)
            if not self.up:
                tick = phase = 0
                self.beat = None
                dut.s_axis_tvalid.value = 0
                dut.s_axis_error_kinds.value = self.reason
                continue
            if tick == phase == 0:
                self.epoch += 1
            self.beat = Beat(tick, phase, self.epoch)
            valid = phase < self.words and not self.silent
            dut.s_axis_tvalid.value = int(valid)
            dut.s_axis_first.value = int(phase == 0)
            dut.s_axis_tick.value = tick
            kinds, lanes = self.errors.get((tick, phase), (0, 0))
            dut.s_axis_error_kinds.value = kinds
            dut.s_axis_error_lanes.value = lanes
            if valid:
                dut.s_axis_tdata.value = word_of(self.epoch, tick, phase)
            phase += 1
            if phase == self.clocks:
                tick, phase = tick + 1, 0


class TB:
    """Both clocks, link, ring, registers."""

    def __init__(self, dut, seed=1, core_ps=CORE_PS, clocks=4, words=4):
        self.dut = dut
        self.rng = random.Random(seed)
        self.link = Link(dut, clocks, words)
        self.ring = RingModel(dut, seed)
        self._registers = register_map()["ACQUISITION"]
        dut.rst.value = 1
        dut.link_rst.value = 1
        for name in ("trigger", "laser", "link_up", "s_axis_tvalid", "s_axis_first"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.link_clk, LINK_PS, unit="ps").start())
        cocotb.start_soon(Clock(dut.clk, core_ps, unit="ps").start())
        self.bus = RegBusMaster(dut, dut.link_clk)

    async def get(self, name):
        return await self.bus.read(self._registers[name].offset)

    async def put(self, name, value):
        await self.bus.write(self._registers[name].offset, value)

    async def configure(self, samples, channels=256, delay=0, control=CTRL_ENABLE, **registers):
        """``delay`` in samples, also parts of one."""
        self.samples, self.channels, self.delay = samples, channels, round(delay * SAMPLE)
        settings = {"SAMPLES": samples, "CHANNELS": channels, "WINDOW_DELAY": self.delay, **registers}
        for name, value in settings.items():
            await self.put(name, value)
        await self.put("CTRL", control)

    async def start(self, samples, **options):
        await self.settle()
        self.dut.rst.value = 0
        self.dut.link_rst.value = 0
        await self.settle()
        self.ring.start()
        cocotb.start_soon(self.link.run())
        self.link.up = True
        await self.configure(samples, **options)
        await ClockCycles(self.dut.link_clk, 20)

    async def settle(self, cycles=12):
        await ClockCycles(self.dut.link_clk, cycles)
        await ClockCycles(self.dut.clk, cycles)

    async def phase(self, phase):
        """Wait for the middle of a link clock that is at ``phase`` of a sample."""
        await FallingEdge(self.dut.link_clk)
        while self.link.beat is None or self.link.beat.phase != phase:
            await FallingEdge(self.dut.link_clk)

    async def trigger(self, signal=None):
        """One trigger in the present link clock (between its falling and rising edge); return that clock's beat."""
        signal = self.dut.trigger if signal is None else signal
        signal.value = 1
        beat = self.link.beat
        await RisingEdge(self.dut.link_clk)
        await FallingEdge(self.dut.link_clk)
        signal.value = 0
        await RisingEdge(self.dut.link_clk)
        await FallingEdge(self.dut.link_clk)
        return beat

    def expected(self, epoch, tick, samples=None):
        words = range(self.channels // 64)
        ticks = range(tick, tick + (self.samples if samples is None else samples))
        return b"".join(word_of(epoch, t, w).to_bytes(128, "little") for t in ticks for w in words)

    def time_of(self, beat, exact=False):
        """Time of a trigger in ``beat`` as in the header: the middle of the link clock, or (exact) its begin."""
        clock = SAMPLE // self.link.clocks
        return beat.tick * SAMPLE + beat.phase * clock + (0 if exact else clock // 2)

    def first_tick(self, beat, exact=False):
        """The sample nearest to the trigger in ``beat`` and the delay."""
        return (self.time_of(beat, exact) + self.delay + SAMPLE // 2) // SAMPLE

    def check(self, frame, beat, dropped=0, causes=None, exact=False):
        """``frame`` was triggered in ``beat`` and nothing is wrong with it."""
        trigger, first = self.time_of(beat, exact), self.first_tick(beat, exact)
        header = frame.header
        assert int(header["trigger"]) == trigger
        assert header["samples"] == self.samples
        assert header["channels"] == self.channels
        assert header["dropped_before"] == dropped
        if causes is None:
            assert bool(frame.causes & ~DropCause.LASER_MISSING) == bool(dropped)
        else:
            assert frame.causes == causes
        assert frame.payload == self.expected(beat.epoch, first)
        assert frame.link_errors == 0
        assert frame.trailer["error_lanes"] == 0
        assert int(header["timestamp"]) == self.link.stamps[beat.epoch, first]
        assert int(frame.trailer["timestamp"]) == self.link.stamps[beat.epoch, first + self.samples - 1]

    async def counters(self):
        names = ("TRIGGERS", "FRAMES", "DROPPED_EARLY", "DROPPED_LINK_DOWN", "CROSSING_OVERFLOWS")
        return tuple([await self.get(name) for name in names])


@cocotb.test()
@cocotb.parametrize(
    (
        "shape",
        [
            (4, 4, 256),
            (4, 4, 128),
            (4, 4, 64),
            (2, 2, 128),
            (4, 2, 128),
            (2, 2, 64),
            (4, 1, 64),
            (1, 1, 64),
            (8, 4, 256),
        ],
    )
)
async def test_windows(dut, shape):
    """Every phase of the trigger in its sample, with several delays: the window begins with the nearest sample."""
    clocks, words, channels = shape
    tb = TB(dut, clocks=clocks, words=words)
    await tb.start(5, channels=channels)
    count = 0
    for phase in range(clocks):
        for delay in (0, 1, 6, 0.25, 7.5, 20.875, 3 + 127 / 256):
            await tb.configure(tb.rng.randint(1, 6), channels=channels, delay=delay)
            await tb.phase(phase)
            beat = await tb.trigger()
            count += 1
            await tb.ring.wait(count)
            tb.check(tb.ring.frames[-1], beat)
    assert await tb.counters() == (count, count, 0, 0, 0)


@cocotb.test()
async def test_header_of_the_settings_at_the_trigger(dut):
    tb = TB(dut)
    await tb.start(4, SHOTS_PER_SEQUENCE=3)
    settings = {"MODE": 0xA5, "CONFIGURATION_ID": 0xDEADBEEF, "SAMPLE_RATE": 12500}
    for name, value in settings.items():
        await tb.put(name, value)
    for shot in (0, 1, 2, 0, 1):
        await tb.put("SAMPLES", 60)
        await FallingEdge(dut.link_clk)
        await tb.trigger()
        # Later settings belong to later frames.
        await tb.put("SAMPLES", 1)
        await tb.put("CONFIGURATION_ID", 1)
        await tb.ring.wait(len(tb.ring.frames) + 1)
        header = tb.ring.frames[-1].header
        assert (header["mode"], header["configuration"], header["sample_rate"]) == tuple(settings.values())
        assert header["samples"] == 60
        assert header["shot"] == shot
        await tb.put("CONFIGURATION_ID", settings["CONFIGURATION_ID"])
    assert [frame.sequence for frame in tb.ring.frames] == list(range(5))
    # Disabled, triggers are not even counted, and shots begin anew.
    await tb.put("CTRL", 0)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await tb.put("CTRL", CTRL_ENABLE)
    await tb.put("SAMPLES", 0)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await tb.put("SAMPLES", 1)
    assert await tb.get("TRIGGERS") == 5
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await tb.ring.wait(6)
    assert tb.ring.frames[-1].sequence == 5
    assert tb.ring.frames[-1].header["shot"] == 0


@cocotb.test()
async def test_inputs(dut):
    """The rising edge counts, of the input that is selected."""
    tb = TB(dut)
    dut.trigger.value = 1
    await tb.start(2)
    await tb.settle()
    assert await tb.get("TRIGGERS") == 0
    dut.trigger.value = 0
    await FallingEdge(dut.link_clk)
    await tb.trigger(dut.laser)
    assert await tb.get("TRIGGERS") == 0
    await tb.put("CTRL", CTRL_ENABLE | CTRL_LASER)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    assert await tb.get("TRIGGERS") == 0
    beat = await tb.trigger(dut.laser)
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], beat)


@cocotb.test()
@cocotb.parametrize(("clocks", [2, 4]))
async def test_triggers_at_any_time(dut, clocks):
    """The time in the header is right to half a link clock, and the window begins at the nearest sample."""
    tb = TB(dut, clocks=clocks, words=2)
    await tb.start(2, channels=128, delay=7.5)
    errors = []
    for number in range(33):
        await tb.phase(tb.rng.randrange(clocks))
        await RisingEdge(dut.link_clk)  # from here on the beat after the present one is on the stream
        after = tb.rng.randrange(20, LINK_PS - 20)
        await Timer(after, "ps")
        dut.laser.value = dut.trigger.value = 1
        beat = tb.link.beat
        await ClockCycles(dut.link_clk, 3)
        dut.laser.value = dut.trigger.value = 0
        await tb.ring.wait(number + 1)
        tb.check(tb.ring.frames[-1], beat)
        true = beat.tick * SAMPLE + (beat.phase + after / LINK_PS) * SAMPLE / clocks
        errors.append((int(tb.ring.frames[-1].header["trigger"]) - true) / SAMPLE * clocks)
    assert -0.5 <= min(errors) < -0.3
    assert 0.3 < max(errors) <= 0.5


@cocotb.test()
async def test_missing_laser_pulses(dut):
    """Jitter is none, a gap is one for each pulse that should have been, and the next header says so, once."""
    tb = TB(dut)
    period = 160
    await tb.start(2, control=CTRL_ENABLE | CTRL_LASER, LASER_PERIOD=period)
    steps = ((0, 0), (0, 70), (0, -70), (1, 0), (0, 0), (3, 60), (0, -60))
    for number, (skipped, jitter) in enumerate(steps):
        await ClockCycles(dut.link_clk, (skipped + 1) * period + jitter - 40)
        await FallingEdge(dut.link_clk)
        missing = await tb.get("LASER_MISSING")
        await tb.phase(0)
        beat = await tb.trigger(dut.laser)
        await tb.ring.wait(number + 1, limit=400)
        tb.check(tb.ring.frames[-1], beat, causes=DropCause.LASER_MISSING if skipped else 0)
        assert missing == {3: 1, 4: 1, 5: 4, 6: 4}.get(number, 0)
    # Not while held, nor of another source, nor without a period.
    for control, value in ((CTRL_ENABLE | CTRL_LASER | CTRL_HOLD, period), (CTRL_ENABLE, period), (CTRL_LASER, period)):
        await tb.configure(2, control=control, LASER_PERIOD=value)
        await ClockCycles(dut.link_clk, 4 * period)
        assert await tb.get("LASER_MISSING") == 4
    await tb.configure(2, control=CTRL_ENABLE | CTRL_LASER, LASER_PERIOD=0)
    await ClockCycles(dut.link_clk, 4 * period)
    assert await tb.get("LASER_MISSING") == 4
    # The first pulse is due within a period of the start.
    await tb.put("LASER_PERIOD", period)
    await ClockCycles(dut.link_clk, period * 3 // 2 - 20)
    assert await tb.get("LASER_MISSING") == 4
    await ClockCycles(dut.link_clk, 40)
    assert await tb.get("LASER_MISSING") == 5


@cocotb.test()
async def test_generator(dut):
    """A shot each period, the first one period after the start; its time is exact; it runs whatever opens windows."""
    tb = TB(dut)
    await tb.start(3, PRF_PERIOD=90)
    fired = []

    async def watch():
        while True:
            await FallingEdge(dut.link_clk)
            if dut.fire.value == 1:
                fired.append((get_sim_time("ps"), tb.link.beat))

    cocotb.start_soon(watch())
    await ClockCycles(dut.link_clk, 200)
    assert not fired
    await tb.put("CTRL", CTRL_ENABLE | CTRL_GENERATOR | CTRL_GENERATE)
    started = get_sim_time("ps")
    await ClockCycles(dut.link_clk, 90 * 4 + 70)
    assert len(fired) == 4 == await tb.get("SHOTS_FIRED")
    assert {later[0] - sooner[0] for sooner, later in pairwise(fired)} == {90 * LINK_PS}
    assert 85 * LINK_PS <= fired[0][0] - started <= 91 * LINK_PS
    assert len(tb.ring.frames) == 4
    for frame, (_, beat) in zip(tb.ring.frames, fired, strict=True):
        tb.check(frame, beat, exact=True)
    await tb.put("CTRL", CTRL_ENABLE | CTRL_GENERATE)
    await ClockCycles(dut.link_clk, 180)
    assert len(fired) in (5, 6)
    assert await tb.get("TRIGGERS") == 4
    await tb.put("CTRL", CTRL_ENABLE | CTRL_GENERATOR)
    await ClockCycles(dut.link_clk, 180)
    await tb.put("PRF_PERIOD", 0)
    await tb.put("CTRL", CTRL_ENABLE | CTRL_GENERATOR | CTRL_GENERATE)
    await ClockCycles(dut.link_clk, 180)
    assert len(fired) in (5, 6)


@cocotb.test()
async def test_held_for_a_change_of_mode(dut):
    """An open window ends as it began; triggers are counted; the first frame of the new mode tells of them."""
    tb = TB(dut)
    await tb.start(20, MODE=1)
    assert await tb.get("STATUS") == 2
    await FallingEdge(dut.link_clk)
    first = await tb.trigger()
    await tb.put("CTRL", CTRL_ENABLE | CTRL_HOLD)
    assert await tb.get("STATUS") == 3
    for _ in range(2):
        await FallingEdge(dut.link_clk)
        await tb.trigger()
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], first)
    assert await tb.get("STATUS") == 2
    tb.link.up = False
    await tb.settle()
    assert await tb.get("STATUS") == 0
    await FallingEdge(dut.link_clk)
    await tb.trigger()  # held, not down: only one cause a trigger
    tb.link.clocks, tb.link.words, tb.link.up = 2, 2, True
    await tb.configure(10, channels=128, control=CTRL_ENABLE | CTRL_HOLD, MODE=2)
    await tb.settle(30)
    await tb.put("CTRL", CTRL_ENABLE)
    await FallingEdge(dut.link_clk)
    second = await tb.trigger()
    await tb.ring.wait(2)
    tb.check(tb.ring.frames[1], second, dropped=3, causes=DropCause.HELD)
    assert [int(frame.header["mode"]) for frame in tb.ring.frames] == [1, 2]
    assert [int(frame.header["shot"]) for frame in tb.ring.frames] == [0, 4]
    assert await tb.get("DROPPED_HELD") == 3
    assert await tb.counters() == (5, 2, 0, 0, 0)


@cocotb.test()
async def test_time(dut):
    tb = TB(dut)
    await tb.start(2)
    await tb.put("TIME_INCREMENT", 0x04000000)
    await tb.put("TIME_SECONDS", 77)
    await tb.put("TIME_NANOSECONDS", (10**9 - 400) * 4 + 3)
    await tb.put("TIME_LOAD", 1)
    assert await tb.get("TIME_SECONDS") == 77
    await ClockCycles(dut.link_clk, 100)
    assert await tb.get("TIME_SECONDS") == 78
    quarters = await tb.get("TIME_NANOSECONDS")
    assert quarters % 4 == 3
    assert 0 < quarters // 4 < 200
    with pytest.raises(RegBusError):
        await tb.put("TIME_NANOSECONDS", 4 * 10**9)
    await FallingEdge(dut.link_clk)
    beat = await tb.trigger()
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], beat)
    frame = tb.ring.frames[0]
    assert frame.trailer["timestamp"] - frame.header["timestamp"] == 4 * 4 * 4  # a sample is 4 clocks of 4 ns


@cocotb.test()
async def test_drops_are_counted_by_cause(dut):
    tb = TB(dut)
    await tb.start(10)
    tb.ring.deny = {6, 9, 10}
    beats = []

    async def shoot(wait=True):
        await FallingEdge(dut.link_clk)
        beats.append(await tb.trigger())
        if wait:
            await tb.settle(100)

    await shoot()
    await shoot(wait=False)
    for _ in range(3):  # 2, 3, 4: the window of 1 is open
        await shoot(wait=False)
    await tb.settle(100)
    await shoot()
    await shoot()  # 6: refused
    tb.link.up = False
    await tb.settle()
    for _ in range(2):  # 7, 8: the link is down
        await shoot()
    tb.link.up = True
    await tb.settle(20)
    for _ in range(3):  # 9, 10: refused
        await shoot()
    assert await tb.counters() == (12, 7, 3, 2, 0)
    assert tb.ring.denied == 3
    dropped = {0: 0, 1: 0, 5: 3, 11: 5}
    causes = {5: DropCause.TRIGGER_TOO_EARLY, 11: DropCause.RING_FULL | DropCause.LINK_DOWN}
    assert [frame.sequence for frame in tb.ring.frames] == list(dropped)
    for frame in tb.ring.frames:
        tb.check(frame, beats[frame.sequence], dropped[frame.sequence], causes.get(frame.sequence, 0))


@cocotb.test()
async def test_link_errors_of_the_window(dut):
    tb = TB(dut)
    await tb.start(4, channels=128, delay=20)
    cases = [
        (-1, 3, False),  # the last word before the window
        (0, 0, True),
        (0, 3, True),  # a word that is not kept, of a sample that is
        (2, 1, True),
        (3, 1, True),
        (4, 0, False),
    ]
    for number, (sample, word, counts) in enumerate(cases):
        await tb.phase(number % 4)
        beat = tb.link.beat
        kinds, lanes = tb.rng.getrandbits(11) | 1, tb.rng.getrandbits(LANES) | 1
        first = tb.first_tick(beat)
        tb.link.errors = {(first + sample, word): (kinds, lanes)}
        assert (await tb.trigger()) == beat
        await tb.ring.wait(number + 1)
        frame = tb.ring.frames[-1]
        assert frame.payload == tb.expected(beat.epoch, first)
        assert frame.link_errors == (kinds if counts else 0)
        assert frame.trailer["error_lanes"] == (lanes if counts else 0)


@cocotb.test()
@cocotb.parametrize(("wait", [1, 8, 14, 22, 29, 47]), ("fault", ["down", "silent", "short"]))
async def test_link_fails_in_the_window(dut, wait, fault):
    """The frame is complete and flagged; what had come is right, the rest is zero; the next frame is good."""
    tb = TB(dut)
    await tb.start(20, delay=3)
    await tb.phase(1)
    beat = await tb.trigger()
    await ClockCycles(dut.link_clk, wait)
    if fault == "down":
        tb.link.up = False
        tb.link.reason = LinkError.CGS_LOST
    elif fault == "silent":
        tb.link.silent = True
    else:
        tb.link.words = 3
    await tb.ring.wait(1, limit=1000)
    frame = tb.ring.frames[0]
    good = tb.expected(beat.epoch, beat.tick + 3)
    kept = len(frame.payload.rstrip(b"\0")) // 128 * 128
    assert frame.payload[:kept] == good[:kept]
    assert frame.payload[kept:].count(0) == len(good) - kept
    clocks = max(0, wait - 4 * 3)
    assert abs(kept // 128 - clocks) <= 8
    assert frame.link_errors == LinkError.LINK_DOWN | tb.link.reason
    # Comes back, counting from 0 after it was down.
    tb.link.up, tb.link.silent, tb.link.words = True, False, 4
    await tb.settle(40)
    await FallingEdge(dut.link_clk)
    beat = await tb.trigger()
    await tb.ring.wait(2)
    tb.check(tb.ring.frames[1], beat)


@cocotb.test()
async def test_link_fails_behind_the_window(dut):
    """Going down after the last word has come is none of the frame's business, however late that word is looked at."""
    tb = TB(dut)
    await tb.start(2)
    tb.link.reason = LinkError.CGS_LOST
    await tb.phase(0)
    beat = await tb.trigger()
    while tb.link.beat != Beat(beat.tick + 1, 3, beat.epoch):
        await FallingEdge(dut.link_clk)
    tb.link.up = False
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], beat)


@cocotb.test()
async def test_link_gap_is_seen(dut):
    """A link that was down for a single clock: soon after, triggers are dropped; in a window, it is flagged."""
    tb = TB(dut)
    await tb.start(10)

    async def gap():
        await FallingEdge(dut.link_clk)
        tb.link.up = False
        await RisingEdge(dut.link_clk)
        await FallingEdge(dut.link_clk)
        tb.link.up = True

    last = -1
    for number, wait in enumerate(range(0, 20, 2)):
        await gap()
        await ClockCycles(dut.link_clk, wait)
        await FallingEdge(dut.link_clk)
        frames = len(tb.ring.frames)
        beat = await tb.trigger()
        await tb.settle(80)
        assert len(tb.ring.frames) - frames == int(wait > 6), f"trigger {wait} clocks after the gap"
        if wait > 6:
            tb.check(tb.ring.frames[-1], beat, dropped=number - last - 1)
            last = number
    assert await tb.counters() == (10, 6, 0, 4, 0)
    for wait in range(8, 16):  # at every phase of a sample
        await tb.phase(0)
        await tb.trigger()
        await ClockCycles(dut.link_clk, wait)
        await gap()
        await tb.settle(80)
        assert tb.ring.frames[-1].link_errors == LinkError.LINK_DOWN


@cocotb.test()
async def test_too_many_channels_are_flagged(dut):
    tb = TB(dut, clocks=2, words=2)
    await tb.start(6, channels=256)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await tb.ring.wait(1)
    assert tb.ring.frames[0].link_errors == LinkError.LINK_DOWN
    assert tb.ring.frames[0].header["payload_bytes"] == 6 * 512


@cocotb.test()
async def test_sustained_without_overflow(dut):
    """Windows back to back at the real clocks: the crossing takes every word."""
    tb = TB(dut)
    await tb.start(60)
    beats = []
    for _ in range(5):
        await FallingEdge(dut.link_clk)
        beats.append(await tb.trigger())
        await ClockCycles(dut.link_clk, 4)
        while dut.busy.value == 1:
            await FallingEdge(dut.link_clk)
    await tb.ring.wait(5)
    for frame, beat in zip(tb.ring.frames, beats, strict=True):
        tb.check(frame, beat)
    assert await tb.counters() == (5, 5, 0, 0, 0)


@cocotb.test()
async def test_crossing_overflow(dut):
    tb = TB(dut, core_ps=SLOW_CORE_PS)
    await tb.start(60)
    for number in range(2):
        await FallingEdge(dut.link_clk)
        beat = await tb.trigger()
        await tb.ring.wait(2 * number + 1)
        frame = tb.ring.frames[-1]
        good = tb.expected(beat.epoch, tb.first_tick(beat))
        kept = len(frame.payload.rstrip(b"\0")) // 128 * 128
        assert 64 * 128 <= kept < len(good)
        assert frame.payload[:kept] == good[:kept]
        assert frame.link_errors == LinkError.CROSSING_OVERFLOW
        # A window that fits is not touched by it.
        await tb.configure(10)
        await FallingEdge(dut.link_clk)
        beat = await tb.trigger()
        await tb.ring.wait(2 * number + 2)
        tb.check(tb.ring.frames[-1], beat)
        await tb.configure(60)
    assert await tb.get("CROSSING_OVERFLOWS") == 2


@cocotb.test()
async def test_storm_of_short_windows(dut):
    """One sample a window, triggers as fast as they can come: each is a frame or counted, none is half."""
    tb = TB(dut, core_ps=SLOW_CORE_PS)
    await tb.start(1, channels=64)
    beats = {}
    for number in range(120):
        await FallingEdge(dut.link_clk)
        beats[number] = await tb.trigger()
    await tb.settle(400)
    triggers, frames, early, down, overflows = await tb.counters()
    assert (triggers, down, overflows) == (120, 0, 0)
    assert len(tb.ring.frames) == frames == triggers - early
    assert frames >= 10
    last = -1
    for frame in tb.ring.frames:
        tb.check(frame, beats[frame.sequence], dropped=frame.sequence - last - 1)
        last = frame.sequence


@cocotb.test()
@cocotb.parametrize(("wait", [5, 20, 60, 90]))
async def test_reset_of_the_link_side(dut, wait):
    """A frame that was begun is completed and flagged; the numbers begin anew."""
    tb = TB(dut)
    await tb.start(20)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await ClockCycles(dut.link_clk, wait)
    dut.link_rst.value = 1
    tb.link.up = False
    await tb.settle()
    dut.link_rst.value = 0
    await tb.settle(150)
    count = len(tb.ring.frames)
    assert count <= 1
    for frame in tb.ring.frames:
        assert frame.header["samples"] == 20
        assert wait >= 90 or frame.link_errors == LinkError.LINK_DOWN
    tb.link.up = True
    await tb.configure(10)
    await tb.settle(20)
    await FallingEdge(dut.link_clk)
    beat = await tb.trigger()
    await tb.ring.wait(count + 1)
    tb.check(tb.ring.frames[-1], beat)
    assert tb.ring.frames[-1].sequence == 0


@cocotb.test()
@cocotb.parametrize(("wait", [5, 20, 60]))
async def test_reset_of_the_core_side(dut, wait):
    """What was under way is forgotten on both sides; settings stay."""
    tb = TB(dut)
    await tb.start(20)
    await FallingEdge(dut.link_clk)
    await tb.trigger()
    await ClockCycles(dut.link_clk, wait)
    dut.rst.value = 1
    await tb.settle()
    dut.rst.value = 0
    tb.ring.high_waters = []
    await tb.settle(120)
    assert not tb.ring.frames
    await FallingEdge(dut.link_clk)
    beat = await tb.trigger()
    await tb.ring.wait(1)
    tb.check(tb.ring.frames[0], beat)
    assert tb.ring.frames[0].sequence == 0


@cocotb.test()
async def test_registers(dut):
    tb = TB(dut)
    await tb.settle()
    dut.rst.value = 0
    dut.link_rst.value = 0
    await tb.settle()
    for register in tb._registers.registers:
        if register.access == "WO":
            with pytest.raises(RegBusError):
                await tb.bus.read(register.offset)
        elif not register.name.startswith("TIME_NANO"):
            assert await tb.bus.read(register.offset) == register.reset, register.name
        if register.access == "RO":
            with pytest.raises(RegBusError):
                await tb.bus.write(register.offset, 0)
    for name, good, bad in (
        ("CHANNELS", (64, 128, 256), (0, 1, 32, 192, 320, 512)),
        ("SAMPLES", (0, 1, 65535), (65536, 1 << 31)),
        ("MODE", (0, 255), (256,)),
        ("SAMPLE_RATE", (0, 65535), (65536,)),
        ("WINDOW_DELAY", (0, 0xFFFFFFFF), ()),
        ("SHOTS_PER_SEQUENCE", (0xFFFFFFFF,), ()),
        ("CTRL", (0, 2, 3, 5, 8, 16, 29), (6, 7)),
        ("LASER_PERIOD", (0, 1, 1 << 30), ((1 << 30) + 1, 0xFFFFFFFF)),
        ("PRF_PERIOD", (0, 4, 0xFFFFFFFF), (1, 2, 3)),
    ):
        for value in good:
            await tb.put(name, value)
            assert await tb.get(name) == value
        for value in bad:
            with pytest.raises(RegBusError):
                await tb.put(name, value)
        assert await tb.get(name) == good[-1]
    with pytest.raises(RegBusError):
        await tb.bus.read(0x1000)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_acquisition(simulator):
    run_module("acquisition/acquisition", __name__, simulator, parameters={"LANES": LANES})
