"""Diagrams for the report as inline SVG in the colours of the page: readable in light, in dark and in print.

Matplotlib draws in stand-in colours, which are then replaced by CSS variables; pixels of images are embedded as PNG.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from host.imaging import BMode
from host.imaging.pictures import draw_bmode, draw_raw
from host.report.model import Packet, Spread

_INK, _GRID, _ACCENT, _ALERT, _MUTED = "#010203", "#010204", "#010205", "#010206", "#010207"
_VARIABLES = {_INK: "--ink", _GRID: "--line", _ACCENT: "--accent", _ALERT: "--alert", _MUTED: "--muted"}
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "echobench",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _GRID,
    "figure.facecolor": "none",
    "legend.frameon": False,
}
_POINTS = 1500
"""More points of a timeline than this are drawn as the largest value of each stretch."""


@contextmanager
def _drawing(name: str, width: float, height: float) -> Iterator[tuple[Figure, list[str]]]:
    """Yield a figure and a list that holds its SVG afterwards; ``name`` keeps ids apart on a page with several."""
    result: list[str] = []
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="compressed")
        FigureCanvasSVG(figure)
        yield figure, result
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", dpi=150, metadata={"Date": None, "Creator": None})
    result.append(_inline(buffer.getvalue(), name))


def _inline(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--font)", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg height="[^"]*" ([^>]*?)width="[^"]*"', _responsive, svg
    )


def _responsive(match: re.Match[str]) -> str:
    return f'<svg role="img" {match[1] or match[2] or ""}'


def bmode_svg(image: BMode, number: int = 0) -> str:
    """B-mode image with axes, scale bar and colour bar."""
    shape = np.ptp(image.depth_mm) / max(1e-9, float(np.ptp(image.lateral_mm)))
    with _drawing(f"bmode{number}", 7.0, float(np.clip(5.9 * shape + 0.6, 2.0, 9.0))) as (figure, result):
        axes = figure.add_subplot()
        artist = draw_bmode(axes, image)
        _colour_bar(figure, axes, artist, "dB")
    return result[0]


def raw_svg(samples: NDArray[np.int16], sample_rate_hz: float, number: int = 0) -> str:
    """Channel data as they came, ``[sample, channel]``."""
    with _drawing(f"raw{number}", 7.0, 4.2) as (figure, result):
        axes = figure.add_subplot()
        _colour_bar(figure, axes, draw_raw(axes, samples, sample_rate_hz), "LSB")
    return result[0]


def _colour_bar(figure: Figure, axes: Axes, artist: Any, label: str) -> None:
    bar = figure.colorbar(artist, ax=axes, pad=0.02, aspect=35)
    bar.set_label(label)
    bar.outline.set_edgecolor(_GRID)


def peaks(timeline: Sequence[tuple[float, float]], points: int = _POINTS) -> NDArray[np.float64]:
    """Return ``timeline`` as ``[point, (time, value)]``; of a long one the largest of each of ``points`` parts."""
    data = np.asarray(timeline, np.float64).reshape(-1, 2)
    if len(data) <= points:
        return data
    edges = np.linspace(0, len(data), points + 1).astype(int)[:-1]
    return np.column_stack([data[edges, 0], np.maximum.reduceat(data[:, 1], edges)])


def ring_svg(timeline: Sequence[tuple[float, int]], ring_bytes: int | None, peak_bytes: int | None) -> str:
    """Occupancy of the ring over simulated time."""
    data = peaks(timeline)
    mebi = 1 << 20
    with _drawing("ring", 7.0, 2.8) as (figure, result):
        axes = figure.add_subplot()
        axes.fill_between(data[:, 0], data[:, 1] / mebi, step="post", color=_ACCENT, alpha=0.25, linewidth=0)
        axes.step(data[:, 0], data[:, 1] / mebi, where="post", color=_ACCENT, linewidth=1.2)
        if peak_bytes:
            axes.axhline(peak_bytes / mebi, color=_MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.text(
                1.0, peak_bytes / mebi, f"peak {peak_bytes / mebi:.2f} MiB",
                transform=axes.get_yaxis_transform(), ha="right", va="bottom", color=_MUTED, fontsize=9,
            )  # fmt: skip
        top = max(float(data[:, 1].max(initial=0.0)), peak_bytes or 0) / mebi
        if ring_bytes and top > 0.6 * ring_bytes / mebi:
            axes.axhline(ring_bytes / mebi, color=_ALERT, linewidth=1)
            top = max(top, ring_bytes / mebi)
        axes.set_ylim(0, max(top * 1.15, 1e-3))
        axes.margins(x=0.01)
        axes.set_xlabel("simulated time (µs)")
        axes.set_ylabel("bytes held (MiB)")
        axes.grid(axis="y", linewidth=0.6)
    return result[0]


def latency_svg(latencies_us: Sequence[float], spread: Spread | None, limit_us: float | None) -> str:
    """Latency of each frame in order, and their distribution beside it."""
    values = np.asarray(latencies_us, np.float64)
    with _drawing("latency", 7.0, 2.8) as (figure, result):
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
        left.plot(np.arange(len(values)), values, "o", color=_ACCENT, markersize=5 if len(values) < 100 else 2)
        bins = min(40, max(5, len(values) // 4))
        right.hist(values, bins=bins, orientation="horizontal", color=_ACCENT, alpha=0.7)
        marks = (
            [(f"p50 {spread.p50:.3g}", spread.p50, _MUTED), (f"p99 {spread.p99:.3g}", spread.p99, _MUTED)]
            if spread
            else []
        )
        if spread and spread.p99 - spread.p50 < 0.06 * spread.p99:
            marks = [(f"p50 {spread.p50:.3g}, p99 {spread.p99:.3g}", spread.p99, _MUTED)]
        if limit_us is not None and values.max() > limit_us / 3:  # a far limit would press the points together
            marks.append((f"limit {limit_us:g}", limit_us, _ALERT))
        for label, value, colour in marks:
            for axes in (left, right):
                axes.axhline(value, color=colour, linewidth=1, linestyle=(0, (4, 3)))
            left.text(
                1.0,
                value,
                label,
                transform=left.get_yaxis_transform(),
                ha="right",
                va="bottom",
                color=colour,
                fontsize=9,
            )
        top = max([float(values.max(initial=0.0)), *(value for _, value, _ in marks)])
        left.set_ylim(min(0.0, float(values.min(initial=0.0))), max(top * 1.2, 1e-3))
        left.xaxis.get_major_locator().set_params(integer=True)
        right.xaxis.get_major_locator().set_params(integer=True)
        left.set_xlabel("frame")
        left.set_ylabel("latency (µs)")
        right.set_xlabel("frames")
        left.grid(axis="y", linewidth=0.6)
    return result[0]


def trigger_bins(errors_ns: Sequence[float], limit_ns: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return counts and edges of ten bins either side of zero up to the limit, and as many beyond it as are needed.

    What lies on an edge belongs to the bin nearer to zero: an error of just the limit keeps it.
    """
    values = np.asarray(errors_ns, np.float64)
    step = limit_ns / 10
    steps = np.clip(np.ceil(np.abs(values) / step - 1e-9), 1, None).astype(np.int64) - 1
    reach = max(12, int(steps.max(initial=0)) + 3)
    places = np.where(values < 0, reach - 1 - steps, reach + steps)
    return np.bincount(places, minlength=2 * reach).astype(np.int64), np.arange(
        -reach, reach + 1, dtype=np.float64
    ) * step


def trigger_svg(errors_ns: Sequence[float], limit_ns: float) -> str:
    """How far the time stamps of triggers are from the truth."""
    counts, edges = trigger_bins(errors_ns, limit_ns)
    with _drawing("trigger", 7.0, 2.4) as (figure, result):
        axes = figure.add_subplot()
        axes.stairs(counts, edges, fill=True, color=_ACCENT, alpha=0.7)
        for limit in (-limit_ns, limit_ns):
            axes.axvline(limit, color=_ALERT, linewidth=1, linestyle=(0, (4, 3)))
        axes.text(
            limit_ns, 0.97, f" ±{limit_ns:g} ns",
            transform=axes.get_xaxis_transform(), ha="left", va="top", color=_ALERT, fontsize=9,
        )  # fmt: skip
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("time stamp less true time of the pulse (ns)")
        axes.set_ylabel("frames")
        axes.grid(axis="y", linewidth=0.6)
    return result[0]


def packets_svg(packets: Sequence[Packet]) -> str:
    """Time diagram of the wire: what left, what came, what went wrong."""
    rows = (
        ("data", _ACCENT, [packet for packet in packets if packet.direction == "tx" and not packet.retransmission]),
        ("sent again", _ALERT, [packet for packet in packets if packet.direction == "tx" and packet.retransmission]),
        ("replies", _MUTED, [packet for packet in packets if packet.direction == "rx"]),
        ("faults", _ALERT, [packet for packet in packets if packet.fate != "delivered"]),
    )
    with _drawing("packets", 7.0, 2.4) as (figure, result):
        axes = figure.add_subplot()
        shown = [row for row in rows if row[2]]
        for height, (_, colour, members) in enumerate(reversed(shown)):
            times = [packet.time_us for packet in members]
            axes.vlines(times, height - 0.32, height + 0.32, color=colour, linewidth=0.8)
        axes.set_yticks(range(len(shown)), [f"{label} ({len(members)})" for label, _, members in reversed(shown)])
        axes.set_ylim(-0.6, max(0.6, len(shown) - 0.4))
        axes.set_xlabel("simulated time (µs)")
        axes.margins(x=0.01)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return result[0]
