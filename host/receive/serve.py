"""The receiver as a process: frames checked, kept on disk if asked, released."""

from __future__ import annotations

import contextlib
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from host.receive.capture import CaptureWriter
from host.receive.connection import ConnectionFailed
from host.receive.control_stream import write_status
from host.receive.device import DeviceError
from host.receive.errors import ReceiveFailed, ReceiveTimeout
from host.receive.pool import PoolError
from host.receive.receiver import Receiver

if TYPE_CHECKING:
    from host.receive.frame import Frame
    from host.receive.monitoring import ReceiverMonitor

EXIT_BAD_SETUP = 2
EXIT_FAILED = 3
_LOG = logging.getLogger("echobench.receive")


@dataclass
class _Log:
    """Where frames are kept, if they are; ``gaps``: one that cannot be written is counted, and the next one tried."""

    writer: CaptureWriter | None
    gaps: bool
    not_written: int = 0
    failing: bool = False

    def keep(self, receiver: Receiver, frame: Frame) -> None:
        """Append ``frame``; raise ``OSError`` if that cannot be and there must be no gaps."""
        if self.writer is None:
            return
        try:
            self.writer.append(frame.slot, frame.immediate, frame.memory)
            self.failing = False
        except OSError as error:
            if not self.gaps:
                raise
            self.not_written += 1
            if not self.failing:
                receiver.report("capture_gap", f"frames are not kept on disk any more: {error}")
            self.failing = True


def serve(
    receiver: Receiver,
    status: Path | None = None,
    capture: Path | None = None,
    monitor: Path | None = None,
    *,
    gaps: bool = False,
) -> int:
    """Run ``receiver`` until every front end says finish or one fails; return the exit code.

    ``status`` is written when it can be reached; every frame is appended to ``capture``. If one cannot be, that is the
    end, unless ``gaps`` are allowed: then it is counted. Snapshots go to ``monitor``.
    """
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    try:
        with receiver:
            if status is not None:
                write_status(status, receiver.description())
            with _monitor(receiver, monitor) if monitor is not None else contextlib.nullcontext() as watched:
                return _run(receiver, capture, watched, gaps=gaps)
    except (DeviceError, PoolError, ConnectionFailed, ValueError) as error:
        _LOG.error("error: %s", error)
        return EXIT_BAD_SETUP


def _monitor(receiver: Receiver, path: Path) -> ReceiverMonitor:
    from host.receive.monitoring import ReceiverMonitor  # noqa: PLC0415 - pydantic loads slowly, and few watch

    return ReceiverMonitor(receiver, path)


def _run(receiver: Receiver, capture: Path | None, monitor: ReceiverMonitor | None, *, gaps: bool) -> int:
    try:
        with CaptureWriter(capture) if capture is not None else contextlib.nullcontext() as writer:
            log = _Log(writer, gaps)
            while True:
                try:
                    for frame in receiver:
                        with frame:
                            log.keep(receiver, frame)
                            if monitor is not None:
                                monitor.frame(frame)
                    _LOG.info("%s; %d frames not written", receiver.statistics, log.not_written)
                    return 0
                except ReceiveTimeout as silence:
                    if monitor is not None:
                        monitor.look()
                    _LOG.info("%s", silence)
    except OSError as error:
        receiver.report("capture_failed", f"frames cannot be kept on disk: {error}", fatal=True)
    except ReceiveFailed as error:
        _LOG.error("error: %s", error)
    return EXIT_FAILED
