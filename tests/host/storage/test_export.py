"""A capture log as files of other tools, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from host.__main__ import main
from host.frame_layout import MODE_ULTRASOUND
from host.receive.capture import CaptureWriter
from host.storage import FrameFile
from host.storage.export import NothingToExport, export
from tests.host.receive.frames import SHAPE, samples
from tests.host.receive.test_replay import log_of
from tests.sim.peers.hand_made import ultrasound_frame


def test_hdf5_has_every_frame_with_its_flags(tmp_path: Path):
    log = log_of(tmp_path / "log.bin", [4, 5, 7], flagged=(5,))
    done = export(log, tmp_path / "out.h5", "h5")
    assert (done.frames, done.flagged, done.files) == (3, 1, [tmp_path / "out.h5"])
    with FrameFile(tmp_path / "out.h5") as file:
        assert file.table["sequence"].tolist() == [4, 5, 7]
        assert file.table["link_errors"].tolist() == [0, 1, 0]
        for index, sequence in enumerate((4, 5, 7)):
            assert np.array_equal(file.samples(index), samples(sequence))
        assert file.track_of(0).mode == MODE_ULTRASOUND


def test_numpy_has_frames_samples_channels(tmp_path: Path):
    export(log_of(tmp_path / "log", [4, 5]), tmp_path / "out.npy", "npy")
    array = np.load(tmp_path / "out.npy", allow_pickle=False)
    assert array.dtype == np.int16 and array.shape == (2, SHAPE.samples, SHAPE.channels)
    assert np.array_equal(array[1], samples(5))


def test_frames_of_other_shapes_have_files_of_their_own(tmp_path: Path):
    log = log_of(tmp_path / "log", [4, 5])
    other = np.arange(8 * 3, dtype=np.int16).reshape(8, 3)
    with CaptureWriter(log) as writer:
        writer.append(0, 6, ultrasound_frame(6, other.tobytes(), 3))
    done = export(log, tmp_path / "out.npy", "npy")
    assert sorted(path.name for path in done.files) == ["out-ultrasound-5x6.npy", "out-ultrasound-8x3.npy"]
    assert np.array_equal(np.load(tmp_path / "out-ultrasound-8x3.npy")[0], other)


def test_what_is_left_out_is_told(tmp_path: Path):
    log = log_of(tmp_path / "log", [1, 2, 3], broken=(2,), flagged=(3,))
    done = export(log, tmp_path / "out.npy", "npy", flagged=False)
    assert (done.frames, done.without_header, done.flagged_left_out) == (1, 1, 1)


@pytest.mark.parametrize("form", ["h5", "npy"])
def test_a_log_without_frames(tmp_path: Path, form: str):
    log = log_of(tmp_path / "log", [2], broken=(2,))
    with pytest.raises(NothingToExport, match="1 without a valid header"):
        export(log, tmp_path / f"out.{form}", form)
    assert not (tmp_path / f"out.{form}").exists()
    with pytest.raises(ValueError, match="'mat': allowed h5, npy"):
        export(log, tmp_path / "out", "mat")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = log_of(tmp_path / "log.bin", [1, 2, 3], flagged=(3,))
    assert main(["export", str(log), "--only-good"]) == 0
    assert f"2 frames, 0 of them flagged: {tmp_path / 'log.h5'}" in capsys.readouterr().out.replace("\n", " ")
    assert main(["export", str(tmp_path / "absent")]) == 2
    assert "absent" in capsys.readouterr().err
