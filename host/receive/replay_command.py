"""``python -m host replay``: frames of a capture log again, inspected as when they came."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from host.frame_layout import MODE_PHOTOACOUSTIC
from host.imaging import Path as SoundPath
from host.imaging import Probe, bmode
from host.imaging.pictures import bmode_png
from host.receive.capture import CaptureError
from host.receive.frame import Frame
from host.receive.replay import Replay

SUMMARY = "run host code on a capture log, without a link"
DESCRIPTION = """
Go through a capture log as through a live link: a line a frame, what is wrong with it, and at the end how many were
lost, dropped or flagged. With --images each good frame's B-mode image is saved.

In a program the same is host.receive.replay.Replay, which has the receiver's interface.
"""
EXAMPLES = """
Examples:
  python -m host replay build/runs/lanedrop/capture.bin
  python -m host replay build/runs/default/capture.bin --images pictures --speed 1

Exit code: 0 if every frame is good, 1 if some are flagged or missing, 2 if the log cannot be read.
"""
EXIT_FLAWED, EXIT_CANNOT = 1, 2
_RATE_UNIT_HZ = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("log", type=Path, help="the capture log")
    parser.add_argument("--speed", type=float, default=0.0, help="1: as fast as they came; 0: as can be (default)")
    parser.add_argument("--images", type=Path, help="folder for a B-mode image of each good frame")


def run(options: argparse.Namespace) -> int:
    """Replay; return the exit code."""
    problems: Counter[str] = Counter()
    try:
        if options.images:
            options.images.mkdir(parents=True, exist_ok=True)
        with Replay(options.log, options.speed) as frames:
            for frame in frames:
                print(line(frame))
                problems.update(problem.split(":")[0] for problem in frame.problems)
                if options.images and frame.ok:
                    save(frame, options.images)
            found = frames.statistics
            left = frames.truncated_bytes
    except (CaptureError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_CANNOT
    print(f"{found.frames} frames: {found.flagged} flagged, {found.lost} lost, {found.dropped} dropped before sending")
    for name, count in sorted(problems.items()):
        print(f"  {name}: {count}")
    if left:
        print(f"  {left} bytes at the end of the log belong to a frame that was never finished")
    return EXIT_FLAWED if found.flagged or found.lost or left else 0


def line(frame: Frame) -> str:
    """Return what there is to say of a frame."""
    if frame.shape is None:
        return f"frame ...{frame.sequence:05x}: {'; '.join(frame.problems)}"
    rate = int(frame.header["sample_rate"]) * _RATE_UNIT_HZ / 1e6
    shape = f"{frame.shape.channels} channels x {frame.shape.samples} samples, {rate:g} MSPS"
    return f"frame {frame.sequence}: {shape}: {'; '.join(frame.problems) or 'good'}"


def save(frame: Frame, folder: Path) -> None:
    """Save the image of a frame under its number."""
    rate = int(frame.header["sample_rate"]) * _RATE_UNIT_HZ
    path = SoundPath.ONE_WAY if int(frame.header["mode"]) == MODE_PHOTOACOUSTIC else SoundPath.PLANE_WAVE
    image = bmode(frame.samples, Probe(elements=frame.samples.shape[1]), rate, path=path)
    bmode_png(image, folder / f"{frame.sequence}.png", f"frame {frame.sequence}")
