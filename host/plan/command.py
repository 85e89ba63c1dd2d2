"""``python -m host plan``: options in, a table or JSON out, exit code 0 if it can be kept up."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pydantic import ValidationError

from host.plan.plan import Plan, Settings, make_plan

SUSTAINABLE, NOT_SUSTAINABLE, BAD_SETTINGS = 0, 1, 2
SUMMARY = "will this setting work: rates, depth, ring, stalls"
DESCRIPTION = (
    "Work out what a setting of the front end asks of link and ring, before anything is switched on.\n"
    "Exit code 0 if it can be kept up for ever, 1 if not (it says why and what to change),\n"
    "2 if there is no such setting."
)
EXAMPLES = """
examples:
  python -m host plan                                   the published set-up: 256 channels, 4096 samples, 5 kHz
  python -m host plan --samples 8192 --prf-hz 2500      deeper, slower
  python -m host plan --mode photoacoustic --prf-hz 1000
  python -m host plan --goodput-gbps 95.6 --json        with a link as it was measured, for a program
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each field of :class:`Settings`, with its text and default."""
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f" (default: {field.default})"
        metavar = "NAME" if isinstance(field.default, str) else "N"
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar, default=None, help=f"{field.description}{default}"
        )
    parser.add_argument("--json", action="store_true", help="print every figure as one JSON object")


def run(options: argparse.Namespace) -> int:
    """Print the plan; return the exit code."""
    given: dict[str, Any] = {name: getattr(options, name) for name in Settings.model_fields}
    try:
        plan = make_plan(Settings.model_validate({key: value for key, value in given.items() if value is not None}))
    except ValidationError as error:
        for entry in error.errors():
            option = "--" + str(entry["loc"][0]).replace("_", "-") + ": " if entry["loc"] else ""
            print(f"error: {option}{entry['msg'].removeprefix('Value error, ')}", file=sys.stderr)
        return BAD_SETTINGS
    if options.json:
        print(plan.model_dump_json(indent=1))
    else:
        show(plan)
    return SUSTAINABLE if plan.sustainable else NOT_SUSTAINABLE


def show(plan: Plan) -> None:
    """Print tables and the verdict."""
    from rich.console import Console  # noqa: PLC0415 - who asks for JSON need not pay for it
    from rich.table import Table  # noqa: PLC0415

    console = Console(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows(plan):
        table.add_row(name, value)
    console.print(table)
    for obstacle in plan.obstacles:
        console.print(f"[red]{obstacle.name}[/red]: {obstacle.why}; {obstacle.change}", soft_wrap=True)
    verdict = "[green]sustainable[/green]" if plan.sustainable else "[bold red]not sustainable[/bold red]"
    console.print(
        f"{verdict}: at {plan.settings.prf_hz:g} Hz at most {plan.greatest_samples} samples, with "
        f"{plan.settings.samples} samples at most {plan.greatest_prf_hz:g} Hz",
        soft_wrap=True,
    )


def rows(plan: Plan) -> list[tuple[str, str]]:
    """Return the lines of the table."""
    settings = plan.settings
    way = "one-way" if settings.kind.one_way else "two-way"
    stall = "none" if plan.longest_stall_us is None else f"{plan.longest_stall_us:.1f} us"
    return [
        ("acquisition", f"{settings.mode}, {plan.channels} channels, {plan.sample_rate_hz / 1e6:g} MSPS"),
        ("lanes", f"{plan.lanes} at {plan.lane_rate_gbps:.3g} Gb/s"),
        ("depth", f"{plan.depth_mm:.1f} mm ({way})"),
        ("window, period", f"{plan.window_us:.1f} us, {plan.period_us:.1f} us"),
        ("burst, average", f"{plan.burst_gbps:.2f} Gb/s, {plan.average_gbps:.2f} Gb/s"),
        ("frame", f"{plan.frame_bytes} bytes, {plan.packets_per_frame} packets"),
        ("link", f"{plan.goodput_gbps:.2f} Gb/s of frames, {settings.transport}, path MTU {settings.pmtu}"),
        ("link use", f"{plan.link_time_us:.1f} us a frame, {plan.link_use_percent:.1f} %"),
        (
            "ring",
            f"{settings.ring_bytes} bytes hold {int(plan.frames_in_ring)} whole frames ({plan.frames_in_ring:.3f})",
        ),
        ("ring peak, cut-through", f"{plan.ring_peak_cut_through_bytes} bytes (least possible)"),
        ("ring peak, this design", f"{plan.ring_peak_bytes} bytes"),
        ("ring peak, store and forward", f"{plan.ring_peak_store_and_forward_bytes} bytes"),
        ("longest harmless stall", stall),
    ]
