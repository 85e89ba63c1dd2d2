"""What the fault cases have hit: kinds of fault by state of the links, changes of state, lanes around the release.

``python -m tests.hdl.jesd204b.coverage`` adds up what the last runs left and names what was not hit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.hdl.jesd204b.cases import KINDS, LASTING, NEEDS_REPETITION, Case
from tests.hdl.module_bench import RUNS

STATES = ("synchronisation", "alignment", "samples", "synchronisation again")
MARGIN_BINS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)
"""Upper ends (beats in the buffer at the release) of the bins of the first and last lane."""
FOLDER = RUNS / "jesd204b-coverage"
CHANGES = (
    "synchronisation > alignment",
    "alignment > samples",
    "alignment > synchronisation again",
    "samples > synchronisation again",
    "synchronisation again > alignment",
)
SIDES = ("last lane", "first lane")
MOMENTARY = tuple(name for name in KINDS if not name.startswith(LASTING))
ALWAYS = tuple(name for name in KINDS if name.startswith(LASTING))

IMPOSSIBLE = {
    **{
        f"{name} in synchronisation": "one comma is like another: what slips before the alignment sequence is just late"
        for name in NEEDS_REPETITION
    },
    "sysref in synchronisation": "until the first SYSREF has come there is nothing that it could be off from",
    **{
        f"{side} up to 1 beats before the release": "the links see a beat later that a lane is ready, and release a "
        "beat after that: two are in its buffer at least (skew_sweep_across_the_release_point)"
        for side in SIDES
    },
}
"""Cells of the tables that are not wanted, and why."""


def _margin(beats: int) -> str:
    return f"up to {next((end for end in MARGIN_BINS if beats <= end), 512)}"


def wanted() -> list[str]:
    """All that a campaign should hit."""
    hits = [f"{name} in {state}" for name in MOMENTARY for state in STATES]
    hits += [f"{name} always" for name in ALWAYS]
    hits += [f"change {change}" for change in CHANGES]
    hits += [f"{side} {_margin(end)} beats before the release" for side in SIDES for end in MARGIN_BINS]
    return [name for name in hits if name not in IMPOSSIBLE]


def table(rows: Sequence[str], columns: Sequence[str], cell: Callable[[str, str], str]) -> list[str]:
    """Lines of a table with right-aligned columns."""
    left = max(map(len, rows))
    widths = [max(len(column), 6) for column in columns]
    lines = [" " * left + "".join(f"  {column:>{width}}" for column, width in zip(columns, widths, strict=True))]
    for row in rows:
        cells = (f"  {cell(row, column):>{width}}" for column, width in zip(columns, widths, strict=True))
        lines.append(f"{row:<{left}}" + "".join(cells))
    return lines


class Coverage:
    """Counts of what was hit."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self.cases = 0

    def add(self, case: Case, states: Sequence[int], fills: Sequence[int], changes: Iterable[tuple[int, int]]) -> None:
        """Take a case: the links' state at each beat, the lanes' fill at the last release, changes of state."""
        self.cases += 1
        for name, beat in case.kinds:
            where = "always" if name.startswith(LASTING) else f"in {STATES[states[beat]]}"
            self.hits[f"{name} {where}"] += 1
        for before, after in changes:
            self.hits[f"change {STATES[before]} > {STATES[after]}"] += 1
        if fills:
            self.hits[f"last lane {_margin(min(fills))} beats before the release"] += 1
            self.hits[f"first lane {_margin(max(fills))} beats before the release"] += 1

    def to_json(self) -> dict[str, Any]:
        """The counts, for a file."""
        return {"cases": self.cases, "hits": dict(self.hits)}

    def take(self, data: dict[str, Any]) -> None:
        """Add the counts of a file."""
        self.cases += data["cases"]
        self.hits.update(data["hits"])

    def missed(self) -> list[str]:
        """What should have been hit and was not."""
        return [name for name in wanted() if not self.hits[name]]

    def count(self, name: str) -> str:
        """How often a cell was hit, for a table."""
        return "-" if name in IMPOSSIBLE and not self.hits[name] else str(self.hits[name])

    def report(self) -> list[str]:
        """Lines for a person: tables, what is left out and why, what was not hit."""
        missed = self.missed()
        always = " ".join(f"{name} {self.hits[f'{name} always']}," for name in ALWAYS).rstrip(",")
        changes = [f"  {change.replace(' > ', ' -> ')}: {self.hits[f'change {change}']}" for change in CHANGES]
        margins = [f"<= {end}" for end in MARGIN_BINS]
        reasons: dict[str, list[str]] = {}
        for name, reason in IMPOSSIBLE.items():
            reasons.setdefault(reason, []).append(name)
        return [
            f"fault coverage: {self.cases} cases",
            "",
            "faults by the state of the links in which they began",
            *table(MOMENTARY, STATES, lambda name, state: self.count(f"{name} in {state}")),
            "",
            f"faults that are always there: {always}",
            "",
            "changes of state",
            *changes,
            "",
            "cases by the beats that a lane was early at the last release",
            *table(
                SIDES,
                margins,
                lambda side, margin: self.count(f"{side} up to {margin.removeprefix('<= ')} beats before the release"),
            ),
            "",
            "left out (-):",
            *(f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()),
            "",
            f"{len(wanted()) - len(missed)} of {len(wanted())} hit",
            f"not hit: {', '.join(missed) or 'nothing'}",
        ]


def main(folder: Path = FOLDER) -> None:
    """Print the report. What was not hit is named and no failure: a short draw cannot hit all."""
    coverage = Coverage()
    for path in sorted(folder.glob("*.json")):
        coverage.take(json.loads(path.read_text()))
    print("\n".join(coverage.report()))


if __name__ == "__main__":
    main()
