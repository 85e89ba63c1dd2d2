"""Snapshots as lines, their writer that nothing holds up, and their reader that takes files as they are."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.monitor import Clock, Publisher, QueuePairState, Snapshot, SnapshotError, percentile
from host.monitor.follow import Follower, file_of


def snapshot(time_s: float = 1.0, **change) -> Snapshot:
    given = {
        "source": "front end",
        "name": "default",
        "clock": Clock.SIMULATED,
        "time_s": time_s,
        "written_s": 100.0,
        "queue_pairs": (QueuePairState(number=2, bytes=1000, frames=1, outstanding=3, depth=1023),),
        "frames": 1,
    }
    return Snapshot(**{**given, **change})


counts = st.integers(0, 1 << 60)
snapshots = st.builds(
    Snapshot,
    source=st.text(),
    name=st.text(),
    clock=st.sampled_from(Clock),
    time_s=st.floats(0, 1e12),
    written_s=st.floats(0, 1e12),
    queue_pairs=st.lists(st.builds(QueuePairState, number=counts, bytes=counts)).map(tuple),
    ring_used_bytes=st.none() | counts,
    drops=st.none() | st.dictionaries(st.text(), counts),
    ended=st.booleans(),
)


@given(snapshots)
def test_a_line_is_one_line_and_gives_the_same_again(value):
    assert value.line().count("\n") == 1 and value.line().endswith("\n")
    assert Snapshot.parse(value.line()) == value


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "not JSON"),
        ("[1]", "version None"),
        ('{"version": 2}', "version 2"),
        ('{"version": 1}', "source"),
        (json.dumps(json.loads(snapshot().line()) | {"colour": 1}), "colour"),
        (json.dumps(json.loads(snapshot().line()) | {"frames": -1}), "frames"),
        (json.dumps(json.loads(snapshot().line()) | {"clock": "lunar"}), "clock"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_a_reason(line, says):
    with pytest.raises(SnapshotError, match=says):
        Snapshot.parse(line)


def test_percentiles():
    assert percentile([], 50) is None
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile(range(1, 101), 99) == 99


def test_what_was_published_is_read(tmp_path):
    publisher, follower = Publisher(tmp_path / "x.jsonl"), Follower(tmp_path / "x.jsonl")
    assert follower.look() == [], "before there is a file"
    first, second = snapshot(1.0), snapshot(2.0)
    publisher.publish(first)
    assert follower.look() == [first]
    assert follower.look() == []
    publisher.publish(second)
    publisher.close()
    publisher.close()
    assert follower.look() == [second]


def test_the_interval_is_kept_but_for_the_last(tmp_path):
    publisher = Publisher(tmp_path / "x", interval_s=1000.0)
    assert publisher.due
    for number in range(5):
        publisher.publish(snapshot(float(number)))
    assert not publisher.due
    publisher.publish(snapshot(9.0, ended=True))
    assert [found.time_s for found in Follower(tmp_path / "x").look()] == [0.0, 9.0]


def test_the_file_does_not_grow_beyond_its_limit_and_a_reader_goes_on(tmp_path):
    size = len(snapshot().line())
    publisher, follower = Publisher(tmp_path / "x", limit_bytes=5 * size), Follower(tmp_path / "x")
    seen = []
    for number in range(100):
        publisher.publish(snapshot(float(number + 1000) / 1000))
        assert (tmp_path / "x").stat().st_size <= 5 * size
        seen += follower.look()
    assert [round(found.time_s * 1000) - 1000 for found in seen] == list(range(100))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_reader_that_does_not_read_costs_the_writer_nothing(tmp_path):
    publisher = Publisher(tmp_path / "x", limit_bytes=10_000)
    with (tmp_path / "x").open("w"):  # held open, never read
        for number in range(200):
            publisher.publish(snapshot(float(number)))
    assert publisher.failed == 0
    assert Follower(tmp_path / "x").look()[-1].time_s == 199.0


def test_a_pipe_without_a_reader_does_not_hold_the_writer_up(tmp_path):
    os.mkfifo(tmp_path / "x")
    publisher = Publisher(tmp_path / "x")
    publisher.publish(snapshot())
    assert publisher.failed == 0 and Follower(tmp_path / "x").look() == [snapshot()]


@pytest.mark.parametrize("place", ["/dev/full", "missing/x"])
def test_what_cannot_be_written_is_counted_and_does_no_harm(tmp_path, place, monkeypatch):
    publisher = Publisher(tmp_path / place)
    if place == "/dev/full":
        monkeypatch.setattr(os, "open", lambda *_: os.dup(full.fileno()))
        monkeypatch.setattr(Path, "replace", lambda *_: None)
    with Path("/dev/full").open("wb", buffering=0) as full:
        publisher.publish(snapshot(1.0))
        publisher.publish(snapshot(2.0))
    assert publisher.failed == 2


def test_a_writer_recovers(tmp_path):
    publisher = Publisher(tmp_path / "later" / "x")
    publisher.publish(snapshot(1.0))
    (tmp_path / "later").mkdir()
    publisher.publish(snapshot(2.0))
    assert publisher.failed == 1
    assert [found.time_s for found in Follower(tmp_path / "later" / "x").look()] == [2.0]


def test_half_a_line_waits_for_its_rest(tmp_path):
    line, follower = snapshot().line(), Follower(tmp_path / "x")
    (tmp_path / "x").write_text(line[:20])
    assert follower.look() == []
    with (tmp_path / "x").open("a") as file:
        file.write(line[20:])
    assert follower.look() == [snapshot()]


def test_a_file_that_was_replaced_is_read_from_its_begin_and_the_old_one_to_its_end(tmp_path):
    path, follower = tmp_path / "x", Follower(tmp_path / "x")
    old = path.open("w")
    old.write(snapshot(1.0).line())
    old.flush()
    assert len(follower.look()) == 1
    old.write(snapshot(2.0).line())
    old.close()
    (tmp_path / "new").write_text(snapshot(0.5).line())
    (tmp_path / "new").replace(path)
    assert [found.time_s for found in follower.look()] == [2.0, 0.5]
    path.unlink()
    assert follower.look() == []


def test_rubbish_is_passed_over_and_told(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe\n{}\n" + snapshot().line().encode())
    follower = Follower(tmp_path / "x")
    assert follower.look() == [snapshot()]
    assert "version None" in follower.refused


def test_a_folder_means_the_file_in_it(tmp_path):
    (tmp_path / "run.1").mkdir()
    assert file_of(tmp_path / "run.1").name == "monitor.jsonl"
    assert file_of(tmp_path / "to_come").name == "monitor.jsonl"
    assert file_of(tmp_path / "a.jsonl") == tmp_path / "a.jsonl"


def test_publishing_takes_little(tmp_path):
    publisher, started = Publisher(tmp_path / "x"), time.process_time()
    for number in range(500):
        publisher.publish(snapshot(float(number)))
    print(f"{(time.process_time() - started) / 500 * 1e6:.0f} us of processor a snapshot")
    assert len(Follower(tmp_path / "x").look()) == 500
