"""Faults of the receive link in the whole pipeline: where in their frames they act, and how they are counted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from host.control.modes import FRACTION
from host.receive.capture import CaptureReader
from sim.run.verify import check_frame
from sim.scenario.load import parse
from sim.session.converters import mode_shots
from sim.session.shot import Shot
from tests.sim.run.scenario_runs import SMALL, Outcome, merged, run

SAMPLE, SAMPLES = 150, 510
PASSED_ON = {"ultrasound": 2, "photoacoustic": 4}
"""Of the samples between converter and window when the links fall, those that get through: about eight link clocks."""
STAYS, FALLS, RIGHT = "stays", "falls", "right"
KINDS = [
    ({"kind": "bit_error", "lane": 3}, STAYS),
    ({"kind": "burst", "lane": 3, "octets": 16}, FALLS),
    ({"kind": "disparity", "lane": 3, "octets": 1}, RIGHT),
    ({"kind": "character", "lane": 3, "character": 0x1C}, STAYS),
    ({"kind": "line_bit", "lane": 5}, STAYS),
    ({"kind": "lane_drop", "lane": 3}, FALLS),
    ({"kind": "lane_drop", "lane": 3, "how": "commas"}, FALLS),
    ({"kind": "slip", "lane": 3, "octets": 1}, STAYS),
    ({"kind": "slip", "lane": 3, "octets": 4}, STAYS),
    ({"kind": "restart", "link": 1}, FALLS),
    ({"kind": "sysref", "beats": 3}, RIGHT),
]
"""A fault a shot, and what becomes of the links at once (a slip is found out by the alignment characters, later)."""


def wrong_samples(outcome: Outcome, scenario) -> dict[int, list[int]]:
    """By shot, the samples of its frame that differ from what was played."""
    sources = {mode.identifier: mode_shots(scenario, mode) for mode in scenario.acquisition.modes}
    found = {}
    for record in CaptureReader(outcome.directory / "capture.bin"):
        memory = np.frombuffer(record.data, np.uint8)
        played = [Shot(shot, scenario.acquisition.mode_of(shot).identifier, 0, 0, 0, 0, 0, 0) for shot in range(99)]
        checked = check_frame(record, sources, played)
        shape = checked.inspection.shape
        got = memory[64 : 64 + shape.payload_bytes].view("<i2").reshape(shape.samples, shape.channels)
        shot = checked.sequence
        wrong = got != sources[played[shot].mode].shot(shot)
        found[shot] = np.flatnonzero(wrong.any(axis=1)).tolist()
    return found


def held(outcome: Outcome, mode: str) -> int:
    """Samples before a fault's own that are lost with the links: those between converter and window, but for a few."""
    shots = json.loads((outcome.directory / "session.json").read_text())["shots"]
    return int(shots[0]["lag"] // FRACTION) - PASSED_ON[mode]


@pytest.mark.parametrize("mode", PASSED_ON)
def test_sample_n_of_the_frame_is_the_first_that_a_fault_hits(tmp_path, mode):
    faults = [{**fault, "shot": shot, "sample": SAMPLE} for shot, (fault, _) in enumerate(KINDS)]
    change = {
        "acquisition": {"mode": mode, "shots": len(KINDS), "samples": SAMPLES, "prf_hz": 16_000.0, "source": "unique"},
        "jesd204b": {"faults": faults, "scrambling": False},
        "expect": {"flagged_frames": len(KINDS)},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert [fault["times"] for fault in outcome.report["faults"]] == [1] * len(KINDS)
    wrong = wrong_samples(outcome, parse(merged(SMALL, change), "test"))
    first = {str(faults[shot]): samples[0] if samples else None for shot, samples in wrong.items()}
    expected = {STAYS: SAMPLE, FALLS: SAMPLE - held(outcome, mode), RIGHT: None}
    assert first == {str(fault): expected[links] for fault, (_, links) in zip(faults, KINDS, strict=True)}


def test_a_line_that_loses_a_bit_does_so_in_its_sample(tmp_path):
    """Alone: the lane is dead until it has aligned anew, and the links fall some octets later than of a dead lane."""
    fault = {"kind": "line_slip", "lane": 5, "shot": 0, "sample": SAMPLE}
    change = {"jesd204b": {"faults": [fault]}, "expect": {"flagged_frames": 1}}
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    wrong = wrong_samples(outcome, parse(merged(SMALL, change), "test"))
    assert 0 <= wrong[0][0] - (SAMPLE - held(outcome, "ultrasound")) <= 2 and wrong[1] == []


def test_a_fault_that_found_nothing_to_act_on_is_told_and_fails_the_run(tmp_path):
    """A wrong bit in a lane that is dead: the frame is flagged all the same, which must not hide it."""
    faults = [
        {"kind": "lane_drop", "lane": 3, "shot": 0, "sample": 100, "beats": 1500},
        {"kind": "bit_error", "lane": 3, "shot": 0, "sample": 150},
        {"kind": "clock", "lane": 1, "shot": 1, "sample": 100, "beats": 40, "octets": 4, "times": 3},
    ]
    change = {"jesd204b": {"faults": faults, "scrambling": False}, "expect": {"flagged_frames": 2}}
    outcome = run(tmp_path, {**change, "acquisition": {"source": "constant"}})
    assert [fault["times"] for fault in outcome.report["faults"]] == [1, 0, 3]
    assert outcome.code == 1
    told = "the fault bit_error on lane 3, shot 0, sample 150 never acted: there was nothing for it to act on"
    assert told in outcome.report["reasons"]


def test_a_converter_that_is_never_asked_was_not_deaf(tmp_path):
    outcome = run(tmp_path, {"jesd204b": {"faults": [{"kind": "deaf", "link": 1}]}})
    assert outcome.code == 1 and outcome.report["faults"][0]["times"] == 0
    assert "the fault deaf on link 1 never acted: there was nothing for it to act on" in outcome.report["reasons"]


@pytest.mark.parametrize("beats", [2, 12])
def test_a_lane_that_is_stuck_too_shortly_is_found_by_the_comparison_alone(tmp_path, beats):
    """The characters are as legal as the right ones; the receiver goes by their repetition."""
    fault = {"kind": "lane_drop", "lane": 3, "shot": 1, "sample": SAMPLE, "beats": beats, "how": "stuck"}
    told = beats > 2
    outcome = run(tmp_path, {"jesd204b": {"faults": [fault]}, "expect": {"flagged_frames": int(told)}})
    assert outcome.code == int(not told) and outcome.report["bit_exact"] is told
    assert any("unflagged" in reason for reason in outcome.report["reasons"]) is not told


@pytest.mark.parametrize("subclass", [0, 1])
def test_a_new_start_moves_all_samples_in_subclass_0_and_none_in_subclass_1(tmp_path, subclass):
    """Lanes align otherwise at each start; only SYSREF makes the latency the same, and nothing tells that it is not."""
    faults = [
        {"kind": "rotation", "octets": 8},
        {"kind": "lane_drop", "lane": 2, "shot": 0, "sample": 0, "beats": 3, "how": "commas"},
    ]
    jesd204b = {"subclass": subclass, "k": 12, "lane_skew_octets": 40, "faults": faults}
    acquisition = {"mode": "photoacoustic", "shots": 3, "samples": 254, "source": "unique", "prf_hz": 16_000.0}
    change = {"acquisition": acquisition, "jesd204b": jesd204b, "expect": {"flagged_frames": 1}}
    outcome = run(tmp_path, change)
    wrong = wrong_samples(outcome, parse(merged(SMALL, change), "test"))
    assert outcome.report["frames"]["flagged"] == 1 and outcome.code == int(subclass == 0)
    # By half a sample here, so that windows begin with another sample where that decides.
    assert any(wrong[shot] for shot in (1, 2)) is (subclass == 0)
