"""Changes of mode beside all else: the generator, a laser that fails, a lane that dies just then."""

from __future__ import annotations

import numpy as np
import pytest

from host.frame_layout import HEADER, DropCause
from host.receive.capture import CaptureReader
from tests.sim.run.scenario_runs import run

MODES = ["ultrasound", "ultrasound", "photoacoustic", "photoacoustic", "photoacoustic"]
"""Two shots of one, three of the other, in turn; of which the middle one fails now and then."""
QUICK = {"mode": MODES, "channels": 128, "samples": 254, "source": "prbs", "retune_us": 4.0, "prf_hz": 8000.0}


def headers(folder):
    return [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(folder / "capture.bin")]


@pytest.mark.parametrize("trigger", ["external", "generator"])
def test_a_laser_that_fails_between_changes_of_mode_is_missed_and_nothing_else_is(tmp_path, trigger):
    acquisition = {**QUICK, "trigger": trigger, "shots": 11, "jitter_ns": 150.0 * (trigger == "generator")}
    outcome = run(tmp_path, {"acquisition": {**acquisition, "missing_pulses": [3, 8]}})
    assert outcome.code == 0, outcome.report["reasons"]
    counters = outcome.simulated["acquisition_counters"]
    assert counters["LASER_MISSING"] == 2
    assert counters["SHOTS_FIRED"] == (11 if trigger == "generator" else 0)
    frames = headers(tmp_path)
    assert [int(frame["mode"]) for frame in frames] == [1, 1, 2, 2, 1, 1, 2, 2, 1]
    # Told by the frame that comes after, of the same stretch; a pulse that did not come is no frame.
    assert [int(frame["flags"]) for frame in frames] == [0, 0, 0, DropCause.LASER_MISSING] * 2 + [0]
    assert {int(frame["dropped_before"]) for frame in frames} == {0}
    # Time stamps of the laser are right to half a link clock; the generator's own shots have no error.
    assert outcome.simulated["trigger_error_ns"]["max"] <= 2.0
    assert len(outcome.simulated["mode_switches"]) == 4


def test_the_generator_stands_still_while_the_mode_changes(tmp_path):
    """Each shot comes a period after the one before, or a period after a change: no shot is lost to it."""
    acquisition = {**QUICK, "mode": MODES[1:3], "trigger": "generator", "shots": 6, "prf_hz": 20_000.0}
    outcome = run(tmp_path, {"acquisition": acquisition})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.simulated["acquisition_counters"]["SHOTS_FIRED"] == outcome.report["frames"]["received"] == 6
    assert outcome.report["frames"]["dropped_by_cause"] == {}


# A window is 3.2 us long; the change begins with its end and takes some 16 us, 4 of which the lanes are silent anyway.
DEATHS = {
    "in the window": (100, 4_000),
    "when its last samples are on their way": (256, 3_000),
    "while the lanes are silent": (800, 2_500),
    "before alignment": (1000, 3_000),
    "in alignment": (1100, 3_000),
    "before triggers are accepted": (1200, 3_000),
    "right after the change": (1300, 3_000),
    "after the change": (2000, 1_500),
    "in the window, to beyond the next shot": (100, 60_000),
}
"""When a lane dies, in samples of 12.5 ns from the window's begin, and for how many link clocks (3 to 4 ns)."""


@pytest.mark.parametrize("when", DEATHS)
def test_a_lane_that_dies_about_a_change_of_mode_comes_back(tmp_path, when):
    """Two shots of ultrasound, the lane dies about the second one, three of photoacoustics, two of ultrasound."""
    sample, beats = DEATHS[when]
    fault = {"kind": "lane_drop", "lane": 5, "shot": 1, "sample": sample, "beats": beats}
    flagged, lost = int(sample < 300), int(beats > 10_000)
    change = {
        "acquisition": {**QUICK, "shots": 7},
        "jesd204b": {"faults": [fault], "k": 8},
        "expect": {"flagged_frames": flagged, "frames_lost": lost},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    # The shot that came while the links could not come up in the new mode is counted as the change's.
    assert outcome.report["frames"]["dropped_by_cause"] == ({"mode_switch": 1} if lost else {})
    frames = headers(tmp_path)
    assert [int(frame["mode"]) for frame in frames] == [1, 1, *[2] * (3 - lost), 1, 1]
    assert [int(frame["dropped_before"]) for frame in frames] == [0, 0, lost, *[0] * (4 - lost)]
    assert len(outcome.simulated["mode_switches"]) == 2
    # Links that are down already cannot fall.
    assert outcome.simulated["link_causes"].get("cgs_lost", 0) == (when != "while the lanes are silent")
