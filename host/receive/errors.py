"""Why there is no frame, as errors."""

from __future__ import annotations


class ReceiveFailed(RuntimeError):
    """No more frames will come; the text names the cause."""


class ReceiveTimeout(TimeoutError):
    """No frame came in time; the text says which stage is empty. More may come."""


class StreamEnded(RuntimeError):
    """Every front end has said that it is done, and all that came was handed out."""
