"""Command line of the receiver: ``python -m host.receive serve --device rxe0 --control unix:/run/receiver ...``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from host.exchange import PATH_MTUS, TRANSPORTS
from host.receive.serve import ServeOptions, serve


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m host.receive", description=__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "serve", help="receive frames until told to finish"
    )
    command.add_argument("--device", required=True, help="RDMA device, e.g. rxe0 or mlx5_0")
    command.add_argument(
        "--control", required=True, help="unix:PATH to listen on, or port:NAME of a virtio serial port"
    )
    command.add_argument("--ip", help="IPv4 address of the device to receive at (default: its first)")
    command.add_argument(
        "--slots", type=int, default=16, help="receive slots of each queue pair (default: %(default)s)"
    )
    command.add_argument("--slot-bytes", type=int, required=True, help="bytes of a slot, a multiple of 4096")
    command.add_argument("--queue-pairs", type=int, default=1, help="default: %(default)s")
    command.add_argument("--pmtu", type=int, default=4096, choices=PATH_MTUS, help="path MTU (default: %(default)s)")
    command.add_argument("--transport", default="RC", choices=TRANSPORTS, help="default: %(default)s")
    command.add_argument("--status", type=Path, help="file to write when ready for the exchange")
    command.add_argument("--capture", type=Path, help="file to append every received frame to")
    return parser


def main() -> int:
    """Parse the command line and run."""
    arguments = _parser().parse_args()
    return serve(
        ServeOptions(
            device=arguments.device,
            control=arguments.control,
            slots=arguments.slots,
            slot_bytes=arguments.slot_bytes,
            queue_pairs=arguments.queue_pairs,
            pmtu=arguments.pmtu,
            transport=arguments.transport,
            ip=arguments.ip,
            status=arguments.status,
            capture=arguments.capture,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
