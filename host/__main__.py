"""Commands for whoever uses a front end: ``python -m host plan``, ``doctor``, ``replay``; ``--help`` tells more."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

COMMANDS = {
    "plan": "host.plan.command",
    "doctor": "host.doctor.command",
    "monitor": "host.monitor.command",
    "replay": "host.receive.replay_command",
    "export": "host.storage.export_command",
}
"""Modules, each with ``SUMMARY``, ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments`` and ``run -> exit code``."""
ALSO = """
Beside these:
  python -m host.receive serve ...     receive frames (host/receive/README.md)
  python -m host.report report.json    print the summary of a run again (host/report/README.md)

Each command has its own help: python -m host COMMAND --help
"""


def parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of every command; of ``wanted`` alone if that is one: the others need not be loaded."""
    found = argparse.ArgumentParser(
        prog="python -m host",
        description="Work with an EchoBench front end, simulated or on a board.",
        epilog=ALSO,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in [wanted] if wanted in COMMANDS else list(COMMANDS):
        module = import_module(COMMANDS[name])
        module.add_arguments(
            commands.add_parser(
                name,
                help=module.SUMMARY,
                description=module.DESCRIPTION,
                epilog=module.EXAMPLES,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the command that is named; return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(given[0] if given else None).parse_args(given)
    return int(import_module(COMMANDS[options.command]).run(options))


if __name__ == "__main__":
    sys.exit(main())
