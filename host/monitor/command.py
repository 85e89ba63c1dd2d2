"""``python -m host monitor``: live table, JSON lines, Prometheus; of one or more streams."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from host.monitor.follow import LOOK_SECONDS, Follower, file_of
from host.monitor.snapshot import Clock
from host.monitor.view import Rates, View

if TYPE_CHECKING:
    from rich.console import RenderableType

ENDED, CANNOT = 0, 2
STALE_SECONDS = 5.0
SUMMARY = "watch a running stream: throughput, latency, ring, queues, drops"
DESCRIPTION = (
    "Show what a running front end or receiver tells of itself, live in the terminal. It may be started before the\n"
    "stream, and stopped at any time: whoever is watched never waits for it. Times and rates are in the stream's own\n"
    "time, simulated or wall, and it says which."
)
EXAMPLES = """
examples:
  python -m host monitor build/runs/default                 a simulated run, from a second terminal ('make monitor')
  python -m host monitor /run/receiver.jsonl                python -m host.receive serve ... --monitor writes that
  python -m host monitor build/runs/default --json          each snapshot with its rates as a line of JSON
  python -m host monitor build/runs/default --prometheus 9100      and at http://127.0.0.1:9100/metrics
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="file of snapshots, or folder of a run")
    parser.add_argument("--json", action="store_true", help="print a JSON line for each snapshot, and no table")
    parser.add_argument("--prometheus", type=int, metavar="PORT", help="serve metrics on the loopback address")
    parser.add_argument("--until-end", action="store_true", help="stop when all streams have ended")


class Watch:
    """Several streams, each with its rates; ``views`` are the newest."""

    def __init__(self, paths: list[Path]) -> None:
        self._streams = [(Follower(file_of(path)), Rates()) for path in paths]
        self._views: list[View | None] = [None] * len(paths)

    def look(self) -> list[View]:
        """Return what is new."""
        found = []
        for index, (follower, rates) in enumerate(self._streams):
            for snapshot in follower.look():
                view = self._views[index] = rates.take(snapshot)
                found.append(view)
        return found

    def views(self) -> list[View]:
        """Return the newest of each stream that has said something."""
        return [view for view in self._views if view is not None]

    @property
    def over(self) -> bool:
        """Every stream has ended."""
        return all(view is not None and view.ended for view in self._views)

    @property
    def refused(self) -> str:
        """Why a line was not taken, of the last one that was not."""
        return next((follower.refused for follower, _ in self._streams if follower.refused), "")

    def close(self) -> None:
        """Close all files."""
        for follower, _ in self._streams:
            follower.close()


def run(options: argparse.Namespace) -> int:
    """Watch until interrupted, or until all is over if that is wanted; return the exit code."""
    with contextlib.ExitStack() as stack:
        watch = Watch(options.paths)
        stack.callback(watch.close)
        if options.prometheus is not None:
            from host.monitor.prometheus import LOOPBACK, serve  # noqa: PLC0415 - only who asks for it pays

            try:
                stack.callback(serve(options.prometheus, watch.views))
            except OSError as error:
                print(f"error: port {options.prometheus}: {error.strerror}", file=sys.stderr)
                return CANNOT
            print(f"metrics: http://{LOOPBACK}:{options.prometheus}/metrics", file=sys.stderr)
        stack.enter_context(contextlib.suppress(KeyboardInterrupt, BrokenPipeError))
        _watch(watch, _print_lines if options.json else _live_table(stack, options.paths), options.until_end)
    return ENDED


def _watch(watch: Watch, show: Callable[[Watch, list[View]], None], until_end: bool) -> None:
    while True:
        new = watch.look()
        show(watch, new)
        if until_end and watch.over:
            return
        if not new:
            time.sleep(LOOK_SECONDS)


def _print_lines(_: Watch, new: list[View]) -> None:
    for view in new:
        print(view.model_dump_json(), flush=True)


def _live_table(stack: contextlib.ExitStack, paths: list[Path]) -> Callable[[Watch, list[View]], None]:
    from rich.live import Live  # noqa: PLC0415 - who asks for JSON need not pay for it

    live = stack.enter_context(Live(waiting(paths), refresh_per_second=8))

    def show(watch: Watch, new: list[View]) -> None:
        views = watch.views()
        if views or new:
            live.update(table(views, time.time(), watch.refused))

    return show


def waiting(paths: list[Path]) -> str:
    """What is shown before anything was said."""
    return f"waiting for {', '.join(str(file_of(path)) for path in paths)} ..."


def table(views: list[View], now_s: float, refused: str = "") -> RenderableType:
    """Return what the terminal shows; ``now_s`` is wall time, seconds since 1970."""
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    parts: list[RenderableType] = []
    for view in views:
        parts.append(Text(headline(view, now_s), "bold"))
        figures = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
        for name, value in rows(view):
            figures.add_row(name, value)
        queues = Table("queue pair", "Gb/s", "frames", "WQ depth", box=None, padding=(0, 2, 0, 2))
        for pair in view.queue_pairs:
            used = of(pair.outstanding, pair.depth)
            queues.add_row(str(pair.number), number(pair.throughput_gbps, 2), str(pair.frames), used)
        parts += [figures, queues]
    if refused:
        parts.append(Text(f"a line was not understood: {refused}", "yellow"))
    return Group(*parts)


def headline(view: View, now_s: float) -> str:
    """Who, on which clock, and whether it still speaks."""
    age = now_s - view.written_s
    state = "ended" if view.ended else f"silent for {age:.0f} s" if age > STALE_SECONDS else "running"
    clock = "simulated time" if view.clock is Clock.SIMULATED else "wall time"
    at = f"{view.time_s * 1e6:.1f} us" if view.clock is Clock.SIMULATED else f"{view.time_s:.1f} s"
    return f"{view.source} {view.name}: {state}; all figures in {clock}, now {at}"


def rows(view: View) -> list[tuple[str, str]]:
    """The lines of one stream; '-' is what it cannot know."""
    seen = view.snapshot
    drops = "-" if seen.drops is None else ", ".join(f"{name} {count}" for name, count in seen.drops.items()) or "none"
    found = [
        ("throughput", f"{number(view.throughput_gbps, 2)} Gb/s, {number(view.frames_per_second, 1)} frames/s"),
        ("frames", f"{seen.frames}, flagged {number(seen.flagged)}"),
        (f"latency p50, p99 ({seen.latency})" if seen.latency else "latency p50, p99", ""),
        ("receive pool, slots", of(seen.pool_used_slots, seen.pool_slots)),
        ("ring, bytes", f"{of(seen.ring_used_bytes, seen.ring_bytes)}, peak {number(seen.ring_peak_bytes)}"),
        ("interrupts", f"{number(seen.interrupts)}, {number(view.interrupts_per_second)} /s"),
        ("CQ overflows", number(seen.completion_queue_overflows)),
        ("retransmitted packets", number(seen.retransmitted_packets)),
        ("drops", drops),
    ]
    latency = f"{number(seen.latency_p50_us, 2)} us, {number(seen.latency_p99_us, 2)} us"
    return [(name, latency if name.startswith("latency") else value) for name, value in found]


def number(value: float | None, places: int = 0) -> str:
    """A figure, or '-' for none."""
    return "-" if value is None else f"{value:.{places}f}"


def of(value: int | None, most: int | None) -> str:
    """A level and its limit."""
    return number(value) if most is None else f"{number(value)} of {most}"
