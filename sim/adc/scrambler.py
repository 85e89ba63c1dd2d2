"""The scrambler 1 + x^14 + x^15 (JESD204B 5.2) for many lanes at once, without a loop over bits or beats.

A unit is 16 line bits, first bit in bit 15: two octets in the order of sending, hence simply a sample. Over GF(2) the
line bits ``y`` of the plain bits ``x`` obey ``y * p = x`` with ``p = 1 + z^14 + z^15`` (``z`` delays by a bit).
Squaring doubles the delays, so with both sides multiplied by ``p^31 = p * p^2 * p^4 * p^8 * p^16``::

    y * p^32 = x * p * p^2 * p^4 * p^8 * p^16,      p^32 = 1 + z^448 + z^480

The right side is five cheap filters; the recursion left over reaches back 28 and 30 whole units, so that it runs in
blocks of 28.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.adc.config import SCRAMBLER_SEED

Units = NDArray[np.uint16]

UNIT_BITS = 16
_HISTORY = 32
"""Units of line data kept: 30 for the recursion; the filters reach 465 bits back, and their input one unit more."""
_FILTERS = ((14, 15), (28, 30), (56, 60), (112, 120), (224, 240))
_BLOCK = 28
_FAR = 30
_SLAB = 4096
"""Units filtered at a time, so that a slab of 32 lanes stays in the processor's cache."""


def _add_delayed(target: Units, source: Units, bits: int, scratch: Units) -> None:
    """Add (exclusive or) ``source`` delayed by ``bits`` to ``target``, as far as ``source`` reaches back."""
    whole, rest = divmod(bits, UNIT_BITS)
    if rest == 0:
        target[whole:] ^= source[: len(source) - whole]
        return
    moved = scratch[: len(source) - whole]
    np.right_shift(source[: len(source) - whole], rest, out=moved)
    target[whole:] ^= moved
    moved = scratch[: len(source) - whole - 1]
    np.left_shift(source[: len(source) - whole - 1], UNIT_BITS - rest, out=moved)
    target[whole + 1 :] ^= moved


def _filtered(units: Units, taps: tuple[int, int]) -> Units:
    """``units * (1 + z^a + z^b)``; the first units are wrong for want of what came before them."""
    result = units.copy()
    scratch = np.empty_like(units)
    for bits in taps:
        _add_delayed(result, units, bits, scratch)
    return result


def descramble(units: Units) -> Units:
    """Undo the scrambler; the first unit is wrong for want of the one before it."""
    return _filtered(units, _FILTERS[0])


def history(lanes: int, seed: int = SCRAMBLER_SEED) -> Units:
    """The past of ``lanes`` scramblers in state ``seed``, for :func:`scramble` at the start of user data."""
    past = np.zeros((_HISTORY, lanes), np.uint16)
    past[-1] = seed
    return past


def scramble(units: Units, past: Units) -> tuple[Units, Units]:
    """Scramble ``units`` (shape ``[units, lanes]``); return the line units and the past to go on with."""
    count = len(units)
    line = np.empty((_HISTORY + count, units.shape[1]), np.uint16)
    line[:_HISTORY] = past
    plain = np.concatenate([descramble(past)[1:], units])
    lead = _HISTORY - 1
    for start in range(0, count, _SLAB):
        slab = plain[start : start + _SLAB + lead]
        for taps in _FILTERS:
            slab = _filtered(slab, taps)
        line[_HISTORY + start : _HISTORY + start + len(slab) - lead] = slab[lead:]
    for start in range(_HISTORY, _HISTORY + count, _BLOCK):
        block = line[start : start + _BLOCK]
        block ^= line[start - _BLOCK : start - _BLOCK + len(block)]
        block ^= line[start - _FAR : start - _FAR + len(block)]
    return line[_HISTORY:], line[-_HISTORY:].copy()
