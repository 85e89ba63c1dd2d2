"""Python's side of ``axi_memory.v``: the processing system's memory, read and written at no simulated time."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any

from cocotb.triggers import ValueChange

from sim.bench.dpi import library
from sim.bench.errors import BenchError, flagged
from sim.bench.vpi import WordArray, number

_WORD = 64
_ERRORS = (
    "an offer was withdrawn or changed before it was taken",
    "a valid is undefined",
    "a burst that is not INCR, or wider than the bus",
    "a burst crosses a 4 KiB boundary",
    "an address outside the memory",
    "WLAST at a wrong beat",
)


class ProcessorMemory:
    """Memory that software and design share."""

    def __init__(self, handle: Any, memory: int = 0) -> None:
        """Take the handle of an ``axi_memory`` instance; ``memory`` is its parameter MEMORY."""
        self.base = int(handle.BASE.value)
        self.size = int(handle.BYTES.value)
        self._errors = handle.errors
        self._written = handle.written
        self._events_signal = handle.events
        self._events = ValueChange(handle.events)
        self._seen = number(handle.events)
        self._memory = memory
        self._program = library("eb_memory_buffer")
        self._words = WordArray(handle.body.words) if self._program is None else None

    @cached_property
    def _view(self) -> memoryview:
        """The C++ buffer. It exists only when the simulation has begun."""
        assert self._program is not None
        size = self._program.eb_memory_bytes(self._memory)
        if size == 0:
            raise BenchError("processor memory: used before the simulation has begun")
        buffer = (ctypes.c_uint8 * size).from_address(self._program.eb_memory_buffer(self._memory))
        return memoryview(buffer).cast("B")

    def _offset(self, address: int, count: int) -> int:
        if count < 0 or not self.base <= address <= self.base + self.size - count:
            raise ValueError(
                f"{count} bytes at {address:#x} are not in {self.base:#x} to {self.base + self.size - 1:#x}"
            )
        return address - self.base

    def read(self, address: int, count: int) -> bytes:
        """Return ``count`` bytes from ``address`` on. Raise ``ValueError`` if they are not all in the memory."""
        offset = self._offset(address, count)
        if self._words is None:
            return bytes(self._view[offset : offset + count])
        skip = offset % _WORD
        return self._words.octets(offset // _WORD, skip + count)[skip:]

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` from ``address`` on. Raise ``ValueError`` if it does not fit."""
        offset = self._offset(address, len(data))
        if self._words is None:
            self._view[offset : offset + len(data)] = data
            return
        if not data:
            return
        first, skip = divmod(offset, _WORD)
        end = skip + len(data)
        rest = -end % _WORD
        old_head = self._words.octets(first, skip) if skip else b""
        old_tail = self._words.octets(first + (end - 1) // _WORD, _WORD)[_WORD - rest :] if rest else b""
        self._words.set_octets(first, old_head + bytes(data) + old_tail)

    async def written(self) -> int:
        """Wait for a write burst of the design that no earlier call has seen; return the address of the latest one.

        Several bursts that ended since the last call count as one: look at the memory for what has come.
        Raise :class:`BenchError` if the design broke the protocol.
        """
        while int(self._events_signal.value) == self._seen:
            await self._events
        self._seen = int(self._events_signal.value)
        self.check()
        return int(self._written.value)

    def error(self) -> BenchError | None:
        """What the protocol checks have found so far."""
        return flagged("processor memory", int(self._errors.value), _ERRORS)

    def check(self) -> None:
        """Raise :class:`BenchError` if the protocol checks have found anything."""
        if error := self.error():
            raise error
