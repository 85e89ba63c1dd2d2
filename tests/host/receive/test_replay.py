"""Host code on a capture log: frames, flags and account as when they came."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from host.__main__ import main
from host.frame_layout import immediate
from host.receive.capture import CaptureError, CaptureWriter
from host.receive.errors import StreamEnded
from host.receive.replay import Replay
from sim.sources import ROOT
from tests.host.receive.frames import SHAPE, frame, samples


def log_of(path: Path, sequences: list[int], *, broken: tuple[int, ...] = (), flagged: tuple[int, ...] = ()) -> Path:
    with CaptureWriter(path) as log:
        for sequence in sequences:
            data = frame(sequence, link_errors=int(sequence in flagged), seed=sequence)[: SHAPE.frame_bytes].copy()
            if sequence in broken:
                data[0] ^= 1
            log.append(0, immediate(0, sequence), data)
    return path


def test_frames_are_as_they_came(tmp_path: Path):
    path = log_of(tmp_path / "log", [5, 6, 9], broken=(6,), flagged=(9,))
    with Replay(path) as replay:
        first, second, third = replay
    assert first.ok and np.array_equal(first.samples, samples(5))
    assert not second.ok and second.problems[0].startswith("header_magic") and second.shape is None
    assert third.problems == ("link_errors: disparity",) and np.array_equal(third.samples, samples(9))
    first.release()
    counted = replay.statistics
    assert (counted.frames, counted.flagged, counted.lost, counted.dropped) == (3, 2, 2, 0)
    with pytest.raises(StreamEnded):
        replay.receive()


def test_a_log_that_was_cut_off_says_so(tmp_path: Path):
    path = log_of(tmp_path / "log", [1, 2])
    path.write_bytes(path.read_bytes()[:-10])
    with Replay(path) as replay:
        assert [entry.sequence for entry in replay] == [1]
        assert replay.truncated_bytes > 0


def test_speed_keeps_the_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "log"
    times = iter([1_000_000_000, 3_000_000_000, 4_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    log_of(path, [1, 2, 3])
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "monotonic", lambda: 50.0)
    with Replay(path, speed=2.0) as replay:
        list(replay)
    assert slept == [0.0, 1.0, 1.5]
    with pytest.raises(ValueError, match=r"speed = -1: 0 for as fast"):
        Replay(path, speed=-1)


def test_no_verbs_are_needed(tmp_path: Path):
    path = log_of(tmp_path / "log", [1])
    program = (
        "import sys; sys.modules['pyverbs'] = None\n"
        "from host.receive.replay import Replay\n"
        f"print(sum(frame.ok for frame in Replay({str(path)!r})))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["replay", str(log_of(tmp_path / "good", [1, 2]))]) == 0
    said = capsys.readouterr().out
    assert "frame 1: 6 channels x 5 samples, 80 MSPS: good" in said
    assert "2 frames: 0 flagged, 0 lost, 0 dropped before sending" in said
    assert main(["replay", str(log_of(tmp_path / "bad", [1, 3], flagged=(3,))), "--images", str(tmp_path / "p")]) == 1
    said = capsys.readouterr().out
    assert "1 flagged, 1 lost" in said and "link_errors: 1" in said
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["1.png"]
    (tmp_path / "text").write_text("no log" * 20)
    assert main(["replay", str(tmp_path / "text")]) == 2
    assert "no record at byte 0" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "absent")]) == 2


def test_damage_is_an_error(tmp_path: Path):
    path = log_of(tmp_path / "log", [1, 2])
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)
    with pytest.raises(CaptureError):
        list(Replay(path))
