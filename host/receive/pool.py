"""Memory that the FPGA writes into: equal slots in one mapping, in huge pages where there are any."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAGE_BYTES = 4096
HUGE_PAGE_BYTES = 2 << 20
_MAP_HUGETLB = 0x40000  # Linux asm-generic; the mmap module names it from Python 3.13 on
_HUGE_PAGES_FREE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
_MEMORY_MARGIN_BYTES = 32 << 20


class PoolError(RuntimeError):
    """Memory for the slots cannot be had; the text says how much there is and what to do."""


class MemoryPool:
    """``slots`` pieces of ``slot_bytes`` each, page aligned and contiguous; to be registered once, as a whole.

    ``huge`` tells whether huge pages back it, ``note`` is a sentence for the log if they do not. Views of the memory
    stay valid after :meth:`close` for as long as somebody holds them.
    """

    def __init__(self, slots: int, slot_bytes: int) -> None:
        if slots < 1:
            raise ValueError(f"slots = {slots}: at least 1")
        if slot_bytes < PAGE_BYTES or slot_bytes % PAGE_BYTES:
            raise ValueError(f"slot_bytes = {slot_bytes}: must be a multiple of {PAGE_BYTES}")
        self.slots = slots
        self.slot_bytes = slot_bytes
        self.note = ""
        self.huge, self._memory = self._map()
        anchor = ctypes.c_char.from_buffer(self._memory)
        self.address = ctypes.addressof(anchor)
        del anchor  # it would keep the mapping from being closed

    @property
    def total_bytes(self) -> int:
        """Bytes of all slots together."""
        return self.slots * self.slot_bytes

    def slot_address(self, slot: int) -> int:
        """Return the virtual address of a slot."""
        return self.address + self._offset(slot)

    def slot(self, slot: int) -> memoryview:
        """Return a slot's memory, writable, without a copy."""
        offset = self._offset(slot)
        return memoryview(self._memory)[offset : offset + self.slot_bytes]

    def array(self, slot: int) -> NDArray[np.uint8]:
        """Return a slot's memory as an array of bytes, without a copy."""
        import numpy as np  # noqa: PLC0415 - loads slowly in an emulated machine, where queue pairs come first

        return np.frombuffer(self.slot(slot), np.uint8)

    def close(self) -> None:
        """Unmap the memory, now or when its last view goes. Deregister it first."""
        with contextlib.suppress(BufferError):  # frames are still held; the mapping goes with the last of them
            self._memory.close()

    def _offset(self, slot: int) -> int:
        if not 0 <= slot < self.slots:
            raise IndexError(f"slot {slot} of {self.slots}")
        return slot * self.slot_bytes

    def _map(self) -> tuple[bool, mmap.mmap]:
        pages = -(-self.total_bytes // HUGE_PAGE_BYTES)
        free = _free_huge_pages()
        if free >= pages:
            try:
                return True, mmap.mmap(
                    -1, pages * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_HUGETLB
                )
            except OSError:
                free = 0  # somebody else was faster
        self.note = (
            f"memory pool in 4 KiB pages: {free} huge pages free, {pages} wanted "
            f"(sysctl vm.nr_hugepages={pages} makes registration faster)"
        )
        available = available_memory()
        if available < self.total_bytes + _MEMORY_MARGIN_BYTES:
            raise PoolError(
                f"no memory for {self.slots} slots of {self.slot_bytes} bytes: {self.total_bytes >> 20} MiB wanted, "
                f"{available >> 20} MiB available; use fewer or smaller slots, or give the machine more memory"
            )
        try:
            return False, mmap.mmap(-1, self.total_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:
            raise PoolError(
                f"no memory for {self.slots} slots of {self.slot_bytes} bytes ({error}); use fewer or smaller slots"
            ) from error


def _free_huge_pages() -> int:
    try:
        return int(_HUGE_PAGES_FREE.read_text())
    except (OSError, ValueError):
        return 0


def available_memory() -> int:
    """Return how many bytes of memory the kernel says can be had without swapping (``/proc/meminfo``)."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise PoolError("/proc/meminfo names no MemAvailable: is this a Linux since 3.14?")
