"""Drives the receiver with the transmitter model's beats and keeps what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from host.control.registers import Register, register_map
from sim.adc import AdcTransmitter, Beats, LinkConfig, SampleSource

CHUNK = 32
"""Beats made at a time; SYNC~ is looked at between them."""
WORD_CHANNELS = 64
REQUEST_BEATS = 9
"""SYNC~ low for less is an error report (two frames) and no request."""
REGISTERS = register_map()["JESD204B"]


@dataclass(frozen=True)
class Word:
    """One valid word as it came out."""

    cycle: int
    run: int
    """How often the link had come up when it did, from 1."""
    tick: int
    first: bool
    samples: np.ndarray
    kinds: int
    lanes: int


def _rows(nibbles: np.ndarray) -> list[int]:
    """Pack ``[beats, lanes]`` of four bits into one integer a beat."""
    if not nibbles.any():
        return [0] * len(nibbles)
    padded = nibbles.astype(np.uint8)
    octets = padded[:, 0::2] | padded[:, 1::2] << 4
    return [int.from_bytes(row.tobytes(), "little") for row in octets]


class TB:
    """The receiver with a transmitter in front; the lanes are played, and the words kept, in one task."""

    def __init__(self, dut, links: int) -> None:
        self.dut = dut
        self.links = links
        self.player = None
        self.forget()
        cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())

    def forget(self) -> None:
        """As if nothing had come out yet."""
        self.transmitter: AdcTransmitter | None = None
        self.words: list[Word] = []
        self.cycle = 0
        self.runs = 0
        self.sysref_period: int | None = None
        self.sysref_shift = 0
        self.link_up_log: list[tuple[int, int]] = []
        self.sync_log: list[tuple[int, int]] = []
        self.down_kinds = 0
        self.request_beats = REQUEST_BEATS
        self._low = [REQUEST_BEATS] * self.links

    async def reset(self) -> None:
        """Stop the lanes and reset the receiver."""
        dut = self.dut
        if self.player is not None:
            self.player.cancel()
        self.forget()
        for signal in ("lane_data", "lane_charisk", "lane_notintable", "lane_disperr", "sysref"):
            getattr(dut, signal).value = 0
        for signal in ("valid", "write", "addr", "wdata"):
            getattr(dut, f"s_reg_{signal}").value = 0
        dut.rst.value = 1
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)

    def play(self, transmitter: AdcTransmitter, *, sysref_period: int | None = None) -> None:
        """Start the lanes. SYSREF rises every ``sysref_period`` beats, on the transmitters' LMFC; ``None``: never."""
        self.transmitter = transmitter
        self.sysref_period = sysref_period
        self.player = cocotb.start_soon(self._play())

    async def _play(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        flags = (dut.lane_charisk, dut.lane_notintable, dut.lane_disperr, dut.sysref)
        driven: tuple[int, ...] = ()
        while True:
            beats = self.transmitter.beats(CHUNK, self._not_requested())
            for data, k, table, disparity, sysref in self._packed(beats):
                dut.lane_data.value = data
                # Nearly always as they were, and a write costs more than a comparison.
                if (k, table, disparity, sysref) != driven:
                    driven = (k, table, disparity, sysref)
                    for signal, value in zip(flags, driven, strict=True):
                        signal.value = value
                await edge
                self._observe()

    def _not_requested(self) -> int:
        """SYNC~ as converters take it: low for long enough is a request, and high again ends it."""
        return sum((low < self.request_beats) << link for link, low in enumerate(self._low))

    def _packed(self, beats: Beats):
        data = [int.from_bytes(row.tobytes(), "little") for row in beats.data]
        index = np.arange(beats.first, beats.first + len(beats)) - self.sysref_shift
        sysref = (
            np.zeros(len(beats), int) if self.sysref_period is None else (index % self.sysref_period == 0).astype(int)
        )
        rows = (_rows(beats.charisk), _rows(beats.notintable), _rows(beats.disperr))
        return zip(data, *rows, sysref.tolist(), strict=True)

    def _observe(self) -> None:
        dut = self.dut
        self.cycle += 1
        up, sync_n = int(dut.link_up.value), int(dut.sync_n.value)
        if not self.link_up_log or self.link_up_log[-1][1] != up:
            self.link_up_log.append((self.cycle, up))
            self.runs += up
        for link in range(self.links):
            self._low[link] = 0 if sync_n >> link & 1 else self._low[link] + 1
        if not self.sync_log or self.sync_log[-1][1] != sync_n:
            self.sync_log.append((self.cycle, sync_n))
        if not up and self.runs:
            self.down_kinds = int(dut.m_axis_error_kinds.value)
        if int(dut.m_axis_tvalid.value):
            assert up, "a word without link_up"
            samples = np.frombuffer(int(dut.m_axis_tdata.value).to_bytes(128, "little"), "<i2")
            kinds, lanes = int(dut.m_axis_error_kinds.value), int(dut.m_axis_error_lanes.value)
            self.words.append(
                Word(
                    self.cycle,
                    self.runs,
                    int(dut.m_axis_tick.value),
                    bool(dut.m_axis_first.value),
                    samples,
                    kinds,
                    lanes,
                )
            )

    async def cycles(self, count: int) -> None:
        """Let ``count`` clocks pass."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def until(self, condition: Callable[[], bool], limit: int, what: str) -> None:
        """Wait for ``condition``; fail after ``limit`` clocks, naming ``what``."""
        for _ in range(limit):
            if condition():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"no {what} within {limit} clocks")

    async def access(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """One register access; return ``(data, error)``."""
        dut = self.dut
        dut.s_reg_valid.value = 1
        dut.s_reg_write.value = int(value is not None)
        dut.s_reg_addr.value = address & 0x1FFF
        dut.s_reg_wdata.value = value or 0
        for _ in range(20):
            await RisingEdge(dut.clk)
            if int(dut.s_reg_ready.value):
                dut.s_reg_valid.value = 0
                data, error = dut.s_reg_rdata.value, bool(dut.s_reg_error.value)
                await RisingEdge(dut.clk)
                return int(data) if value is None else 0, error
        raise AssertionError(f"no answer to an access of 0x{address:x}")

    async def write(self, name: str, value: int, index: int = 0) -> None:
        _, error = await self.access(REGISTERS[name].address(index), value)
        assert not error, f"write of {value} to {name} refused"

    async def read(self, name: str, index: int = 0, field: str | None = None) -> int:
        register: Register = REGISTERS[name]
        data, error = await self.access(register.address(index), None)
        assert not error, f"read of {name}[{index}] refused"
        return data if field is None else register[field].get(data)

    async def configure(self, config: LinkConfig, **overrides: int) -> None:
        """Write ``config`` (or ``overrides``, by register name in lower case) and enable."""
        values = {
            "frames_per_multiframe": config.frames_per_multiframe,
            "octets_per_frame": config.octets_per_frame,
            **overrides,
        }
        scrambling = values.pop("scrambling", int(config.scrambling))
        subclass = values.pop("subclass", config.subclass)
        sum_octets = values.pop("sum_octets", int(config.fchk_over_octets))
        options = {
            name.upper(): values.pop(name)
            for name in ("error_report", "sysref_once", "no_replacement")
            if name in values
        }
        for name, value in values.items():
            await self.write(name.upper(), value)
        control = {"ENABLE": 1, "SCRAMBLING": scrambling, "SUBCLASS": subclass, "SUM_OCTETS": sum_octets, **options}
        await self.write("CTRL", sum(REGISTERS["CTRL"][name].put(value) for name, value in control.items()))

    async def bring_up(
        self, config: LinkConfig, source: SampleSource, *, registers: dict[str, int] | None = None, **options
    ):
        """Reset, configure, start the lanes with SYSREF each multiframe, wait for samples; return the transmitter."""
        await self.reset()
        await self.configure(config, **(registers or {}))
        transmitter = AdcTransmitter(config, source, **options)
        self.play(transmitter, sysref_period=config.beats_per_multiframe)
        await self.until(lambda: len(self.words) > 0, 3000, "sample")
        return transmitter

    async def samples(self, count: int) -> None:
        """Wait until the present run has brought ``count`` more ticks."""
        target = self.words[-1].tick + count
        await self.until(lambda: self.words[-1].tick >= target, 40 * count + 100, "samples")

    def check(self, config: LinkConfig, source: SampleSource, *, channels: np.ndarray | None = None) -> list[Word]:
        """Compare every unmarked word of every run with the source; return the marked ones.

        Ticks must count up from zero without a gap, words come in order, all of a sample's.
        """
        per_sample = -(-config.channels // WORD_CHANNELS)
        marked = []
        runs = sorted({word.run for word in self.words})
        assert runs, "no samples"
        for run in runs:
            words = [word for word in self.words if word.run == run]
            first_tick = self.transmitter.bring_ups[run - 1].first_tick
            ticks = words[-1].tick + 1
            expected = np.zeros((ticks, per_sample * WORD_CHANNELS), np.int16)
            expected[:, : config.channels] = source.samples(first_tick, ticks)
            if channels is not None:
                expected[:, ~channels] = 0
            for index, word in enumerate(words):
                tick, place = divmod(index, per_sample)
                assert (word.tick, word.first) == (tick, place == 0), f"run {run}, word {index}: tick {word.tick}"
                if word.kinds:
                    marked.append(word)
                    assert word.lanes or word.kinds & ~0x3FF, "marks without a lane"
                    continue
                assert not word.lanes
                want = expected[tick, place * WORD_CHANNELS : (place + 1) * WORD_CHANNELS]
                if not np.array_equal(word.samples, want):
                    bad = np.flatnonzero(word.samples != want)
                    raise AssertionError(
                        f"run {run}, tick {tick}, channels {(bad + place * WORD_CHANNELS).tolist()}: "
                        f"{word.samples[bad].tolist()} instead of {want[bad].tolist()}, unmarked"
                    )
        return marked
