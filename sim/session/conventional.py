"""The front end in a conventional bench: cocotb clocks, cocotbext-axi on every bus, Python on every cycle.

It exists to be measured against (``make bench``): the same RTL and control software, one shot, written the way such
benches usually are. Nobody answers on the link, so packets leave once and are not acknowledged.
"""

from __future__ import annotations

import json
import logging
import os
import time
import warnings
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import First, RisingEdge, Timer
from cocotbext.axi import AxiStreamBus, AxiStreamSink

from host.control.block_pump import BlockPump, RemoteSlots
from host.control.engine import Engine, Identity, QueueMemory, QueuePair, QueueSettings
from host.control.front_end import AcquisitionSettings, FrontEnd, LinkSettings, RingSettings, Source
from host.control.modes import FRACTION, LANES_A_LINK, ULTRASOUND
from host.control.platform import Interrupt
from host.control.stream import Stream
from sim.adc import AdcTransmitter, LinkConfig
from sim.adc.sources import TickStream, make_shots
from sim.bench.registers import AxilRegisters
from sim.run.plan import CONVENTIONAL_RESULT

SAMPLES = 1024
CORE_PERIOD_FS, LINK_PERIOD_FS = 3_104_000, 3_126_000
CHUNK_BEATS = 512
MEASURED_CYCLES = 6000
_BLOCK_BYTES = 65536


class _Memory:
    """Memory behind the design's AXI master, which lacks the ID signals that cocotbext-axi's memory asks for."""

    def __init__(self, dut: Any, size: int) -> None:
        self._dut = dut
        self._bytes = bytearray(size)
        for name in ("arready", "awready", "wready"):
            getattr(dut, f"m_axi_{name}").value = 1
        for name in ("rvalid", "bvalid", "rresp", "bresp", "rlast", "rdata"):
            getattr(dut, f"m_axi_{name}").value = 0
        cocotb.start_soon(self._reads())
        cocotb.start_soon(self._writes())

    def read(self, address: int, length: int) -> bytes:
        return bytes(self._bytes[address : address + length])

    def write(self, address: int, data: bytes) -> None:
        self._bytes[address : address + len(data)] = data

    async def _reads(self) -> None:
        dut, edge = self._dut, RisingEdge(self._dut.clk)
        beats: list[tuple[int, int]] = []
        while True:
            await edge
            if beats and int(dut.m_axi_rvalid.value) and int(dut.m_axi_rready.value):
                beats.pop(0)
            if int(dut.m_axi_arvalid.value):
                first, last = int(dut.m_axi_araddr.value) & ~63, int(dut.m_axi_arlen.value)
                beats += [(first + 64 * beat, int(beat == last)) for beat in range(last + 1)]
            dut.m_axi_rvalid.value = int(bool(beats))
            if beats:
                dut.m_axi_rdata.value = int.from_bytes(self.read(beats[0][0], 64), "little")
                dut.m_axi_rlast.value = beats[0][1]

    async def _writes(self) -> None:
        dut, edge = self._dut, RisingEdge(self._dut.clk)
        addresses: list[int] = []
        data: list[tuple[int, int]] = []
        answers = 0
        while True:
            await edge
            if int(dut.m_axi_bvalid.value) and int(dut.m_axi_bready.value):
                answers -= 1
            if int(dut.m_axi_awvalid.value):
                addresses.append(int(dut.m_axi_awaddr.value) & ~63)
            if int(dut.m_axi_wvalid.value):
                data.append((int(dut.m_axi_wdata.value), int(dut.m_axi_wstrb.value)))
            while addresses and data:
                address, (word, strobes) = addresses.pop(0), data.pop(0)
                for lane in range(64):
                    if strobes >> lane & 1:
                        self._bytes[address + lane] = word >> 8 * lane & 0xFF
                answers += 1
            dut.m_axi_bvalid.value = int(answers > 0)


class _Platform:
    def __init__(self, dut: Any, memory: _Memory) -> None:
        self.registers = AxilRegisters(dut, "s_axil", "clk")
        self.memory = memory
        self._lines = {Interrupt.LINK: dut.irq_link, Interrupt.RING: dut.irq_ring, Interrupt.ENGINE: dut.irq_ernic}

    async def wait_interrupt(self, lines: frozenset[Interrupt]) -> frozenset[Interrupt]:
        while True:
            raised = frozenset(line for line in lines if self._lines[line].value)
            if raised:
                return raised
            await First(*(RisingEdge(self._lines[line]) for line in lines))

    async def wake_up(self) -> None:
        await Timer(1, "us")

    async def pause(self, microseconds: float) -> None:
        await Timer(microseconds, "us")


class ConventionalBench:
    """Clocks, lanes and buses around ``frontend``, all driven by Python."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        links = len(dut.sync_n)
        self.config = LinkConfig(links=links)
        shots = make_shots("prbs", 1, SAMPLES, links * ULTRASOUND.channels_a_link, 80e6, 1)
        self.stream = TickStream(shots)
        self.transmitter = AdcTransmitter(self.config, self.stream)
        self.trigger_beat: int | None = None
        self.beat = 0

    async def start(self) -> _Platform:
        """Start clocks and buses, reset."""
        dut = self.dut
        dut.rst.value, dut.link_rst.value = 1, 1
        dut.trigger.value, dut.laser.value, dut.sysref.value = 0, 0, 0
        dut.lane_notintable.value, dut.lane_disperr.value = 0, 0
        for name in ("tdata", "tkeep", "tvalid", "tlast", "tuser"):
            getattr(dut, f"s_axis_mac_{name}").value = 0
        cocotb.start_soon(Clock(dut.clk, CORE_PERIOD_FS, "fs").start())
        cocotb.start_soon(Clock(dut.link_clk, LINK_PERIOD_FS, "fs").start())
        memory = _Memory(dut, 1 << 20)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_mac"), dut.clk, dut.rst)
        self.sink.log.setLevel(logging.WARNING)  # it would print every frame
        cocotb.start_soon(self._lanes())
        platform = _Platform(dut, memory)
        await Timer(200, "ns")
        dut.rst.value, dut.link_rst.value = 0, 0
        await Timer(200, "ns")
        return platform

    async def _lanes(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.link_clk)
        lanes = len(dut.sync_n) * LANES_A_LINK
        multiframe = self.config.beats_per_multiframe
        while True:
            beats = self.transmitter.beats(CHUNK_BEATS, int(dut.sync_n.value) if self.beat else 0)
            for data, flags in zip(beats.data, beats.flags & 0xF, strict=True):
                await edge
                dut.lane_data.value = int.from_bytes(data.tobytes(), "little")
                dut.lane_charisk.value = sum(int(flags[lane]) << 4 * lane for lane in range(lanes))
                dut.sysref.value = int(self.beat % (4 * multiframe) == 0)
                dut.trigger.value = int(self.beat == self.trigger_beat)
                self.beat += 1


@cocotb.test()
async def measure(dut: Any) -> None:
    """Bring everything up, fire a shot, and measure cycles a second while samples and packets flow."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.")
    bench = ConventionalBench(dut)
    platform = await bench.start()
    front_end, engine = FrontEnd(platform), Engine(platform)
    capabilities = await front_end.identify()
    config = bench.config
    await front_end.configure_link(LinkSettings(config.links, config.frames_per_multiframe, 16, True, 1))
    peer = Identity(0x02EB00000002, IPv4Address("10.77.0.2"))
    await engine.start(Identity(0x02EB00000001, IPv4Address("10.77.0.1")), 2, 16)
    memory, _ = QueueMemory.place(0, 64)
    pair = QueuePair(platform, 2, memory)
    await pair.connect(QueueSettings(4096, 64, 0, peer, 17, 14, 7))
    await front_end.configure_ring(RingSettings(_BLOCK_BYTES, 1, 1000), capabilities)
    while not await front_end.link_up():
        await Timer(500, "ns")
    await front_end.configure_acquisition(AcquisitionSettings(ULTRASOUND, SAMPLES, config.channels, 200 * FRACTION, 1))
    await front_end.accept_triggers(Source.TRIGGER)
    pump = BlockPump(RemoteSlots(1 << 32, 1, 1 << 20, 16), sq_depth=64, batch=8)

    async def no_credit(queue_pair: int, total: int) -> int:
        raise AssertionError(f"queue pair {queue_pair} needs {total} releases for one frame")

    stream = Stream(platform, front_end, engine, [(pair, pump)], no_credit)
    bench.trigger_beat = bench.beat + CHUNK_BEATS

    async def serve() -> None:
        while True:
            await stream.step()

    cocotb.start_soon(serve())
    await RisingEdge(dut.m_axis_mac_tvalid)
    started = time.perf_counter()
    await Timer(MEASURED_CYCLES * CORE_PERIOD_FS, "fs")
    seconds = time.perf_counter() - started
    octets = sum(len(bench.sink.recv_nowait().tdata) for _ in range(bench.sink.count()))
    assert octets > 0, "no packet left the front end"
    result = {"cycles": MEASURED_CYCLES, "seconds": seconds, "octets": octets}
    Path(os.environ[CONVENTIONAL_RESULT]).write_text(json.dumps(result))
