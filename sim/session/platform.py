"""The bench as control software sees it: the simulation's side of :class:`host.control.platform.Platform`."""

from __future__ import annotations

from cocotb.triggers import Event, First, Timer

from host.control.platform import BusError, Interrupt
from sim.bench.bench import Bench
from sim.bench.registers import AxilRegisters, RegisterAccessError


class _Registers:
    """Register accesses with the error that control software knows."""

    def __init__(self, bus: AxilRegisters) -> None:
        self._bus = bus

    async def read(self, address: int) -> int:
        """Read a register."""
        try:
            return await self._bus.read(address)
        except RegisterAccessError as error:
            raise BusError(str(error)) from error

    async def write(self, address: int, value: int) -> None:
        """Write a register."""
        try:
            await self._bus.write(address, value)
        except RegisterAccessError as error:
            raise BusError(str(error)) from error


class SimulatedPlatform:
    """Registers over AXI4-Lite, the bench's memory, its interrupts; software takes time only in :meth:`wake_up`."""

    def __init__(self, bench: Bench, software_delay_ns: int) -> None:
        self.registers = _Registers(bench.registers)
        self.memory = bench.memory
        self._delay_ns = software_delay_ns
        self._lines = {
            Interrupt.LINK: bench.irq_link,
            Interrupt.RING: bench.irq_ring,
            Interrupt.ENGINE: bench.irq_ernic,
        }
        self._wake = Event()

    def interrupt_wait(self) -> None:
        """Let the present or next :meth:`wait_interrupt` for the ring return without an interrupt."""
        self._wake.set()

    async def wait_interrupt(self, lines: frozenset[Interrupt]) -> frozenset[Interrupt]:
        """Return the raised lines, or none after :meth:`interrupt_wait`."""
        while True:
            raised = frozenset(line for line in lines if self._lines[line].raised)
            if Interrupt.RING not in lines:
                if raised:
                    return raised
                await First(*(self._lines[line].rising_edge for line in lines))
                continue
            if raised or self._wake.is_set():
                self._wake.clear()
                return raised
            await First(*(self._lines[line].rising_edge for line in lines), self._wake.wait())

    async def wake_up(self) -> None:
        """Let the scenario's software delay pass."""
        if self._delay_ns:
            await Timer(self._delay_ns, "ns")

    async def pause(self, microseconds: float) -> None:
        """Let simulated time pass."""
        await Timer(max(1, round(microseconds * 1000)), "ns")
