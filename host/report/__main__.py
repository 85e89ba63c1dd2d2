"""``python -m host.report FILE.json`` prints a report's summary again, ``--schema`` the JSON schema of reports."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from host.report.model import Report
from host.report.summary import print_summary


def main() -> int:
    """Read the arguments; return 0 for a report that passed, 1 for one that failed."""
    parser = argparse.ArgumentParser(prog="python -m host.report", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("report", nargs="?", type=Path, help="report.json of a run")
    what.add_argument("--schema", action="store_true", help="print the JSON schema of report.json")
    arguments = parser.parse_args()
    if arguments.schema:
        print(json.dumps(Report.model_json_schema(mode="serialization"), indent=1))
        return 0
    report = Report.model_validate_json(arguments.report.read_text(encoding="utf-8"))
    print_summary(report, Console())
    return 0 if report.verdict == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())
