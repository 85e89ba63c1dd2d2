import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from host.frame_layout import HEADER, MODE_PHOTOACOUSTIC, MODE_ULTRASOUND, TRAILER
from host.imaging import Probe
from host.storage import FrameFile, FrameFileError, FrameWriter

ROOT = Path(__file__).resolve().parents[3]
PROBE = Probe(elements=8, pitch_m=0.3e-3, centre_frequency_hz=4e6, sound_speed_m_s=1480.0, name="test array")


def frame(sequence, samples=32, channels=8, mode=MODE_ULTRASOUND, sample_rate=8000):
    data = np.random.default_rng(sequence).integers(-32768, 32768, (samples, channels), np.int16)
    header = np.zeros((), HEADER)
    header["sequence"], header["shot"], header["mode"] = sequence, sequence + 1, mode
    header["samples"], header["channels"], header["sample_rate"] = samples, channels, sample_rate
    header["timestamp"] = (7 + sequence) << 32 | 999_999_999 << 2 | 3
    header["trigger"] = (2**40 + sequence) << 8 | 200
    header["dropped_before"], header["ring_high_water"] = 3 * sequence, 10 + sequence
    header["configuration"], header["flags"] = 77, 5
    trailer = np.zeros((), TRAILER)
    trailer["timestamp"], trailer["link_errors"], trailer["error_lanes"] = 8 << 32 | 6, 9, 2**63
    return data, header[()], trailer[()]


def test_round_trip_of_samples_and_table(tmp_path):
    path = tmp_path / "frames.h5"
    with FrameWriter(path, PROBE, first_sample_s={1: 1e-6}, description="words") as writer:
        for sequence in (4, 5, 9):
            writer.append(*frame(sequence), crc_ok=sequence != 5)
            assert len(writer) == {4: 1, 5: 2, 9: 3}[sequence]
    with FrameFile(path) as frames:
        assert len(frames) == 3
        for number, sequence in enumerate((4, 5, 9)):
            assert np.array_equal(frames.samples(number), frame(sequence)[0])
        with pytest.raises(IndexError):
            frames.samples(3)
        row = frames.table[2]
        assert {name: row[name] for name in row.dtype.names} == {
            "track": 0,
            "index": 2,
            "sequence": 9,
            "shot": 10,
            "mode": MODE_ULTRASOUND,
            "crc_ok": 1,
            "trigger_fraction": 200,
            "configuration": 77,
            "timestamp_s": 16,
            "timestamp_ns": 999_999_999.75,
            "end_timestamp_s": 8,
            "end_timestamp_ns": 1.5,
            "trigger_tick": 2**40 + 9,
            "dropped_before": 27,
            "ring_high_water_bytes": 19 * 256,
            "link_errors": 9,
            "error_lanes": 2**63,
            "flags": 5,
        }
        assert list(frames.table["crc_ok"]) == [1, 0, 1]
        (track,) = frames.tracks
        assert (track.label, track.frames, track.samples, track.channels) == ("ultrasound", 3, 32, 8)
        assert track.sample_rate_hz == 80e6
        assert track.first_sample_s == pytest.approx(1e-6)
        assert track.probe.elements == 8 and track.probe.name == "test array"
        assert track.probe.pitch_m == pytest.approx(0.3e-3)
        assert track.probe.centre_frequency_hz == 4e6
        assert track.probe.sound_speed_m_s == 1480.0


def test_names_shapes_and_types_are_those_that_zea_wants(tmp_path):
    path = tmp_path / "frames.h5"
    with FrameWriter(path, PROBE) as writer:
        for sequence in range(2):
            writer.append(*frame(sequence), crc_ok=True)
    wanted = {
        "probe_geometry": (8, 3),
        "sampling_frequency": (),
        "center_frequency": (),
        "demodulation_frequency": (),
        "sound_speed": (),
        "initial_times": (1,),
        "t0_delays": (1, 8),
        "tx_apodizations": (1, 8),
        "focus_distances": (1,),
        "transmit_origins": (1, 3),
        "polar_angles": (1,),
        "azimuth_angles": (1,),
    }
    with h5py.File(path) as file:
        raw = file["tracks/track_0/data/raw_data"]
        assert raw.shape == (2, 1, 32, 8, 1) and raw.dtype == np.int16 and raw.chunks == (1, 1, 32, 8, 1)
        assert np.array_equal(raw[1, 0, :, :, 0], frame(1)[0])
        scan = file["tracks/track_0/scan"]
        assert {name: item.shape for name, item in scan.items()} == wanted
        assert all(item.dtype == np.float32 for item in scan.values())
        assert list(file["track_schedule"][()]) == [0, 0]
        # Nothing in the file may need unpickling or an object type.
        kinds = []
        file.visititems(lambda _, item: kinds.append(item.dtype.kind) if isinstance(item, h5py.Dataset) else None)
        assert set(kinds) <= {"i", "f", "V", "O"} and kinds.count("O") == 1
        assert h5py.check_string_dtype(file["tracks/track_0/label"].dtype).encoding == "utf-8"


def test_each_mode_shape_and_rate_has_its_track(tmp_path):
    path = tmp_path / "frames.h5"
    other = {"channels": 4, "mode": MODE_PHOTOACOUSTIC, "sample_rate": 12_500}
    plan = [{}, other, {}, {"samples": 16}, other]
    with FrameWriter(path, PROBE) as writer:
        for sequence, options in enumerate(plan):
            writer.append(*frame(sequence, **options), crc_ok=True)
    with FrameFile(path) as frames:
        assert list(frames.table["track"]) == [0, 1, 0, 2, 1]
        assert list(frames.table["index"]) == [0, 0, 1, 0, 1]
        assert [track.label for track in frames.tracks] == ["ultrasound", "photoacoustic", "ultrasound 2"]
        assert [track.frames for track in frames.tracks] == [2, 2, 1]
        assert frames.tracks[1].probe.elements == 4 and frames.tracks[1].sample_rate_hz == 125e6
        for number, options in enumerate(plan):
            assert np.array_equal(frames.samples(number), frame(number, **options)[0])
        assert frames.track_of(3).samples == 16
    with h5py.File(path) as file:
        assert not file["tracks/track_1/scan/tx_apodizations"][()].any()
        assert file["tracks/track_0/scan/tx_apodizations"][()].all()


def test_frame_without_trailer_and_views_without_copy(tmp_path):
    data, header, _ = frame(1)
    view = np.zeros((32, 16), np.int16)[:, ::2]
    view[:] = data
    with FrameWriter(tmp_path / "f.h5", PROBE) as writer:
        writer.append(view, header, None, crc_ok=False)
    with FrameFile(tmp_path / "f.h5") as frames:
        assert np.array_equal(frames.samples(0), data)
        assert frames.table[0]["end_timestamp_s"] == 0 and frames.table[0]["link_errors"] == 0


def test_samples_that_contradict_their_header_are_refused(tmp_path):
    data, header, trailer = frame(1)
    with FrameWriter(tmp_path / "f.h5", PROBE) as writer:
        for wrong in (data[:-1], data.T, data.astype(np.int32), data.view(np.uint16)):
            with pytest.raises(ValueError, match="header says int16"):
                writer.append(wrong, header, trailer, crc_ok=True)
        assert len(writer) == 0


def test_empty_and_foreign_files(tmp_path):
    FrameWriter(tmp_path / "empty.h5", PROBE).close()
    with FrameFile(tmp_path / "empty.h5") as frames:
        assert len(frames) == 0 and frames.tracks == ()
    h5py.File(tmp_path / "foreign.h5", "w").close()
    with pytest.raises(FrameFileError, match="layout None 0"):
        FrameFile(tmp_path / "foreign.h5")
    with h5py.File(tmp_path / "empty.h5", "r+") as file:
        file.attrs["layout_version"] = 2
    with pytest.raises(FrameFileError, match="echobench-frames 2"):
        FrameFile(tmp_path / "empty.h5")


def test_memory_does_not_grow_with_frames(tmp_path):
    shape = {"samples": 1024, "channels": 64}
    data, header, trailer = frame(0, **shape)
    peaks = []
    for count in (4, 40):
        with FrameWriter(tmp_path / "f.h5", PROBE) as writer:
            tracemalloc.start()
            for _ in range(count):
                writer.append(data, header, trailer, crc_ok=True)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + data.nbytes


def test_a_killed_writer_leaves_its_frames(tmp_path):
    path = tmp_path / "frames.h5"
    script = (
        "import os, sys, signal; from pathlib import Path; from tests.host.storage.test_frames import *\n"
        "writer = FrameWriter(Path(sys.argv[1]), PROBE)\n"
        "for sequence in range(5): writer.append(*frame(sequence), crc_ok=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    with FrameFile(path) as frames:
        assert len(frames) == 5
        assert np.array_equal(frames.samples(4), frame(4)[0])


def test_recording_is_a_source_again(tmp_path):
    from sim.adc.sources import make_shots

    path = tmp_path / "frames.h5"
    with FrameWriter(path, PROBE) as writer:
        for sequence in range(3):
            writer.append(*frame(sequence), crc_ok=True)
    with make_shots(str(path), 3, 32, 8, 80e6, seed=1) as source:
        assert np.array_equal(source.shot(2), frame(2)[0])


@pytest.mark.parametrize("mode", [MODE_ULTRASOUND, MODE_PHOTOACOUSTIC])
def test_example_makes_a_picture(tmp_path, mode):
    with FrameWriter(tmp_path / "frames.h5", PROBE) as writer:
        for sequence in range(2):
            writer.append(*frame(sequence, samples=256, mode=mode), crc_ok=True)
    picture = tmp_path / "picture.png"
    arguments = [str(tmp_path / "frames.h5"), "--frame", "1", "--output", str(picture)]
    subprocess.run([sys.executable, "-m", "host.examples.show_bmode", *arguments], cwd=ROOT, check=True)
    with Image.open(picture) as image:
        assert image.width == 1200
