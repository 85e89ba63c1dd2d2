"""The whole bench around the front end: control, links coming up, resets, probe, and the same run without Python."""

from __future__ import annotations

import os
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.triggers import Timer, with_timeout

from host.control.registers import register_map
from sim.adc import AdcTransmitter, LinkConfig
from sim.bench.bench import Bench, bench_design
from sim.bench.errors import BenchError
from sim.bench.free_run import free_run
from sim.bench.lane_player import SIDE_SYSREF
from sim.bench.probe import Kind, read_probe
from sim.bench.recording import Recording
from sim.bench.registers import RegisterAccessError
from sim.build import compile_design, run_tests
from tests.sim.bench.variants import RUNS, VARIANTS

LINKS = 4
PARAMETERS = {"LINKS": LINKS, "RING_BYTES": 65536}
CHUNK = 128


def address(block, name):
    return register_map()[block][name].address()


class CountingSource:
    """Sample t of channel c is t * 64 + c, modulo 2^16."""

    def samples(self, first_tick, count):
        ticks = np.arange(first_tick, first_tick + count)[:, None] * 64
        return (ticks + np.arange(LINKS * 16)).astype(np.uint16).view(np.int16)


class Converters:
    """Feeds the lanes for as long as the test lasts."""

    def __init__(self, bench):
        self.bench = bench
        self.config = LinkConfig(links=LINKS)
        self.transmitter = AdcTransmitter(self.config, CountingSource())
        self.chunks = 0

    async def play(self):
        sync_n, first_beat = 0, 0
        while True:
            side = np.zeros(CHUNK, np.uint8)
            period = 4 * self.config.beats_per_multiframe
            side[-first_beat % period :: period] = SIDE_SYSREF
            beats = self.transmitter.beats(CHUNK, sync_n)
            self.bench.lanes.supply(beats.data, beats.flags, side)
            self.chunks += 1
            request = await self.bench.lanes.request()
            sync_n, first_beat = request.sync_n, request.first_beat


async def bring_up(bench):
    control = register_map()["JESD204B"]["CTRL"]
    await bench.registers.write(address("JESD204B", "LINK_ENABLE"), (1 << LINKS) - 1)
    value = control["ENABLE"].put(1) | control["SCRAMBLING"].put(1) | control["SUBCLASS"].put(1)
    await bench.registers.write(address("JESD204B", "CTRL"), value)
    for _ in range(60):
        await Timer(500, "ns")
        if await bench.registers.read(address("JESD204B", "STATUS")) & 1:
            return
    raise AssertionError("the links did not come up")


@cocotb.test()
async def control(dut):
    """Registers are read and written, back to back and in a few cycles each; refused accesses raise."""
    bench = Bench(dut)
    await bench.reset()
    registers = bench.registers
    assert await registers.read(address("SYSTEM", "MAGIC")) == 0x45424645
    assert await registers.read(address("SYSTEM", "LINKS")) == LINKS
    scratch = address("SYSTEM", "SCRATCH")
    begin = bench.clocks.now
    for i in range(20):
        await registers.write(scratch, i * 0x01010101)
        assert await registers.read(scratch) == i * 0x01010101
    assert 4 <= (bench.clocks.now - begin) / 40 <= 12
    # At the same time from two tasks: every access gets its own answer.
    reads = [cocotb.start_soon(registers.read(address("SYSTEM", name))) for name in ("MAGIC", "LINKS", "LANES")]
    assert [await read for read in reads] == [0x45424645, LINKS, 2 * LINKS]
    with pytest.raises(RegisterAccessError, match="read of 0x78000"):
        await registers.read(0x78000)
    with pytest.raises(RegisterAccessError, match="write of 0x1 to 0x78000"):
        await registers.write(0x78000, 1)
    assert await registers.read(scratch) == 19 * 0x01010101
    bench.check()


@cocotb.test()
async def links_come_up(dut):
    """Lanes played from the converter model bring the links up; the bench tells at which beat samples began."""
    bench = Bench(dut)
    folder = Path(os.environ["EB_RUN"])
    recording = Recording(bench, folder / "recording")
    await bench.reset()
    bench.mac.set_rate(98)
    bench.memory.write(bench.memory.base + 64, b"written by software")
    with pytest.raises(BenchError, match="not delivered"):
        bench.release_beat()
    converters = Converters(bench)
    playing = cocotb.start_soon(converters.play())
    assert not bench.irq_ring.raised
    await bring_up(bench)
    release = bench.release_beat()
    aligned = converters.transmitter.bring_ups[-1].first_beat
    # Four multiframes of alignment may lie between the two beats, and the receiver's pipeline and buffers.
    assert 0 < release - aligned < 6 * converters.config.beats_per_multiframe
    bench.mac.inject(bytes(64), bench.clocks.now + 10)
    injected = bench.clocks.now + 10
    await bench.clocks.wait_cycles(200)
    await bench.flush_probe()
    events = read_probe(folder / "probe.csv")
    assert [e.cycle for e in events if e.kind is Kind.RX_FIRST] == [injected]
    recording.close()
    # A reset takes the links down; they come up again.
    playing.cancel()
    bench.lanes.stop()
    await bench.clocks.wait_cycles(2 * CHUNK + 20)
    await bench.reset()
    with pytest.raises(BenchError, match="not delivered"):
        bench.release_beat()
    bench.check()


@cocotb.test()
async def complaints_are_gathered(dut):
    """One check tells of everything that any part has found."""
    bench = Bench(dut)
    await bench.reset()
    assert bench.errors() == []
    chunk = np.zeros((8, 2 * LINKS), np.uint32), np.zeros((8, 2 * LINKS), np.uint16)
    bench.lanes.supply(*chunk)
    await with_timeout(bench.lanes.request(), 1, "us")
    await Timer(200, "ns")
    with pytest.raises(BenchError, match="lane player"):
        bench.check()
    assert len(bench.errors()) == 1


@pytest.mark.parametrize(("simulator", "body"), VARIANTS)
def test_bench_top(simulator, body, tmp_path):
    parameters = PARAMETERS | {"MEMORY_BYTES": 65536}
    compiled = compile_design(bench_design(body, parameters), simulator)
    folder = RUNS / f"bench_top-{simulator}-{body}-{os.getpid()}"
    folder.mkdir(parents=True)
    run_tests(
        compiled,
        __name__,
        folder,
        seed=1,
        environment={"EB_RUN": str(folder)},
        plusargs=[f"+probe={folder / 'probe.csv'}"],
    )
    if (simulator, body) == ("verilator", "dpi"):
        again = free_run(folder / "recording", PARAMETERS, timeout_seconds=60)
        assert again.cycles > 1000
        assert (again.frames, again.octets) == (0, 0)
        # A recording of another run is not taken for this one.
        events = folder / "recording" / "events"
        events.write_bytes(events.read_bytes()[:-16] + bytes([1]) + bytes(15))
        with pytest.raises(RuntimeError, match="not the run that was recorded"):
            free_run(folder / "recording", PARAMETERS, timeout_seconds=60)


def test_free_run_needs_a_recording(tmp_path):
    with pytest.raises(RuntimeError, match="no recording"):
        free_run(tmp_path, PARAMETERS, timeout_seconds=60)
