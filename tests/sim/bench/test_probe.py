"""The probe: which events it records, at which cycle, and how its file is read."""

from __future__ import annotations

import os
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Timer

from sim.bench.clocks import Clocks
from sim.bench.probe import Kind, ProbeEvent, read_probe
from tests.sim.bench.variants import VARIANTS, run_bench

INPUTS = (
    "axil_awaddr",
    "axil_awvalid",
    "axil_awready",
    "axil_wdata",
    "axil_wvalid",
    "axil_wready",
    "doorbell_valid",
    "doorbell_ready",
    "doorbell_address",
    "doorbell_index",
    "mac_tx_tvalid",
    "mac_tx_tready",
    "mac_tx_tlast",
    "mac_rx_tvalid",
    "mac_rx_tlast",
    "ring_write_valid",
    "ring_write_last",
    "ring_used",
    "irq_ring",
    "irq_ernic",
    "axi_awaddr",
    "axi_awvalid",
    "axi_awready",
    "axi_wvalid",
    "axi_wready",
    "axi_wlast",
)


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.expected = []

    async def start(self):
        self.dut.rst.value = 1
        for name in INPUTS:
            getattr(self.dut, name).value = 0
        await Timer(1, "step")
        self.clocks = Clocks(self.dut.clocks)
        await self.clocks.wait_cycles(3)
        self.dut.rst.value = 0
        self.first_sample = self.clocks.now + 9
        await self.clocks.wait_cycles(1)

    async def edge(self, **inputs):
        """Apply inputs for one core edge and return its number; all else is 0."""
        for name in INPUTS:
            if name not in ("ring_used", "irq_ring", "irq_ernic"):
                getattr(self.dut, name).value = inputs.pop(name, 0)
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        cycle = self.clocks.now
        await self.clocks.wait_cycles(1)
        return cycle

    def expect(self, cycle, kind, value):
        self.expected.append(ProbeEvent(cycle, kind, value))


@cocotb.test()
async def all_kinds(dut):  # noqa: PLR0915 - one story from the first event to the file
    """Every kind of event, and what must not count as one."""
    tb = TB(dut)
    await tb.start()
    aw = {"axil_awvalid": 1, "axil_awready": 1}
    w = {"axil_wvalid": 1, "axil_wready": 1}
    ring = 0x20338

    # Register writes: address and data together, address first, data first; other addresses; offers not taken.
    cycle = await tb.edge(**aw, **w, axil_awaddr=0x20238, axil_wdata=7)
    tb.expect(cycle, Kind.DOORBELL, 0x20238 << 32 | 7)
    await tb.edge(**aw, axil_awaddr=ring)
    await tb.edge()
    cycle = await tb.edge(**w, axil_wdata=0xFFFFFFFF)
    tb.expect(cycle, Kind.DOORBELL, ring << 32 | 0xFFFFFFFF)
    await tb.edge(**w, axil_wdata=9)
    cycle = await tb.edge(**aw, axil_awaddr=0x2FF38)
    tb.expect(cycle, Kind.DOORBELL, 0x2FF38 << 32 | 9)
    for other in (0x20234, 0x2023C, 0x20138, 0x30038, 0x44038):
        await tb.edge(**aw, **w, axil_awaddr=other, axil_wdata=1)
    await tb.edge(axil_awvalid=1, axil_awaddr=ring, axil_wvalid=1)
    await tb.edge(axil_awready=1, axil_awaddr=ring, axil_wready=1)

    # A doorbell by hardware counts when it is taken.
    hardware = {"doorbell_valid": 1, "doorbell_address": 0x20338, "doorbell_index": 0xFFFF}
    await tb.edge(**hardware)
    cycle = await tb.edge(**hardware, doorbell_ready=1)
    tb.expect(cycle, Kind.DOORBELL, 0x20338 << 32 | 0xFFFF)
    await tb.edge(doorbell_ready=1, doorbell_address=0x20338)

    # Frames to the MAC, with a stall; single-beat ones.
    beat = {"mac_tx_tvalid": 1, "mac_tx_tready": 1}
    await tb.edge(mac_tx_tvalid=1)
    tb.expect(await tb.edge(**beat), Kind.TX_FIRST, 0)
    await tb.edge(**beat)
    await tb.edge(mac_tx_tvalid=1, mac_tx_tlast=1)
    tb.expect(await tb.edge(**beat, mac_tx_tlast=1), Kind.TX_LAST, 0)
    for number in (1, 2):
        cycle = await tb.edge(**beat, mac_tx_tlast=1)
        tb.expect(cycle, Kind.TX_FIRST, number)
        tb.expect(cycle, Kind.TX_LAST, number)

    # Frames from the MAC.
    tb.expect(await tb.edge(mac_rx_tvalid=1), Kind.RX_FIRST, 0)
    await tb.edge(mac_rx_tvalid=1, mac_rx_tlast=1)
    tb.expect(await tb.edge(mac_rx_tvalid=1, mac_rx_tlast=1), Kind.RX_FIRST, 1)

    # Frames into the ring.
    await tb.edge(ring_write_valid=1)
    await tb.edge(ring_write_last=1)
    for number in range(2):
        tb.expect(await tb.edge(ring_write_valid=1, ring_write_last=1), Kind.FRAME_COMMITTED, number)

    # Interrupts.
    tb.expect(await tb.edge(irq_ring=1), Kind.IRQ_RING, 1)
    await tb.edge()
    cycle = await tb.edge(irq_ring=0, irq_ernic=1)
    tb.expect(cycle, Kind.IRQ_RING, 0)
    tb.expect(cycle, Kind.IRQ_ERNIC, 1)
    tb.expect(await tb.edge(irq_ernic=0), Kind.IRQ_ERNIC, 0)

    # Memory writes: addresses ahead of their data, in order, and together with it.
    await tb.edge(axi_awvalid=1, axi_awready=1, axi_awaddr=0x1_0000_0040)
    await tb.edge(axi_awvalid=1, axi_awready=1, axi_awaddr=0x80)
    await tb.edge(axi_wvalid=1, axi_wready=1)
    tb.expect(await tb.edge(axi_wvalid=1, axi_wready=1, axi_wlast=1), Kind.MEMORY_WRITE, 0x1_0000_0040)
    await tb.edge(axi_wvalid=1, axi_wlast=1)
    tb.expect(await tb.edge(axi_wvalid=1, axi_wready=1, axi_wlast=1), Kind.MEMORY_WRITE, 0x80)
    data_with_address = {"axi_awvalid": 1, "axi_awready": 1, "axi_wvalid": 1, "axi_wready": 1, "axi_wlast": 1}
    cycle = await tb.edge(**data_with_address, axi_awaddr=0xC0)
    tb.expect(cycle, Kind.MEMORY_WRITE, 0xC0)

    # The ring's fill every ten cycles, when it changed.
    sample = tb.clocks.now + (tb.first_sample - tb.clocks.now) % 10
    await tb.edge(ring_used=5000)
    tb.expect(sample, Kind.RING_USED, 5000)
    await tb.clocks.wait_cycles(25)
    await tb.edge(ring_used=64)
    await tb.clocks.wait_cycles(12)

    dut.probe.flush.value = 1
    await tb.clocks.wait_cycles(1)
    events = read_probe(Path(os.environ["EB_RUN"]) / "probe.csv")
    last = events.pop()
    assert (last.kind, last.value) == (Kind.RING_USED, 64)
    assert (last.cycle - tb.first_sample) % 10 == 0
    assert sorted(events, key=repr) == sorted(tb.expected, key=repr)
    assert [e.cycle for e in events] == sorted(e.cycle for e in events)
    assert events[1].doorbell == (ring, 0xFFFFFFFF)
    doorbells = read_probe(Path(os.environ["EB_RUN"]) / "probe.csv", {Kind.DOORBELL})
    assert doorbells == [event for event in events if event.kind is Kind.DOORBELL]


def test_malformed_files_are_named(tmp_path):
    """A file that is not one is refused with its line."""
    path = tmp_path / "probe.csv"
    for text, match in (
        ("", "not a probe file"),
        ("cycle,kind,value\n1,tx_first,0\n2,unknown,0\n", r":3: '2,unknown,0'"),
        ("cycle,kind,value\n1,tx_first\n", ":2:"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=match):
            read_probe(path)


@pytest.mark.parametrize(("simulator", "body"), VARIANTS[1:])
def test_probe(simulator, body):
    run_bench("probe_inputs", __name__, simulator, body, files={"probe": "probe.csv"})
