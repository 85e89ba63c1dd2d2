"""One list of HDL sources a module, read by every tool (simulators, lint, synthesis).

A list is a file ``<module>.f`` beside ``<module>.v``: one path a line, relative to the list's own folder; a line that
ends in ``.f`` includes another list; ``#`` starts a comment. A module without a list has no submodules.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HDL = ROOT / "hdl"
INCLUDE_DIRS = (HDL / "lib", HDL / "ernic")


def sources(module: str | Path) -> list[Path]:
    """Return the ordered, de-duplicated source files of ``module``.

    ``module`` is a path below ``hdl/`` without suffix (``"ernic/ernic_icrc"``), or a path to any ``.v`` or ``.f`` file.
    Raises ``FileNotFoundError`` naming the list and line that asks for a missing file.
    """
    path = Path(module)
    if not path.is_absolute():
        path = HDL / path
    if path.suffix not in (".v", ".f"):
        path = path.with_suffix(".f") if path.with_suffix(".f").exists() else path.with_suffix(".v")
    found: dict[Path, None] = {}
    _collect(path, found, origin="the caller")
    return list(found)


def _collect(path: Path, found: dict[Path, None], origin: str) -> None:
    if not path.exists():
        raise FileNotFoundError(f"{path} is asked for by {origin} and does not exist")
    if path.suffix != ".f":
        found.setdefault(path.resolve())
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        entry = line.split("#", 1)[0].strip()
        if entry:
            _collect((path.parent / entry).resolve(), found, origin=f"{path}:{number}")
