"""Interrupt lines as software sees them."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import RisingEdge


class Interrupt:
    """A level interrupt; waiting costs nothing until it rises."""

    def __init__(self, handle: Any) -> None:
        """Take the handle of the line."""
        self._handle = handle
        self.rising_edge = RisingEdge(handle)
        """The trigger of the next rising edge, to be awaited together with others."""

    @property
    def raised(self) -> bool:
        """Whether the line is high now."""
        return bool(self._handle.value)

    async def rising(self) -> None:
        """Wait for the next rising edge."""
        await self.rising_edge

    async def wait(self) -> None:
        """Return when the line is high: at once, or with its next rising edge."""
        if not self.raised:
            await self.rising_edge
