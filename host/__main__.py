"""Commands for whoever uses a front end: ``python -m host plan``, ``doctor``, ``monitor``; ``--help`` tells more."""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from host.plan import command as plan

COMMANDS: dict[str, ModuleType] = {"plan": plan}
"""Each has ``SUMMARY``, ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments(parser)`` and ``run(options) -> exit code``."""
ALSO = """
Beside these:
  python -m host.receive serve ...     receive frames (host/receive/README.md)
  python -m host.report report.json    print the summary of a run again (host/report/README.md)

Each command has its own help: python -m host COMMAND --help
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    found = argparse.ArgumentParser(
        prog="python -m host",
        description="Work with an EchoBench front end, simulated or on a board.",
        epilog=ALSO,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
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
    options = parser().parse_args(arguments)
    return int(COMMANDS[options.command].run(options))


if __name__ == "__main__":
    sys.exit(main())
