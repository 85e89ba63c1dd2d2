"""The processing system's memory: bursts, strobes, latencies, errors, and what software sees of it."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBurstType, AxiBus, AxiMaster, AxiResp

from sim.bench.errors import BenchError
from sim.bench.memory import ProcessorMemory
from tests.sim.bench.variants import VARIANTS, run_bench

BASE = 0x8_0000_0000
SIZE = 65536


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.random = random.Random(1)

    async def start(self):
        cocotb.start_soon(Clock(self.dut.clk, 3, "ns").start())
        self.dut.rst.value = 1
        self.bus = AxiMaster(AxiBus.from_prefix(self.dut, "m_axi"), self.dut.clk, self.dut.rst)
        for part in (self.bus.write_if, self.bus.read_if):
            part.log.setLevel("WARNING")
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)
        self.memory = ProcessorMemory(self.dut.memory)

    async def write(self, address, data, **kwargs):
        return await with_timeout(self.bus.write(address, data, awid=0, **kwargs), 20, "us")

    async def read(self, address, count, **kwargs):
        return await with_timeout(self.bus.read(address, count, arid=0, **kwargs), 20, "us")


@cocotb.test()
async def back_door(dut):
    """Software writes and reads any bytes, at no simulated time, and sees its own writes at once."""
    tb = TB(dut)
    await tb.start()
    model = bytearray(SIZE)
    for _ in range(60):
        count = tb.random.choice([0, 1, 2, 63, 64, 65, 200])
        offset = tb.random.randrange(0, 2048 - count)
        data = tb.random.randbytes(count)
        tb.memory.write(BASE + offset, data)
        model[offset : offset + count] = data
        assert tb.memory.read(BASE + offset, count) == data
    assert tb.memory.read(BASE, 2048) == model[:2048]
    tb.memory.write(BASE + SIZE - 3, b"end")
    assert tb.memory.read(BASE + SIZE - 3, 3) == b"end"
    for address, count in ((BASE - 1, 1), (BASE + SIZE, 1), (BASE + SIZE - 2, 3)):
        with pytest.raises(ValueError, match="are not in"):
            tb.memory.read(address, count)
        with pytest.raises(ValueError, match="are not in"):
            tb.memory.write(address, bytes(count))


@cocotb.test()
async def bus_against_back_door(dut):
    """Bursts of all lengths and alignments, narrow ones too: the bus and the back door see the same memory."""
    tb = TB(dut)
    await tb.start()
    model = bytearray(tb.memory.read(BASE, SIZE))
    for count, size in [(1, 6), (4, 6), (64, 6), (65, 6), (128, 6), (500, 6), (1024, 6), (3000, 6), (17, 2), (100, 3)]:
        offset = tb.random.randrange(0, 4096)
        data = tb.random.randbytes(count)
        response = await tb.write(BASE + offset, data, size=size)
        assert response.resp == AxiResp.OKAY
        model[offset : offset + count] = data
        assert tb.memory.read(BASE, 8192) == model[:8192]
        fresh = tb.random.randbytes(count)
        tb.memory.write(BASE + 8192 + offset, fresh)
        model[8192 + offset : 8192 + offset + count] = fresh
        answer = await tb.read(BASE + 8192 + offset, count, size=size)
        assert (answer.resp, bytes(answer.data)) == (AxiResp.OKAY, fresh)
    assert tb.memory.read(BASE, SIZE) == model
    tb.memory.check()


@cocotb.test()
async def back_pressure(dut):
    """Data stays in order when the master is slow on every channel, with many bursts outstanding."""
    tb = TB(dut)
    await tb.start()

    def pauses(seed):
        generator = random.Random(seed)
        while True:
            yield generator.random() < 0.5

    for seed, channel in enumerate((tb.bus.read_if.r_channel, tb.bus.write_if.b_channel, tb.bus.write_if.w_channel)):
        channel.set_pause_generator(pauses(seed))
    model = bytearray(tb.memory.read(BASE, 16384))
    parts = [(i * 700, tb.random.randbytes(650)) for i in range(20)]
    tasks = [cocotb.start_soon(tb.write(BASE + offset, data)) for offset, data in parts]
    for task in tasks:
        await task
    for offset, data in parts:
        model[offset : offset + 650] = data
    assert tb.memory.read(BASE, 16384) == model
    reads = [cocotb.start_soon(tb.read(BASE + offset, 650)) for offset, _ in parts]
    for task, (_, data) in zip(reads, parts, strict=True):
        assert bytes((await task).data) == data
    tb.memory.check()


@cocotb.test()
async def latencies(dut):
    """Reads and writes take exactly the clocks that the parameters say."""
    tb = TB(dut)
    await tb.start()
    for _ in range(3):
        await tb.read(BASE, 256)
        assert int(dut.read_clocks.value) == int(dut.READ_LATENCY.value)
        await tb.write(BASE, bytes(256))
        assert int(dut.write_clocks.value) == int(dut.WRITE_LATENCY.value)


@cocotb.test()
async def written_wakes(dut):
    """Software that waits for a write wakes once the data is there, before the response is."""
    tb = TB(dut)
    await tb.start()
    waiting = cocotb.start_soon(tb.memory.written())
    await ClockCycles(dut.clk, 20)
    assert not waiting.done()
    writing = cocotb.start_soon(tb.write(BASE + 0x100, b"done"))
    assert await with_timeout(waiting, 1, "us") == BASE + 0x100
    assert tb.memory.read(BASE + 0x100, 4) == b"done"
    assert not writing.done()
    await writing
    # Seen is seen: the next call waits for the next write.
    again = cocotb.start_soon(tb.memory.written())
    await ClockCycles(dut.clk, 30)
    assert not again.done()
    await tb.write(BASE + 0x200, bytes(200))
    assert await with_timeout(again, 1, "us") == BASE + 0x200


@cocotb.test()
async def reset_forgets_bursts(dut):
    """Bursts that a reset interrupts, before their data or in the middle of it, leave nothing behind."""
    tb = TB(dut)
    await tb.start()
    for wait in (5, int(dut.READ_LATENCY.value) + 2):
        tb.bus.read_if.r_channel.pause = True
        read = cocotb.start_soon(tb.bus.read(BASE, 256, arid=0))
        await ClockCycles(dut.clk, 3 + wait)
        assert bool(dut.m_axi_rvalid.value) == (wait > 5)
        read.cancel()
        dut.rst.value = 1
        await ClockCycles(dut.clk, 3)
        dut.rst.value = 0
        tb.bus.read_if.r_channel.pause = False
        for _ in range(60):
            await RisingEdge(dut.clk)
            assert not dut.m_axi_rvalid.value
    tb.memory.write(BASE, b"still works")
    assert bytes((await tb.read(BASE, 11)).data) == b"still works"


@cocotb.test()
async def broken_rules(dut):
    """What a design must not do is answered with an error and flagged. Flags are sticky, so this comes last."""
    tb = TB(dut)
    await tb.start()
    tb.memory.check()
    before = tb.memory.read(BASE, SIZE)
    response = await tb.write(BASE + SIZE, b"outside")
    assert response.resp == AxiResp.DECERR
    with pytest.raises(BenchError, match="outside"):
        tb.memory.check()
    assert (await tb.read(BASE - 64, 4)).resp == AxiResp.DECERR
    response = await tb.write(BASE, bytes(256), burst=AxiBurstType.FIXED)
    assert response.resp == AxiResp.SLVERR
    with pytest.raises(BenchError, match="not INCR"):
        tb.memory.check()
    assert tb.memory.read(BASE, SIZE) == before

    async def address(channel, **values):
        for name, value in values.items():
            getattr(dut, f"m_axi_{channel}{name}").value = value
        getattr(dut, f"m_axi_{channel}valid").value = 1
        await RisingEdge(dut.clk)

    # An address offered and changed while it waits: fill the queue first.
    assert "4 KiB" not in str(tb.memory.error())
    await address("ar", addr=BASE + 4096 - 64, len=1, size=6, burst=1)
    dut.m_axi_arvalid.value = 0
    await ClockCycles(dut.clk, 3)
    with pytest.raises(BenchError, match="4 KiB"):
        tb.memory.check()

    dut.m_axi_wdata.value = 1
    dut.m_axi_wstrb.value = 1
    dut.m_axi_wlast.value = 1
    dut.m_axi_wvalid.value = 1  # waits, for there is no address
    await ClockCycles(dut.clk, 2)
    assert "withdrawn or changed" not in str(tb.memory.error())
    dut.m_axi_wdata.value = 2
    await ClockCycles(dut.clk, 4)
    with pytest.raises(BenchError, match="withdrawn or changed"):
        tb.memory.check()

    assert "WLAST" not in str(tb.memory.error())
    await address("aw", addr=BASE, len=1, size=6, burst=1)
    dut.m_axi_awvalid.value = 0
    await ClockCycles(dut.clk, 4)
    dut.m_axi_wvalid.value = 0
    await Timer(20, "ns")
    with pytest.raises(BenchError, match="WLAST"):
        await with_timeout(tb.memory.written(), 1, "us")


@pytest.mark.parametrize(("simulator", "body"), VARIANTS)
def test_memory(simulator, body):
    run_bench("memory_bus", __name__, simulator, body)
