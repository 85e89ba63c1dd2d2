"""Two write masters at one memory: every burst whole, in each master's order, every answer to its master."""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.ernic_respond.axi import WriteMemory
from tests.hdl.module_bench import SIMULATORS, run_module

BASE = 0x40_0000_0000
SHARE = 1 << 16


class Master:
    """Writes bursts at rising addresses of its own share of memory, with pauses; checks the answers' number."""

    def __init__(self, dut, number: int, rng: random.Random, pace: float) -> None:
        self.dut, self.number, self.random, self.pace = dut, number, rng, pace
        self.addresses: deque[tuple[int, int]] = deque()
        self.words: deque[tuple[int, bool]] = deque()
        self.content = b""
        self.answers = 0
        self.bursts = 0
        self._offered: set[str] = set()
        for name in ("awvalid", "wvalid", "bready", "awsize"):
            self._set(name, 6 if name == "awsize" else 0)
        self._set("wstrb", (1 << 64) - 1)

    def _set(self, name: str, value: int) -> None:
        getattr(self.dut, f"s{self.number}_axi_{name}").value = value

    def _get(self, name: str) -> int:
        return int(getattr(self.dut, f"s{self.number}_axi_{name}").value)

    def add(self, count: int) -> None:
        for _ in range(count):
            beats = self.random.choice((1, 1, 2, 5, 16))
            address = BASE + self.number * SHARE + len(self.content)
            room = (4096 - address % 4096) // 64
            beats = min(beats, room)
            self.addresses.append((address, beats))
            for beat in range(beats):
                data = self.random.randbytes(64)
                self.content += data
                self.words.append((int.from_bytes(data, "little"), beat == beats - 1))
            self.bursts += 1

    def cycle(self) -> None:
        if self._bready and self._get("bvalid"):
            self.answers += 1
        self._bready = int(self.random.random() < self.pace)
        self._set("bready", self._bready)
        self._channel("aw", self.addresses)
        self._channel("w", self.words)

    _bready = 0

    def _channel(self, channel: str, queue: deque) -> None:
        if channel in self._offered:
            if not self._get(f"{channel}ready"):
                return
            queue.popleft()
            self._offered.discard(channel)
            self._set(f"{channel}valid", 0)
        if queue and self.random.random() < self.pace:
            self._offered.add(channel)
            self._set(f"{channel}valid", 1)
            if channel == "aw":
                self._set("awaddr", queue[0][0])
                self._set("awlen", queue[0][1] - 1)
            else:
                self._set("wdata", queue[0][0])
                self._set("wlast", queue[0][1])


@cocotb.test()
async def mixed(dut):
    rng = random.Random(1)
    memory = WriteMemory(dut, "m_axi", BASE, 2 * SHARE, seed=2)
    masters = [Master(dut, number, rng, 1.0) for number in range(2)]
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    count = 10 if os.environ.get("SWEEP") == "thin" else 60
    for paces, stall, latency in (((1, 1), 0.0, 1), ((0.1, 1), 0.5, 30), ((1, 0.05), 0.0, 80)):
        memory.stall, memory.latency = stall, latency
        for master, pace in zip(masters, paces, strict=True):
            master.pace = pace
            master.add(count if pace > 0.2 else count // 5)
        for _ in range(40000):
            await RisingEdge(dut.clk)
            memory.cycle()
            for master in masters:
                master.cycle()
            if all(master.answers == master.bursts for master in masters):
                break
        for master in masters:
            assert master.answers == master.bursts
            assert memory.read(BASE + master.number * SHARE, len(master.content)) == master.content
    assert memory.idle


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_axi_write_mux(simulator):
    sweep = "thin" if simulator == "icarus" else "full"
    run_module("lib/axi_write_mux", __name__, simulator, parameters={"BURSTS": 4}, environment={"SWEEP": sweep})
