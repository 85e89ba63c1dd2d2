"""Receive frames and save a B-mode image of each good one, until the front end says that it is done.

python -m host.examples.receive_image rxe0 unix:/run/receiver --output images
"""

from __future__ import annotations

import argparse
from pathlib import Path

from host.imaging import Probe, bmode
from host.imaging.pictures import bmode_png
from host.receive.receiver import Receiver

SAMPLE_RATE_UNIT_HZ = 10_000


def main() -> None:
    """Read the arguments, receive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("control")
    parser.add_argument("--output", type=Path, default=Path("images"))
    arguments = parser.parse_args()
    arguments.output.mkdir(exist_ok=True)
    with Receiver(arguments.device, arguments.control, policy="latest") as receiver:
        for frame in receiver:
            if frame.ok:
                rate = int(frame.header["sample_rate"]) * SAMPLE_RATE_UNIT_HZ
                image = bmode(frame.samples, Probe(elements=frame.samples.shape[1]), rate)
                bmode_png(image, arguments.output / f"{frame.sequence}.png", f"frame {frame.sequence}")
            else:
                print(f"frame {frame.sequence}: {'; '.join(frame.problems)}")
        print(receiver.statistics)


if __name__ == "__main__":
    main()
