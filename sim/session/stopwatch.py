"""Where wall time goes inside the simulator's process: waiting for the peer, Python, and the rest, which is the RTL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Sums of wall seconds by cause. Sections may nest; the inner one's time is not the outer one's."""

    def __init__(self) -> None:
        self._depth: list[float] = []
        self.restart()

    def restart(self) -> None:
        """Begin anew, outside of all sections."""
        self.started = time.perf_counter()
        self.python = 0.0
        self.peer = 0.0

    @property
    def total(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @contextmanager
    def in_python(self) -> Iterator[None]:
        """Count a section as the testbench's own work."""
        started = time.perf_counter()
        self._depth.append(0.0)
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            self.python += elapsed - self._depth.pop()
            self._credit(elapsed)

    @contextmanager
    def waiting_for_peer(self) -> Iterator[None]:
        """Count a section as waiting for the peer."""
        started = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            self.peer += elapsed
            self._credit(elapsed)

    def _credit(self, elapsed: float) -> None:
        if self._depth:
            self._depth[-1] += elapsed
