"""The log of received frames: what was appended comes back, whatever happened to the writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from host.receive.capture import RECORD_HEADER_BYTES, CaptureError, CaptureReader, CaptureWriter
from sim.sources import ROOT


def written(path: Path, count: int = 3) -> list[bytes]:
    frames = [bytes([index]) * (1000 + index) for index in range(count)]
    with CaptureWriter(path) as log:
        for index, frame in enumerate(frames):
            log.append(index, 0xABC00000 | index, np.frombuffer(frame, np.uint8))
    return frames


def test_round_trip_and_append(tmp_path: Path):
    path = tmp_path / "log"
    frames = written(path) + written(path)
    records = list(CaptureReader(path))
    assert [record.data for record in records] == frames
    assert [record.slot for record in records] == [0, 1, 2] * 2
    assert records[1].immediate == 0xABC00001
    assert records[0].wall_time_ns <= records[-1].wall_time_ns


@pytest.mark.parametrize("missing", [1, 500, 1002, 1002 + RECORD_HEADER_BYTES - 1])
def test_truncated_end_is_left_out(tmp_path: Path, missing: int):
    path = tmp_path / "log"
    frames = written(path)
    whole = path.stat().st_size
    os.truncate(path, whole - missing)
    reader = CaptureReader(path)
    assert [record.data for record in reader] == frames[:2]
    assert reader.truncated_bytes == RECORD_HEADER_BYTES + 1002 - missing


def test_damage_before_the_end_is_an_error(tmp_path: Path):
    path = tmp_path / "log"
    written(path)
    content = bytearray(path.read_bytes())
    content[RECORD_HEADER_BYTES + 1000 + 9] ^= 1  # slot number of the second record
    path.write_bytes(content)
    reader = iter(CaptureReader(path))
    next(reader)
    with pytest.raises(CaptureError, match="no record at byte 1040"):
        next(reader)


def test_nothing_is_lost_when_the_writer_is_killed(tmp_path: Path):
    path = tmp_path / "log"
    program = (
        "import os, signal, sys; from pathlib import Path; from host.receive.capture import CaptureWriter\n"
        f"log = CaptureWriter(Path({str(path)!r}))\n"
        "log.append(1, 2, b'x' * 100000)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert result.returncode == -signal.SIGKILL
    (record,) = CaptureReader(path)
    assert record.data == b"x" * 100000


@pytest.mark.parametrize("missing", [1, 1002, 1002 + RECORD_HEADER_BYTES - 1])
def test_a_new_writer_goes_on_behind_the_last_whole_record(tmp_path: Path, missing: int):
    path = tmp_path / "log"
    frames = written(path)
    os.truncate(path, path.stat().st_size - missing)
    reader = CaptureReader(path)
    with CaptureWriter(path) as log:
        log.append(9, 9, b"behind")
    assert [record.data for record in reader] == [*frames[:2], b"behind"]
    assert reader.truncated_bytes == 0


def test_a_file_that_is_no_log_is_not_appended_to(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"something else that somebody wants to keep" * 3)
    with pytest.raises(CaptureError, match="no record at byte 0"):
        CaptureWriter(path)
    assert path.read_bytes().startswith(b"something else")


def test_a_frame_that_does_not_fit_leaves_nothing_behind_and_the_next_one_may(tmp_path: Path):
    path = tmp_path / "log"
    program = (
        "import resource, signal, sys; from pathlib import Path; from host.receive.capture import CaptureWriter\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        f"log = CaptureWriter(Path({str(path)!r}))\n"
        "log.append(1, 2, b'x' * 1000)\n"
        "try:\n"
        "    log.append(2, 3, b'y' * 9000)\n"
        "except OSError as error:\n"
        "    print(error)\n"
        "log.append(3, 4, b'z' * 100)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "File too large" in result.stdout
    reader = CaptureReader(path)
    assert [record.slot for record in reader] == [1, 3]
    assert reader.truncated_bytes == 0
