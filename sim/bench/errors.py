"""What goes wrong in a bench, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence


class BenchError(Exception):
    """The design broke a rule of a bus, or the bench could not keep its promise; the run is void."""


def flagged(where: str, flags: int, names: Sequence[str]) -> BenchError | None:
    """Return an error that spells out the bits set in ``flags`` (bit i is ``names[i]``), or ``None`` if none is."""
    if flags == 0:
        return None
    found = [name for i, name in enumerate(names) if flags >> i & 1]
    return BenchError(f"{where}: {'; '.join(found) or f'unknown flags {flags:#x}'}")
