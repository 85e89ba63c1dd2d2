"""Whatever ends a run, nothing of it stays: no simulator, no QEMU, no socket; and what was received is on disk."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import psutil
import pytest

from host.receive.capture import CaptureReader
from sim.sources import ROOT

LIMIT_SECONDS = 240
ENDLESS = """
name = "endless"
[acquisition]
source = "prbs"
channels = 64
samples = 510
shots = 50000
prf_hz = 8000
[rdma]
block_bytes = 32768
[link]
peer = "{peer}"
"""


class Run:
    """A run in a process of its own, long enough to be ended in the middle."""

    def __init__(self, folder: Path, peer: str, program: str) -> None:
        self.directory = folder / "run"
        scenario = folder / "endless.toml"
        scenario.write_text(ENDLESS.format(peer=peer))
        command = [sys.executable, "-m", program, "run", str(scenario), "--output", str(self.directory), "--no-waves"]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=self.log, stderr=subprocess.STDOUT)
        self.children: list[psutil.Process] = []

    def wait_streaming(self) -> None:
        """Return when frames arrive."""
        self._wait(lambda: self._progress() >= 3, "frames")
        self.children = psutil.Process(self.process.pid).children(recursive=True)

    def _progress(self) -> int:
        try:
            return json.loads((self.directory / "progress.jsonl").read_text().splitlines()[-1])["frames"]
        except (FileNotFoundError, IndexError, json.JSONDecodeError):
            return 0

    def _wait(self, condition, what: str) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert self.process.poll() is None, f"the run ended early:\n{self.said()}"
            assert time.monotonic() < deadline, f"waited {LIMIT_SECONDS} s for {what}"
            time.sleep(0.2)

    def said(self) -> str:
        """What the run printed."""
        self.log.flush()
        return Path(self.log.name).read_text()

    def assert_nothing_left(self) -> None:
        """No process of the run is alive after a grace of some seconds."""
        _, alive = psutil.wait_procs(self.children, timeout=20)
        assert not alive, [process.cmdline() for process in alive]

    def assert_frames_are_kept(self) -> None:
        """What had arrived is on disk: as it came, and as a file of frames."""
        records = list(CaptureReader(self.directory / "capture.bin"))
        with h5py.File(self.directory / "frames.h5") as store:
            assert len(store["tracks/track_0/data/raw_data"]) == len(records) >= 1

    def child(self, name: str) -> psutil.Process:
        """The child whose command line contains ``name``."""
        return next(process for process in self.children if name in " ".join(process.cmdline()))


@pytest.fixture
def start(tmp_path):
    runs = []

    def begin(peer, program="sim"):
        runs.append(Run(tmp_path, peer, program))
        runs[-1].wait_streaming()
        return runs[-1]

    yield begin
    for run in runs:
        for process in [run.process, *run.children]:
            if isinstance(process, subprocess.Popen) or process.is_running():
                process.kill()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cleans_up_and_says_so(start, kind):
    run = start("model")
    run.process.send_signal(kind)
    assert run.process.wait(30) == 130
    assert "interrupted" in run.said()
    run.assert_nothing_left()


def test_a_killed_runner_takes_the_simulator_with_it(start):
    run = start("model")
    run.process.kill()
    run.process.wait(10)
    run.assert_nothing_left()


def test_a_simulator_that_dies_fails_the_run(start):
    run = start("model")
    run.child("bench_top").kill()
    assert run.process.wait(60) == 1
    assert "the simulator was killed by SIGKILL" in run.said()
    report = json.loads((run.directory / "report.json").read_text())
    assert report["verdict"] == "fail"
    run.assert_nothing_left()


@pytest.mark.peer
def test_a_vm_that_dies_fails_the_run_and_its_frames_stay(start):
    run = start("vm")
    run.child("qemu-system").kill()
    assert run.process.wait(120) == 1
    assert "the micro-VM was killed by SIGKILL" in run.said()
    run.assert_frames_are_kept()
    run.assert_nothing_left()


@pytest.mark.peer
def test_a_receiver_that_dies_in_the_vm_fails_the_run_and_its_frames_stay(start):
    run = start("vm", "tests.sim.run.doomed")
    (run.directory / "die").touch()
    assert run.process.wait(120) == 1
    assert "receiver.log" in run.said()
    assert "exit code 137" in (run.directory / "receiver.log").read_text()
    run.assert_frames_are_kept()
    run.assert_nothing_left()


@pytest.mark.peer
def test_a_killed_runner_takes_the_vm_with_it(start):
    run = start("vm")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait(10)
    run.assert_nothing_left()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small file system")
@pytest.mark.parametrize("size", ["60k", "200k"])
def test_a_full_disk_fails_the_run_in_a_line(tmp_path, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(tmp_path)], check=True)
    try:
        command = [sys.executable, "-m", "sim", "run", "smoke", "--peer", "model", "--no-waves"]
        command += ["--output", str(tmp_path / "run")]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        assert run.returncode == 1
        assert "Traceback" not in run.stdout + run.stderr
        assert "space" in run.stdout or "full disk" in run.stdout
        report = tmp_path / "run" / "report.json"
        assert not report.exists() or json.loads(report.read_text())["verdict"] == "fail"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
