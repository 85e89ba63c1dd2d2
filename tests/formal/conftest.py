"""The table of proofs behind a test run."""

from __future__ import annotations

import pytest

HEADINGS = ("proof", "what", "depth", "result", "time")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = [
        row
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, row in report.user_properties
        if name == "formal"
    ]
    if not rows:
        return
    widths = [max(len(row[column]) for row in [HEADINGS, *rows]) for column in range(len(HEADINGS))]
    terminalreporter.section("proofs")
    for row in [HEADINGS, *rows]:
        terminalreporter.write_line(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
