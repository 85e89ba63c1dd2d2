"""How figures are written for people."""

from __future__ import annotations

from typing import Any

from host.report.model import Comparison

_RELATIONS = {"<=": "≤", ">=": "≥", "==": "="}


def figure(value: Any, unit: str = "") -> str:
    """Return ``value`` to four digits with its unit, thousands apart; a dash for ``None``; text as it is."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        text = f"{int(value):,}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.4g}" if abs(value) < 100 else f"{value:.5g}"
    return f"{text} {unit}" if unit else text


def absent(comparison: Comparison) -> str:
    """Say why a published figure has none of ours beside it."""
    return "needs a board" if comparison.kind == "board" else "not measured"


def relation(name: str) -> str:
    """Return the sign for the relation of an expectation."""
    return _RELATIONS[name]
