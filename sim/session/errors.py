"""What ends a session early. Each text says who waits for whom."""

from __future__ import annotations


class SessionFailed(RuntimeError):
    """The run cannot go on."""


class ReceiverFailed(RuntimeError):
    """The receiver reported a fatal event, or did not answer within its limit."""


class Stuck(RuntimeError):
    """Nothing has moved for too long in simulated time."""
