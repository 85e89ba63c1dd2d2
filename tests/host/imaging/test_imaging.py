import time

import numpy as np
import pytest
from PIL import Image

from host.imaging import Path, Probe, bmode, delay_and_sum, envelope, log_compress
from host.imaging.pictures import bmode_png

RATE = 80e6
PROBE = Probe(elements=64)


def point_echo(x_m, z_m, path=Path.PLANE_WAVE, samples=1024, probe=PROBE):
    """Channel data of one point: a Gaussian burst at its time of flight, written down apart from the beamformer."""
    data = np.zeros((samples, probe.elements))
    time_s = np.arange(samples) / RATE
    for element, position in enumerate(probe.element_x_m):
        flight = np.hypot(position - x_m, z_m) + (z_m if path is Path.PLANE_WAVE else 0)
        late = time_s - flight / probe.sound_speed_m_s
        data[:, element] = np.exp(-((late * 4e6) ** 2)) * np.cos(2 * np.pi * probe.centre_frequency_hz * late)
    return np.rint(10_000 * data).astype(np.int16)


@pytest.mark.parametrize("path", list(Path))
@pytest.mark.parametrize(("x_mm", "z_mm"), [(0.1, 3.0), (-2.5, 6.0), (3.1, 8.5)])
def test_a_point_is_imaged_where_it_is(path, x_mm, z_mm):
    image = bmode(point_echo(x_mm * 1e-3, z_mm * 1e-3, path=path), PROBE, RATE, path=path)
    row, column = np.unravel_index(np.argmax(image.db), image.db.shape)
    assert image.depth_mm[row] == pytest.approx(z_mm, abs=0.06)
    assert image.lateral_mm[column] == pytest.approx(x_mm, abs=0.11)
    aside = image.db[:, np.abs(image.lateral_mm - x_mm) > 1.5]
    assert aside.max() < -18


def test_first_sample_time_shifts_the_depth():
    data = point_echo(0.1e-3, 5e-3)
    start = 200 / RATE
    image = bmode(data[200:], PROBE, RATE, first_sample_s=start)
    row, _ = np.unravel_index(np.argmax(image.db), image.db.shape)
    assert image.depth_mm[row] == pytest.approx(5.0, abs=0.06)


def test_focus_gathers_the_aperture():
    """The sum is in phase: its envelope at the point is the echo's own amplitude, whatever the number of elements."""
    lines = delay_and_sum(point_echo(0.1e-3, 6e-3), PROBE, RATE)
    assert envelope(lines.rf).max() == pytest.approx(10_000, rel=0.05)


def test_speckle_cyst_contrast():
    from sim.adc.sources import default_probe, make_shots

    shot = make_shots("phantom", 1, 2048, 128, RATE, seed=1).shot(0)
    image = bmode(shot, default_probe(128), RATE)
    width, depth = 128 * 0.2, 1540 * 2048 / RATE / 2 * 1e3
    x, z = np.meshgrid(image.lateral_mm / width, image.depth_mm / depth)
    radius = min(width, depth)
    distance = np.hypot((x + 0.24) * width, (z - 0.42) * depth) / radius
    inside = image.db[distance < 0.08].mean()
    around = image.db[(distance > 0.15) & (distance < 0.2)].mean()
    assert around - inside > 15


@pytest.mark.parametrize("length", [225, 251, 256])
@pytest.mark.parametrize("phase_step", [0.7, 2.4])
def test_envelope_of_a_burst(length, phase_step):
    time_s = np.arange(length) - length / 2
    window = np.exp(-((time_s / 30) ** 2))
    burst = (window * np.cos(time_s * phase_step)).astype(np.float32)[:, None]
    assert envelope(burst)[:, 0] == pytest.approx(window, abs=2e-3)


def test_log_compression():
    assert log_compress(np.array([1, 0.1, 0.01, 0], np.float32), 30) == pytest.approx([0, -20, -30, -30])
    assert log_compress(np.array([1, 1e-9], np.float32), 60)[1] == -60
    assert np.all(log_compress(np.zeros(3, np.float32), 40) == -40)


def test_shapes_that_do_not_fit_are_refused():
    for shape in ((100, 63), (100,), (1, 64)):
        with pytest.raises(ValueError, match=r"samples"):
            delay_and_sum(np.zeros(shape, np.int16), PROBE, RATE)
    with pytest.raises(ValueError, match="pitch_m must be positive"):
        Probe(elements=2, pitch_m=0)
    with pytest.raises(ValueError, match="at least one element"):
        Probe(elements=0)


@pytest.mark.parametrize("shape", [(2, 1), (16, 1), (64, 2), (3, 64)])
def test_tiny_data_gives_an_image_without_warnings(shape, recwarn):
    image = bmode(np.ones(shape, np.int16), Probe(elements=shape[1]), RATE)
    assert np.all(np.isfinite(image.db))
    assert not recwarn.list


def test_default_shot_costs_less_than_the_budget():
    data = np.random.default_rng(1).integers(-9999, 9999, (4096, 256), np.int16)
    begin = time.process_time()
    bmode(data, Probe(elements=256), RATE)
    assert time.process_time() - begin < 0.3


@pytest.mark.parametrize("shape", [(1024, 64), (64, 2)])
def test_png_can_be_opened_and_is_the_same_again(tmp_path, shape):
    data = np.random.default_rng(1).integers(-9999, 9999, shape, np.int16)
    image = bmode(data, Probe(elements=shape[1]), RATE)
    for name in ("a.png", "b.png"):
        bmode_png(image, tmp_path / name, "title")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == 1200 and picture.height >= 450
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
