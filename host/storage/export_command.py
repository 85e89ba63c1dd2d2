"""``python -m host export``: a capture log as a file that other tools open."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn

from host.receive.capture import CaptureError
from host.storage.export import FORMS, Exported, NothingToExport, export

SUMMARY = "a capture log as HDF5 or numpy arrays"
DESCRIPTION = """
Write the frames of a capture log (capture.bin of a run, or of 'python -m host capture') to a file.

  h5    one HDF5 file, a track for each mode and shape, a table of all frames; zea's names (host/storage/README.md)
  npy   int16 [frame, sample, channel]; one file for each mode and shape where there are several

Either can be played into the converters again, by a scenario with source = "shots.npy" in [acquisition].
"""
EXAMPLES = """
Examples:
  python -m host export build/runs/default/capture.bin --to npy --output shots.npy
  python -m host export build/runs/lanedrop/capture.bin --to h5 --only-good
"""
EXIT_CANNOT = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("log", type=Path, help="the capture log")
    parser.add_argument("--to", choices=FORMS, default="h5", help="default: %(default)s")
    parser.add_argument("--output", type=Path, help="file to write (default: beside the log, with its own suffix)")
    parser.add_argument("--only-good", action="store_true", help="leave out frames that something is wrong with")


def run(options: argparse.Namespace) -> int:
    """Export; return 0, or 2 if nothing could be written."""
    target: Path = options.output or options.log.with_suffix(f".{options.to}")
    try:
        with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True) as shown:
            task = shown.add_task("reading")
            result = export(
                options.log,
                target,
                options.to,
                flagged=not options.only_good,
                progress=lambda frames: shown.update(task, description=f"{frames} frames written"),
            )
    except (CaptureError, NothingToExport, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_CANNOT
    print(summary(result))
    return 0


def summary(result: Exported) -> str:
    """Return what was written, and what was left out, a line each."""
    lines = [f"{result.frames} frames, {result.flagged} of them flagged: {', '.join(map(str, result.files))}"]
    if result.flagged_left_out:
        lines.append(f"{result.flagged_left_out} flagged frames left out")
    if result.without_header:
        lines.append(f"{result.without_header} frames without a valid header left out")
    if result.truncated_bytes:
        lines.append(f"{result.truncated_bytes} bytes at the end of the log belong to a frame that was never finished")
    return "\n".join(lines)
