"""The figures by which the modelled system is known, and which of ours stands beside each.

To add a row: give it a key of its own, the published value as text, and a function that finds our figure (``None`` if
this run did not measure it). ``target`` and ``relation`` say when ours is as good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from host.control.modes import PHOTOACOUSTIC
from host.report.model import Comparison, RunFigures

Own = Callable[[RunFigures], float | str | None]


@dataclass(frozen=True)
class Published:
    """One published figure. ``own`` is ``None`` where no run of this software measures it."""

    key: str
    what: str
    published: str
    unit: str
    kind: Literal["sim", "host", "board"]
    own: Own | None = None
    relation: Literal["<=", ">=", "=="] | None = None
    target: float | None = None
    tolerance: float = 0.0
    note: str = ""

    def compare(self, figures: RunFigures) -> Comparison:
        """Put our figure beside it."""
        own = self.own(figures) if self.own else None
        reached = None
        if isinstance(own, int | float) and self.relation and self.target is not None:
            if self.relation == "==":
                reached = abs(own - self.target) <= self.tolerance
            else:
                reached = own <= self.target if self.relation == "<=" else own >= self.target
        return Comparison(
            key=self.key,
            what=self.what,
            published=self.published,
            unit=self.unit,
            kind=self.kind,
            own=own,
            reached=reached,
            note=self.note,
        )


def _scaled(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor


def _burst_gbps(figures: RunFigures) -> float | None:
    configuration = figures.configuration
    if configuration.channels is None or configuration.sample_rate_hz is None or configuration.mode == "photoacoustic":
        return None
    return configuration.channels * 16 * configuration.sample_rate_hz / 1e9


def _photoacoustic_msps(figures: RunFigures) -> float | None:
    if figures.configuration.mode == "interleaved":
        return PHOTOACOUSTIC.sample_rate_hz / 1e6
    return _scaled(figures.configuration.sample_rate_hz, 1e6) if figures.configuration.mode == "photoacoustic" else None


def _goodput(transport: str) -> Own:
    def own(figures: RunFigures) -> float | None:
        return figures.simulated.goodput_gbps if figures.configuration.transport == transport else None

    return own


def _latency(part: Literal["p50", "p99"]) -> Own:
    def own(figures: RunFigures) -> float | None:
        spread = figures.simulated.latency_us
        return None if spread is None or figures.configuration.transport != "RC" else getattr(spread, part)

    return own


def _interrupts_per_second(figures: RunFigures) -> float | None:
    simulated = figures.simulated
    if simulated.interrupts is None or not simulated.time_us:
        return None
    return simulated.interrupts / simulated.time_us * 1e6


def _laser_delay(figures: RunFigures) -> float | None:
    spread = figures.simulated.trigger_to_first_sample_ns
    return None if spread is None or figures.configuration.mode in (None, "ultrasound") else spread.p50


def _trigger_precision(figures: RunFigures) -> float | None:
    spread = figures.simulated.trigger_error_ns
    if spread is None or figures.configuration.mode == "ultrasound":
        return None
    return max(abs(spread.min), abs(spread.max))


def _queues(figures: RunFigures) -> str | None:
    configuration = figures.configuration
    values = (
        configuration.pmtu,
        configuration.sq_depth,
        configuration.cq_depth,
        configuration.inline_bytes,
        configuration.rq_depth,
        configuration.sge,
    )
    return None if None in values else ", ".join(str(value) for value in values)


def _huge_page_gain(figures: RunFigures) -> str | None:
    host = figures.host
    if host.registration_ms is None or host.registration_small_pages_ms is None:
        return None
    return f"{host.registration_small_pages_ms:.3g} → {host.registration_ms:.3g}"


PUBLISHED = (
    Published(
        "burst",
        "burst rate",
        "327.68",
        "Gb/s",
        "sim",
        _burst_gbps,
        ">=",
        327.68,
        note="256 channels x 16 bit x 80 MSPS: what the lanes carry while a shot is sampled",
    ),
    Published(
        "photoacoustic_rate",
        "photoacoustic sample rate",
        "125",
        "MSPS",
        "sim",
        _photoacoustic_msps,
        ">=",
        125.0,
        note="128 channels on 32 lanes",
    ),
    Published(
        "prf", "pulse repetition rate", "5", "kHz", "sim", lambda f: _scaled(f.configuration.prf_hz, 1e3), ">=", 5.0
    ),
    Published(
        "ring",
        "ring buffer on the chip",
        "4",
        "MB",
        "sim",
        lambda f: _scaled(f.configuration.ring_bytes, 1 << 20),
        ">=",
        4.0,
        note="ours in MiB",
    ),
    Published(
        "ring_peak",
        "highest fill of the ring",
        "–",
        "MiB",
        "sim",
        lambda f: _scaled(f.simulated.ring_peak_bytes, 1 << 20),
        note="512 x samples x (1 - link rate / burst rate), if the link never stalls",
    ),
    Published("block", "block", "256", "KB", "sim", lambda f: _scaled(f.configuration.block_bytes, 1024), "==", 256.0),
    Published(
        "coalescing",
        "blocks an interrupt",
        "8",
        "",
        "sim",
        lambda f: f.configuration.interrupt_threshold,
        "==",
        8.0,
    ),
    Published("batch", "WRITEs a doorbell", "8", "", "sim", lambda f: f.configuration.batch, "==", 8.0),
    Published("rc_bandwidth", "bandwidth, RC", "95.6", "Gb/s", "sim", _goodput("RC"), ">=", 95.6),
    Published(
        "uc_bandwidth",
        "bandwidth, UC",
        "98.2",
        "Gb/s",
        "sim",
        _goodput("UC"),
        ">=",
        97.9,
        note="payload at PMTU 4096 cannot pass 98.03 Gb/s on this wire; 97.9 counts as reached",
    ),
    Published("ud_bandwidth", "bandwidth, UD", "12.4", "Gb/s", "sim", _goodput("UD"), ">=", 12.4),
    Published(
        "latency",
        "latency, RC",
        "1.2 ± 0.3",
        "µs",
        "sim",
        _latency("p50"),
        "<=",
        1.2,
        note="of a 256 KB transfer, beyond its 21.4 µs on the wire; ours is the median over frames",
    ),
    Published("latency_p99", "latency, 99th percentile", "2.1", "µs", "sim", _latency("p99"), "<=", 2.1),
    Published("latency_untuned", "latency before tuning", "8", "µs", "sim", _latency("p50"), "<=", 8.0),
    Published("latency_tuned", "latency after tuning", "1.5", "µs", "sim", _latency("p50"), "<=", 1.5),
    Published(
        "doorbell",
        "doorbell to start of processing",
        "23",
        "ns",
        "sim",
        lambda f: f.simulated.doorbell_to_wire_ns,
        "<=",
        23.0,
        note="ours ends with the first header beat to the MAC",
    ),
    Published(
        "queues",
        "MTU, SQ, CQ, inline, RQ, SGE",
        "4096, 1024, 128, 256, 128, 16",
        "",
        "sim",
        _queues,
    ),
    Published(
        "registration",
        "memory registration",
        "15 → 2",
        "ms",
        "host",
        _huge_page_gain,
        note="with pages of 4 KiB → with huge pages",
    ),
    Published(
        "huge_pages",
        "huge pages for the pool",
        "4096",
        "MiB",
        "host",
        lambda f: _scaled(f.configuration.huge_page_bytes, 1 << 20),
        note="2,048 pages of 2 MB are set aside for a pool of 2 GB",
    ),
    Published("cpu", "CPU of the receiver", "< 5", "%", "host", lambda f: f.host.cpu_percent, "<=", 5.0),
    Published("system_call", "cost of a socket receive", "10", "µs", "host", lambda f: f.host.socket_receive_us),
    Published("kernel_bypass", "cost of a CQ poll", "0.5", "µs", "host", lambda f: f.host.cq_poll_us, "<=", 0.5),
    Published(
        "interrupts",
        "interrupts",
        "3422",
        "1/s",
        "sim",
        _interrupts_per_second,
        note="the published value is an example from a monitor's screen",
    ),
    Published(
        "mode_switch",
        "mode switch",
        "< 100",
        "µs",
        "sim",
        lambda f: f.simulated.mode_switch_us,
        "<=",
        100.0,
        note="the longest, from the first register write to when triggers of the new mode open windows",
    ),
    Published(
        "laser_delay",
        "laser to first sample",
        "60",
        "ns",
        "sim",
        _laser_delay,
        "==",
        60.0,
        2.0,
        note="ours is the median; samples are 8 ns apart, and the time stamp tells where between them the pulse came",
    ),
    Published(
        "trigger_precision",
        "trigger precision",
        "± 2",
        "ns",
        "sim",
        _trigger_precision,
        "<=",
        2.0,
        note="largest error of the laser's time stamps; half a link clock of 250 MHz",
    ),
    Published("clock", "clock synchronisation", "100", "ns", "sim", note="IEEE 1588v2"),
    Published(
        "shaping",
        "token bucket, burst",
        "8",
        "MB",
        "sim",
        lambda f: _scaled(f.configuration.shaper_burst_bytes, 1e6),
        "==",
        8.0,
        0.5,
    ),
    Published("priorities", "priorities", "control > image > log", "", "sim"),
    Published("recovery", "recovery from errors", "automatic", "", "sim"),
    Published("numa", "gain from NUMA binding", "20", "%", "board"),
)


def compare(figures: RunFigures) -> list[Comparison]:
    """Return all published figures with ours beside them."""
    return [published.compare(figures) for published in PUBLISHED]
