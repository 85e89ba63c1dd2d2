"""Register accesses of software, over the bench's AXI4-Lite port."""

from __future__ import annotations

import logging
from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

_DRIVEN = ("awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr", "arprot", "arvalid", "rready")


class RegisterAccessError(Exception):
    """The design answered a register access with an error."""


class AxilRegisters:
    """32-bit registers by byte address; accesses take simulated time and come one after the other."""

    def __init__(self, handle: Any, prefix: str = "s_axil", clock: str = "axil_clk") -> None:
        """Take the handle of the module with the bus ``prefix`` and with ``clock``, the ``axil_clk`` of the bench top.

        (The design's answers are held from one core edge to the next and sampled half way; see the README.)
        """
        self._handle, self._prefix, self._clock = handle, prefix, clock
        self._made: AxiLiteMaster | None = None
        for name in _DRIVEN:
            getattr(handle, f"{prefix}_{name}").value = 0

    @property
    def _master(self) -> AxiLiteMaster:
        # Made with the first access and not before: at time 0 a clock's first value looks like an edge to it.
        if self._made is None:
            bus = AxiLiteBus.from_prefix(self._handle, self._prefix)
            logger = logging.getLogger(f"cocotb.{self._handle._name}.{self._prefix}")
            logger.setLevel(logging.WARNING)
            self._made = AxiLiteMaster(bus, getattr(self._handle, self._clock))
        return self._made

    async def read(self, address: int) -> int:
        """Return the register at ``address``. Raise :class:`RegisterAccessError` if the design refuses."""
        response = await self._master.read(address, 4)
        if response.resp != AxiResp.OKAY:
            raise RegisterAccessError(f"read of {address:#07x}: {response.resp.name}")
        return int.from_bytes(response.data, "little")

    async def write(self, address: int, value: int) -> None:
        """Set the register at ``address``. Raise :class:`RegisterAccessError` if the design refuses."""
        response = await self._master.write(address, value.to_bytes(4, "little"))
        if response.resp != AxiResp.OKAY:
            raise RegisterAccessError(f"write of {value:#x} to {address:#07x}: {response.resp.name}")
