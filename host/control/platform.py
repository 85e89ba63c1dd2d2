"""What control software needs of the machine it runs on: registers, shared memory, interrupts, a clock.

The same control code runs on the processing system of a board (UIO device, DMA memory) and in simulation (an AXI4-Lite
master, the bench's memory); each implements :class:`Platform`.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class BusError(RuntimeError):
    """A register access that was answered with an error."""


class Interrupt(Enum):
    """Interrupt lines of the front end; level, held until acknowledged."""

    LINK = "link"
    RING = "ring"
    ENGINE = "engine"


class Registers(Protocol):
    """32-bit registers by absolute byte address."""

    async def read(self, address: int) -> int:
        """Return the register; raise :class:`BusError` if the bus answers with an error."""
        ...

    async def write(self, address: int, value: int) -> None:
        """Write the register; raise :class:`BusError` if the bus answers with an error."""
        ...


class Memory(Protocol):
    """Memory that processor and FPGA share, by physical byte address."""

    def read(self, address: int, length: int) -> bytes:
        """Return ``length`` bytes."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Store ``data``; the FPGA sees it before any register access that follows."""
        ...


class Platform(Protocol):
    """The machine as control software sees it."""

    registers: Registers
    memory: Memory

    async def wait_interrupt(self, lines: frozenset[Interrupt]) -> frozenset[Interrupt]:
        """Return the raised lines among ``lines`` as soon as there is one."""
        ...

    async def wake_up(self) -> None:
        """Let pass what software costs between an interrupt and its first register access."""
        ...

    async def pause(self, microseconds: float) -> None:
        """Let time pass."""
        ...
