"""Both ends of the register bus (hdl/README.md, "The register bus") for module tests."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from cocotb.triggers import RisingEdge


class RegBusError(Exception):
    """The access was answered with ``reg_error``."""


class RegBusMaster:
    """Makes accesses on ``<prefix>_reg_*`` of ``dut``; every wait is limited to ``limit`` clocks."""

    def __init__(self, dut: Any, clk: Any, prefix: str = "s", limit: int = 5000) -> None:
        self._clk = clk
        self._limit = limit
        self.valid, self._write, self._addr, self._wdata, self._ready, self._error, self._rdata = (
            getattr(dut, f"{prefix}_reg_{name}")
            for name in ("valid", "write", "addr", "wdata", "ready", "error", "rdata")
        )
        self.valid.value = 0
        self._write.value = 0
        self._addr.value = 0
        self._wdata.value = 0

    async def access(self, address: int, wdata: int | None, *, back_to_back: bool = False) -> int:
        """One access (a write if ``wdata`` is given); return the data read; raise :class:`RegBusError` on an error."""
        self.valid.value = 1
        self._write.value = int(wdata is not None)
        self._addr.value = address
        self._wdata.value = wdata or 0
        for _ in range(self._limit):
            await RisingEdge(self._clk)
            if self._ready.value == 1:
                break
        else:
            raise TimeoutError(f"register access to {address:#x} has no answer")
        if not back_to_back:
            self.valid.value = 0
        if self._error.value == 1:
            raise RegBusError(hex(address))
        return int(self._rdata.value) if wdata is None else 0

    async def read(self, address: int) -> int:
        return await self.access(address, None)

    async def write(self, address: int, data: int) -> None:
        await self.access(address, data)


class RegBusTarget:
    """Answers accesses on ``<prefix>_reg_*`` by ``handler(write, address, wdata) -> (rdata, error)``, sooner or later.

    ``accesses`` lists what was answered; while ``silent`` nothing is.
    """

    def __init__(
        self,
        dut: Any,
        clk: Any,
        handler: Callable[[bool, int, int], tuple[int, bool]],
        rng: random.Random,
        prefix: str = "m",
        max_delay: int = 5,
    ) -> None:
        self._clk = clk
        self._handler = handler
        self._rng = rng
        self._max_delay = max_delay
        self.silent = False
        self.accesses: list[tuple[bool, int, int]] = []
        self._valid, self._write, self._addr, self._wdata, self._ready, self._error, self._rdata = (
            getattr(dut, f"{prefix}_reg_{name}")
            for name in ("valid", "write", "addr", "wdata", "ready", "error", "rdata")
        )
        self._ready.value = 0
        self._error.value = 0
        self._rdata.value = 0

    async def run(self) -> None:
        """Serve for ever; start as a task."""
        while True:
            await RisingEdge(self._clk)
            if self._valid.value != 1 or self.silent:
                continue
            seen = (self._write.value, self._addr.value, self._wdata.value)
            for _ in range(self._rng.randint(0, self._max_delay)):
                await RisingEdge(self._clk)
                if self._valid.value != 1:
                    break
                assert (self._write.value, self._addr.value, self._wdata.value) == seen, "access changed before its end"
            else:
                write = bool(seen[0])
                access = (write, int(seen[1]), int(seen[2]) if write else 0)
                rdata, error = self._handler(*access)
                self._ready.value = 1
                self._rdata.value = rdata
                self._error.value = int(error)
                await RisingEdge(self._clk)
                assert self._valid.value == 1, "valid fell before the answer"
                self._ready.value = 0
                self.accesses.append(access)
