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
