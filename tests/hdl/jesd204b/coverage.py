"""What the fault cases have hit: kinds of fault by state of the links, changes of state, lanes around the release.

``python -m tests.hdl.jesd204b.coverage`` adds up what the last runs left and names what was not hit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.hdl.jesd204b.cases import KINDS, LASTING, NEEDS_REPETITION, Case
from tests.hdl.module_bench import RUNS

STATES = ("synchronisation", "alignment", "samples", "synchronisation again")
MARGIN_BINS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)
"""Upper ends (beats in the buffer at the release) of the bins of the first and last lane."""
FOLDER = RUNS / "jesd204b-coverage"
_CHANGES = (
    "synchronisation > alignment",
    "alignment > samples",
    "alignment > synchronisation again",
    "samples > synchronisation again",
    "synchronisation again > alignment",
)


def _margin(beats: int) -> str:
    return f"up to {next((end for end in MARGIN_BINS if beats <= end), 512)}"


def wanted() -> list[str]:
    """All that a campaign should hit."""
    momentary = [name for name in KINDS if not name.startswith(LASTING)]
    always = [name for name in KINDS if name.startswith(LASTING)]
    hits = [
        f"{name} in {state}"
        for name in momentary
        for state in STATES[:3]
        # SYSREF moves only when there has been one; slips are shifted into user data.
        if state == "samples" or name not in (*NEEDS_REPETITION, "sysref")
    ]
    hits += [f"{name} always" for name in always]
    hits += [f"change {change}" for change in _CHANGES]
    hits += [f"last lane {_margin(end)} beats before the release" for end in MARGIN_BINS[:10]]
    # Lanes are spread over some beats, so that the first is hardly ever just in time.
    hits += [f"first lane {_margin(end)} beats before the release" for end in MARGIN_BINS[5:11]]
    return hits


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


def main(folder: Path = FOLDER) -> None:
    """Print the report. What was not hit is named and no failure: a short draw cannot hit all."""
    coverage = Coverage()
    for path in sorted(folder.glob("*.json")):
        coverage.take(json.loads(path.read_text()))
    print(f"fault coverage: {coverage.cases} cases")
    for name, count in sorted(coverage.hits.items()):
        print(f"  {count:6d}  {name}")
    print(f"not hit: {', '.join(coverage.missed()) or 'nothing'}")


if __name__ == "__main__":
    main()
