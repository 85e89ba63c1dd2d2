"""Ends of a stream of Ethernet frames, 64 octets a beat, for module tests."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge

BEAT = 64


def beats(frame: bytes) -> int:
    return -(-len(frame) // BEAT)


class FrameSource:
    """Plays ``queue`` into ``<prefix>_t*`` with pauses, valid in a share ``rate`` of cycles; start ``run`` as a task.

    Entries are (frame, bad FCS). Without a tready it never waits. ``sent`` holds what has gone, whole frames only.
    """

    def __init__(self, dut: Any, prefix: str, rng: random.Random, rate: float = 1.0) -> None:
        self._clk = dut.clk
        self._rng = rng
        self.rate = rate
        self.queue: deque[tuple[bytes, bool]] = deque()
        self.sent: list[tuple[bytes, bool]] = []
        self._data, self._keep, self._valid, self._last = (
            getattr(dut, f"{prefix}_{name}") for name in ("tdata", "tkeep", "tvalid", "tlast")
        )
        self._user = getattr(dut, f"{prefix}_tuser", None)
        self._ready = getattr(dut, f"{prefix}_tready", None)
        for signal in (self._data, self._keep, self._valid, self._last, *([] if self._user is None else [self._user])):
            signal.value = 0

    @property
    def idle(self) -> bool:
        return not self.queue

    async def run(self) -> None:
        offset, valid = 0, False
        while True:
            await RisingEdge(self._clk)
            if valid and (self._ready is None or self._ready.value == 1):
                frame, bad = self.queue[0]
                offset += BEAT
                valid = False
                if offset >= len(frame):
                    self.sent.append((frame, bad))
                    self.queue.popleft()
                    offset = 0
            if valid:
                continue
            valid = bool(self.queue) and (self.rate >= 1 or self._rng.random() < self.rate)
            self._valid.value = int(valid)
            if valid:
                frame, bad = self.queue[0]
                piece = frame[offset : offset + BEAT]
                last = offset + BEAT >= len(frame)
                # Lanes behind the end carry rubbish, as a MAC's do.
                self._data.value = int.from_bytes(piece + bytes([0xA5]) * (BEAT - len(piece)), "little")
                self._keep.value = (1 << len(piece)) - 1
                self._last.value = int(last)
                if self._user is not None:
                    self._user.value = int(bad and last)


class FrameSink:
    """Collects frames of ``<prefix>_t*``, ready in a share ``rate`` of cycles; start ``run`` as a task.

    ``gaps`` counts cycles without a beat inside a frame while ready, ``idle`` those between frames.
    """

    def __init__(self, dut: Any, prefix: str, rng: random.Random, rate: float = 1.0) -> None:
        self._clk = dut.clk
        self._rng = rng
        self.rate = rate
        self.frames: list[bytes] = []
        self.gaps = 0
        self.idle = 0
        self._data, self._keep, self._valid, self._last, self._ready = (
            getattr(dut, f"{prefix}_{name}") for name in ("tdata", "tkeep", "tvalid", "tlast", "tready")
        )
        self._ready.value = 0

    async def run(self) -> None:
        frame = b""
        ready = False
        held: tuple[int, int, int] | None = None
        while True:
            await RisingEdge(self._clk)
            if self._valid.value == 1:
                beat = (int(self._data.value), int(self._keep.value), int(self._last.value))
                assert held is None or beat == held, "an offered beat changed"
                held = None if ready else beat
                if ready:
                    data, keep, last = beat
                    count = keep.bit_length()
                    assert keep == (1 << count) - 1, "holes in tkeep"
                    assert last or count == BEAT, "short beat inside a frame"
                    frame += data.to_bytes(BEAT, "little")[:count]
                    if last:
                        self.frames.append(frame)
                        frame = b""
            else:
                assert held is None, "an offered beat was withdrawn"
                if ready:
                    self.gaps += bool(frame)
                    self.idle += not frame
            ready = self.rate >= 1 or self._rng.random() < self.rate
            self._ready.value = int(ready)
