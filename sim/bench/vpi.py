"""Array elements of the VPI bodies, read and written at no simulated time.

The one file that leans on cocotb's private handle: values cross VPI as one character a bit, and asking for that string
directly is more than twice as fast as building a ``LogicArray`` from it. Where the private call is missing the public
one is used.
"""

from __future__ import annotations

from typing import Any

from cocotb.handle import Immediate


def number(handle: Any, before_start: int = 0) -> int:
    """Value of a signal; ``before_start`` where it is undefined, as before a simulator has run the initial blocks."""
    value = handle.value
    return int(value) if value.is_resolvable else before_start


class WordArray:
    """An unpacked array of packed words, ``reg [w-1:0] name [0:n-1]``; element handles are looked up once."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._elements: dict[int, Any] = {}

    def _element(self, index: int) -> Any:
        element = self._elements.get(index)
        if element is None:
            element = self._elements[index] = self._handle[index]
        return element

    def bits(self, index: int) -> str:
        """Element ``index``, most significant bit first; may hold ``x`` and ``z``."""
        element = self._element(index)
        raw = getattr(element, "_handle", None)
        if raw is not None and hasattr(raw, "get_signal_val_binstr"):
            return str(raw.get_signal_val_binstr())
        return str(element.value)

    def __getitem__(self, index: int) -> int:
        """Element ``index`` as a number; raise ``ValueError`` if a bit is undefined."""
        return int(self.bits(index), 2)

    def __setitem__(self, index: int, value: int) -> None:
        """Write element ``index`` at once, not at the end of the time step."""
        self._element(index).set(Immediate(value))

    def octets(self, first: int, count: int) -> bytes:
        """``count`` octets from the start of element ``first`` on, of an array of 512-bit words, lowest octet first."""
        words = -(-count // 64)
        text = "".join(self.bits(first + i) for i in reversed(range(words)))
        # The last word may be undefined above the octets asked for.
        return int(text[len(text) - 8 * count :] or "0", 2).to_bytes(count, "little")

    def set_octets(self, first: int, data: bytes) -> None:
        """Write ``data`` from the start of element ``first`` on, of an array of 512-bit words, zeros behind it."""
        for i in range(0, len(data), 64):
            self[first + i // 64] = int.from_bytes(data[i : i + 64], "little")
