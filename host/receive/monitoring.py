"""What a receiver tells whoever watches it: see :mod:`host.monitor.snapshot`."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from host.monitor.snapshot import Clock, Publisher, QueuePairState, Snapshot, percentile

if TYPE_CHECKING:
    from host.receive.frame import Frame
    from host.receive.receiver import Receiver

INTERVAL_SECONDS = 0.2
RECENT_FRAMES = 256
_OVERFLOW = "device_event: "
_OVERFLOW_NAMES = ("cq_err",)


class ReceiverMonitor:
    """Publishes a snapshot every 0.2 s while frames come, and one at the end. Costs an addition a frame beside that.

    The latency is wall time from one frame to the next as the application takes them: what a receiver can know alone,
    for front end and workstation have no clock in common.
    """

    def __init__(self, receiver: Receiver, path: Path) -> None:
        self._receiver = receiver
        self._publisher = Publisher(path, interval_s=INTERVAL_SECONDS)
        self._started = self._before = time.monotonic()
        self._between: deque[float] = deque(maxlen=RECENT_FRAMES)
        self._bytes: dict[int, int] = {}
        self._frames: dict[int, int] = {}
        self._name = receiver.settings.device

    def frame(self, frame: Frame) -> None:
        """Note a frame that was taken, before it is released."""
        number = frame.front_end * self._receiver.settings.queue_pairs + frame.queue_pair
        self._bytes[number] = self._bytes.get(number, 0) + (frame.shape.frame_bytes if frame.shape else 0)
        self._frames[number] = self._frames.get(number, 0) + 1
        now = time.monotonic()
        if sum(self._frames.values()) > 1:
            self._between.append((now - self._before) * 1e6)
        self._before = now
        self.look()

    def look(self) -> None:
        """Publish if it is time."""
        if self._publisher.due:
            self._publisher.publish(self.snapshot())

    def snapshot(self, *, ended: bool = False) -> Snapshot:
        """Return what is known now."""
        receiver = self._receiver
        statistics, settings = receiver.statistics, receiver.settings
        drops = {"dropped_by_front_end": statistics.dropped, "lost": statistics.lost, "skipped": statistics.skipped}
        count = settings.queue_pairs * len(settings.controls)
        return Snapshot(
            source="receiver",
            name=self._name,
            clock=Clock.WALL,
            time_s=time.monotonic() - self._started,
            written_s=time.time(),
            queue_pairs=tuple(
                QueuePairState(number=number, bytes=self._bytes.get(number, 0), frames=self._frames.get(number, 0))
                for number in range(count)
            ),
            frames=statistics.frames,
            flagged=statistics.flagged,
            latency="from frame to frame",
            latency_p50_us=percentile(self._between, 50),
            latency_p99_us=percentile(self._between, 99),
            pool_used_slots=receiver.held,
            pool_slots=settings.all_slots,
            completion_queue_overflows=sum(
                event.startswith(_OVERFLOW) and event.endswith(_OVERFLOW_NAMES) for event in receiver.events
            ),
            drops={name: number for name, number in drops.items() if number},
            ended=ended,
        )

    def __enter__(self) -> Self:
        self._publisher.publish(self.snapshot())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._publisher.publish(self.snapshot(ended=True))
        self._publisher.close()
