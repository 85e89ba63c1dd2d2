"""Open a run's frames.h5 and save, or show, the B-mode image of one frame.

python -m host.examples.show_bmode build/runs/default/frames.h5 --frame 2 --output frame2.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from host.frame_layout import MODE_PHOTOACOUSTIC
from host.imaging import Path as SoundPath
from host.imaging import bmode
from host.imaging.pictures import bmode_png
from host.storage import FrameFile


def main() -> None:
    """Read the arguments, make the image."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--frame", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("bmode.png"))
    arguments = parser.parse_args()
    with FrameFile(arguments.file) as frames:
        track = frames.track_of(arguments.frame)
        path = SoundPath.ONE_WAY if track.mode == MODE_PHOTOACOUSTIC else SoundPath.PLANE_WAVE
        samples = frames.samples(arguments.frame)
        image = bmode(samples, track.probe, track.sample_rate_hz, path=path, first_sample_s=track.first_sample_s)
    bmode_png(image, arguments.output, f"{arguments.file.name}, frame {arguments.frame} ({track.label})")
    print(arguments.output)


if __name__ == "__main__":
    main()
