"""From counts to rates: what is shown is made of two snapshots of one stream."""

from __future__ import annotations

from collections import deque

from pydantic import BaseModel, ConfigDict

from host.monitor.snapshot import Clock, Snapshot

SPAN = 8
"""Rates are taken over so many snapshots, which evens out that frames come one at a time."""


class QueuePairView(BaseModel):
    """One queue pair, with its rate."""

    model_config = ConfigDict(frozen=True)

    number: int
    throughput_gbps: float | None
    frames: int
    outstanding: int | None
    depth: int | None


class View(BaseModel):
    """One moment with its rates, all in the time of ``clock``; ``None`` is unknown."""

    model_config = ConfigDict(frozen=True)

    source: str
    name: str
    clock: Clock
    time_s: float
    written_s: float
    ended: bool
    throughput_gbps: float | None
    frames: int
    frames_per_second: float | None
    interrupts_per_second: float | None
    queue_pairs: tuple[QueuePairView, ...]
    snapshot: Snapshot


class Rates:
    """Takes snapshots in order and gives views; begins anew with each new stream."""

    def __init__(self, span: int = SPAN) -> None:
        self._past: deque[Snapshot] = deque(maxlen=span)

    def take(self, now: Snapshot) -> View:
        """Return the view of ``now``."""
        if self._past and not _continues(self._past[-1], now):
            self._past.clear()
        before = self._past[0] if self._past else None
        self._past.append(now)
        seconds = now.time_s - before.time_s if before else 0.0

        def rate(count: int | None, then: int | None) -> float | None:
            return None if count is None or then is None or seconds <= 0 else max(0, count - then) / seconds

        def gbps(count: int, then: int | None) -> float | None:
            found = rate(count, then)
            return None if found is None else found * 8 / 1e9

        earlier = {pair.number: pair.bytes for pair in before.queue_pairs} if before else {}
        total = sum(pair.bytes for pair in now.queue_pairs)
        return View(
            source=now.source,
            name=now.name,
            clock=now.clock,
            time_s=now.time_s,
            written_s=now.written_s,
            ended=now.ended,
            throughput_gbps=gbps(total, sum(earlier.values()) if before else None),
            frames=now.frames,
            frames_per_second=rate(now.frames, before.frames if before else None),
            interrupts_per_second=rate(now.interrupts, before.interrupts if before else None),
            queue_pairs=tuple(
                QueuePairView(
                    number=pair.number,
                    throughput_gbps=gbps(pair.bytes, earlier.get(pair.number)),
                    frames=pair.frames,
                    outstanding=pair.outstanding,
                    depth=pair.depth,
                )
                for pair in now.queue_pairs
            ),
            snapshot=now,
        )


def _continues(before: Snapshot, now: Snapshot) -> bool:
    same = (before.source, before.name, before.clock) == (now.source, now.name, now.clock)
    return same and not before.ended and now.time_s >= before.time_s and now.frames >= before.frames
