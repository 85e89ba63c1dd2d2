"""What a run tells whoever watches it, against what its report says in the end."""

import pytest

from host.monitor import Clock
from host.monitor.follow import Follower, file_of
from host.monitor.view import Rates
from sim.session.monitor import PUBLISH_US, ProbeTail
from tests.sim.run.scenario_runs import run


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    outcome = run(tmp_path_factory.mktemp("watched"), {"acquisition": {"shots": 4}})
    return outcome, Follower(file_of(outcome.directory)).look()


def test_the_last_snapshot_says_what_the_report_says(watched):
    outcome, snapshots = watched
    last, simulated = snapshots[-1], outcome.simulated
    assert [snapshot.ended for snapshot in snapshots] == [False] * (len(snapshots) - 1) + [True]
    assert (last.name, last.clock, last.frames) == ("small", Clock.SIMULATED, outcome.report["frames"]["received"])
    assert last.ring_used_bytes == 0
    assert last.ring_peak_bytes == simulated["ring_peak_bytes"]
    assert last.interrupts == simulated["interrupts"]
    assert last.retransmitted_packets == 0 and last.drops == {}
    assert (
        sum(pair.bytes for pair in last.queue_pairs) == 4 * outcome.report["configuration"]["samples"] * 128 + 4 * 128
    )
    assert last.latency_p50_us is not None and last.latency_p50_us > max(simulated["latencies_us"])


def test_snapshots_come_all_along_and_have_rates(watched):
    outcome, snapshots = watched
    assert len(snapshots) >= outcome.simulated["time_us"] // PUBLISH_US
    times = [snapshot.time_s for snapshot in snapshots]
    assert times == sorted(times)
    rates = Rates()
    views = [rates.take(snapshot) for snapshot in snapshots]
    assert max(view.throughput_gbps or 0 for view in views) > 1.0
    assert any((snapshot.ring_used_bytes or 0) > 0 for snapshot in snapshots)


def test_drops_and_retransmissions_are_told(tmp_path):
    change = {"acquisition": {"shots": 2}, "link": {"peer": "model", "faults": [{"action": "drop", "psn": 3}]}}
    outcome = run(tmp_path, change)
    last = Follower(file_of(outcome.directory)).look()[-1]
    assert last.retransmitted_packets == outcome.simulated["retransmitted_packets"] > 0


def test_the_tail_of_the_probe(tmp_path):
    tail = ProbeTail(tmp_path / "events.csv")
    tail.look()
    assert tail.ring_used is None
    (tmp_path / "events.csv").write_text("cycle,kind,value\n5,ring_used,100\n9,frame_committed,0\n12,ring_us")
    tail.look()
    assert (tail.ring_used, tail.ring_peak, tail.committed) == (100, 100, [9])
    with (tmp_path / "events.csv").open("a") as file:
        file.write("ed,60\n")
    tail.look()
    assert (tail.ring_used, tail.ring_peak) == (60, 100)
