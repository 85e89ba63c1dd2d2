"""Python's side of ``lane_player.v``: precomputed beats into the lanes, a chunk at a time."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from cocotb.triggers import ValueChange
from numpy.typing import NDArray

from sim.bench.dpi import library
from sim.bench.errors import BenchError
from sim.bench.vpi import WordArray, number

SHORTEST_CHUNK = 4
"""Beats: less, and the chunk has ended before the request for the next one is seen."""

FLAG_K = 0x00F
"""Bits of ``flags`` that mark control characters, one an octet, first octet lowest."""
FLAG_NOT_IN_TABLE = 0x0F0
FLAG_DISPARITY = 0xF00

SIDE_SYSREF = 1
SIDE_TRIGGER = 2
SIDE_LASER = 4
SIDE_DELAY_SHIFT = 3
"""From here up: how far into the beat the trigger or laser pulse comes, in 1/:data:`PULSE_STEPS` link clock."""
PULSE_STEPS = 32


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """The player has begun the last chunk it has.

    ``index`` is the number of the chunk wanted, ``first_beat`` the number of its first beat since the start, ``sync_n``
    the links' SYNC~ (bit i: link i) when the chunk before it began.
    """

    index: int
    first_beat: int
    sync_n: int


class _Body(ABC):
    """The part that differs between the two HDL bodies."""

    @abstractmethod
    def supply(self, data: NDArray[np.uint32], flags: NDArray[np.uint16], side: NDArray[np.uint8]) -> bool:
        """Hand over a chunk; return False if both buffers are in use."""

    @abstractmethod
    def stop(self) -> None:
        """Say that no chunk follows."""


class _DpiBody(_Body):
    """Chunks in C++ memory (``lane_player.cpp``)."""

    def __init__(self, program: ctypes.CDLL, player: int) -> None:
        self._program = program
        self._player = player

    def supply(self, data: NDArray[np.uint32], flags: NDArray[np.uint16], side: NDArray[np.uint8]) -> bool:
        return bool(
            self._program.eb_lane_supply(self._player, data.ctypes.data, flags.ctypes.data, side.ctypes.data, len(side))
        )

    def stop(self) -> None:
        self._program.eb_lane_stop(self._player)


class _VpiBody(_Body):
    """Chunks in an HDL array (``lane_player_vpi.v``)."""

    def __init__(self, body: Any, chunk_beats: int) -> None:
        self._words = WordArray(body.words)
        self._beats = WordArray(body.beats)
        self._chunk_beats = chunk_beats
        self._supplied_signal = body.supplied
        self._played = body.played
        self._stop = body.stop
        self._supplied = number(body.supplied)

    def supply(self, data: NDArray[np.uint32], flags: NDArray[np.uint16], side: NDArray[np.uint8]) -> bool:
        if (self._supplied - int(self._played.value)) & 0xFFFFFFFF >= 2:
            return False
        beats, lanes = data.shape
        # [beat][lane][kind][octet] -> for each kind the bits of all lanes in a row
        bits = (flags[:, :, None] >> np.arange(12, dtype=np.uint16)) & 1
        by_kind = bits.astype(np.uint8).reshape(beats, lanes, 3, 4).transpose(0, 2, 1, 3).reshape(beats, -1)
        packed = np.packbits(by_kind, axis=1, bitorder="little")
        rows = np.hstack([data.astype("<u4").view(np.uint8), packed, side[:, None]])
        half = self._supplied % 2
        for i, row in enumerate(rows):
            self._words[half * self._chunk_beats + i] = int.from_bytes(row.tobytes(), "little")
        self._beats[half] = beats
        self._supplied = self._supplied + 1 & 0xFFFFFFFF
        self._supplied_signal.value = self._supplied
        self._stop.value = 0
        return True

    def stop(self) -> None:
        self._stop.value = 1


class LanePlayer:
    """The source of all lanes.

    The player starts with the first chunk supplied; then the loop is::

        player.supply(*first)
        while True:
            request = await player.request()
            player.supply(*chunk_for(request))

    Between a request and its answer no simulated time may pass beyond the chunk that is being played.
    """

    def __init__(self, handle: Any, player: int = 0) -> None:
        """Take the handle of a ``lane_player`` instance that is silent; ``player`` is its parameter PLAYER."""
        self.lanes = int(handle.LANES.value)
        self.chunk_beats = int(handle.CHUNK_BEATS.value)
        self._started = handle.started
        self._start = ValueChange(handle.started)
        self._sync_n = handle.start_sync_n
        self._underrun = handle.underrun
        self._supplied = number(self._started)
        self._beats = 0
        program = library("eb_lane_supply")
        self._body: _Body = _VpiBody(handle.body, self.chunk_beats) if program is None else _DpiBody(program, player)

    def supply(
        self, data: NDArray[np.uint32], flags: NDArray[np.uint16], side: NDArray[np.uint8] | None = None
    ) -> None:
        """Append one chunk: ``data`` and ``flags`` of shape [beats, lanes], ``side`` of shape [beats] (else zero).

        An octet's K, not-in-table and disparity flags are bits 0, 4 and 8 of ``flags`` shifted left by its position in
        the beat; ``side`` holds ``SIDE_SYSREF``, ``SIDE_TRIGGER``, ``SIDE_LASER``, and above them the delay of the
        pulse. The arrays are copied. Raise ``ValueError`` for a wrong shape or length, :class:`BenchError` if two
        chunks are already waiting or the player has run dry.
        """
        if side is None:
            side = np.zeros(len(data), np.uint8)
        beats = len(data)
        if not SHORTEST_CHUNK <= beats <= self.chunk_beats:
            raise ValueError(f"chunk of {beats} beats; {SHORTEST_CHUNK} to {self.chunk_beats} are possible")
        if data.shape != (beats, self.lanes) or flags.shape != data.shape or side.shape != (beats,):
            raise ValueError(f"chunk shapes {data.shape}, {flags.shape}, {side.shape} for {self.lanes} lanes")
        self.check()
        accepted = self._body.supply(
            np.ascontiguousarray(data, np.uint32),
            np.ascontiguousarray(flags, np.uint16),
            np.ascontiguousarray(side, np.uint8),
        )
        if not accepted:
            raise BenchError("lane player: a chunk was supplied that was not asked for")
        self._supplied += 1
        self._beats += beats

    async def request(self) -> ChunkRequest:
        """Wait until the last chunk supplied has begun. Raise :class:`BenchError` if the player has run dry."""
        while int(self._started.value) != self._supplied & 0xFFFFFFFF:
            await self._start
        self.check()
        return ChunkRequest(self._supplied, self._beats, int(self._sync_n.value))

    def stop(self) -> None:
        """Let the lanes fall silent when all chunks are played, until one is supplied again.

        Without this, to run out of chunks is an error.
        """
        self._body.stop()

    def error(self) -> BenchError | None:
        """Whether a chunk has come too late."""
        if int(self._underrun.value):
            return BenchError("lane player: a chunk was not supplied in time")
        return None

    def check(self) -> None:
        """Raise :class:`BenchError` if a chunk has come too late."""
        if error := self.error():
            raise error
