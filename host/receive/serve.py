"""The receiver as a process: frames checked, kept on disk if asked, released."""

from __future__ import annotations

import contextlib
import logging
import sys
from pathlib import Path

from host.receive.capture import CaptureWriter
from host.receive.connection import ConnectionFailed
from host.receive.control_stream import write_status
from host.receive.device import DeviceError
from host.receive.pool import PoolError
from host.receive.receiver import ReceiveFailed, Receiver, ReceiveTimeout

EXIT_BAD_SETUP = 2
EXIT_FAILED = 3
_LOG = logging.getLogger("echobench.receive")


def serve(receiver: Receiver, status: Path | None = None, capture: Path | None = None) -> int:
    """Run ``receiver`` until every front end says finish or one fails; return the exit code.

    ``status`` is written when it can be reached; every frame is appended to ``capture``.
    """
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    try:
        with receiver:
            if status is not None:
                write_status(status, receiver.description())
            return _run(receiver, capture)
    except (DeviceError, PoolError, ConnectionFailed, ValueError) as error:
        _LOG.error("error: %s", error)
        return EXIT_BAD_SETUP


def _run(receiver: Receiver, capture: Path | None) -> int:
    try:
        with CaptureWriter(capture) if capture is not None else contextlib.nullcontext() as writer:
            while True:
                try:
                    for frame in receiver:
                        with frame:
                            if writer is not None:
                                writer.append(frame.slot, frame.immediate, frame.memory)
                    return 0
                except ReceiveTimeout as silence:
                    _LOG.info("%s", silence)
    except OSError as error:
        receiver.abandon("capture_failed", f"frames cannot be kept on disk: {error}")
    except ReceiveFailed as error:
        _LOG.error("error: %s", error)
    return EXIT_FAILED
