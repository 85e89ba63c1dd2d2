"""Memory that the other end may read or write: the engine's table of regions (PG332, protection domains)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from host.control.platform import Platform
from host.control.registers import register_map

_KEY_LIMIT = 1 << 8
_LENGTH_LIMIT = 1 << 48


class Access(IntEnum):
    """What the other end may do."""

    READ = 0
    WRITE = 1
    BOTH = 2


@dataclass(frozen=True)
class MemoryRegion:
    """``length`` bytes at ``address``, which the other end calls ``virtual``; for queue pairs of one domain."""

    number: int
    """Entry of the table."""
    key: int
    """Low part of the remote key, 8 bits."""
    address: int
    length: int
    access: Access
    domain: int
    virtual: int

    def __post_init__(self) -> None:
        if not 0 <= self.key < _KEY_LIMIT:
            raise ValueError(f"key = {self.key}: allowed 0 to {_KEY_LIMIT - 1}")
        if not 0 < self.length < _LENGTH_LIMIT:
            raise ValueError(f"length = {self.length}: allowed 1 to {_LENGTH_LIMIT - 1}")

    @property
    def remote_key(self) -> int:
        """What the other end must give: number of the entry, then the key."""
        return self.number << 8 | self.key


async def register(platform: Platform, region: MemoryRegion) -> None:
    """Write the entry of the table."""
    block = register_map()["ERNIC_MR"]
    for name, value in {
        "PDPDNUM": region.domain,
        "VIRTADDRLSB": region.virtual & 0xFFFFFFFF,
        "VIRTADDRMSB": region.virtual >> 32,
        "BUFBASEADDRLSB": region.address & 0xFFFFFFFF,
        "BUFBASEADDRMSB": region.address >> 32,
        "BUFRKEY": region.key,
        "WRRDBUFLEN": region.length & 0xFFFFFFFF,
        "ACCESSDESC": region.length >> 32 << 16 | region.access,
    }.items():
        await platform.registers.write(block[name].address(region.number), value)
