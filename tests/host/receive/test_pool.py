"""Memory for the slots: aligned.

Contiguous, in huge pages where there are some, and refused with words where it cannot be.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

from host.receive import pool as pool_module
from host.receive.pool import MemoryPool, PoolError


def test_slots_are_aligned_contiguous_and_writable():
    pool = MemoryPool(3, 8192)
    assert pool.address % 4096 == 0
    assert [pool.slot_address(slot) - pool.address for slot in range(3)] == [0, 8192, 16384]
    for slot in range(3):
        np.frombuffer(pool.slot(slot), np.uint8)[:] = slot + 1
    everything = np.concatenate([np.frombuffer(pool.slot(slot), np.uint8) for slot in range(3)])
    assert np.array_equal(everything, np.repeat(np.uint8([1, 2, 3]), 8192))
    with pytest.raises(IndexError):
        pool.slot(3)


def test_views_outlive_the_pool():
    pool = MemoryPool(1, 4096)
    view = np.frombuffer(pool.slot(0), np.uint8)
    view[0] = 7
    pool.close()
    del pool
    gc.collect()
    assert view[0] == 7


def test_without_huge_pages_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool_module, "_free_huge_pages", lambda: 0)
    pool = MemoryPool(1, 4096)
    assert not pool.huge
    assert "0 huge pages free, 1 wanted" in pool.note


def test_huge_pages_that_vanish_are_no_error(monkeypatch: pytest.MonkeyPatch):
    """The count says that there are some, the mapping fails."""
    monkeypatch.setattr(pool_module, "_free_huge_pages", lambda: 10)
    monkeypatch.setattr(pool_module, "_MAP_HUGETLB", 0x40000 | 30 << 26)  # pages of 1 GiB: nobody reserved any
    pool = MemoryPool(1, 4096)
    assert not pool.huge and pool.note


def test_more_than_the_machine_has_is_refused():
    with pytest.raises(PoolError, match=r"1024 slots of 1073741824 bytes: 1048576 MiB wanted, \d+ MiB available"):
        MemoryPool(1024, 1 << 30)


@pytest.mark.parametrize(("slots", "slot_bytes"), [(0, 4096), (1, 4095), (1, 0), (1, 6000)])
def test_impossible_sizes(slots: int, slot_bytes: int):
    with pytest.raises(ValueError, match="slot"):
        MemoryPool(slots, slot_bytes)
