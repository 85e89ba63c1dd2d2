"""Wiring of the lanes, interrupts and error reports of the receive link, in the whole pipeline."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.run.scenario_runs import merged, run

LANES = 8
SHORT = {"acquisition": {"samples": 254, "source": "unique"}}
STARTED = {"came_up"}


def wired(tmp_path, change=None, **jesd204b):
    return run(tmp_path, merged(merged(SHORT, {"jesd204b": jesd204b}), change or {}))


def causes(outcome):
    return set(outcome.simulated["link_causes"])


RANDOM = np.random.default_rng(5).permutation(LANES).tolist()


@pytest.mark.parametrize(
    "jesd204b",
    [
        {"lane_map": "reversed"},
        {"lane_map": [1, 0, 2, 3, 5, 4, 7, 6]},
        {"lane_map": RANDOM, "inverted_lanes": [0, 3]},
        {"inverted_lanes": list(range(LANES)), "scrambling": False},
    ],
    ids=["reversed", "within converters", "anyhow, some inverted", "all inverted"],
)
def test_any_wiring_that_software_knows_is_as_good_as_straight(tmp_path, jesd204b):
    outcome = wired(tmp_path, **jesd204b)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["bit_exact"] is True and outcome.report["frames"]["received"] == 2
    assert causes(outcome) == STARTED


@pytest.mark.parametrize(
    "jesd204b",
    [
        {"lane_map": "reversed", "software_lane_map": "identity"},
        {"software_lane_map": "reversed"},
        # Two lanes of a converter; two converters, whose lanes have the same identifiers.
        {"software_lane_map": [0, 1, 3, 2, 4, 5, 6, 7]},
        {"software_lane_map": [4, 5, 2, 3, 0, 1, 6, 7]},
        {"lane_map": RANDOM, "software_lane_map": [*RANDOM[1:], RANDOM[0]]},
    ],
    ids=["unknown", "imagined", "within a converter", "whole converters", "off by one"],
)
def test_a_wrong_map_is_told_in_every_frame_and_fails_the_run(tmp_path, jesd204b):
    outcome = wired(tmp_path, **jesd204b)
    assert outcome.code == 1
    assert outcome.report["reasons"] == ["frames flagged is 2, expected == 0"]
    assert outcome.report["bit_exact"] is True and outcome.report["frames"]["flagged"] == 2
    assert outcome.report["frames"]["flagged_samples_wrong"] > 0
    assert causes(outcome) == STARTED | {"ilas_mismatch"}


@pytest.mark.parametrize(("inverted", "told"), [([2], []), ([], [2])], ids=["unknown", "imagined"])
def test_a_wrong_polarity_is_told_in_every_frame_and_fails_the_run(tmp_path, inverted, told):
    outcome = wired(tmp_path, inverted_lanes=inverted, software_inverted_lanes=told)
    assert outcome.code == 1
    assert outcome.report["reasons"] == ["frames flagged is 2, expected == 0"]
    assert causes(outcome) >= STARTED | {"ilas_mismatch"}
    mismatched = {name for name in outcome.simulated["link_counters"] if name.startswith("LANE_ILAS_MISMATCH[")}
    assert mismatched == {"LANE_ILAS_MISMATCH[2]"}


def test_wiring_stays_when_modes_change(tmp_path):
    acquisition = {"mode": ["ultrasound", "photoacoustic"], "channels": 128, "retune_us": 2.0, "shots": 3}
    order = np.random.default_rng(6).permutation(2 * LANES).tolist()
    outcome = wired(tmp_path, {"acquisition": acquisition}, lane_map=order, inverted_lanes=[1, 14])
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["received"] == 3
    assert len(outcome.simulated["mode_switches"]) == 2
    assert "ilas_mismatch" not in causes(outcome)


def test_events_of_the_link_are_reported_with_cause_and_time(tmp_path):
    faults = [
        {"kind": "bit_error", "lane": 3, "shot": 0, "sample": 100},
        {"kind": "lane_drop", "lane": 6, "shot": 1, "sample": 100, "beats": 1500},
    ]
    outcome = wired(tmp_path, {"expect": {"flagged_frames": 2}}, faults=faults)
    assert outcome.code == 0, outcome.report["reasons"]
    simulated = outcome.simulated
    assert simulated["link_causes"] == {"came_up": 2, "disparity": 1, "cgs_lost": 1, "link_down": 1}
    start, error, drop, back = simulated["link_events"]
    assert start["causes"] == back["causes"] == ["came_up"]
    assert error["causes"] == ["disparity"] and drop["causes"] == ["cgs_lost", "link_down"]
    # Both a microsecond of software after what happened; shots are 125 us apart.
    assert drop["time_us"] - error["time_us"] == pytest.approx(125.0, abs=0.5)
    text = (tmp_path / "run.log").read_text()
    assert "receive link: disparity" in text and "cgs_lost" in text
    page = (tmp_path / "report.html").read_text()
    assert "What the receive link told the control software" in page and "cgs_lost" in page


def test_an_interrupt_that_is_not_enabled_is_not_reported_and_the_frame_is_flagged_all_the_same(tmp_path):
    fault = {"kind": "bit_error", "lane": 3, "shot": 1, "sample": 100}
    outcome = wired(tmp_path, {"expect": {"flagged_frames": 1}}, faults=[fault], interrupts=["came_up", "cgs_lost"])
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.simulated["link_causes"] == {"came_up": 1}
    assert outcome.simulated["link_interrupts"] == ["cgs_lost", "came_up"]


@pytest.mark.parametrize("enabled", [True, False])
def test_errors_are_reported_to_the_converters_that_go_on(tmp_path, enabled):
    faults = [{"kind": "bit_error", "lane": 3, "shot": 0, "sample": sample} for sample in (20, 120, 220)]
    outcome = wired(tmp_path, {"expect": {"flagged_frames": 1}}, faults=faults, error_report=enabled)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.simulated["error_reports"] == (3 if enabled else 0)
    assert outcome.simulated["link_counters"]["REINITIALISATIONS"] == 0


FRAME_BEATS = 4
"""Link clocks of a frame of 16 octets."""
MULTIFRAME_BEATS = 32 * FRAME_BEATS


@pytest.mark.parametrize(
    "fault",
    [{"kind": "sysref_once"}, {"kind": "sysref_period", "beats": 3 * MULTIFRAME_BEATS}],
    ids=["once", "another multiple"],
)
def test_any_sysref_that_fits_the_multiframes_will_do(tmp_path, fault):
    outcome = wired(tmp_path, faults=[fault])
    assert outcome.code == 0, outcome.report["reasons"]
    assert causes(outcome) == STARTED


@pytest.mark.parametrize(
    "fault",
    [{"kind": "sysref_jitter", "beats": 1}, {"kind": "sysref_period", "beats": MULTIFRAME_BEATS + 1}],
    ids=["jitter", "period"],
)
def test_a_sysref_off_the_multiframes_is_told_and_moves_nothing(tmp_path, fault):
    outcome = wired(tmp_path, faults=[fault])
    assert outcome.code == 1
    assert outcome.report["bit_exact"] is True and outcome.report["frames"]["flagged"] == 2
    assert causes(outcome) == STARTED | {"sysref_misaligned"}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"kind": "sysref_missing"}, "SYSREF seen: False"),
        ({"kind": "sender_multiframe", "frames": 16}, "did not come up"),
    ],
    ids=["no sysref", "other multiframes"],
)
def test_links_that_cannot_come_up_end_the_run_with_the_cause(tmp_path, fault, told):
    outcome = wired(tmp_path, faults=[fault])
    assert outcome.code == 1
    assert told in " ".join(outcome.report["reasons"])


def test_senders_that_scramble_otherwise_are_told_in_every_frame(tmp_path):
    outcome = wired(tmp_path, faults=[{"kind": "sender_scrambling"}])
    assert outcome.code == 1
    assert outcome.report["frames"]["flagged"] == 2
    assert causes(outcome) >= STARTED | {"ilas_mismatch"}


@pytest.mark.parametrize(
    ("place", "flagged"),
    [({"multiframes": 0, "octets": 0}, False), ({"multiframes": 1, "octets": 4}, True)],
    ids=["/R/", "configuration"],
)
def test_a_hit_on_an_alignment_sequence(tmp_path, place, flagged):
    """Without its structure all start anew; a wrong field is told in every frame."""
    outcome = wired(tmp_path, faults=[{"kind": "ilas_hit", "lane": 3, **place}])
    assert outcome.report["bit_exact"] is True
    assert outcome.report["frames"]["flagged"] == (2 if flagged else 0)
    assert outcome.code == int(flagged)
    assert outcome.simulated["link_counters"]["REINITIALISATIONS"] == int(not flagged)
