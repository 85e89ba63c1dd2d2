"""The packet command as one vector: fields by name, read from ``hdl/ernic/ernic_command.vh``."""

from __future__ import annotations

import re
from functools import cache

from sim.sources import HDL

_DEFINE = re.compile(r"`define EB_CMD_(\w+) (\d+)(?::(\d+))?$", re.MULTILINE)


@cache
def fields() -> dict[str, tuple[int, int]]:
    """Return name in lower case -> (lowest bit, number of bits)."""
    found = {}
    for name, high, low in _DEFINE.findall((HDL / "ernic" / "ernic_command.vh").read_text(encoding="utf-8")):
        if name != "WIDTH":
            lowest = int(low or high)
            found[name.lower()] = (lowest, int(high) - lowest + 1)
    return found


def pack(**values: int) -> int:
    """Return the vector; what is not named is 0.

    Raises ``KeyError`` for a name that does not exist and ``ValueError`` for a value that does not fit.
    """
    word = 0
    for name, value in values.items():
        lowest, bits = fields()[name]
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name} = {value:#x} does not fit into {bits} bits")
        word |= value << lowest
    return word


def unpack(word: int) -> dict[str, int]:
    """Return all fields of a vector."""
    return {name: word >> lowest & (1 << bits) - 1 for name, (lowest, bits) in fields().items()}
