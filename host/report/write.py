"""Put a run's report into its folder."""

from __future__ import annotations

from pathlib import Path

from host.imaging.pictures import bmode_png
from host.report.model import Report, RunFigures
from host.report.page import Pictures, render
from host.report.verdict import judge


def write_report(directory: Path, figures: RunFigures, pictures: Pictures | None = None) -> Report:
    """Judge ``figures`` and write ``report.json``, ``report.html`` and, if there are frames to show, ``bmode.png``.

    The image of a second mode is ``bmode-<mode>.png``.

    Files that ``directory`` already has are replaced whole, ``report.json`` last: a verdict that can be read means that
    all of the report is there. Raises ``OSError`` if a file cannot be written.
    """
    report = judge(figures)
    _replace(directory / "report.html", render(report, pictures))
    for number, picture in enumerate(pictures.frames if pictures else ()):
        name = f"bmode-{picture.mode}.png" if number else "bmode.png"
        if picture.image is not None:
            bmode_png(picture.image, directory / name, picture.caption or report.scenario)
    _replace(directory / "report.json", report.to_json())
    return report


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
