"""Rates, table, JSON lines, metrics; and the command as a process."""

import argparse
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from rich.console import Console

from host.__main__ import main, parser
from host.monitor import Clock, Publisher, QueuePairState, command
from host.monitor.command import Watch, headline, rows, table
from host.monitor.prometheus import serve
from host.monitor.view import Rates
from sim.sources import ROOT
from tests.host.monitor.test_snapshot import snapshot


def pair(number, octets, frames=0, **change):
    return QueuePairState(number=number, bytes=octets, frames=frames, **change)


def moment(time_s, octets, **change):
    return snapshot(time_s, queue_pairs=(pair(2, octets, outstanding=5, depth=1023), pair(3, 2 * octets)), **change)


def test_rates_are_differences_over_the_streams_own_time():
    rates = Rates()
    first = rates.take(moment(1e-4, 0, frames=0, interrupts=10))
    assert first.throughput_gbps is None and first.interrupts_per_second is None
    view = rates.take(moment(3e-4, 2_450_000, frames=2, interrupts=30))
    assert view.queue_pairs[0].throughput_gbps == pytest.approx(98.0)
    assert view.queue_pairs[1].throughput_gbps == pytest.approx(196.0)
    assert view.throughput_gbps == pytest.approx(294.0)
    assert view.interrupts_per_second == pytest.approx(1e5)
    assert view.frames_per_second == pytest.approx(1e4)
    assert view.queue_pairs[0].outstanding == 5


def test_rates_are_over_a_few_snapshots_and_not_the_whole_run():
    rates = Rates(span=2)
    rates.take(moment(0.0, 0))
    for second in range(1, 6):
        view = rates.take(moment(float(second), 125_000_000 * second))
    assert view.queue_pairs[0].throughput_gbps == pytest.approx(1.0)
    view = rates.take(moment(7.0, 125_000_000 * 5))
    assert view.queue_pairs[0].throughput_gbps == pytest.approx(0.0 + 1.0 / 3)


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"clock": Clock.WALL}, {"time_s": 0.5}, {"frames": 0}, {"source": "receiver"}]
)
def test_another_stream_begins_anew(change):
    rates = Rates()
    rates.take(moment(1.0, 1000))
    assert rates.take(moment(**{"time_s": 2.0, "octets": 5000, **change})).throughput_gbps is None


def test_a_stream_after_the_end_of_one_begins_anew():
    rates = Rates()
    rates.take(moment(1.0, 1000, ended=True))
    assert rates.take(moment(2.0, 5000)).throughput_gbps is None


def test_a_queue_pair_that_is_new_has_no_rate_yet():
    rates = Rates()
    rates.take(snapshot(1.0, queue_pairs=()))
    assert rates.take(moment(2.0, 5000)).queue_pairs[0].throughput_gbps is None


FULL = {
    "interrupts": 30,
    "latency": "here to there",
    "latency_p50_us": 1.25,
    "latency_p99_us": 2.5,
    "pool_used_slots": 3,
    "pool_slots": 16,
    "ring_used_bytes": 4096,
    "ring_peak_bytes": 8192,
    "ring_bytes": 4 << 20,
    "completion_queue_overflows": 1,
    "retransmitted_packets": 7,
    "flagged": 2,
    "drops": {"ring_full": 4, "lost": 5},
}


def shown(*views, refused=""):
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(table(list(views), 103.0, refused))
    return console.export_text()


def two_moments(**change):
    rates = Rates()
    rates.take(moment(1e-4, 0, **{**FULL, "interrupts": 10}))
    return rates.take(moment(3e-4, 2_450_000, **{**FULL, **change}))


def test_the_table_shows_everything():
    text = re.sub(" +", " ", shown(two_moments()))
    for expected in (
        "front end default: running; all figures in simulated time, now 300.0 us",
        "throughput 294.00 Gb/s",
        "latency p50, p99 (here to there) 1.25 us, 2.50 us",
        "receive pool, slots 3 of 16",
        "ring, bytes 4096 of 4194304, peak 8192",
        "interrupts 30, 100000 /s",
        "CQ overflows 1",
        "retransmitted packets 7",
        "drops ring_full 4, lost 5",
        "2 98.00 0 5 of 1023",
        "3 196.00 0 -",
    ):
        assert expected in text, text


def test_what_is_unknown_is_a_dash_and_not_a_nought():
    found = dict(rows(Rates().take(snapshot())))
    assert found["drops"] == "-" and found["ring, bytes"] == "-, peak -" and found["CQ overflows"] == "-"
    assert dict(rows(Rates().take(snapshot(drops={}))))["drops"] == "none"


def test_the_headline_tells_the_clock_and_whether_it_lives():
    wall = Rates().take(snapshot(12.34, clock=Clock.WALL, written_s=50.0))
    assert headline(wall, 51.0) == "front end default: running; all figures in wall time, now 12.3 s"
    assert "silent for 10 s" in headline(wall, 60.0)
    assert "ended" in headline(Rates().take(snapshot(ended=True, written_s=0.0)), 60.0)


def test_a_line_that_was_refused_is_told():
    assert "not understood: version 7" in shown(two_moments(), refused="version 7")


def test_json_lines(tmp_path, capsys):
    publisher = Publisher(tmp_path / "monitor.jsonl")
    publisher.publish(moment(1.0, 0))
    publisher.publish(moment(2.0, 125_000_000, ended=True))
    assert main(["monitor", str(tmp_path), "--json", "--until-end"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["time_s"] for line in lines] == [1.0, 2.0]
    assert lines[1]["queue_pairs"][0]["throughput_gbps"] == pytest.approx(1.0)
    assert lines[1]["clock"] == "simulated" and lines[1]["snapshot"]["frames"] == 1


def test_several_streams_at_once(tmp_path):
    for name in ("a", "b"):
        Publisher(tmp_path / f"{name}.jsonl").publish(snapshot(name=name, ended=name == "a"))
    watch = Watch([tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl"])
    assert [view.name for view in watch.look()] == ["a", "b"]
    assert [view.name for view in watch.views()] == ["a", "b"] and not watch.over
    watch.close()


def test_the_live_table_ends_with_the_stream(tmp_path, capsys):
    Publisher(tmp_path / "x.jsonl").publish(snapshot(ended=True, **FULL))
    assert main(["monitor", str(tmp_path / "x.jsonl"), "--until-end"]) == 0
    assert "front end default: ended" in capsys.readouterr().out


def test_metrics_on_the_loopback_address_only():
    view = two_moments()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    stop = serve(port, lambda: [view])
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", port), timeout=1)
    finally:
        stop()
    labels = 'clock="simulated",name="default",source="front end"'
    values = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, figure = line.rsplit(" ", 1)
            found = sorted(re.findall(r'(\w+="[^"]*")', name))
            values[(*found, name.split("{")[0])] = float(figure)
    stream = tuple(labels.split(","))

    def value(name, *more):
        return values[(*sorted((*stream, *more)), f"echobench_{name}")]

    assert value("interrupts_total") == 30
    assert value("completion_queue_overflows_total") == 1
    assert value("retransmitted_packets_total") == 7
    assert value("ring_used_bytes") == 4096
    assert value("pool_used_slots") == 3
    assert value("latency_p99_microseconds") == 2.5
    assert value("frames_dropped_total", 'cause="ring_full"') == 4
    assert value("queue_pair_bytes_total", 'queue_pair="2"') == 2_450_000
    assert value("queue_pair_gbps", 'queue_pair="2"') == pytest.approx(98.0)
    assert value("queue_pair_outstanding", 'queue_pair="2"') == 5
    assert value("age_seconds") > 0


def test_a_port_that_is_taken_is_told(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["monitor", str(tmp_path), "--prometheus", str(port), "--until-end"]) == 2
    assert f"port {port}" in capsys.readouterr().err


def test_a_monitor_that_is_killed_and_one_that_is_interrupted_leave_the_writer_alone(tmp_path):
    publisher, path = Publisher(tmp_path / "x.jsonl"), tmp_path / "x.jsonl"
    publisher.publish(snapshot(1.0))
    for kind, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 0)):
        process = subprocess.Popen(
            [sys.executable, "-m", "host", "monitor", str(path), "--json"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            # A shell starts what runs in the background with the interrupt ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread runs here
        )
        assert process.stdout is not None
        assert '"time_s"' in process.stdout.readline()
        process.send_signal(kind)
        assert process.wait(60) == code
        process.stdout.close()
        publisher.publish(snapshot(2.0))
    assert publisher.failed == 0


def test_it_may_be_started_first(tmp_path):
    options = parser("monitor").parse_args(["monitor", str(tmp_path / "x.jsonl"), "--json", "--until-end"])
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(command.run(argparse.Namespace(**vars(options)))))
    thread.start()
    Publisher(tmp_path / "x.jsonl").publish(snapshot(ended=True))
    thread.join(60)
    assert codes == [0]


def test_make_monitor_watches_the_folder_of_make_sim():
    makefile = (Path(ROOT) / "Makefile").read_text()
    assert "-m host monitor $(or $(OUTPUT),build/runs/$(SCENARIO))" in makefile
