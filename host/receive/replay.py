"""Frames out of a capture log, with the receiver's interface: code that was written for a link runs on a recording."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from host.receive.account import SequenceAccount, Statistics
from host.receive.arrival import Arrival
from host.receive.capture import CaptureReader, Record
from host.receive.errors import StreamEnded
from host.receive.frame import Frame


class Replay:
    """``with Replay("capture.bin") as frames: for frame in frames: ...``, as with a receiver.

    Every frame is inspected as it was when it came; the flags are the same. ``speed`` 0 gives frames as fast as they
    are asked for, 1 at the intervals (wall time) at which they came, 2 twice as fast. A log whose writer was killed
    ends before the record that it was writing: ``truncated_bytes`` says how much is left out. Raises
    :class:`~host.receive.capture.CaptureError` if it is damaged elsewhere, ``OSError`` if it cannot be read.
    """

    def __init__(self, path: Path | str, speed: float = 0.0) -> None:
        if not speed >= 0:
            raise ValueError(f"speed = {speed}: 0 for as fast as can be, else how many times as fast as it was")
        self._reader = CaptureReader(Path(path))
        self._records = iter(self._reader)
        self._speed = speed
        self._origin: tuple[int, float] | None = None
        self._account = SequenceAccount()
        self._counted = Statistics()

    @property
    def statistics(self) -> Statistics:
        """What became of the frames so far."""
        total = self._counted
        return Statistics(total.frames, total.flagged, 0, self._account.dropped, self._account.lost, total.bytes)

    @property
    def truncated_bytes(self) -> int:
        """Bytes at the end of the log that are no whole record; known when it has been read to its end."""
        return self._reader.truncated_bytes

    def receive(self, timeout_seconds: float | None = None) -> Frame:
        """Return the next frame; raise :class:`StreamEnded` behind the last one. A recording needs no time-out."""
        del timeout_seconds
        record = next(self._records, None)
        if record is None:
            raise StreamEnded("the log is at its end")
        self._wait(record)
        return self._frame(record)

    def __iter__(self) -> Iterator[Frame]:
        while True:
            try:
                yield self.receive()
            except StreamEnded:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._records.close()  # type: ignore[attr-defined] # a generator

    def _wait(self, record: Record) -> None:
        if not self._speed:
            return
        if self._origin is None:
            self._origin = record.wall_time_ns, time.monotonic()
        first, started = self._origin
        due = started + (record.wall_time_ns - first) / 1e9 / self._speed
        time.sleep(max(0.0, due - time.monotonic()))

    def _frame(self, record: Record) -> Frame:
        memory = np.frombuffer(bytearray(record.data), np.uint8)
        arrival = Arrival(record.immediate, 0)
        frame = Frame(arrival, memory, queue_pair=0, index=self._counted.frames, release=_nothing)
        if frame.shape is None:
            self._account.take_low_bits(frame.sequence)
        else:
            self._account.take(frame.sequence, int(frame.header["dropped_before"]))
        octets = frame.shape.frame_bytes if frame.shape else 0
        self._counted += Statistics(frames=1, flagged=int(not frame.ok), bytes=octets)
        return frame


def _nothing(frame: Frame) -> None:
    """Give no slot back: there is none."""
    del frame
