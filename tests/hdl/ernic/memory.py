"""The processing system's memory behind the engine's AXI4 master, as a cycle model that also checks the protocol."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

WORD = 64
PAGE = 4096


class Memory:
    """``size`` bytes at ``base``; answers after ``latency`` clocks, ready falls with probability ``stall``.

    :meth:`cycle` is called once a clock, after the rising edge. ``writes`` lists (address, bytes) in order.
    """

    def __init__(self, dut: Any, base: int, size: int, latency: int = 20, stall: float = 0.0, seed: int = 1) -> None:
        self.dut = dut
        self.base = base
        self.data = bytearray(size)
        self.latency = latency
        self.stall = stall
        self.random = random.Random(seed)
        self.bad_pages: set[int] = set()
        self.writes: list[tuple[int, bytes]] = []
        self.reads: list[tuple[int, int]] = []
        self.answer_writes = True
        self._now = 0
        self._reads: deque[tuple[int, int, bool]] = deque()
        self._addresses: deque[tuple[int, int]] = deque()
        self._words: deque[tuple[int, int]] = deque()
        self._answers: deque[tuple[int, int]] = deque()
        self._held: dict[str, int] = {}
        self._ready = {"ar": 0, "aw": 0, "w": 0}
        self._r_valid = 0
        self._b_valid = 0
        for name in ("arready", "awready", "wready", "rvalid", "bvalid", "rdata", "rresp", "rlast", "bresp"):
            getattr(dut, f"m_axi_{name}").value = 0

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.data[address - self.base : address - self.base + length])

    def write(self, address: int, data: bytes) -> None:
        self.data[address - self.base : address - self.base + len(data)] = data

    def _int(self, name: str) -> int:
        return int(getattr(self.dut, f"m_axi_{name}").value)

    def _handshake(self, channel: str, fields: tuple[str, ...]) -> bool:
        """True if the channel's transfer happens in this cycle; what is offered must stay until then."""
        if not self._int(f"{channel}valid"):
            assert channel not in self._held, f"{channel}valid fell before {channel}ready"
            return False
        offered = hash(tuple(self._int(name) for name in fields))
        assert self._held.get(channel, offered) == offered, f"{channel} channel changed before {channel}ready"
        if self._ready[channel]:
            self._held.pop(channel, None)
            return True
        self._held[channel] = offered
        return False

    def cycle(self) -> None:
        self._now += 1
        if self._r_valid and self._int("rready"):
            self._r_valid = 0
            self.dut.m_axi_rvalid.value = 0
        if self._b_valid and self._int("bready"):
            self._b_valid = 0
            self.dut.m_axi_bvalid.value = 0
        if self._handshake("ar", ("araddr", "arlen")):
            self._take_read()
        if self._handshake("aw", ("awaddr", "awsize")):
            assert self._int("awlen") == 0
            self._addresses.append((self._int("awaddr"), 1 << self._int("awsize")))
        if self._handshake("w", ("wdata", "wstrb")):
            assert self._int("wlast")
            self._words.append((self._int("wdata"), self._int("wstrb")))
        if self._addresses and self._words:
            self._take_write()
        self._drive()

    def _take_read(self) -> None:
        address, beats = self._int("araddr"), self._int("arlen") + 1
        assert self._int("arsize") == 6
        assert self._int("arburst") == 1
        assert address % WORD == 0
        assert address // PAGE == (address + beats * WORD - 1) // PAGE, (
            f"burst of {beats} at {address:#x} crosses 4 KiB"
        )
        assert self.base <= address <= address + beats * WORD <= self.base + len(self.data), f"read at {address:#x}"
        self.reads.append((address, beats))
        for beat in range(beats):
            self._reads.append((self._now + self.latency, address + beat * WORD, beat == beats - 1))

    def _take_write(self) -> None:
        address, size = self._addresses.popleft()
        word, strobes = self._words.popleft()
        lane = address % WORD
        assert address % size == 0
        assert strobes == ((1 << size) - 1) << lane, f"strobes {strobes:#x} for {size} bytes at {address:#x}"
        data = word.to_bytes(WORD, "little")[lane : lane + size]
        assert self.base <= address <= address + size <= self.base + len(self.data), f"write at {address:#x}"
        self.write(address, data)
        self.writes.append((address, data))
        self._answers.append((self._now + self.latency, 2 if address // PAGE in self.bad_pages else 0))

    def _drive(self) -> None:
        dut = self.dut
        for channel, name in (("ar", "arready"), ("aw", "awready"), ("w", "wready")):
            ready = int(self.stall == 0.0 or self.random.random() >= self.stall)
            if ready != self._ready[channel]:
                self._ready[channel] = ready
                getattr(dut, f"m_axi_{name}").value = ready
        if not self._r_valid and self._reads and self._reads[0][0] <= self._now:
            _, address, last = self._reads.popleft()
            dut.m_axi_rdata.value = int.from_bytes(self.read(address, WORD), "little")
            dut.m_axi_rresp.value = 2 if address // PAGE in self.bad_pages else 0
            dut.m_axi_rlast.value = int(last)
            dut.m_axi_rvalid.value = 1
            self._r_valid = 1
        if not self._b_valid and self._answers and self._answers[0][0] <= self._now and self.answer_writes:
            dut.m_axi_bresp.value = self._answers.popleft()[1]
            dut.m_axi_bvalid.value = 1
            self._b_valid = 1
