"""Pass or fail, and why. A run passes only if everything that was asked of it was measured and is right."""

from __future__ import annotations

from typing import Any

from host.report.model import FRAMES_LOST, Expectation, Report, RunFigures
from host.report.published import compare

REQUIRED = (
    "peer.kind",
    "frames.sent",
    "frames.received",
    "frames.lost",
    "bit_exact",
    "simulated.time_us",
    "simulated.goodput_gbps",
    "simulated.average_gbps",
    "simulated.latency_us",
    "simulated.doorbell_to_wire_ns",
    "simulated.ring_peak_bytes",
    "simulated.interrupts",
    "simulated.retransmitted_packets",
    "wall.seconds",
    "wall.cycles_per_second",
    "wall.payload_mb_per_second",
)
"""Figures without which no run passes."""
_REAL_KERNEL = ("vm", "host", "nic")


def lookup(figures: RunFigures, key: str) -> Any:
    """Return the figure that the dotted ``key`` names; raise ``AttributeError`` for a key that does not exist."""
    value: Any = figures
    for part in key.split("."):
        if value is None:
            return None
        value = getattr(value, part)
    return value


def judge(figures: RunFigures) -> Report:
    """Make the report: expectations evaluated, verdict, reasons (of a pass too), published figures beside ours."""
    expectations = [expectation.model_copy(update={"ok": expectation.holds()}) for expectation in figures.expectations]
    failures = _failures(figures, expectations)
    values = dict(figures)
    values["expectations"] = expectations
    return Report(
        **values,
        verdict="fail" if failures else "pass",
        reasons=failures or _successes(figures, expectations),
        published=compare(figures),
    )


def _failures(figures: RunFigures, expectations: list[Expectation]) -> list[str]:
    failures = [f"the run ended early: {figures.error}"] if figures.error is not None else []
    failures += figures.complaints
    missing = [] if failures else [key for key in REQUIRED if lookup(figures, key) is None]
    if not failures and figures.peer.kind in _REAL_KERNEL and not figures.peer.kernel:
        missing.append("peer.kernel")
    if missing:
        failures.append(f"not measured: {', '.join(missing)}")
    if figures.bit_exact is False:
        failures.append("samples that arrived differ from those that were played into the lanes")
    failures += _frame_failures(figures, expectations)
    failures += [
        f"the fault {fault.what} on {fault.where} never acted: there was nothing for it to act on"
        for fault in figures.faults
        if fault.certain and not fault.times and figures.error is None
    ]
    for expectation in expectations:
        if not expectation.ok:
            actual = "was not measured" if expectation.actual is None else f"is {expectation.actual:.6g}"
            unit = f" {expectation.unit}" if expectation.unit else ""
            failures.append(f"{expectation.name} {actual}, expected {expectation.relation} {expectation.limit:g}{unit}")
    return failures


def _frame_failures(figures: RunFigures, expectations: list[Expectation]) -> list[str]:
    sent, received, lost = figures.frames.sent, figures.frames.received, figures.frames.lost
    if sent is None or received is None or lost is None:
        return []
    failures = []
    if sent == 0:
        failures.append("no frame was sent")
    if received + lost != sent:
        failures.append(f"frames do not add up: {sent} sent, {received} received, {lost} lost")
    explained = sum(figures.frames.dropped_by_cause.values())
    if explained != lost:
        failures.append(f"{lost} frames lost, causes are known for {explained}")
    if lost and not any(expectation.name == FRAMES_LOST and expectation.actual == lost for expectation in expectations):
        failures.append(f"{lost} frames lost, and the scenario does not allow for any")
    return failures


def _successes(figures: RunFigures, expectations: list[Expectation]) -> list[str]:
    frames = figures.frames
    arrived = f"{frames.received} of {frames.sent} frames received"
    if frames.flagged:
        clean = (frames.received or 0) - frames.flagged
        reasons = [
            f"{arrived}: {clean} with every sample bit-exact, {frames.flagged} flagged "
            f"({frames.flagged_samples_wrong} of their samples differ)"
        ]
    else:
        reasons = [f"{arrived}, every sample bit-exact"]
    for expectation in expectations:
        limit = f"{expectation.relation} {expectation.limit:g}"
        unit = f" {expectation.unit}" if expectation.unit else ""
        reasons.append(f"{expectation.name} is {expectation.actual:.6g}{unit}, expected {limit}")
    return reasons
