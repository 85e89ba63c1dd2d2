"""Two AXI4 masters on one memory: nothing lost, nothing crossed, order kept, no address changed while it waits."""

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


class WriteMemory:
    """The shared side: takes addresses and data, answers bursts; :meth:`step` is called once a clock."""

    def __init__(self, dut, rng: random.Random, rate: float) -> None:
        self.dut, self.random, self.rate = dut, rng, rate
        self.addresses: list[list[tuple[int, ...]]] = [[], []]
        self.words: list[list[tuple[int, ...]]] = [[], []]
        self.answered = [0, 0]
        self._order: deque[int] = deque()
        self._answers: deque[int] = deque()
        self._held: tuple[int, ...] | None = None
        self._aw_ready = self._w_ready = 0
        self._b_ready = [0, 0]
        self._offered: int | None = None

    def step(self) -> None:
        self._address()
        self._data()
        self._answer()
        self._aw_ready = pauses(self.dut, "m_axi_awready", self.random, self.rate)
        self._w_ready = pauses(self.dut, "m_axi_wready", self.random, self.rate)
        self._b_ready = [pauses(self.dut, f"s{n}_axi_bready", self.random, self.rate) for n in MASTERS]
        if self._offered is None and self._answers and self.random.random() < self.rate:
            self._offered = self._answers.popleft()
        self.dut.m_axi_bvalid.value = int(self._offered is not None)

    def _address(self) -> None:
        if not int(self.dut.m_axi_awvalid.value):
            assert self._held is None, "address withdrawn"
            return
        address = tuple(int(getattr(self.dut, f"m_axi_aw{name}").value) for name in ("addr", "len", "size"))
        assert self._held in (None, address), "address changed while it waited"
        self._held = None if self._aw_ready else address
        if self._aw_ready:
            self._order.append(address[0] & 1)
            self.addresses[address[0] & 1].append(address)

    def _data(self) -> None:
        if not int(self.dut.m_axi_wvalid.value) or not self._w_ready:
            return
        word = tuple(int(getattr(self.dut, f"m_axi_w{name}").value) for name in ("data", "strb", "last"))
        assert self._order, "data before their address"
        assert word[0] & 1 == self._order[0], "data out of order"
        self.words[self._order[0]].append(word)
        if word[2]:
            self._answers.append(self._order.popleft())

    def _answer(self) -> None:
        if self._offered is None:
            return
        valid = [bool(int(getattr(self.dut, f"s{n}_axi_bvalid").value)) for n in MASTERS]
        assert valid == [n == self._offered for n in MASTERS]
        if self._b_ready[self._offered]:
            assert int(self.dut.m_axi_bready.value)
            self.answered[self._offered] += 1
            self._offered = None


async def check_writes(dut, rate: float, seed: int) -> None:
    rng = random.Random(seed)
    addresses = [Channel(dut, f"s{n}_axi_aw", ("addr", "len", "size"), rng, rate) for n in MASTERS]
    data = [Channel(dut, f"s{n}_axi_w", ("data", "strb", "last"), rng, rate) for n in MASTERS]
    names = ("awaddr", "awlen", "awsize", "awvalid", "wdata", "wstrb", "wlast", "wvalid", "bready")
    inputs = [f"s{n}_axi_{name}" for n in MASTERS for name in names]
    await begin(dut, (*inputs, "m_axi_awready", "m_axi_wready", "m_axi_bvalid"))
    for n in MASTERS:
        for _ in range(BURSTS):
            length = rng.randrange(8)
            addresses[n].queue.append((rng.getrandbits(62) << 1 | n, length, rng.choice((2, 3, 6))))
            data[n].queue.extend(
                (rng.getrandbits(511) << 1 | n, rng.getrandbits(64), int(beat == length)) for beat in range(length + 1)
            )
    words = [list(channel.queue) for channel in data]
    sent = [list(channel.queue) for channel in addresses]
    memory = WriteMemory(dut, rng, rate)
    for _ in range(20000):
        await RisingEdge(dut.clk)
        memory.step()
        for channel in (*addresses, *data):
            channel.drive()
        if memory.answered == [BURSTS, BURSTS]:
            assert memory.words == words
            assert memory.addresses == sent
            return
    raise AssertionError(f"{memory.answered} of {BURSTS} answers each")


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


@cocotb.test()
async def axi_write_mux(dut):
    await check_writes(dut, 1.0, 3)


@cocotb.test()
async def axi_write_mux_with_pauses(dut):
    for rate in (0.7, 0.3):
        await check_writes(dut, rate, 4)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("module", ["axi_read_mux", "axi_write_mux", "axi_read_split"])
def test_axi_muxes(module, simulator):
    run_module(f"lib/{module}", __name__, simulator, testcase=f"{module},{module}_with_pauses")
