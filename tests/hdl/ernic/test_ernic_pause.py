"""ernic_pause: pause frames in, how long they hold, who is held; thresholds and what the MAC is asked to send."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ValueChange
from cocotb.utils import get_sim_time

from tests.hdl.lib.frames import FrameSource
from tests.hdl.module_bench import SIMULATORS, run_module

CLOCK_NS = 4
PAUSE_MAC = bytes.fromhex("0180c2000001")
# 512 bit times of 100 Gb/s at 322.265625 MHz.
QUANTUM = 33 / 20
WHOLE_LINK = 8


def pfc(quanta: dict[int, int], *, opcode: int = 0x0101, mac: bytes = PAUSE_MAC, ethertype: int = 0x8808) -> bytes:
    classes = sum(1 << priority for priority in quanta)
    times = b"".join(quanta.get(priority, 0xDEAD).to_bytes(2, "big") for priority in range(8))
    body = opcode.to_bytes(2, "big") + classes.to_bytes(2, "big") + times
    return (mac + bytes(6) + ethertype.to_bytes(2, "big") + body).ljust(60, b"\0")


def pause(quanta: int) -> bytes:
    return (PAUSE_MAC + bytes(6) + b"\x88\x08\x00\x01" + quanta.to_bytes(2, "big")).ljust(60, b"\0")


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(21)
        self.mac = FrameSource(dut, "s_axis", self.rng)
        for name in (
            *("enable_other", "priority_roce", "priority_other", "no_priority_check", "threshold_roce"),
            *("threshold_other", "mac_pause_request", "level_roce", "level_other"),
        ):
            getattr(dut, name).value = 0
        dut.enable_roce.value = 1
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())

    async def start(self) -> None:
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        cocotb.start_soon(self.mac.run())
        await self.wait(2)

    async def wait(self, clocks: int) -> None:
        await ClockCycles(self.dut.clk, clocks)
        await FallingEdge(self.dut.clk)

    async def receive(self, *frames: bytes, bad: bool = False) -> None:
        """Frames arrive, back to back, and have taken effect."""
        self.mac.queue.extend((frame, bad) for frame in frames)
        while self.mac.queue:
            await self.wait(1)
        await self.wait(4)

    def paused(self) -> int:
        return int(self.dut.paused_roce.value)


@cocotb.test()
async def pauses_last_as_long_as_they_say(dut):
    bench = Bench(dut)
    await bench.start()
    errors = []
    for quanta in [1, 2, 3, 20, 65535, *(bench.rng.randint(1, 700) for _ in range(24))]:
        bench.mac.queue.append((pfc({3: quanta}), False))
        await ValueChange(dut.paused_roce)
        begin = get_sim_time("ns")
        await FallingEdge(dut.clk)
        assert bench.paused() == 1 << 3
        await ValueChange(dut.paused_roce)
        clocks = (get_sim_time("ns") - begin) / CLOCK_NS
        errors.append(clocks - quanta * QUANTUM)
        assert -QUANTUM - 1 <= errors[-1] <= 1, f"{quanta} quanta: {clocks} clocks"
        await bench.wait(bench.rng.randint(2, 9))
    # Exact on average: never more than the one quantum that was under way.
    assert -QUANTUM <= sum(errors) / len(errors) <= 0


@cocotb.test()
async def every_frame_counts_by_its_content(dut):
    bench = Bench(dut)
    await bench.start()
    long = 60000
    await bench.receive(pfc({0: long, 5: long}))
    assert bench.paused() == 0x21
    # Time 0 ends a pause, a class that is not set keeps its own.
    await bench.receive(pfc({5: 0, 7: long}))
    assert bench.paused() == 0x81
    await bench.receive(pause(long))
    assert bench.paused() == 0xFF
    await bench.receive(pause(0))
    assert bench.paused() == 0x81
    await bench.receive(pfc({0: 0, 7: 0}))
    assert bench.paused() == 0
    frames = {
        "bad FCS": (pfc({1: long}), True),
        "other address": (pfc({1: long}, mac=bytes.fromhex("0180c2000002")), False),
        "other EtherType": (pfc({1: long}, ethertype=0x8809), False),
        "other opcode": (pfc({1: long}, opcode=0x0102), False),
        "short": (pfc({1: long})[:33], False),
        "global, short": (pause(long)[:17], False),
        "behind its first beat": (bytes(64) + pfc({1: long}), False),
    }
    for name, (frame, bad) in frames.items():
        await bench.receive(frame, bad=bad)
        assert int(dut.paused_now.value) == 0, name
    # A long frame with a bad end, and the shortest one that says all.
    await bench.receive(pfc({1: long}) + bytes(100), bad=True)
    assert bench.paused() == 0
    await bench.receive(pfc({1: long})[:34], pause(0)[:18])
    assert bench.paused() == 2
    await bench.receive(pfc({1: 0}) + bytes(100))
    assert bench.paused() == 0


@cocotb.test()
async def the_configuration_says_who_is_held(dut):
    bench = Bench(dut)
    await bench.start()
    dut.enable_other.value = 1
    dut.priority_other.value = 2
    seen = {}
    for request in (0, 1 << 2, 1 << 6, 1 << 2 | 1 << 6, 1 << 8):
        for check in (0, 1):
            dut.mac_pause_request.value = request
            dut.no_priority_check.value = check
            await bench.wait(2)
            seen[request, check] = (bench.paused(), int(dut.paused_other.value))
            assert int(dut.paused_now.value) == request
    assert seen == {
        (0, 0): (0, 0),
        (0, 1): (0, 0),
        (4, 0): (4, 1),
        (4, 1): (0xFF, 1),
        (0x40, 0): (0x40, 0),
        (0x40, 1): (0xFF, 1),
        (0x44, 0): (0x44, 1),
        (0x44, 1): (0xFF, 1),
        (0x100, 0): (0xFF, 1),
        (0x100, 1): (0xFF, 1),
    }
    # Traffic without a priority of its own is stopped by the whole link's pause only.
    dut.no_priority_check.value = 0
    dut.priority_other.value = WHOLE_LINK
    dut.mac_pause_request.value = 0xFF
    await bench.wait(2)
    assert int(dut.paused_other.value) == 0
    dut.mac_pause_request.value = 0x1FF
    await bench.wait(2)
    assert int(dut.paused_other.value) == 1
    dut.enable_roce.value = 0
    dut.enable_other.value = 0
    await bench.wait(2)
    assert (bench.paused(), int(dut.paused_other.value)) == (0, 0)


@cocotb.test()
async def full_buffers_pause_the_other_side(dut):
    bench = Bench(dut)
    await bench.start()
    dut.enable_other.value = 1
    dut.priority_roce.value = 3
    dut.priority_other.value = WHOLE_LINK
    # The registers' reset value: XOFF 150, XON 90; and the documented packing.
    for roce, other, xoff, xon in ((0x965A, 150 << 16 | 90, 150, 90), (700 << 16 | 300, 700 << 16 | 300, 700, 300)):
        dut.threshold_roce.value = roce
        dut.threshold_other.value = other
        for name, bit in (("level_roce", 3), ("level_other", 8)):
            level = getattr(dut, name)
            rises = 0
            sending = False
            for value in (0, xoff, xoff + 1, xoff, xon, xon - 1, xon, xoff, xoff + 1, 1023, xon, 0):
                level.value = value
                was = sending
                sending = value > xoff or (sending and value >= xon)
                rises += sending and not was
                await bench.wait(3)
                assert int(dut.mac_pause_send.value) == sending << bit, (name, value)
            assert rises == 2
    dut.level_roce.value = 1023
    await bench.wait(3)
    dut.enable_roce.value = 0
    await bench.wait(3)
    assert int(dut.mac_pause_send.value) == 0


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_pause(simulator):
    run_module("ernic/ernic_pause", __name__, simulator)
