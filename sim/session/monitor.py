"""What a running session tells whoever watches it (:mod:`host.monitor`), in simulated time.

It only looks: nothing is read over the bus, so that a watched run has the figures of one that is not.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cocotb.triggers import Timer

from host.control.stream import Stream
from host.monitor.snapshot import Clock, Publisher, QueuePairState, Snapshot, percentile
from sim.bench.probe import Kind
from sim.run.drops import drops_by_cause
from sim.scenario.model import RING_BYTES

if TYPE_CHECKING:
    from sim.session.session import Session

LOOK_US = 2
PUBLISH_US = 50
RECENT_FRAMES = 256
LATENCY = "last sample in the ring to completion, to 2 us"


class ProbeTail:
    """Follows the bench's probe as far as it has been written out, which is some microseconds behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""
        self.ring_used: int | None = None
        self.ring_peak = 0
        self.committed: list[int] = []
        """Cycle of the last word in the ring, for each frame."""

    def look(self) -> None:
        """Take what is new; a file that is missing or cannot be read brings nothing."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except OSError:
            return
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            self._take(line.decode().split(","))

    def _take(self, fields: list[str]) -> None:
        if len(fields) != 3:
            return
        cycle, kind, value = fields
        if kind == Kind.RING_USED:
            self.ring_used = int(value)
            self.ring_peak = max(self.ring_peak, self.ring_used)
        elif kind == Kind.FRAME_COMMITTED:
            self.committed.append(int(cycle))


class SessionMonitor:
    """Publishes a snapshot every 50 us of simulated time, and one with the front end's own counters at the end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._publisher = Publisher(session.plan.monitor_path)
        self._tail = ProbeTail(session.plan.events_path)
        self._completed: list[int] = []
        """Cycle in which each completed frame was seen to be."""
        self._latencies: deque[float] = deque(maxlen=RECENT_FRAMES)
        self._matched = 0
        self._over = False

    async def watch(self) -> None:
        """Look and publish until the session ends."""
        looks = 0
        while not self._over:
            await Timer(LOOK_US, "us")
            self._note_completions()
            looks += 1
            if looks % (PUBLISH_US // LOOK_US) == 0 and not self._over:
                with self._session.stopwatch.in_python():
                    self._publisher.publish(self.snapshot())

    def end(self, counters: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Publish the last snapshot, once; with ``counters`` of the registers, if the session came so far."""
        if self._over:
            return
        self._over = True
        last = self.snapshot().model_copy(update={"ended": True})
        if counters is not None:
            drops = {cause: count for cause, count in drops_by_cause(counters).items() if count}
            ring = counters["RING"]
            last = last.model_copy(
                update={
                    "drops": drops,
                    "ring_used_bytes": ring["USED_BYTES"],
                    "ring_peak_bytes": ring["HIGH_WATER"],
                    "interrupts": ring["IRQ_COUNT"],
                }
            )
        self._publisher.publish(last)
        self._publisher.close()

    def _note_completions(self) -> None:
        stream = self._session.stream
        done = stream.statistics.frames_completed if stream else 0
        now = self._session.bench.clocks.now
        self._completed += [now] * (done - len(self._completed))

    def _match(self) -> None:
        """Frames complete in the order in which they were committed, as far as each queue pair is concerned."""
        period_us = self._session.bench.clocks.core_period_s * 1e6
        known = min(len(self._completed), len(self._tail.committed))
        for index in range(self._matched, known):
            self._latencies.append((self._completed[index] - self._tail.committed[index]) * period_us)
        self._matched = max(self._matched, known)

    def snapshot(self) -> Snapshot:
        """Return what can be seen now."""
        session = self._session
        stream, cable = session.stream, session.cable
        self._tail.look()
        self._match()
        clocks = session.bench.clocks
        return Snapshot(
            source="front end",
            name=session.scenario.name,
            clock=Clock.SIMULATED,
            time_s=clocks.now * clocks.core_period_s,
            written_s=time.time(),
            queue_pairs=self._queue_pairs(),
            frames=stream.statistics.frames_completed if stream else 0,
            latency=LATENCY,
            latency_p50_us=percentile(self._latencies, 50),
            latency_p99_us=percentile(self._latencies, 99),
            ring_used_bytes=self._tail.ring_used,
            ring_peak_bytes=self._tail.ring_peak,
            ring_bytes=RING_BYTES,
            interrupts=stream.statistics.interrupts if stream else 0,
            retransmitted_packets=session.lockstep.checker.retransmitted if cable and session.lockstep else 0,
        )

    def _queue_pairs(self) -> tuple[QueuePairState, ...]:
        session = self._session
        stream, cable = session.stream, session.cable
        if stream is None or cable is None:
            return ()
        pumps = [pump for _, pump in stream.lanes] if isinstance(stream, Stream) else [None] * len(stream.queue_pairs)
        return tuple(
            QueuePairState(
                number=pair.number,
                bytes=cable.payload_octets[pair.remote_qpn],
                frames=arrived,
                outstanding=pump.outstanding if pump else None,
                depth=session.scenario.rdma.sq_depth - 1 if pump else None,
            )
            for pair, pump, arrived in zip(stream.queue_pairs, pumps, stream.frames_arrived, strict=True)
        )
