"""Two AXI4 read masters on one memory, and one on two: nothing lost or crossed, no address changed while it waits."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

CLOCK_NS = 3
BURSTS = 60
MASTERS = (0, 1)


class Channel:
    """A valid-ready source (``drives`` valid) or sink, with random pauses; :meth:`step` is called once a clock."""

    def __init__(self, dut, prefix: str, fields: tuple[str, ...], rng: random.Random, rate: float) -> None:
        self.dut, self.prefix, self.fields, self.random, self.rate = dut, prefix, fields, rng, rate
        self.queue: deque[tuple[int, ...]] = deque()
        self.taken: list[tuple[int, ...]] = []
        self.offered = False

    def signal(self, name: str):
        return getattr(self.dut, f"{self.prefix}{name}")

    def reset(self, name: str) -> None:
        self.signal(name).value = 0

    def drive(self) -> None:
        """A source: keep valid until it is taken."""
        if self.offered and int(self.signal("ready").value):
            self.taken.append(self.queue.popleft())
            self.offered = False
        if not self.offered and self.queue and self.random.random() < self.rate:
            self.offered = True
            for name, value in zip(self.fields, self.queue[0], strict=True):
                self.signal(name).value = value
        self.signal("valid").value = int(self.offered)


def pauses(dut, name: str, rng: random.Random, rate: float) -> int:
    value = int(rng.random() < rate)
    getattr(dut, name).value = value
    return value


async def begin(dut, names: tuple[str, ...]) -> None:
    for name in names:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def check_reads(dut, rate: float, seed: int) -> None:
    rng = random.Random(seed)
    asked = [Channel(dut, f"s{n}_axi_ar", ("addr", "len"), rng, rate) for n in MASTERS]
    inputs = [f"s{n}_axi_{name}" for n in MASTERS for name in ("araddr", "arlen", "arvalid", "rready")]
    await begin(dut, (*inputs, "m_axi_arready", "m_axi_rlast", "m_axi_rvalid"))
    for n, channel in enumerate(asked):
        channel.queue.extend((rng.getrandbits(62) << 1 | n, rng.randrange(8)) for _ in range(BURSTS))
    wanted = [[beat for _, length in channel.queue for beat in range(length + 1)] for channel in asked]
    got: list[list[int]] = [[], []]
    pending: deque[tuple[int, int, int]] = deque()
    held: tuple[int, int] | None = None
    ar_ready, r_ready, offered = 0, [0, 0], None
    for _ in range(20000):
        await RisingEdge(dut.clk)
        if int(dut.m_axi_arvalid.value):
            address = (int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value))
            assert held in (None, address), "address changed while it waited"
            held = None if ar_ready else address
            if ar_ready:
                pending += [(address[0] & 1, beat, address[1]) for beat in range(address[1] + 1)]
        else:
            assert held is None, "address withdrawn"
        if offered is not None:
            master, beat, _ = offered
            assert [int(getattr(dut, f"s{n}_axi_rvalid").value) for n in MASTERS] == [n == master for n in MASTERS]
            assert int(dut.m_axi_rready.value) == r_ready[master]
            if r_ready[master]:
                got[master].append(beat)
                offered = None
        for channel in asked:
            channel.drive()
        ar_ready = pauses(dut, "m_axi_arready", rng, rate)
        r_ready = [pauses(dut, f"s{n}_axi_rready", rng, rate) for n in MASTERS]
        if offered is None and pending and rng.random() < rate:
            offered = pending.popleft()
        dut.m_axi_rvalid.value = int(offered is not None)
        dut.m_axi_rlast.value = int(offered is not None and offered[1] == offered[2])
        if got == wanted:
            return
    raise AssertionError(f"{[len(g) for g in got]} of {[len(w) for w in wanted]} words")


async def check_split(dut, rate: float, seed: int) -> None:
    """Bursts to two memories of their own speeds: each word comes once, in the order of the bursts."""
    rng = random.Random(seed)
    asked = Channel(dut, "s_axi_ar", ("addr",), rng, rate)
    inputs = [f"m{n}_axi_{name}" for n in MASTERS for name in ("arready", "rdata", "rresp", "rlast", "rvalid")]
    await begin(dut, ("s_axi_araddr", "s_axi_arvalid", "s_axi_rready", *inputs))
    bursts = [(rng.getrandbits(1) << 63 | number << 8 | rng.randrange(4),) for number in range(BURSTS)]
    asked.queue.extend(bursts)
    wanted = [(address[0] & (1 << 63) - 1) << 8 | beat for address in bursts for beat in range((address[0] & 3) + 1)]
    got: list[int] = []
    pending: list[deque[tuple[int, int]]] = [deque(), deque()]
    offered: list[tuple[int, int] | None] = [None, None]
    ar_ready, r_ready = [0, 0], 0
    for _ in range(20000):
        await RisingEdge(dut.clk)
        for n in MASTERS:
            if int(getattr(dut, f"m{n}_axi_arvalid").value) and ar_ready[n]:
                address = int(dut.s_axi_araddr.value)
                assert address >> 63 == n, "asked the other memory"
                beats = (address & 3) + 1
                pending[n] += [((address & (1 << 63) - 1) << 8 | beat, int(beat == beats - 1)) for beat in range(beats)]
            if offered[n] is not None and int(getattr(dut, f"m{n}_axi_rready").value):
                offered[n] = None
        if int(dut.s_axi_rvalid.value) and r_ready:
            got.append(int(dut.s_axi_rdata.value))
        asked.drive()
        ar_ready = [pauses(dut, f"m{n}_axi_arready", rng, rate) for n in MASTERS]
        r_ready = pauses(dut, "s_axi_rready", rng, rate)
        for n in MASTERS:
            if offered[n] is None and pending[n] and rng.random() < rate * (0.3 if n else 1.0):
                offered[n] = pending[n].popleft()
            word, last = offered[n] or (0, 0)
            for name, value in (("rdata", word), ("rlast", last), ("rvalid", int(offered[n] is not None))):
                getattr(dut, f"m{n}_axi_{name}").value = value
        if len(got) == len(wanted):
            assert got == wanted
            return
    raise AssertionError(f"{len(got)} of {len(wanted)} words")


@cocotb.test()
async def axi_read_split(dut):
    await check_split(dut, 1.0, 5)


@cocotb.test()
async def axi_read_split_with_pauses(dut):
    for rate in (0.7, 0.3):
        await check_split(dut, rate, 6)


@cocotb.test()
async def axi_read_mux(dut):
    await check_reads(dut, 1.0, 1)


@cocotb.test()
async def axi_read_mux_with_pauses(dut):
    for rate in (0.7, 0.3):
        await check_reads(dut, rate, 2)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("module", ["axi_read_mux", "axi_read_split"])
def test_axi_reads(module, simulator):
    run_module(f"lib/{module}", __name__, simulator, testcase=f"{module},{module}_with_pauses")
