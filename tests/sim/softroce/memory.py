"""How the target lays its memory out: a guard, what is open to writes, a guard, what is open to reads, the rest."""

from __future__ import annotations

from dataclasses import dataclass

GUARD_BYTES = 64 << 10
"""Memory before and behind what is open to writes, and what is open to reads alone."""
OPEN_BYTES = 3 << 20
POOL_BYTES = 4 << 20


@dataclass(frozen=True)
class Offer:
    """Where the target's memory lies: ``length`` bytes open to writes, as many as a guard has open to reads alone."""

    address: int
    length: int
    key: int
    read_only_address: int
    read_only_key: int
