"""Put a run's report into its folder."""

from __future__ import annotations

from pathlib import Path

from host.imaging.pictures import bmode_png
from host.report.model import Report, RunFigures
from host.report.page import Pictures, render
from host.report.verdict import judge


def write_report(directory: Path, figures: RunFigures, pictures: Pictures | None = None) -> Report:
    """Judge ``figures`` and write ``report.json``, ``report.html`` and, if there is an image, ``bmode.png``.

    Files that ``directory`` already has are replaced whole, ``report.json`` last: a verdict that can be read means that
    all of the report is there. Raises ``OSError`` if a file cannot be written.
    """
    report = judge(figures)
    _replace(directory / "report.html", render(report, pictures))
    if pictures and pictures.image is not None:
        bmode_png(pictures.image, directory / "bmode.png", pictures.caption or report.scenario)
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
