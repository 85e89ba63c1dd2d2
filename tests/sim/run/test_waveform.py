"""A failure leaves a waveform of its moment, from a repetition; whoever does not want one says so."""

import json
import struct

import pytest

from sim.run.runner import Options, run_scenario
from sim.scenario.load import parse
from tests.sim.run.scenario_runs import SMALL, merged, run

FS_PER_NS = 10**6
CLOCK_NS = 4
FST_TIMES = struct.Struct(">xQQQ")
"""First block of an FST file: its kind, its length, the first and the last time in it."""
TOO_FAST = {"expect": {"min_goodput_gbps": 99.0}}
NO_ANSWER = {
    "link": {"peer": "model", "faults": [{"action": "drop", "probability": 1.0, "direction": "rx"}]},
    "rdma": {"retry_timeout": 1, "retry_count": 1},
}


def times_ns(directory):
    _, first, last = FST_TIMES.unpack_from((directory / "waves.fst").read_bytes())
    return first / FS_PER_NS, last / FS_PER_NS


@pytest.fixture(scope="module")
def no_answer(tmp_path_factory):
    return run(tmp_path_factory.mktemp("no_answer"), NO_ANSWER, waves=None)


def test_a_session_that_failed_shows_what_led_to_it(no_answer):
    failure = json.loads((no_answer.directory / "failure.json").read_text())
    first, last = times_ns(no_answer.directory)
    assert no_answer.code == 1
    assert first <= failure["time_ns"] <= last + CLOCK_NS
    assert first >= failure["time_ns"] - 101_000


def test_the_failed_run_keeps_its_own_files(no_answer):
    assert "queue pair 2" in no_answer.report["reasons"][0]
    assert (no_answer.directory / "capture.bin").stat().st_size > 0
    assert not (no_answer.directory / "repetition").exists()


def test_a_run_that_fails_by_its_figures_shows_the_shot(tmp_path):
    outcome = run(tmp_path, TOO_FAST, waves=None)
    first, last = times_ns(tmp_path)
    assert outcome.code == 1
    assert last - first > 510 / 80e6 * 1e9


def test_a_whole_run_can_be_recorded(tmp_path):
    outcome = run(tmp_path, waves=True)
    first, last = times_ns(tmp_path)
    assert outcome.code == 0
    assert first == 0
    assert last / 1000 >= outcome.simulated["time_us"]


def test_no_waveform_is_made_when_none_is_wanted(tmp_path):
    assert run(tmp_path, TOO_FAST, waves=False).code == 1
    assert not (tmp_path / "waves.fst").exists()


def test_a_run_that_passes_makes_none(tmp_path):
    assert run(tmp_path, waves=None).code == 0
    assert not (tmp_path / "waves.fst").exists()


def test_icarus_records_too(tmp_path):
    change = {"simulator": "icarus", "acquisition": {"samples": 30, "shots": 1}}
    scenario = parse(merged(merged(SMALL, change), TOO_FAST), "test")
    assert run_scenario(scenario, Options(directory=tmp_path)) == 1
    first, last = times_ns(tmp_path)
    assert last > first > 0
