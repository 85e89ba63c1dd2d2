"""The end of a run on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from host.report.model import Report
from host.report.text import figure

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("", "")}


def print_summary(report: Report, console: Console) -> None:
    """Print our figures beside the published ones, the speed in wall time, and last the verdict with its reasons."""
    table = Table(
        title=f"{report.scenario}: this run beside the published figures", title_justify="left", box=box.SIMPLE_HEAD
    )
    table.add_column("figure")
    table.add_column("published", justify="right")
    table.add_column("this run", justify="right")
    table.add_column("unit")
    table.add_column("", width=1)
    measured = [row for row in report.published if row.own is not None]
    for row in measured:
        mark, style = _MARKS[row.reached]
        table.add_row(Text(row.what), row.published, figure(row.own), row.unit, Text(mark, style=style))
    console.print(table)
    others = len(report.published) - len(measured)
    if others:
        console.print(
            Text(f"{others} more published figures are not measured by this run; report.html names them", style="dim")
        )
    console.print(Text(_speed(report), style="dim"))
    passed = report.verdict == "pass"
    console.print(
        Text(
            f"{report.verdict.upper()}: {report.scenario}, seed {report.seed}",
            style="bold green" if passed else "bold red",
        )
    )
    for reason in report.reasons:
        console.print(Text(f"  {reason}"))


def _speed(report: Report) -> str:
    wall, split = report.wall, report.wall.split
    parts = [("RTL", split.rtl), ("Python", split.python), ("peer", split.peer)]
    where = ", ".join(f"{name} {figure(value, 's')}" for name, value in parts if value is not None)
    rates = f"{figure(wall.cycles_per_second, 'cycles/s')}, {figure(wall.payload_mb_per_second, 'MB/s')}"
    return f"wall time {figure(wall.seconds, 's')}: {rates}" + (f" ({where})" if where else "")
