"""The engine's registers at the addresses of PG332 v3.1, or where v4 has them: same registers, other places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from host.control.registers import register_map

_GLOBAL, _QUEUE_PAIRS = register_map()["ERNIC"].base, register_map()["ERNIC_QP"].base
_END = 0x40000


@dataclass(frozen=True)
class AddressMap:
    """Where the global registers and those of queue pair 1 begin: ``GLOBAL_BASE`` and ``QP_BASE`` of the RTL."""

    global_base: int
    queue_pair_base: int

    def place(self, address: int) -> int:
        """Return where ``address``, one of v3.1's map, is in this one. What is not the engine's stays."""
        if _GLOBAL <= address < _QUEUE_PAIRS:
            return address - _GLOBAL + self.global_base
        if _QUEUE_PAIRS <= address < _END:
            return address - _QUEUE_PAIRS + self.queue_pair_base
        return address


V3 = AddressMap(_GLOBAL, _QUEUE_PAIRS)
"""PG332 v3.1: the map of ``registers.toml``."""
V4 = AddressMap(0x100000, 0x180000)
"""PG332 v4."""


class _Registers(Protocol):
    async def read(self, address: int) -> int: ...

    async def write(self, address: int, value: int) -> None: ...


class PlacedRegisters:
    """Registers behind another address map: software that knows v3.1's drives an engine that has ``places``."""

    def __init__(self, registers: _Registers, places: AddressMap) -> None:
        self._registers = registers
        self._places = places

    async def read(self, address: int) -> int:
        """Return the register that v3.1 has at ``address``."""
        return await self._registers.read(self._places.place(address))

    async def write(self, address: int, value: int) -> None:
        """Write the register that v3.1 has at ``address``."""
        await self._registers.write(self._places.place(address), value)
