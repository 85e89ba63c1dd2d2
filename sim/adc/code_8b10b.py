"""The 8b/10b code (Widmer and Franaszek, 1983): tables from its two parts, many characters at once.

A code is ten bits, the first on the line (``a``) in bit 9. A character is its octet, plus 256 if it is a control
character. Running disparity is 0 for negative, 1 for positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]
Bits = NDArray[np.uint8]

CODE_BITS = 10
CONTROL = 256
"""Added to the octet of a control character."""

# Codes at negative disparity; abcdei of the lower five bits, fghj of the upper three.
_SIX_ALL = (
    "100111011101101101110001110101101001011001111000111001100101010101110100001101101100011100010111"
    "011011100011010011110010001011101010011010111010110011100110010110110110001110101110011110101011"
)
_SIX = [_SIX_ALL[6 * low : 6 * low + 6] for low in range(32)]
_FOUR = ["1011", "1001", "0101", "1100", "1101", "1010", "0110", "1110"]
_ALTERNATE_SEVEN = "0111"
# Where the usual code of seven would make five equal bits in a row with the bits before it.
_ALTERNATE_AT = ({17, 18, 20}, {11, 13, 14})
_CONTROL_SIX = "001111"
_CONTROL_FOUR = ["0100", "1001", "0101", "0011", "0010", "1010", "0110", "1000"]
_CONTROL_SEVEN_ONLY = (23, 27, 29, 30)


def _inverted(bits: str) -> str:
    return bits.translate(str.maketrans("01", "10"))


def _part(bits: str, positive: bool, also: str) -> str:
    """A part of a code at a disparity; ``also`` is the balanced one that has two forms nevertheless."""
    return _inverted(bits) if positive and (2 * bits.count("1") != len(bits) or bits == also) else bits


def _data_code(octet: int, positive: bool) -> str:
    low, high = octet & 31, octet >> 5
    six = _part(_SIX[low], positive, "111000")
    if 2 * six.count("1") != len(six):
        positive = not positive
    four = _ALTERNATE_SEVEN if high == 7 and low in _ALTERNATE_AT[positive] else _FOUR[high]
    return six + _part(four, positive, "1100")


def _control_code(octet: int, positive: bool) -> str | None:
    low, high = octet & 31, octet >> 5
    if low == 28:
        code = _CONTROL_SIX + _CONTROL_FOUR[high]
    elif high == 7 and low in _CONTROL_SEVEN_ONLY:
        code = _SIX[low] + "1000"
    else:
        return None
    return _inverted(code) if positive else code


NO_CODE = 0
"""Ten zeros: not in the table. Stands for control characters that do not exist."""


def _tables() -> tuple[Codes, NDArray[np.int16], NDArray[np.bool_]]:
    codes = np.full((2, 512), NO_CODE, np.uint16)
    character = np.full(1 << CODE_BITS, -1, np.int16)
    allowed = np.zeros((2, 1 << CODE_BITS), bool)
    for positive in (0, 1):
        for octet in range(256):
            found = [(octet, _data_code(octet, bool(positive)))]
            if (control := _control_code(octet, bool(positive))) is not None:
                found.append((octet + CONTROL, control))
            for which, bits in found:
                code = int(bits, 2)
                codes[positive, which] = code
                character[code] = which
                allowed[positive, code] = True
    return codes, character, allowed


CODES, CHARACTER, ALLOWED = _tables()
"""Code by disparity and character; character by code (-1: none); whether a code may stand at a disparity."""
_ONES = np.array([code.bit_count() for code in range(1 << CODE_BITS)])
_TURNS = _ONES[CODES[0]] != CODE_BITS // 2
K28_5 = CODES[:, 0xBC + CONTROL]


def encode(characters: NDArray[np.integer], disparity: int) -> tuple[Codes, NDArray[np.int64], int]:
    """Codes of ``characters``, the disparity before each, and the one after all."""
    turns = _TURNS[characters].astype(np.int64)
    after = (disparity + np.cumsum(turns)) & 1
    before = (after - turns) & 1
    return CODES[before, characters], before, int(after[-1]) if len(after) else disparity


def decode(codes: Codes, disparity: int) -> tuple[NDArray[np.int16], NDArray[np.bool_], NDArray[np.bool_], int]:
    """Characters (0 where there is none), which are not in the table, which have wrong disparity; disparity after all.

    The decoder follows what it gets: a code with more ones than zeros leaves it positive, whether that was allowed
    or not.
    """
    lean = _ONES[codes] - CODE_BITS // 2
    places = np.where(lean != 0, np.arange(len(codes)), -1)
    latest = np.concatenate([[-1], np.maximum.accumulate(places)]) if len(codes) else np.array([-1])
    state = np.where(latest >= 0, lean[np.maximum(latest, 0)] > 0, bool(disparity)) if len(codes) else [bool(disparity)]
    before = np.asarray(state[:-1], np.int64)
    found = CHARACTER[codes]
    missing = found < 0
    return np.where(missing, 0, found), missing, ~missing & ~ALLOWED[before, codes], int(state[-1])


def to_bits(codes: Codes) -> Bits:
    """The line's bits, one an element, in the order of sending."""
    return (codes[:, None] >> np.arange(CODE_BITS - 1, -1, -1) & 1).astype(np.uint8).reshape(-1)


def windows(bits: Bits) -> Codes:
    """The ten bits from every bit on that has nine behind it."""
    count = max(0, len(bits) - CODE_BITS + 1)
    result = np.zeros(count, np.uint16)
    for place in range(CODE_BITS):
        result |= bits[place : place + count].astype(np.uint16) << np.uint16(CODE_BITS - 1 - place)
    return result
