"""Command line of the receiver: ``python -m host.receive serve --device rxe0 --control unix:/run/receiver ...``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from host.exchange import PATH_MTUS, TRANSPORTS
from host.receive.receiver import Receiver
from host.receive.serve import EXIT_BAD_SETUP, serve

SILENCE_SECONDS = 10.0
"""After so long without a frame it says why there is none."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m host.receive", description=__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "serve",
        help="receive frames until told to finish",
        description="Receive frames of one or more front ends until all have finished; what is missing is said while "
        "nothing comes. Exit code 0 after that, 2 if it cannot be set up, 3 if it failed later.",
    )
    command.add_argument("--device", required=True, help="RDMA device, e.g. rxe0 or mlx5_0")
    command.add_argument(
        "--control",
        required=True,
        action="append",
        help="unix:PATH to listen on, or port:NAME of a virtio serial port; once for each front end",
    )
    command.add_argument("--ip", help="IPv4 address of the device to receive at (default: its first)")
    command.add_argument(
        "--slots", type=int, default=16, help="receive slots of each queue pair (default: %(default)s)"
    )
    command.add_argument("--slot-bytes", type=int, help="bytes of a slot, a multiple of 4096 (default: of the pool)")
    command.add_argument(
        "--pool-bytes", type=int, help="bytes of all slots (default: 2 GiB, or half of what memory there is)"
    )
    command.add_argument("--queue-pairs", type=int, default=1, help="of each front end (default: %(default)s)")
    command.add_argument("--pmtu", type=int, default=4096, choices=PATH_MTUS, help="path MTU (default: %(default)s)")
    command.add_argument("--transport", default="RC", choices=TRANSPORTS, help="default: %(default)s")
    command.add_argument(
        "--completion",
        default="event",
        choices=("event", "poll"),
        help="sleep until the device calls, or look all the time (default: %(default)s)",
    )
    command.add_argument("--affinity", default="", help="processors to run on: 0-3,8, or 'device' for those near it")
    command.add_argument(
        "--persistent", action="store_true", help="when control software vanishes, wait for it to come again"
    )
    command.add_argument("--status", type=Path, help="file to write when ready for the exchange")
    command.add_argument("--monitor", type=Path, help="file of snapshots for 'python -m host monitor'")
    command.add_argument("--capture", type=Path, help="file to append every received frame to")
    command.add_argument(
        "--gaps", action="store_true", help="a frame that cannot be written is counted, and the next one tried"
    )
    return parser


def main() -> int:
    """Parse the command line and run."""
    options = vars(_parser().parse_args())
    del options["command"]
    device, controls = options.pop("device"), options.pop("control")
    status, capture, gaps = options.pop("status"), options.pop("capture"), options.pop("gaps")
    monitor = options.pop("monitor")
    try:
        receiver = Receiver(device, *controls, timeout_seconds=SILENCE_SECONDS, **options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_BAD_SETUP
    return serve(receiver, status, capture, monitor, gaps=gaps)


if __name__ == "__main__":
    sys.exit(main())
