"""``python -m host doctor``: a table or JSON of all findings, exit code 1 if one of them stops RDMA."""

from __future__ import annotations

import argparse
import ipaddress
import json
from dataclasses import asdict

from host.doctor.checks import Finding, Level, examine
from host.doctor.observe import Machine, Wish, observe
from host.exchange import PATH_MTUS

HEALTHY, STOPPED = 0, 1
SUMMARY = "what stops RDMA on this machine, and how to mend it"
DESCRIPTION = (
    "Look at this machine and say of each thing that RDMA needs whether it is ok, a warning (slower), stops RDMA, or\n"
    "is unknown; with the command that mends it. Changes nothing and needs no privileges, though some things are only\n"
    "seen by root. Exit code 1 if something stops RDMA, else 0. host/doctor/README.md tells more of each, in this\n"
    "order."
)
EXAMPLES = """
examples:
  python -m host doctor                                            the first RDMA device
  python -m host doctor --device mlx5_0 --peer-ip 10.77.0.1        one by name, and whether a front end can be reached
  python -m host doctor --json                                     for a program
"""
_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.STOPS: "bold red", Level.UNKNOWN: "dim"}


def _address(text: str) -> str:
    return str(ipaddress.IPv4Address(text))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--device", metavar="NAME", help="RDMA device, e.g. rxe0 or mlx5_0 (default: the first)")
    parser.add_argument("--peer-ip", metavar="ADDRESS", type=_address, help="IPv4 address of the front end")
    parser.add_argument("--pmtu", type=int, default=4096, choices=PATH_MTUS, help="path MTU (default: %(default)s)")
    parser.add_argument(
        "--pool-bytes", metavar="N", type=int, help="bytes of receive memory (default: 2 GiB, or half of the memory)"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as a JSON list")


def run(options: argparse.Namespace, machine: Machine | None = None) -> int:
    """Look at ``machine`` (this one) and print the findings; return the exit code."""
    wish = Wish(options.device, options.pmtu, options.peer_ip, options.pool_bytes)
    findings = examine(observe(machine or Machine(), wish))
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        _show(findings)
    return STOPPED if any(finding.level is Level.STOPS for finding in findings) else HEALTHY


def _show(findings: list[Finding]) -> None:
    from rich.console import Console  # noqa: PLC0415 - who asks for JSON need not pay for it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    table = Table("check", "", "seen", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for finding in findings:
        table.add_row(finding.check, Text(finding.level, _COLOURS[finding.level]), Text(finding.seen))
    console.print(table)
    for finding in findings:
        for command in finding.mend:
            console.print(Text(f"{finding.check}: {command}"), soft_wrap=True)  # whole lines, to be copied
    stopping = [finding.check for finding in findings if finding.level is Level.STOPS]
    verdict = (
        Text(f"RDMA is stopped by: {', '.join(stopping)}", "bold red")
        if stopping
        else Text("nothing stops RDMA", "green")
    )
    console.print(verdict, soft_wrap=True)
