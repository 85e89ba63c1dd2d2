"""A process that is tied ends with the one that started it, whenever that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from sim.lifeline import OWNER
from sim.sources import ROOT

STARTER = """
import subprocess, sys, time
from sim.lifeline import owned
import os
child = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1]], env={{**os.environ, **owned()}}, start_new_session=True, stdout=subprocess.PIPE
)
print(child.pid, flush=True)
{wait}
"""
WHEN_TIED = "child.stdout.readline(); print('tied', flush=True); time.sleep(600)"
AT_ONCE = "time.sleep(600)"
TIED = "from sim.lifeline import tie; tie(); print('tied', flush=True); import time; time.sleep(600)"
TIED_GROUP = (
    "import subprocess, sys, time\n"
    "from sim.lifeline import tie_group\n"
    "tie_group()\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print('tied', flush=True)\n"
    "time.sleep(600)\n"
)
LATE = "import time; time.sleep(1.0)\n" + TIED
LIMIT_SECONDS = 20.0


def started(script: str, wait: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER.format(wait=wait), script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout
    child = psutil.Process(int(starter.stdout.readline()))
    if wait == WHEN_TIED:
        assert starter.stdout.readline() == "tied\n"
    return starter, child


@pytest.mark.parametrize(
    ("script", "wait"),
    [(TIED, WHEN_TIED), (TIED_GROUP, WHEN_TIED), (LATE, AT_ONCE)],
    ids=["one", "group", "before it could be tied"],
)
def test_it_ends_with_its_starter(script: str, wait: str):
    starter, child = started(script, wait)
    family = [child, *child.children()]
    starter.kill()
    starter.wait()
    _, alive = psutil.wait_procs(family, timeout=LIMIT_SECONDS)
    for process in alive:
        process.kill()
    assert alive == []


def test_it_lives_as_long_as_its_starter():
    starter, child = started(TIED, WHEN_TIED)
    time.sleep(0.2)
    assert child.is_running() and child.status() != psutil.STATUS_ZOMBIE
    starter.kill()
    starter.wait()


def test_one_that_nobody_owns_may_be_tied_by_hand(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(OWNER, raising=False)
    done = subprocess.run([sys.executable, "-c", "from sim.lifeline import tie; tie()"], cwd=ROOT, check=False)
    assert done.returncode == 0
    wrong = {**os.environ, OWNER: "1"}
    done = subprocess.run([sys.executable, "-c", TIED], cwd=ROOT, env=wrong, check=False, timeout=LIMIT_SECONDS)
    assert done.returncode == -signal.SIGKILL
