import json
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

import host.report
from host.report import (
    FRAMES_LOST,
    Expectation,
    Fault,
    Frames,
    Peer,
    Report,
    RunFigures,
    Simulated,
    Spread,
    Wall,
    judge,
)
from host.report.verdict import REQUIRED, lookup
from tests.host.report.example import figures

DESIGN_KEYS = [
    "verdict",
    "scenario",
    "seed",
    "peer.kind",
    "peer.kernel",
    "frames.sent",
    "frames.received",
    "frames.lost",
    "frames.dropped_by_cause",
    "bit_exact",
    "simulated.goodput_gbps",
    "simulated.latency_us.min",
    "simulated.latency_us.p50",
    "simulated.latency_us.p99",
    "simulated.latency_us.max",
    "simulated.doorbell_to_wire_ns",
    "simulated.ring_peak_bytes",
    "simulated.interrupts",
    "simulated.retransmitted_packets",
    "simulated.time_us",
    "simulated.average_gbps",
    "wall.seconds",
    "wall.cycles_per_second",
    "wall.payload_mb_per_second",
]


def without(complete, key):
    """The figures with the one that the dotted key names not measured."""
    group, _, name = key.rpartition(".")
    if not group:
        return complete.model_copy(update={name: None})
    return complete.model_copy(update={group: getattr(complete, group).model_copy(update={name: None})})


def test_complete_good_figures_pass():
    report = judge(figures())
    assert report.verdict == "pass"
    assert report.reasons[0] == "4 of 4 frames received, every sample bit-exact"
    assert [line.ok for line in report.expectations] == [True, True, True]


@pytest.mark.parametrize("key", [*REQUIRED, "peer.kernel"])
def test_a_missing_figure_fails_the_run_and_is_named(key):
    report = judge(without(figures(), key))
    assert report.verdict == "fail"
    assert any(reason.startswith("not measured:") and key in reason for reason in report.reasons)


def test_required_figures_cover_what_the_design_demands():
    demanded = {key.removesuffix(f".{part}") for key in DESIGN_KEYS for part in ("min", "p50", "p99", "max")}
    names = {key for key in demanded if not key.endswith((".min", ".p50", ".p99", ".max"))}
    given = {"verdict", "scenario", "seed", "peer.kernel", "frames.dropped_by_cause"}  # always there or judged apart
    assert names - given == set(REQUIRED)
    for key in REQUIRED:
        lookup(figures(), key)


def test_nothing_measured_is_a_fail_with_a_report():
    report = judge(RunFigures(scenario="x", seed=1))
    assert report.verdict == "fail"
    assert json.loads(report.to_json())["verdict"] == "fail"


def test_peer_without_kernel_is_fine_for_the_model():
    assert judge(figures(peer=Peer(kind="model"))).verdict == "pass"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bit_exact": False}, "samples that arrived differ"),
        ({"error": "receiver died"}, "the run ended early: receiver died"),
        ({"error": ""}, "the run ended early"),
        ({"complaints": ["frame 2: arrived twice"]}, "frame 2: arrived twice"),
        (
            {"faults": [Fault(where="link tx, PSN 500000", what="drop", certain=True)]},
            "drop on link tx, PSN 500000 never",
        ),
        ({"frames": Frames(sent=0, received=0, lost=0)}, "no frame was sent"),
        ({"frames": Frames(sent=4, received=3, lost=0)}, "do not add up: 4 sent, 3 received, 0 lost"),
        ({"frames": Frames(sent=4, received=5, lost=0)}, "do not add up"),
        ({"frames": Frames(sent=4, received=3, lost=1)}, "1 frames lost, causes are known for 0"),
        (
            {"frames": Frames(sent=4, received=4, lost=0, dropped_by_cause={"ring full": 1})},
            "0 frames lost, causes are known for 1",
        ),
        (
            {"frames": Frames(sent=4, received=3, lost=1, dropped_by_cause={"ring full": 1}), "expectations": []},
            "1 frames lost, and the scenario does not allow for any",
        ),
    ],
)
def test_what_fails_a_run_is_said(changes, reason):
    report = judge(figures(**changes))
    assert report.verdict == "fail"
    assert any(reason in line for line in report.reasons), report.reasons


def test_complaints_do_not_say_that_the_run_ended_early():
    assert not any("early" in reason for reason in judge(figures(complaints=["frame 2: arrived twice"])).reasons)


def test_an_early_end_does_not_list_what_it_could_not_measure():
    report = judge(RunFigures(scenario="x", seed=1, error="receiver died"))
    assert report.reasons == ["the run ended early: receiver died"]


def test_flagged_frames_of_a_pass_are_not_called_bit_exact():
    frames = Frames(sent=4, received=4, lost=0, flagged=1, flagged_samples_wrong=7)
    assert judge(figures(frames=frames)).reasons[0] == (
        "4 of 4 frames received: 3 with every sample bit-exact, 1 flagged (7 of their samples differ)"
    )


def test_a_fault_that_acts_by_chance_need_not_act():
    chance = Fault(where="link tx, probability 0.001", what="drop")
    assert judge(figures(faults=[chance])).verdict == "pass"


def test_expected_losses_pass_only_when_the_expectation_saw_them():
    frames = Frames(sent=4, received=2, lost=2, dropped_by_cause={"ring full": 1, "link": 1})
    for actual, verdict in ((2, "pass"), (0, "fail")):
        allowed = Expectation(name=FRAMES_LOST, relation="<=", limit=2, actual=actual)
        assert judge(figures(frames=frames, expectations=[allowed])).verdict == verdict


@pytest.mark.parametrize(
    ("relation", "actual", "holds"),
    [
        ("<=", 5.0, True),
        ("<=", 5.01, False),
        (">=", 5.0, True),
        (">=", 4.99, False),
        ("==", 5, True),
        ("==", 4, False),
        ("<=", None, False),
        (">=", None, False),
        (">=", math.nan, False),
        ("<=", -math.inf, False),
    ],
)
def test_expectations(relation, actual, holds):
    line = Expectation(name="x", relation=relation, limit=5.0, actual=actual, unit="µs", ok=not holds)
    report = judge(figures(expectations=[line]))
    assert (report.verdict == "pass") is holds
    assert report.expectations[0].ok is holds
    if not holds:
        assert report.reasons[0].startswith("x ")


def test_json_has_the_designed_keys_and_comes_back():
    report = judge(figures())
    document = json.loads(report.to_json())
    assert list(document)[:4] == ["format", "format_version", "verdict", "reasons"]
    for key in DESIGN_KEYS:
        value = document
        for part in key.split("."):
            value = value[part]
        assert value is not None
    assert Report.model_validate_json(report.to_json()) == report


def test_figures_that_are_no_numbers_do_not_break_the_json():
    simulated = Simulated(time_us=math.inf, goodput_gbps=math.nan)
    report = judge(figures(simulated=simulated, wall=Wall(seconds=math.nan)))
    assert json.loads(report.to_json())["simulated"]["goodput_gbps"] is None
    assert report.verdict == "fail"


def test_schema_on_disk_is_the_models():
    path = Path(host.report.__file__).with_name("report.schema.json")
    assert json.loads(path.read_text()) == Report.model_json_schema(mode="serialization")


def test_simulated_and_wall_are_apart():
    assert not set(Simulated.model_fields) & set(Wall.model_fields)
    with pytest.raises(ValidationError):
        Simulated(seconds=1.0)
    with pytest.raises(ValidationError):
        Wall(goodput_gbps=1.0)
    with pytest.raises(ValidationError):
        Frames(sent=-1)


def test_spread_by_nearest_rank():
    assert Spread.of([]) is None
    assert Spread.of([3.0]) == Spread(min=3, p50=3, p99=3, max=3)
    assert Spread.of(range(100, 0, -1)) == Spread(min=1, p50=50, p99=99, max=100)
    assert Spread.of(range(1, 1001)) == Spread(min=1, p50=500, p99=990, max=1000)
