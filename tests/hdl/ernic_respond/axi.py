"""Memory behind an AXI4 write master of 512 bits: a cycle model that checks bursts, pages, strobes and stability."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Any

WORD = 64
PAGE = 4096


def known(value: Any) -> int:
    """A signal's value; what is undefined there, as in lanes that nobody looks at, is 0."""
    return int(value) if value.is_resolvable else int("".join(bit if bit in "01" else "0" for bit in str(value)), 2)


@dataclass
class _Burst:
    address: int
    beats: int
    size: int


class WriteMemory:
    """``size`` bytes at ``base`` behind ``<prefix>_aw*``, ``_w*``, ``_b*``; answers come after ``latency``.

    Ready falls with probability ``stall``; latency is in clocks. :meth:`cycle` is called once a clock, after the rising
    edge. ``bursts`` lists (address, beats); ``bad_pages`` are page numbers whose writes are answered with SLVERR.
    """

    def __init__(
        self, dut: Any, prefix: str, base: int, size: int, *, latency: int = 5, stall: float = 0.0, seed: int = 1
    ):
        self.signals = {
            name: getattr(dut, f"{prefix}_{name}")
            for name in (
                *("awaddr", "awlen", "awsize", "awvalid", "awready"),
                *("wdata", "wstrb", "wlast", "wvalid", "wready", "bvalid", "bready"),
            )
        }
        # A multiplexer passes it by.
        self.response = getattr(dut, f"{prefix}_bresp", None)
        self.base, self.data = base, bytearray(size)
        self.latency, self.stall = latency, stall
        self.random = random.Random(seed)
        self.bad_pages: set[int] = set()
        self.bursts: list[tuple[int, int]] = []
        self.words = 0
        self.answered = 0
        self.answers = True
        self._now = 0
        self._open: deque[_Burst] = deque()
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._beat = 0
        self._bad = False
        self._due: deque[tuple[int, int]] = deque()
        self._held: dict[str, tuple[int, ...]] = {}
        self._ready = {"aw": 0, "w": 0}
        self._b_valid = False
        for name in ("awready", "wready", "bvalid"):
            self.signals[name].value = 0

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.data[address - self.base : address - self.base + length])

    def write(self, address: int, data: bytes) -> None:
        self.data[address - self.base : address - self.base + len(data)] = data

    @property
    def idle(self) -> bool:
        return not (self._open or self._waiting or self._due or self._b_valid)

    def _int(self, name: str) -> int:
        return known(self.signals[name].value)

    def _transfer(self, channel: str, fields: tuple[str, ...]) -> tuple[int, ...] | None:
        if not self._int(f"{channel}valid"):
            assert channel not in self._held, f"{channel}valid fell before {channel}ready"
            return None
        offered = tuple(self._int(name) for name in fields)
        assert self._held.get(channel, offered) == offered, f"{channel} channel changed before {channel}ready"
        if self._ready[channel]:
            self._held.pop(channel, None)
            return offered
        self._held[channel] = offered
        return None

    def cycle(self) -> None:
        self._now += 1
        if self._b_valid and self._int("bready"):
            self._b_valid = False
            self.answered += 1
            self.signals["bvalid"].value = 0
        address = self._transfer("aw", ("awaddr", "awlen", "awsize"))
        if address is not None:
            self._take_address(*address)
        word = self._transfer("w", ("wdata", "wstrb", "wlast"))
        if word is not None:
            self._waiting.append(word)
        # Data may come before its address.
        while self._waiting and self._open:
            self._take_word(*self._waiting.popleft())
        for channel in ("aw", "w"):
            ready = int(self.stall == 0.0 or self.random.random() >= self.stall)
            if ready != self._ready[channel]:
                self._ready[channel] = ready
                self.signals[f"{channel}ready"].value = ready
        if not self._b_valid and self._due and self._due[0][0] <= self._now and self.answers:
            response = self._due.popleft()[1]
            if self.response is not None:
                self.response.value = response
            self.signals["bvalid"].value = 1
            self._b_valid = True

    def _take_address(self, address: int, length: int, size: int) -> None:
        beats = length + 1
        assert address % (1 << size) == 0
        if beats > 1:
            assert size == 6
        assert address // PAGE == (address + (beats << size) - 1) // PAGE, f"burst at {address:#x} crosses 4 KiB"
        assert self.base <= address < address + (beats << size) <= self.base + len(self.data), f"write at {address:#x}"
        self._open.append(_Burst(address, beats, 1 << size))
        self.bursts.append((address, beats))

    def _take_word(self, data: int, strobes: int, last: int) -> None:
        burst = self._open[0]
        address = burst.address + self._beat * burst.size
        word = address // WORD * WORD
        assert strobes, "a word without an octet"
        allowed = ((1 << burst.size) - 1) << address % WORD
        assert strobes & ~allowed == 0, "strobes outside of the transfer"
        octets = data.to_bytes(WORD, "little")
        first, end = (strobes & -strobes).bit_length() - 1, strobes.bit_length()
        assert strobes == (1 << end) - (1 << first), "strobes with a gap"
        self.write(word + first, octets[first:end])
        self.words += 1
        self._bad |= word // PAGE in self.bad_pages
        self._beat += 1
        assert last == (self._beat == burst.beats), f"last in beat {self._beat} of {burst.beats}"
        if last:
            self._open.popleft()
            self._due.append((self._now + self.latency, 2 if self._bad else 0))
            self._beat, self._bad = 0, False
