import time
import tracemalloc

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.frame_layout import MODE_PHOTOACOUSTIC
from sim.adc.sources import KINDS, SourceError, TickStream, make_shots
from sim.adc.sources.phantom import PEAK
from sim.adc.sources.stream import IDLE_PERIOD

RATE = 80e6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(64, 16), (129, 256), (1, 1)])
def test_every_source_makes_the_shape_asked_for_and_the_same_again(kind, shape):
    first, second = (make_shots(kind, 3, *shape, RATE, seed=5) for _ in range(2))
    for index in (2, 0, 1):
        shot = first.shot(index)
        assert shot.dtype == np.int16 and shot.shape == shape
        assert np.array_equal(shot, second.shot(index))
    for outside in (-1, 3):
        with pytest.raises(IndexError):
            first.shot(outside)


@pytest.mark.parametrize("kind", KINDS)
def test_shots_differ(kind):
    source = make_shots(kind, 4, 64, 16, RATE, seed=1)
    shots = [source.shot(index).tobytes() for index in range(4)]
    assert len(set(shots)) == 4


@pytest.mark.parametrize("kind", ["phantom", "prbs"])
def test_seed_changes_the_samples(kind):
    one, two = (make_shots(kind, 1, 64, 16, RATE, seed=seed).shot(0) for seed in (1, 2))
    assert not np.array_equal(one, two)


def test_ramp_runs_on_from_shot_to_shot():
    source = make_shots("ramp", 3, 100, 4, RATE, seed=1)
    values = np.concatenate([source.shot(index) for index in range(3)]).view(np.uint16)
    assert np.all(np.diff(values[:, 0].astype(int)) == 1)
    assert np.all(np.diff(values.astype(int), axis=1) == 1)


def test_constant_shots_end_in_codes_of_control_characters():
    source = make_shots("constant", 5, 20, 8, RATE, seed=1)
    values = [np.unique(source.shot(index).view(np.uint16)).tolist() for index in range(5)]
    assert values == [[0x7CFC], [0xFC7C], [0x1CBC], [0x9C00], [0x7CFC]]


def test_square_is_full_scale_and_each_channel_and_shot_a_sample_further_on():
    source = make_shots("square", 2, 64, 9, RATE, seed=1)
    first, second = source.shot(0), source.shot(1)
    assert np.unique(first).tolist() == [-32768, 32767]
    turns = np.flatnonzero(np.diff(first[:, 0].astype(int)))
    assert turns.tolist() == list(range(7, 63, 8))
    assert np.array_equal(first[:-1, 1], first[1:, 0])
    assert np.array_equal(second[:-1], first[1:])


def test_unique_gives_each_channel_a_code():
    shot = make_shots("unique", 1, 300, 256, RATE, seed=1).shot(0).view(np.uint16)
    assert np.array_equal(shot >> 8, np.broadcast_to(np.arange(256), shot.shape))
    assert np.all(np.diff(shot.astype(int) & 255, axis=0) % 256 == 1)
    with pytest.raises(SourceError, match="256 distinct"):
        make_shots("unique", 1, 4, 257, RATE, seed=1)


def test_prbs_obeys_its_polynomial_and_is_balanced():
    shot = make_shots("prbs", 2, 512, 8, RATE, seed=3).shot(1)
    bits = np.unpackbits(shot.astype(">i2").view(np.uint8).reshape(512, 8, 2).swapaxes(0, 1).reshape(8, -1), axis=1)
    assert np.array_equal(bits[:, 31:], bits[:, 3:-28] ^ bits[:, :-31])
    assert np.all(abs(bits.mean(axis=1) - 0.5) < 0.03)
    assert len({row.tobytes() for row in bits}) == 8


def test_phantom_echo_arrives_when_geometry_says():
    """A wire at half the width and 0.1 of the depth is heard by the elements above it after its two-way time."""
    shot = make_shots("phantom", 1, 1024, 64, RATE, seed=1).shot(0).astype(int)
    depth_samples = 0.1 * 1024
    above = np.abs(shot[:, 31:33]).max(axis=1)
    window = above[int(depth_samples) - 24 : int(depth_samples) + 24]
    assert abs(np.argmax(window) - 24) <= 2
    assert window.max() > 5 * np.median(above)


def test_phantom_uses_the_range_without_clipping():
    for mode, channels, rate in ((1, 64, RATE), (MODE_PHOTOACOUSTIC, 128, 125e6)):
        shot = make_shots("phantom", 1, 1024, channels, rate, seed=1, mode=mode).shot(0).astype(int)
        assert abs(np.abs(shot).max() - PEAK) <= 32
        assert PEAK + 32 < 32_767


def test_default_phantom_costs_less_than_a_second():
    begin = time.process_time()
    make_shots("phantom", 4, 4096, 256, RATE, seed=1).shot(0)
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("suffix", [".npy", ".h5"])
def test_recorded_samples_come_back(tmp_path, suffix):
    data = np.random.default_rng(1).integers(-32768, 32768, (3, 20, 4), np.int16)
    path = tmp_path / f"shots{suffix}"
    if suffix == ".npy":
        np.save(path, data)
    else:
        with h5py.File(path, "w") as file:
            file["some/name"] = data
    with make_shots(str(path), 2, 20, 4, RATE, seed=1) as source:
        assert np.array_equal(source.shot(1), data[1])
        source.shot(0)[:] = 0
        assert np.array_equal(source.shot(0), data[0])
        with pytest.raises(IndexError):
            source.shot(2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((3, 20, 4), np.int32), "holds int32; it must be int16"),
        (np.zeros((3, 20, 4), np.uint16), "holds uint16; it must be int16"),
        (np.zeros((20, 4), np.int16), r"shape \(20, 4\)"),
        (np.zeros((3, 21, 4), np.int16), "21 samples x 4 channels a shot; the scenario asks for 20 x 4"),
        (np.zeros((1, 20, 4), np.int16), "holds 1 shots; the scenario asks for 2"),
        (np.array([{"a": 1}], dtype=object), "without pickles"),
    ],
)
def test_recorded_samples_that_do_not_fit_are_refused(tmp_path, data, message):
    path = tmp_path / "shots.npy"
    np.save(path, data)
    with pytest.raises(SourceError, match=message):
        make_shots(str(path), 2, 20, 4, RATE, seed=1)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        make_shots(str(tmp_path / "no.npy"), 1, 1, 1, RATE, seed=1)
    for name in ("a.npy", "a.h5"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
        with pytest.raises(SourceError, match="is no"):
            make_shots(str(tmp_path / name), 1, 1, 1, RATE, seed=1)
    with pytest.raises(SourceError, match="neither one of phantom, ramp, unique, prbs, constant, square nor a path"):
        make_shots("phantm", 1, 1, 1, RATE, seed=1)
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"] = file["b"] = np.zeros((1, 1, 1), np.int16)
        file["c"] = np.zeros((1, 1, 1), np.int16)
    with pytest.raises(SourceError, match="one dataset"):
        make_shots(str(tmp_path / "two.h5"), 1, 1, 1, RATE, seed=1)


@settings(max_examples=40, deadline=None)
@given(
    gaps=st.lists(st.integers(0, 90), min_size=1, max_size=5),
    chunks=st.lists(st.integers(0, 150), min_size=1, max_size=12),
)
def test_stream_is_idle_pattern_with_shots_in_place_whatever_the_chunks(gaps, chunks):
    source = make_shots("unique", len(gaps), 40, 3, RATE, seed=1)
    stream, quiet = TickStream(source, idle_value=9), TickStream(source, idle_value=9)
    total = sum(chunks)
    expected = quiet.samples(0, total).copy()
    tick = 0
    for index, gap in enumerate(gaps):
        tick += gap
        stream.schedule(index, tick)
        part = expected[tick : tick + 40]
        part[:] = source.shot(index)[: len(part)]
        tick += 40
    position, got = 0, []
    for count in chunks:
        got.append(stream.samples(position, count))
        position += count
    assert np.array_equal(np.concatenate(got), expected)


def test_stream_idle_is_small_and_repeats():
    stream = TickStream(make_shots("unique", 1, 8, 4, RATE, seed=1), idle_value=100, idle_amplitude=3)
    idle = stream.samples(5, 3 * IDLE_PERIOD)
    assert np.array_equal(
        idle[:100], TickStream(make_shots("unique", 1, 8, 4, RATE, seed=1), idle_value=100).samples(5, 100)
    )
    assert idle.min() == 97 and idle.max() == 103
    assert np.array_equal(idle[:IDLE_PERIOD], idle[IDLE_PERIOD : 2 * IDLE_PERIOD])
    with pytest.raises(ValueError, match="int16"):
        TickStream(make_shots("unique", 1, 8, 4, RATE, seed=1), idle_value=32767)


def test_stream_refuses_what_cannot_be():
    stream = TickStream(make_shots("unique", 3, 40, 4, RATE, seed=1))
    stream.schedule(0, 100)
    with pytest.raises(ValueError, match="overlap"):
        stream.schedule(1, 139)
    with pytest.raises(IndexError):
        stream.schedule(3, 500)
    stream.samples(0, 200)
    assert stream.position == 200
    with pytest.raises(ValueError, match="tick 200 comes next"):
        stream.schedule(1, 199)
    stream.schedule(1, 200)
    stream.samples(150, 10)
    assert stream.position == 200
    with pytest.raises(ValueError, match="is past"):
        stream.samples(149, 1)
    with pytest.raises(ValueError, match="read-only"):
        stream.samples(195, 10)[:] = 0


def test_stream_memory_and_time_do_not_grow_with_shots():
    source = make_shots("unique", 64, 512, 256, RATE, seed=1)
    stream = TickStream(source)
    for index in range(64):
        stream.schedule(index, 1000 * index + 300)
    tracemalloc.start()
    calls = 0
    begin = time.process_time()
    for tick in range(0, 64_000, 128):
        stream.samples(tick, 128)
        calls += 1
    elapsed = time.process_time() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 512 * 256 * 2
    assert elapsed / calls < 1e-3
