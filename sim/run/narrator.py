"""What a run tells whoever watches it: a live line on a terminal, a sign of life every so often in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from sim.sources import ROOT

LOG_COLUMNS = 120
LOG_INTERVAL_SECONDS = 15.0


class Narrator:
    """Speaks on one console; sentences are never broken in a log, so that it can be searched."""

    def __init__(self, console: Console | None = None, interval_seconds: float = LOG_INTERVAL_SECONDS) -> None:
        self.console = console or Console(highlight=False)
        self._live = self.console.is_terminal and not self.console.is_dumb_terminal
        if not self._live:
            self.console.width = max(self.console.width, LOG_COLUMNS)
        self._interval = interval_seconds

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line."""
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show that ``text`` is under way, and for how long; what is yielded replaces the text."""
        if self._live:
            columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
            with Progress(*columns, console=self.console, transient=True) as progress:
                task = progress.add_task(text, total=None)
                yield lambda now: progress.update(task, description=now)
            return
        current = [text]
        ended = threading.Event()
        started = time.monotonic()

        def repeat() -> None:
            while not ended.wait(self._interval):
                self.say(f"{current[0]} ({time.monotonic() - started:.0f} s)")

        self.say(text)
        thread = threading.Thread(target=repeat, daemon=True)
        thread.start()
        try:
            yield lambda now: current.__setitem__(0, now)
        finally:
            ended.set()
            thread.join()


def shown(path: Path) -> str:
    """A path as a user reads it: relative inside the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
