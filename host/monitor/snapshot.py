"""What a running stream tells of itself: one JSON object a line, appended to a file.

A file, because its writer never waits for a reader: none, a slow one and a dead one are the same to it. When the file
has grown to its limit it begins anew, so that a stream may run for ever.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

VERSION = 1
FILE = "monitor.jsonl"
"""Name of the file in the folder of a run."""
LIMIT_BYTES = 4 << 20

Count = Annotated[int, Field(ge=0)]


class SnapshotError(ValueError):
    """A line is no snapshot of this version; the text says why."""


class Clock(StrEnum):
    """Whose time a snapshot's times and rates are in. The two never mix."""

    SIMULATED = "simulated"
    WALL = "wall"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class QueuePairState(_Record):
    """One queue pair. ``bytes`` are of frames, since the start; ``None`` is what the publisher cannot know."""

    number: Count
    bytes: Count = 0
    frames: Count = 0
    outstanding: Count | None = None
    """Work requests that are posted and not completed."""
    depth: Count | None = None
    """Work requests that the queue takes."""


class Snapshot(_Record):
    """One moment. Counts are since the start; ``None`` is what the publisher cannot know."""

    version: int = VERSION
    source: str
    """Who speaks, e.g. ``front end`` or ``receiver``."""
    name: str
    """Of the run or the device."""
    clock: Clock
    time_s: Annotated[float, Field(ge=0.0)]
    """On ``clock``, since the start."""
    written_s: float
    """Wall time of writing, seconds since 1970, on every clock: how old this is."""
    queue_pairs: tuple[QueuePairState, ...] = ()
    frames: Count = 0
    flagged: Count | None = None
    latency: str = ""
    """What the latencies are, in words: from what to what."""
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    pool_used_slots: Count | None = None
    pool_slots: Count | None = None
    ring_used_bytes: Count | None = None
    ring_peak_bytes: Count | None = None
    ring_bytes: Count | None = None
    interrupts: Count | None = None
    completion_queue_overflows: Count | None = None
    retransmitted_packets: Count | None = None
    drops: dict[str, Count] | None = None
    """Frames that were not delivered, by cause."""
    ended: bool = False
    """The last one of its stream."""

    def line(self) -> str:
        """Return the line, with its end."""
        return self.model_dump_json() + "\n"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line; raise :class:`SnapshotError`."""
        try:
            content = json.loads(line)
        except ValueError as error:
            raise SnapshotError(f"not JSON: {error}") from error
        version = content.get("version") if isinstance(content, dict) else None
        if version != VERSION:
            raise SnapshotError(f"version {version!r}, this program reads {VERSION}")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            raise SnapshotError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile by nearest rank, as in reports; ``None`` of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


class Publisher:
    """Appends snapshots to a file, at most one every ``interval_s`` of wall time. Never waits and never raises.

    What cannot be written (full disk, folder gone) is counted in ``failed``. Lines are written whole.
    """

    def __init__(self, path: Path, *, interval_s: float = 0.0, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._interval_s = interval_s
        self._limit = limit_bytes
        self._descriptor: int | None = None
        self._size = 0
        self._last = -math.inf
        self.failed = 0

    @property
    def due(self) -> bool:
        """Whether the next snapshot's time has come; who finds it costly to make one asks first."""
        return time.monotonic() - self._last >= self._interval_s

    def publish(self, snapshot: Snapshot) -> None:
        """Write a snapshot if it is due; the last of a stream always is."""
        if not (self.due or snapshot.ended):
            return
        self._last = time.monotonic()
        line = snapshot.line().encode()
        try:
            if self._descriptor is None or self._size + len(line) > self._limit:
                self._begin()
            assert self._descriptor is not None
            self._size += os.write(self._descriptor, line)
        except OSError:
            self.failed += 1
            self.close()

    def _begin(self) -> None:
        """Replace the file by an empty one. Readers of the old one see that it is no longer there."""
        self.close()
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        # Non-blocking: whatever lies at that path, opening it does not wait.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor = os.open(fresh, flags, 0o644)
        self._size = 0
        fresh.replace(self._path)

    def close(self) -> None:
        """Close the file; it stays. May be called twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
