"""The engine's registers where v3.1 and v4 of PG332 have them."""

from __future__ import annotations

import asyncio

import pytest

from host.control.registers import register_map
from host.control.registers.address_map import V3, V4, PlacedRegisters


@pytest.mark.parametrize(
    ("block", "register", "index", "v3", "v4"),
    [
        ("ERNIC", "XRNICCONF", 0, 0x20000, 0x100000),
        ("ERNIC", "IPV4XADD", 0, 0x20070, 0x100070),
        ("ERNIC", "OUTIOPKTCNT", 0, 0x20108, 0x100108),
        ("ERNIC_QP", "QPCONF", 0, 0x20200, 0x180000),
        ("ERNIC_QP", "QPCONF", 1, 0x20300, 0x180100),
        ("ERNIC_QP", "QDEPTH", 254, 0x2003C + 255 * 0x100 + 0x100, 0x18003C + 254 * 0x100),
        ("ERNIC_MR", "BUFRKEY", 3, 0x314, 0x314),
        ("JESD204B", "CTRL", 0, 0x40000, 0x40000),
    ],
)
def test_places(block: str, register: str, index: int, v3: int, v4: int):
    address = register_map()[block][register].address(index)
    assert (V3.place(address), V4.place(address)) == (v3, v4)


def test_software_of_one_map_drives_the_other():
    class Bus:
        def __init__(self) -> None:
            self.values = {0x100070: 7}

        async def read(self, address: int) -> int:
            return self.values[address]

        async def write(self, address: int, value: int) -> None:
            self.values[address] = value

    bus = Bus()
    placed = PlacedRegisters(bus, V4)
    assert asyncio.run(placed.read(0x20070)) == 7
    asyncio.run(placed.write(0x20200, 9))
    assert bus.values[0x180000] == 9
