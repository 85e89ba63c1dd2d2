"""Access to a memory region: allowed exactly if all of it fits, and where it goes; at every edge, and at 2^64."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.module_bench import SIMULATORS, run_module

END = 1 << 64
READ_ONLY, WRITE_ONLY, BOTH, NONE = 0, 1, 2, 15


@dataclass(frozen=True)
class Access:
    """What is asked for, and the entry of the table that its key has chosen."""

    region_domain: int = 7
    region_virtual: int = 0x7F00_0000_1003
    region_buffer: int = 0x12_3400_0105
    region_key: int = 0x5C
    region_length: int = 0x10_0000
    region_access: int = BOTH
    domain: int = 7
    address: int = 0x7F00_0000_1003
    key: int = 0x3F5C
    length: int = 64
    is_read: int = 0

    def allowed(self) -> bool:
        if self.length == 0:
            return True
        known = self.domain == self.region_domain and self.key & 0xFF == self.region_key and self.key >> 16 == 0
        access = self.region_access in ((READ_ONLY, BOTH) if self.is_read else (WRITE_ONLY, BOTH))
        offset = (self.address - self.region_virtual) % END
        return known and access and offset + self.length <= self.region_length

    def place(self) -> int:
        return (self.region_buffer + self.address - self.region_virtual) % END


async def ask(dut, access: Access) -> tuple[bool, int]:
    for name, value in vars(access).items():
        getattr(dut, f"s_{name}").value = value
    dut.s_valid.value = 1
    await RisingEdge(dut.clk)
    dut.s_valid.value = 0
    await RisingEdge(dut.clk)
    # The table has moved on.
    dut.s_region_length.value = (1 << 48) - 1
    dut.s_region_virtual.value = access.address
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    return bool(dut.m_allowed.value), int(dut.m_address.value)


async def check(dut, access: Access) -> bool:
    allowed, address = await ask(dut, access)
    assert allowed == access.allowed(), access
    if allowed and access.length:
        assert address == access.place(), access
    return allowed


@cocotb.test()
async def fields(dut):
    """Each thing that must fit, one of them wrong at a time."""
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    right = Access()
    assert await check(dut, right)
    wrong = [{"domain": 7 ^ 1 << bit} for bit in range(24)] + [{"key": 0x3F5C ^ 1 << bit} for bit in range(8)]
    wrong += [{"key": 0x3F5C ^ 1 << bit} for bit in range(16, 32)]
    for changes in wrong:
        assert not await check(dut, replace(right, **changes)), changes
        assert await check(dut, replace(right, length=0, **changes)), "an access to nothing is always allowed"
    for access, is_read in product(range(16), range(2)):
        expected = (access, is_read) in ((READ_ONLY, 1), (WRITE_ONLY, 0), (BOTH, 0), (BOTH, 1))
        assert await check(dut, replace(right, region_access=access, is_read=is_read)) == expected


@cocotb.test()
async def ranges(dut):
    """Starts and lengths at and about the edges of the region, of 2^32, 2^48 and 2^64."""
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    outcomes = []
    sizes = (0, 1, 4096, 0xFFFFFFFF, 1 << 32, (1 << 48) - 1)
    for virtual, size in product((0, 0x7F00_0000_1003, END - 4096, END - 1), sizes):
        for start, length in product((-(1 << 48), -1, 0, 1, size - 1, size, 1 << 48), (1, 2, 4096, 0xFFFFFFFF)):
            access = Access(region_virtual=virtual, region_length=size, address=(virtual + start) % END, length=length)
            outcomes.append(await check(dut, access))
            outcomes.append(await check(dut, replace(access, address=(virtual + size - length) % END)))
    assert any(outcomes)
    assert not all(outcomes)


@cocotb.test()
async def random_accesses(dut):
    cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
    rng = random.Random(1)
    allowed = 0
    for _ in range(400):
        virtual, size = rng.getrandbits(64), rng.randrange(1, 1 << rng.randrange(2, 48))
        access = Access(
            region_virtual=virtual,
            region_buffer=rng.getrandbits(64),
            region_length=size,
            address=(virtual + rng.randrange(-size // 8 - 1, size)) % END,
            length=rng.randrange(min(size + size // 8, 1 << 32)),
            is_read=rng.getrandbits(1),
        )
        allowed += await check(dut, access)
    assert 50 < allowed < 350


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_region_check(simulator):
    run_module("ernic/ernic_region_check", __name__, simulator)
