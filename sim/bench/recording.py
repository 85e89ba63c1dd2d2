"""Record what Python does to a bench, so that the same run can be repeated without Python (``free_run.py``)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from sim.bench.bench import Bench
from sim.bench.mac_port import TxFrame


class _Kind(IntEnum):
    """Kinds of events, as in ``replay.cpp``."""

    INJECT = 1
    INJECT_BAD = 2
    MEMORY = 3
    LANES = 4
    RESET = 5
    RATE = 6
    LINK_HALF = 7
    END = 8


class Recording:
    """Writes the files ``events``, ``registers`` and ``lanes`` from now on, by listening at the bench's objects.

    Make it before the first reset, and :meth:`close` it when the run is over. ``replay.cpp`` describes the format.
    """

    def __init__(self, bench: Bench, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._bench = bench
        self._events = (folder / "events").open("wb")
        self._registers = (folder / "registers").open("wb")
        self._lanes = (folder / "lanes").open("wb")
        self._playing = False
        self._frames = 0
        self._octets = 0
        self._heard: list[tuple[object, str]] = []
        self._listen(bench.lanes, "supply", self._supplied)
        self._listen(bench.mac, "inject", self._injected)
        self._listen(bench.mac, "set_rate", self._rate_set)
        self._listen(bench.memory, "write", self._memory_written)
        self._listen(bench.clocks, "set_link_frequency", self._link_frequency_set)
        self._listen(bench, "drive_resets", self._resets_driven)
        self._listen(bench.registers, "read", lambda address: self._register(False, address, 0))
        self._listen(bench.registers, "write", lambda address, value: self._register(True, address, value))
        self._listen(bench.mac, "take", lambda: None, self._taken)

    def _listen(
        self,
        target: object,
        name: str,
        before: Callable[..., None],
        after: Callable[[Any], None] = lambda result: None,
    ) -> None:
        """Tell ``before`` the arguments and ``after`` the result of each call of ``target.name``."""
        original = getattr(target, name)

        @wraps(original)
        def heard(*args: Any, **kwargs: Any) -> Any:
            before(*args, **kwargs)
            result = original(*args, **kwargs)
            after(result)
            return result

        setattr(target, name, heard)
        self._heard.append((target, name))

    def _taken(self, frames: list[TxFrame]) -> None:
        self._frames += len(frames)
        self._octets += sum(len(frame.data) for frame in frames)

    def _event(self, kind: _Kind, value: int = 0, data: bytes = b"") -> None:
        self._events.write(struct.pack("<QIIQ", self._bench.clocks.now, kind, len(data), value) + data)

    def _supplied(self, data: np.ndarray, flags: np.ndarray, side: np.ndarray | None = None) -> None:
        if not self._playing:
            self._playing = True
            self._event(_Kind.LANES)
        beats = len(data)
        self._lanes.write(struct.pack("<I", beats) + data.astype("<u4").tobytes() + flags.astype("<u2").tobytes())
        self._lanes.write(bytes(beats) if side is None else side.astype("u1").tobytes())

    def _injected(self, frame: bytes, cycle: int, *, bad_fcs: bool = False) -> None:
        self._event(_Kind.INJECT_BAD if bad_fcs else _Kind.INJECT, max(0, cycle), bytes(frame))

    def _rate_set(self, gigabits_per_second: float) -> None:
        self._event(_Kind.RATE, self._bench.mac.rate_word(gigabits_per_second))

    def _memory_written(self, address: int, data: bytes) -> None:
        self._event(_Kind.MEMORY, address - self._bench.memory.base, bytes(data))

    def _link_frequency_set(self, hertz: float) -> None:
        self._event(_Kind.LINK_HALF, self._bench.clocks.link_half_of(hertz))

    def _resets_driven(self, value: int) -> None:
        self._event(_Kind.RESET, value)

    def _register(self, write: bool, address: int, value: int) -> None:
        self._registers.write(struct.pack("<QIIII", self._bench.clocks.now, write, address, value, 0))

    def close(self) -> None:
        """Finish the files and listen no more; the run ends here when it is repeated."""
        for target, name in self._heard:
            delattr(target, name)
        self._event(_Kind.END, 0, struct.pack("<QQ", self._frames, self._octets))
        for file in (self._events, self._registers, self._lanes):
            file.close()
