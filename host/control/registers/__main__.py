"""Renew or check the files that are made from the register map."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from host.control.registers import DOCUMENT, RTL_HEADER, document, rtl_header

_ROOT = Path(__file__).resolve().parents[3]


def main(arguments: list[str] | None = None) -> int:
    """Write or check the generated files; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m host.control.registers", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="renew the generated files")
    action.add_argument("--check", action="store_true", help="fail if a generated file is out of date")
    options = parser.parse_args(arguments)
    stale = []
    for path, content in ((RTL_HEADER, rtl_header()), (DOCUMENT, document())):
        if options.write:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            stale.append(path.relative_to(_ROOT))
    for path in stale:
        print(f"{path} is out of date: run 'make registers'", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
