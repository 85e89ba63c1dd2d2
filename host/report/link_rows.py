"""Counters of the receive link as rows that a person can read, from the names that ``report.json`` has them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from host.control.registers import register_map

_TOTALS = (
    ("LANE_DISPARITY", "disparity errors"),
    ("LANE_NOT_IN_TABLE", "characters not in the table"),
    ("LANE_UNEXPECTED_K", "control characters where none may stand"),
    ("LANE_CGS_LOSSES", "losses of code group synchronisation"),
    ("LANE_FRAME_MISALIGNED", "frame alignment characters elsewhere"),
    ("LANE_MULTIFRAME_MISALIGNED", "multiframe alignment characters elsewhere"),
    ("LANE_FCHK", "lanes with a wrong check sum (FCHK)"),
    ("LANE_OVERFLOW", "lanes whose buffer has overflowed"),
    ("LANE_UNDERFLOW", "lanes whose buffer has run empty"),
    ("REINITIALISATIONS", "links started anew"),
    ("LANE_REPLACEMENTS", "alignment characters left out or out of turn"),
)
_BY_LANE = dict(_TOTALS) | {"LANE_ILAS_MISMATCH": "alignment sequence differs in"}


@dataclass(frozen=True)
class Row:
    """One line of the table; ``alarming`` if it should be looked at."""

    name: str
    value: str
    alarming: bool = False


def link_rows(counters: Mapping[str, int]) -> list[Row]:
    """Return the rows for all lanes together; none if there are no counters."""
    rows = [Row(text, f"{counters[name]:,}", bool(counters[name])) for name, text in _TOTALS if name in counters]
    if "LANE_ILAS_MISMATCH" in counters:
        mismatch = counters["LANE_ILAS_MISMATCH"]
        rows.append(Row("fields of the alignment sequence that differ", _fields(mismatch), bool(mismatch)))
    if "SYSREF_MISALIGNED" in counters:
        misaligned = bool(counters["SYSREF_MISALIGNED"])
        rows.append(Row("a later SYSREF was off", "yes" if misaligned else "no", misaligned))
    if "FILL_LEAST" in counters and "FILL_MOST" in counters:
        rows.append(Row("lanes came early by, link clocks", f"{counters['FILL_LEAST']} to {counters['FILL_MOST']}"))
    return rows


def lane_rows(counters: Mapping[str, int]) -> list[Row]:
    """Return what single lanes have told, lane by lane."""
    found: list[tuple[int, Row]] = []
    for name, value in counters.items():
        base, _, index = name.partition("[")
        if not index or not value or base not in _BY_LANE:
            continue
        shown = _fields(value) if base == "LANE_ILAS_MISMATCH" else f"{value:,}"
        lane = int(index.rstrip("]"))
        found.append((lane, Row(f"lane {lane}: {_BY_LANE[base].removeprefix('lanes with a ')}", shown, alarming=True)))
    return [row for _, row in sorted(found, key=lambda entry: entry[0])]


def _fields(mismatch: int) -> str:
    register = register_map()["JESD204B"]["LANE_ILAS_MISMATCH"]
    return ", ".join(field.name for field in register.fields if field.get(mismatch)) or "none"
