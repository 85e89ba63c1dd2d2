"""Find, read and validate a scenario; every complaint names the key, the value and what is allowed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.scenario.model import Scenario

_WORDS = {
    "tuple_type": "must be an array, [...]",
    "model_type": "must be a table, [...] or {...}",
    "model_attributes_type": "must be a table, [...] or {...}",
    "string_pattern_mismatch": "allowed are 1 to 64 letters, digits, '_', '.' and '-', the first a letter or a digit",
}
"""Plainer words than pydantic's for what a writer of TOML gets wrong."""

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


class ScenarioError(ValueError):
    """A scenario that cannot be run; the text says why, one line a complaint."""


def names() -> list[str]:
    """Names of the scenarios that come with the project."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def find(name_or_path: str) -> Path:
    """Return the file of a scenario given by name or path; raise :class:`ScenarioError` if there is none."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        what = "is a directory" if path.is_dir() else "does not exist"
        raise ScenarioError(f"scenario file {name_or_path} {what}")
    candidate = SCENARIOS / f"{name_or_path}.toml"
    if candidate.is_file():
        return candidate
    raise ScenarioError(
        f"no scenario {name_or_path!r}; there are {', '.join(names())} (or give a path ending in .toml)"
    )


def load(name_or_path: str, overrides: dict[str, Any] | None = None) -> Scenario:
    """Read and validate a scenario; ``overrides`` replaces top-level keys and keys of tables."""
    path = find(name_or_path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path.name}: not valid TOML: {error}") from error
    for key, value in (overrides or {}).items():
        if isinstance(value, dict):
            data[key] = {**data.get(key, {}), **value}
        else:
            data[key] = value
    return parse(data, path.name)


def parse(data: dict[str, Any], origin: str) -> Scenario:
    """Validate scenario ``data``; ``origin`` names it in complaints."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        lines = [_complaint(detail) for detail in error.errors()]
        raise ScenarioError("\n".join(f"{origin}: {line}" for line in lines)) from error


def _complaint(detail: Any) -> str:
    """One line for one of pydantic's error records."""
    key = ""
    for part in detail["loc"]:
        key += f"[{part}]" if isinstance(part, int) else f".{part}"
    key = key.lstrip(".")
    value = detail.get("input")
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key}; {_known_keys(detail['loc'])}"
    if detail["type"] == "missing":
        return f"key {key} is missing"
    message = _WORDS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    return f"{key} = {value!r}: {message}" if key else message


def _known_keys(location: tuple[int | str, ...]) -> str:
    model: Any = Scenario
    for part in location[:-1]:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is None or not hasattr(field.annotation, "model_fields"):
            return "see the scenario chapter for the keys of a fault"
        model = field.annotation
    where = ".".join(str(part) for part in location[:-1]) or "a scenario"
    return f"keys of {where}: {', '.join(model.model_fields)}"
