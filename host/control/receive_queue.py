"""Receive queue of an engine's queue pair (PG332): a ring of equal elements in memory, filled by the peer's SENDs."""

from __future__ import annotations

from host.control.platform import Platform
from host.control.registers import register_map

_UNIT_BYTES = 256
DATAGRAM_HEADER_BYTES = 64
"""What stands before the data of a datagram: the frame's first 62 octets and two zeros."""


class ReceiveQueue:
    """``depth`` elements of ``element_bytes`` (256 times a power of two) from ``buffers`` on, which is aligned to 256.

    The engine writes its producer index to ``index`` (four bytes, aligned to 64). One element always stays empty.
    """

    def __init__(
        self, platform: Platform, number: int, *, buffers: int, depth: int, element_bytes: int, index: int
    ) -> None:
        units = element_bytes // _UNIT_BYTES
        if element_bytes % _UNIT_BYTES or not units or units & units - 1:
            raise ValueError(f"elements of {element_bytes} bytes: allowed are 256 times a power of two")
        self._platform = platform
        self._number = number
        self._block = register_map()["ERNIC_QP"]
        self._buffers = buffers
        self._element_bytes = element_bytes
        self._index = index
        self._taken = 0
        self.depth = depth

    async def _write(self, name: str, value: int) -> None:
        await self._platform.registers.write(self._block[name].address(self._number - 1), value)

    async def prepare(self) -> int:
        """Program the registers of a queue pair that is disabled; return the element size in QPCONF's units."""
        self._taken = 0
        self._platform.memory.write(self._index, bytes(64))
        for name, address in (("RQBA", self._buffers), ("RQWPTRDBADD", self._index)):
            await self._write(name, address & 0xFFFFFFFF)
            await self._write(f"{name}MSB", address >> 32)
        return self._element_bytes // _UNIT_BYTES

    @property
    def waiting(self) -> bool:
        """A message has come."""
        produced = int.from_bytes(self._platform.memory.read(self._index, 4), "little")
        return produced != self._taken % self.depth

    async def take(self, length: int, *, skip: int = 0) -> bytes:
        """Return ``length`` bytes of the oldest message, behind its first ``skip``, and give its element back."""
        address = self._buffers + self._taken % self.depth * self._element_bytes + skip
        data = self._platform.memory.read(address, length)
        self._taken += 1
        await self._write("RQCI", self._taken % self.depth)
        return data
