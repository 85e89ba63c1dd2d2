"""What a frame in the ring must look like, read by ``host.frame_layout`` and an independent CRC-32C."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import crc32c
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from host.frame_layout import (
    HEADER_BYTES,
    HEADER_MAGIC,
    HIGH_WATER_UNIT,
    LAYOUT_VERSION,
    SAMPLE_FORMAT_INT16,
    TRAILER_MAGIC,
    DropCause,
    FrameShape,
    header_of,
    trailer_of,
)

WORD_BYTES = 128


@dataclass
class Frame:
    """A frame as written to the ring, taken apart; all check sums and constants have been checked."""

    raw: bytes
    requested: tuple[int, int, int]  # frame_bytes, frame_sequence, frame_mode
    high_water: int  # at the ring's port when it was taken
    header: np.void = field(init=False)
    trailer: np.void = field(init=False)
    payload: bytes = field(init=False)

    def __post_init__(self):
        array = np.frombuffer(self.raw, np.uint8)
        self.header = header_of(array)
        header = self.header
        shape = FrameShape(int(header["samples"]), int(header["channels"]))
        assert len(self.raw) == shape.frame_bytes == self.requested[0]
        self.trailer = trailer_of(array, shape)
        self.payload = self.raw[HEADER_BYTES : HEADER_BYTES + shape.payload_bytes]
        assert header["magic"] == HEADER_MAGIC
        assert header["version"] == LAYOUT_VERSION
        assert header["header_bytes"] == HEADER_BYTES
        assert header["sample_format"] == SAMPLE_FORMAT_INT16
        assert header["payload_bytes"] == shape.payload_bytes
        assert header["crc"] == crc32c.crc32c(self.raw[: HEADER_BYTES - 4])
        assert header["ring_high_water"] == min(-(-self.high_water // HIGH_WATER_UNIT), 0xFFFF)
        assert int(header["sequence"]) & 0xFFFFFFFF == self.requested[1]
        assert header["mode"] == self.requested[2]
        trailer = self.trailer
        assert trailer["magic"] == TRAILER_MAGIC
        assert trailer["sequence"] == header["sequence"]
        assert trailer["samples"] == header["samples"]
        assert trailer["payload_crc"] == crc32c.crc32c(self.payload)
        assert trailer["crc"] == crc32c.crc32c(self.raw[-64:-4])
        assert self.raw[-24:-4] == bytes(20)

    @property
    def sequence(self):
        return int(self.header["sequence"])

    @property
    def causes(self):
        return int(self.header["flags"])

    @property
    def link_errors(self):
        return int(self.trailer["link_errors"])


class RingModel:
    """The ring's side of acquisition: answers requests, collects frames, checks the protocol every cycle.

    ``deny`` holds the low sequence bits of frames to refuse, ``deny_cause`` why, ``latency`` the largest number of
    cycles to an answer.
    """

    def __init__(self, dut, seed=1, latency=6):
        self.dut = dut
        self.rng = random.Random(seed)
        self.latency = latency
        self.deny = set()
        self.deny_cause = DropCause.RING_FULL
        self.denied = 0
        self.frames = []
        self.longest_gap = 0  # cycles without a word inside a frame
        self.high_waters = []
        self._words = []
        self._open = None
        dut.frame_grant.value = 0
        dut.frame_deny.value = 0
        dut.ring_high_water.value = 0

    def start(self):
        return [cocotb.start_soon(self._admission()), cocotb.start_soon(self._collect())]

    async def _admission(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.frame_request.value != 1:
                continue
            assert self._open is None, "a request before the last frame has ended"
            asked = tuple(int(getattr(dut, f"frame_{name}").value) for name in ("bytes", "sequence", "mode"))
            for _ in range(self.rng.randint(0, self.latency)):
                await RisingEdge(dut.clk)
                assert dut.frame_request.value == 1
                assert int(dut.frame_bytes.value) == asked[0]
            dut.ring_high_water.value = self.rng.choice([0, 1, 256, self.rng.randrange(1 << 22), 1 << 25])
            if asked[1] in self.deny:
                self.denied += 1
                dut.frame_deny.value = 1
                dut.frame_deny_cause.value = self.deny_cause
            else:
                dut.frame_grant.value = 1
                self._open = asked
            await RisingEdge(dut.clk)
            dut.frame_grant.value = 0
            dut.frame_deny.value = 0
            dut.frame_deny_cause.value = 0b1111  # means nothing without deny
            await RisingEdge(dut.clk)
            assert dut.frame_request.value == 0

    async def _collect(self):
        dut = self.dut
        gap = 0
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value == 1:
                self._open = None
                self._words = []
                continue
            if dut.ring_high_water_taken.value == 1:
                self.high_waters.append(int(dut.ring_high_water.value))
            if dut.m_write_valid.value != 1:
                gap += 1
                continue
            assert self._open is not None, "a word without a grant"
            if self._words:
                self.longest_gap = max(self.longest_gap, gap)
            gap = 0
            self._words.append(int(dut.m_write_data.value).to_bytes(WORD_BYTES, "little"))
            complete = len(self._words) * WORD_BYTES == self._open[0]
            assert dut.m_write_last.value == complete
            if complete:
                assert len(self.high_waters) == len(self.frames) + 1, "high water is taken once a frame"
                self.frames.append(Frame(b"".join(self._words), self._open, self.high_waters[-1]))
                self._words = []
                self._open = None

    async def wait(self, count, limit=20000):
        """Wait until ``count`` frames have come."""
        for _ in range(limit // 10):
            if len(self.frames) >= count:
                return
            await ClockCycles(self.dut.clk, 10)
        raise AssertionError(f"only {len(self.frames)} of {count} frames came")
