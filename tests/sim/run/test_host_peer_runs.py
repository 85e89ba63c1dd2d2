"""The whole testbench with `peer = "host"`: in the micro-VM, whose kernel has rdma_rxe where this machine's may not.

Simulator, control software, TAP device, rxe and receiver run in the guest; the build comes from this machine.
"""

import json
import shutil
import subprocess
import sys

import pytest

from sim.build import compile_design
from sim.run.simulate import scenario_design
from sim.scenario.load import load
from sim.sources import ROOT

pytestmark = pytest.mark.peer

LIMIT_SECONDS = 900
FOLDER = ROOT / "build" / "runs" / "host-in-vm"


def test_the_smoke_scenario_passes_with_the_hosts_own_rxe():
    scenario = load("smoke", {"link": {"peer": "host"}})
    compile_design(scenario_design(scenario), scenario.simulator)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    inside = [sys.executable, "-m", "sim", "run", "smoke", "--peer", "host", "--output", str(FOLDER)]
    command = [sys.executable, "-m", "sim.peers.vm", "exec", "--limit", str(LIMIT_SECONDS), "--", *inside]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
    report = json.loads((FOLDER / "report.json").read_text())
    assert report["verdict"] == "pass"
    assert report["peer"]["kind"] == "host"
    assert report["peer"]["kernel"].startswith("6.1.")
