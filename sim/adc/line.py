"""Some lanes as they are on the line: 8b/10b codes, bit by bit, and a transceiver that aligns and decodes them.

What a flipped bit looks like behind the decoder, the tables say: not in the table, wrong disparity, or another valid
character with the disparity error on a later one. A wrong polarity and a lost bit can be had here only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters
from sim.adc.beats import DISPARITY_SHIFT, K_SHIFT, NOT_IN_TABLE_SHIFT
from sim.adc.code_8b10b import CODE_BITS, CODES, CONTROL, K28_5, NO_CODE, Bits, decode, encode, to_bits, windows

OCTETS = 4
_RESERVE_BEATS = 2
"""Beats that the transceiver holds, so that lost bits do not make it run dry at once."""
_UNSOUND = 4
"""Characters not in the table that make the transceiver look for commas at another place."""


@dataclass
class _Lane:
    inverted: bool
    corrected: bool
    encoder: int = 0
    decoder: int = 0
    waiting: Bits = field(default_factory=lambda: np.zeros(0, np.uint8))


class LineLevel:
    """The line and transceiver of ``lanes``; :meth:`apply` takes beats to where the fabric sees them, two beats later.

    ``inverted`` lanes have their two wires exchanged, ``corrected`` ones are inverted again by their transceiver.
    ``flips`` and ``slips`` say what happens: ``flips[lane]`` are numbers of bits, counted from the first beat (40 a
    beat), ``slips[lane]`` numbers of bits that get lost.
    """

    def __init__(self, lanes: Iterable[int], inverted: Iterable[int] = (), corrected: Iterable[int] = ()) -> None:
        inverted, corrected = set(inverted), set(corrected)
        self.lanes = {lane: _Lane(lane in inverted, lane in corrected) for lane in lanes}
        self.flips: dict[int, set[int]] = {lane: set() for lane in self.lanes}
        self.slips: dict[int, set[int]] = {lane: set() for lane in self.lanes}
        self.acts: set[tuple[int, int]] = set()
        """Lane and number of each bit that was flipped or lost."""
        for state in self.lanes.values():
            commas = np.full(OCTETS * _RESERVE_BEATS, characters.K + CONTROL)
            codes, _, state.encoder = encode(commas, state.encoder)
            state.waiting = to_bits(codes) ^ np.uint8(state.inverted)

    def correct(self, lanes: Iterable[int]) -> None:
        """Let the transceivers of ``lanes`` invert the line from now on, and no others."""
        chosen = set(lanes)
        for lane, state in self.lanes.items():
            state.corrected = lane in chosen

    def apply(self, first: int, data: NDArray[np.uint32], flags: NDArray[np.uint16]) -> None:
        """Replace the columns of the lanes in ``data`` and ``flags`` (``[beats, lanes]``), in place."""
        for lane, state in self.lanes.items():
            sent = self._sent(state, data[:, lane], flags[:, lane])
            start = first * OCTETS * CODE_BITS
            here = [bit - start for bit in self.flips[lane] if start <= bit < start + len(sent)]
            sent[here] ^= 1
            self.acts |= {(lane, start + bit) for bit in here}
            lost = [bit - start for bit in self.slips[lane] if start <= bit < start + len(sent)]
            self.acts |= {(lane, start + bit) for bit in lost}
            state.waiting = np.concatenate([state.waiting, np.delete(sent, lost)])
            data[:, lane], flags[:, lane] = self._received(state, len(data))

    @staticmethod
    def _sent(state: _Lane, data: NDArray[np.uint32], flags: NDArray[np.uint16]) -> Bits:
        """The line's bits; characters that are marked already are sent so that the decoder will mark them."""
        octets = np.ascontiguousarray(data).astype("<u4").view(np.uint8)

        def of(shift: int) -> NDArray[np.bool_]:
            return ((flags[:, None] >> (shift + np.arange(OCTETS))) & 1).astype(bool).reshape(-1)

        sent = octets.astype(np.int64) + CONTROL * of(K_SHIFT)
        codes, before, state.encoder = encode(sent, state.encoder)
        codes = np.where(of(DISPARITY_SHIFT), CODES[1 - before, sent], codes)
        codes = np.where(of(NOT_IN_TABLE_SHIFT), NO_CODE, codes).astype(np.uint16)
        return to_bits(codes) ^ np.uint8(state.inverted)

    @staticmethod
    def _received(state: _Lane, beats: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        bits = state.waiting ^ np.uint8(state.corrected)
        wanted = beats * OCTETS
        codes = np.zeros(wanted, np.uint16)
        here = windows(bits)
        straight = here[::CODE_BITS][:wanted]
        codes[: len(straight)] = straight
        used = wanted * CODE_BITS
        unsound = np.flatnonzero(decode(codes, state.decoder)[1])
        if len(unsound) >= _UNSOUND:
            comma = np.isin(here, K28_5)
            pairs = np.flatnonzero(comma[:-CODE_BITS] & comma[CODE_BITS:])
            elsewhere = pairs[(pairs % CODE_BITS != 0) & (pairs > int(unsound[0]) * CODE_BITS)]
            if len(elsewhere):
                at, kept = int(elsewhere[0]), int(elsewhere[0]) // CODE_BITS
                shifted = here[at::CODE_BITS][: max(0, wanted - kept)]
                codes[kept : kept + len(shifted)] = shifted
                used += at % CODE_BITS
        state.waiting = state.waiting[used:]
        found, missing, disparity, state.decoder = decode(codes, state.decoder)

        def nibbles(marks: NDArray[np.bool_]) -> NDArray[np.uint16]:
            packed = np.packbits(marks.reshape(-1, OCTETS), axis=1, bitorder="little")[:, 0]
            return packed.astype(np.uint16)

        data = (found & 0xFF).astype(np.uint8).view("<u4")
        flags = (
            nibbles(found >= CONTROL) << K_SHIFT
            | nibbles(missing) << NOT_IN_TABLE_SHIFT
            | nibbles(disparity) << DISPARITY_SHIFT
        )
        return data, flags
