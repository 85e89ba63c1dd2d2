"""Which random fault cases to play: the variables of ``make test-faults``, and their ranges."""

from __future__ import annotations

import os

RANGES = {"FAULT_SEED": (1, 2**31 - 1), "FAULT_FIRST": (1, 2**31 - 1), "FAULT_CASES": (1, 1_000_000)}
"""Smallest and largest value of each variable."""


class BadVariable(ValueError):
    """A variable with a value that is none; the text names it and what is allowed."""


def variable(name: str, default: int | None = None) -> int | None:
    """Return the number in the environment's variable ``name``; raise :class:`BadVariable` if it is none."""
    text = os.environ.get(name)
    if text is None:
        return default
    least, most = RANGES[name]
    # Digits alone: int() takes signs, spaces and underscores too.
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise BadVariable(f"{name} = {text}: allowed are whole numbers from {least} to {most}")
    return int(text)


def check() -> None:
    """Raise :class:`BadVariable` for the first variable with a bad value."""
    for name in RANGES:
        variable(name)


def seeds(short_draw: int) -> list[int]:
    """Seeds to play: FAULT_BLOCK (first and count; for a simulator), FAULT_SEED alone, or FAULT_CASES of them."""
    if "FAULT_BLOCK" in os.environ:
        first, count = map(int, os.environ["FAULT_BLOCK"].split())
        return list(range(first, first + count))
    chosen = variable("FAULT_SEED")
    if chosen is not None:
        return [chosen]
    start, cases = variable("FAULT_FIRST", 1), variable("FAULT_CASES", short_draw)
    assert start is not None and cases is not None
    return list(range(start, start + cases))
