"""``report.html``: one file with everything in it, no script, nothing loaded from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from host.imaging import BMode, Path
from host.report import plots
from host.report.link_rows import lane_rows, link_rows
from host.report.model import Report, Spread
from host.report.text import absent, figure, relation

_MEBI = 1 << 20
_TRIGGER_NS = 2.0
"""The published precision of triggers."""
_LINK_EVENTS = 25
"""Interrupts of the receive link that the page lists."""
_PACKETS = 3000
"""Packets that the time diagram shows at most: more would make the page slow and the lines run together."""


@dataclass(frozen=True)
class Picture:
    """What can be shown of one frame of ``mode``: its image, if it has one, and its int16 ``[sample, channel]``."""

    mode: str
    image: BMode | None
    samples: NDArray[np.int16]
    sample_rate_hz: float
    caption: str = ""


@dataclass(frozen=True)
class Pictures:
    """A frame of each mode."""

    frames: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class _Drawing:
    svg: Markup
    caption: str


@dataclass(frozen=True)
class _Card:
    value: str
    label: str


@dataclass(frozen=True)
class _Part:
    name: str
    seconds: float
    percent: float


def render(report: Report, pictures: Pictures | None = None) -> str:
    """Return the page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("host.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(figure=figure, relation=relation, absent=absent)
    simulated = report.simulated
    return environment.get_template("report.html").render(
        report=report,
        passed=report.verdict == "pass",
        headline=_headline(report),
        cards=_cards(report),
        figures=_figures(report, pictures or Pictures()),
        split=_split(report),
        link_events_shown=_LINK_EVENTS,
        link_rows=link_rows(simulated.link_counters),
        lane_rows=lane_rows(simulated.link_counters),
        any_counters=bool(simulated.link_counters or simulated.rdma_counters or report.peer.counters),
    )


def _headline(report: Report) -> str:
    configuration = report.configuration
    parts = [
        configuration.mode,
        _joined(
            "{} channels × {} samples × {} shots", configuration.channels, configuration.samples, configuration.shots
        ),
        _joined(
            "{} MSPS", None if configuration.sample_rate_hz is None else figure(configuration.sample_rate_hz / 1e6)
        ),
        _joined("PRF {}", None if configuration.prf_hz is None else figure(configuration.prf_hz, "Hz")),
        _joined("{} source", configuration.source),
        _joined("{}, PMTU {}", configuration.transport, configuration.pmtu),
        _joined("peer {}", report.peer.kind),
        _joined("kernel {}", report.peer.kernel),
        configuration.simulator,
        f"seed {report.seed}",
    ]
    return " · ".join(part for part in parts if part)


def _joined(template: str, *values: object) -> str | None:
    return None if None in values else template.format(*values)


def _cards(report: Report) -> list[_Card]:
    simulated, frames = report.simulated, report.frames
    latency = simulated.latency_us
    peak = None if simulated.ring_peak_bytes is None else simulated.ring_peak_bytes / _MEBI
    return [
        _Card(f"{figure(frames.received)} / {figure(frames.sent)}", f"frames received, {_quality(report)}"),
        _Card(figure(simulated.goodput_gbps, "Gb/s"), "goodput while there was work"),
        _Card(figure(latency.p50 if latency else None, "µs"), "latency, median"),
        _Card(figure(latency.p99 if latency else None, "µs"), "latency, 99th percentile"),
        _Card(figure(simulated.doorbell_to_wire_ns, "ns"), "doorbell to wire"),
        _Card(figure(peak, "MiB"), "highest fill of the ring"),
        _Card(figure(simulated.retransmitted_packets), "packets sent again"),
        _Card(figure(simulated.interrupts), "interrupts"),
    ]


def _quality(report: Report) -> str:
    exact = {True: "bit-exact", False: "NOT bit-exact", None: "bit-exactness unknown"}[report.bit_exact]
    flagged, received = report.frames.flagged, report.frames.received
    return f"{received - flagged} {exact}, {flagged} flagged" if flagged and received else exact


def _figures(report: Report, pictures: Pictures) -> list[_Drawing]:
    simulated = report.simulated
    drawn: list[_Drawing] = []

    def add(svg: str, caption: str) -> None:
        drawn.append(_Drawing(Markup(svg), caption))

    for number, picture in enumerate(pictures.frames):
        about = f" {picture.caption}" if picture.caption else ""
        if picture.image is not None:
            what = "B-mode image" if picture.image.path is Path.PLANE_WAVE else "Photoacoustic image"
            add(plots.bmode_svg(picture.image, number), f"{what} made of received samples.{about}")
        svg = plots.raw_svg(picture.samples, picture.sample_rate_hz, number)
        add(svg, f"The samples as they lay in the receiver's memory.{about}")
    if simulated.ring_timeline:
        ring = report.configuration.ring_bytes
        room = f" It has room for {figure(ring / _MEBI, 'MiB')}." if ring else ""
        svg = plots.ring_svg(simulated.ring_timeline, ring, simulated.ring_peak_bytes)
        add(svg, f"What the ring holds: a shot fills it, acknowledgements free it.{room}")
    if simulated.latencies_us:
        limit = next((line.limit for line in report.expectations if line.name == "max_latency_us"), None)
        allowed = f" The scenario allows {figure(limit, 'µs')}." if limit is not None else ""
        svg = plots.latency_svg(simulated.latencies_us, simulated.latency_us, limit)
        what = (
            "From a frame's last byte in the ring to its completion, less the time on the wire: what the design adds."
        )
        add(svg, what + allowed)
    if simulated.trigger_errors_ns and report.configuration.mode != "ultrasound":
        spread = simulated.trigger_to_first_sample_ns
        after = "" if spread is None else f" The first sample is {_range(spread)} behind the pulse."
        missing = "" if not simulated.laser_missing else f" {simulated.laser_missing} pulses did not come."
        svg = plots.trigger_svg(simulated.trigger_errors_ns, _TRIGGER_NS)
        add(svg, f"Error of the pulses' time stamps, half a link clock at most.{after}{missing}")
    if simulated.packets:
        shown = simulated.packets[:_PACKETS]
        of = "" if len(shown) == len(simulated.packets) else f"the first {len(shown):,} of "
        add(plots.packets_svg(shown), f"The wire: {of}{len(simulated.packets):,} packets.")
    return drawn


def _range(spread: Spread) -> str:
    return f"{figure(spread.min)} to {figure(spread.max, 'ns')}"


def _split(report: Report) -> list[_Part]:
    split, seconds = report.wall.split, report.wall.seconds
    named = [("RTL", split.rtl), ("Python", split.python), ("waiting for the peer", split.peer)]
    parts = [(name, value) for name, value in named if value is not None]
    total = sum(value for _, value in parts)
    if seconds is not None and seconds > total and parts:
        parts.append(("other", seconds - total))
        total = seconds
    return [_Part(name, value, 100 * value / total) for name, value in parts] if total > 0 else []
