"""Each case of :mod:`tests.host.live.cases` on the software RDMA device of a micro-VM, all in one power-up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sim.peers.vm import run_command
from sim.sources import ROOT

pytestmark = pytest.mark.peer
_HERE = Path(__file__).parent
NAMES = re.findall(r"^@case\ndef (\w+)", (_HERE / "cases.py").read_text(), re.MULTILINE)
"""Read, not imported: this machine may have no device, and needs none."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("live")
    code = run_command(f"python3 -m tests.host.live.machine {folder}", processors=2, limit_seconds=600, writable=folder)
    found = (folder / "results.jsonl").read_text() if code == 0 else ""
    return {result["case"]: result["failure"] for result in map(json.loads, found.splitlines())}


@pytest.mark.parametrize("name", NAMES)
def test_live(results: dict[str, str], name: str):
    assert name in results, f"{name} has no result: see what the micro-VM printed, and run it from {ROOT}"
    assert not results[name], results[name]


def test_cases_are_all_found():
    assert len(NAMES) == (_HERE / "cases.py").read_text().count("@case")
