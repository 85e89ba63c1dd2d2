"""All of the bench in one object, and the build that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cocotb.triggers import Timer

from sim.bench.clocks import Clocks
from sim.bench.design import HERE, Body, design
from sim.bench.errors import BenchError
from sim.bench.interrupt import Interrupt
from sim.bench.lane_player import LanePlayer
from sim.bench.mac_port import MacPort
from sim.bench.memory import ProcessorMemory
from sim.bench.registers import AxilRegisters
from sim.build import Design

RESET_CYCLES = 32
"""Core cycles for which both resets are held; more than any crossing needs."""

TOP_PUBLIC = (
    *("rst", "link_rst", "axil_clk", "s_axil_*", "irq_*", "lane_polarity"),
    *("released", "release_*", "generator_beat"),
)


def bench_design(body: Body, parameters: Mapping[str, int] | None = None, *, waves: bool = False) -> Design:
    """Return the build of ``bench_top`` with ``parameters``; with ``waves`` traced, its clocks of 50 % duty cycle."""
    chosen = {**(parameters or {}), **({"SQUARE_CLOCKS": 1} if waves else {})}
    return design(HERE / "bench_top.f", body, chosen, top_public=TOP_PUBLIC, waves=waves)


class Bench:
    """``bench_top`` as the session sees it.

    Make it, then await :meth:`reset` before anything else: what is written before the simulation has begun is lost to
    initial values.
    """

    def __init__(self, dut: Any) -> None:
        """Take cocotb's handle of ``bench_top``."""
        self._dut = dut
        self.drive_resets(1)
        self.clocks = Clocks(dut.clocks)
        self.mac = MacPort(dut.mac, self.clocks)
        self.lanes = LanePlayer(dut.lanes)
        self.memory = ProcessorMemory(dut.memory)
        self.registers = AxilRegisters(dut)
        self.irq_link = Interrupt(dut.irq_link)
        self.irq_ring = Interrupt(dut.irq_ring)
        self.irq_ernic = Interrupt(dut.irq_ernic)

    def drive_resets(self, value: int) -> None:
        """Set the resets of both clock domains."""
        self._dut.rst.value = value
        self._dut.link_rst.value = value

    async def reset(self) -> None:
        """Reset the design, both clock domains, and forget frames that had left it."""
        self.drive_resets(1)
        await self.clocks.wait_cycles(RESET_CYCLES)
        self.drive_resets(0)
        await self.clocks.wait_cycles(2)
        self.mac.take()

    @property
    def link_clock_hz(self) -> float:
        """Frequency of the link clock."""
        return self.clocks.link_hertz

    def release_beat(self) -> int:
        """Number of the beat on the lanes in the link cycle in which the receiver delivered the first sample (tick 0).

        Raise :class:`BenchError` if it has not delivered any since the links came up or since the last reset.
        """
        return int(self._released(self._dut.release_beat))

    def release_cycle(self) -> int:
        """Core cycle in which the receiver delivered that sample; raise :class:`BenchError` likewise."""
        return int(self._released(self._dut.release_cycle))

    def _released(self, signal: Any) -> Any:
        if not self._dut.released.value:
            raise BenchError("the receiver has not delivered a sample yet")
        return signal.value

    def generator_beat(self) -> int:
        """Number of the beat in which the generator of shots was started: its shots come whole periods later."""
        return int(self._dut.generator_beat.value)

    @property
    def lane_polarity(self) -> int:
        """One bit a physical lane: the design tells its transceiver to invert the line."""
        return int(self._dut.lane_polarity.value)

    @property
    def error_reports(self) -> int:
        """How often SYNC~ of any link was low for so short a time that converters take it as a report of errors."""
        return int(self._dut.converters.reports.value)

    @property
    def latest_release(self) -> int | None:
        """As :meth:`release_beat`, ``None`` if there has been none."""
        return int(self._dut.release_beat.value) if self._dut.released.value else None

    async def flush_probe(self) -> None:
        """Have the probe write out what it has recorded so far."""
        flush = self._dut.probe.flush
        flush.value = 1 - int(flush.value)
        await Timer(1, "step")

    def errors(self) -> list[BenchError]:
        """All that any part of the bench has to complain about."""
        found = (self.mac.error(), self.lanes.error(), self.memory.error())
        return [error for error in found if error is not None]

    def check(self) -> None:
        """Raise :class:`BenchError` if any part of the bench has found a broken rule: the run is void then."""
        if found := self.errors():
            raise BenchError("; ".join(str(error) for error in found))
