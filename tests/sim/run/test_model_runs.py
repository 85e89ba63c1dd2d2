"""The whole pipeline against the in-process model: recovery, determinism, expectations that can fail."""

from collections import Counter

import numpy as np
import pytest

from host.frame_layout import HEADER, DropCause
from host.receive.capture import CaptureReader
from sim.run.packet_log import read_packets
from sim.run.runner import CANNOT_RUN, Options, run_scenario
from sim.scenario.load import parse
from tests.sim.run.scenario_runs import SMALL, merged, run

PACKETS_A_FRAME = 16
POSITIONS = {"first": 0, "middle": 6, "last": PACKETS_A_FRAME - 1}
ACKNOWLEDGED = {"first": 7, "last of a frame": PACKETS_A_FRAME - 1, "last of the run": 2 * PACKETS_A_FRAME - 1}
"""A frame is two WRITEs of eight packets; each ends with an acknowledge request."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return run(tmp_path_factory.mktemp("clean"))


def test_a_clean_run_passes_and_leaves_everything(clean):
    assert clean.code == 0, clean.report["reasons"]
    assert clean.report["verdict"] == "pass"
    assert clean.report["bit_exact"] is True
    assert clean.simulated["retransmitted_packets"] == 0
    assert clean.simulated["packets"]
    for name in ("report.json", "report.html", "bmode.png", "frames.h5", "link.pcapng", "run.log", "capture.bin"):
        assert (clean.directory / name).stat().st_size > 0, name


def test_the_same_scenario_gives_the_same_figures_twice(clean, tmp_path):
    assert run(tmp_path).simulated == clean.simulated


def test_another_seed_changes_the_samples_and_not_the_timing(clean, tmp_path):
    other = run(tmp_path, {"seed": 99})
    assert other.code == 0
    assert other.simulated == clean.simulated
    assert (tmp_path / "capture.bin").read_bytes() != (clean.directory / "capture.bin").read_bytes()


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("action", ["drop", "duplicate", "corrupt", "delay"])
def test_a_fault_on_a_data_packet_is_repaired(tmp_path, action, position):
    outcome = run(tmp_path, {"link": {"peer": "model", "faults": [{"action": action, "psn": POSITIONS[position]}]}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["faults"][0]["times"] == 1
    if action in ("drop", "corrupt"):
        assert outcome.simulated["retransmitted_packets"] > 0


@pytest.mark.parametrize("position", ACKNOWLEDGED)
@pytest.mark.parametrize("action", ["drop", "duplicate", "corrupt", "delay"])
def test_a_fault_on_an_acknowledgement_is_repaired(tmp_path, action, position):
    fault = {"action": action, "psn": ACKNOWLEDGED[position], "direction": "rx"}
    outcome = run(tmp_path, {"link": {"peer": "model", "faults": [fault]}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["faults"][0]["times"] == 1


def test_the_psn_wraps_in_the_middle_of_a_frame(tmp_path):
    outcome = run(tmp_path, {"rdma": {"start_psn": 0xFFFFF8}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert [packet.psn for packet in read_packets(tmp_path / "packets.bin")][7:9] == [0xFFFFFF, 0]


@pytest.mark.parametrize("pmtu", [256, 512, 1024, 2048])
def test_every_pmtu_carries_frames(tmp_path, pmtu):
    outcome = run(tmp_path, {"rdma": {"pmtu": pmtu}, "acquisition": {"samples": 126, "shots": 1}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert max(packet.payload_octets for packet in read_packets(tmp_path / "packets.bin")) == pmtu


def test_queue_pairs_share_frames_and_link(tmp_path):
    """On a slow link all eight have packets to send at once."""
    change = {
        "acquisition": {"shots": 16, "prf_hz": 100_000.0},
        "rdma": {"qps": 8, "interrupt_timeout_ns": 1000, "retry_timeout": 8},
        "link": {"peer": "model", "rate_gbps": 20.0},
        "expect": {"max_unfairness_percent": 10.0, "min_goodput_gbps": 19.4},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    frames = [packet.queue_pair for packet in read_packets(tmp_path / "packets.bin") if packet.ends_frame]
    assert list(Counter(frames).values()) == [2] * 8
    assert set(outcome.simulated["queue_pair_goodput_gbps"]) == {str(number) for number in range(2, 10)}


UNRELIABLE = {"rdma": {"transport": "UC"}, "acquisition": {"shots": 5}, "host": {"slots": 2}}


def test_an_unreliable_connection_carries_frames_without_a_reply(tmp_path):
    outcome = run(tmp_path, UNRELIABLE)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["configuration"]["transport"] == "UC"
    assert outcome.report["frames"]["received"] == 5
    assert outcome.simulated["rdma_counters"]["INAMPKTCNT"] == 0


# A frame is two WRITEs of eight packets. Packet 3 is of the first one: the second still brings its immediate.
@pytest.mark.parametrize(
    ("dropped", "write_each", "cause"),
    [
        (3, False, "incomplete"),
        (7, False, "incomplete"),
        (8, False, "lost_on_link"),
        (12, False, "lost_on_link"),
        (15, False, "lost_on_link"),
        (3, True, "incomplete"),
        (12, True, "incomplete"),
        (15, True, "lost_on_link"),
    ],
)
def test_a_frame_that_loses_a_packet_is_lost_alone_and_its_slot_comes_back(tmp_path, dropped, write_each, cause):
    """Five frames over two slots: without the lost one's slot the fourth could not go."""
    change = {
        **UNRELIABLE,
        "rdma": {"transport": "UC", "write_each": write_each},
        "link": {"peer": "model", "faults": [{"action": "drop", "psn": PACKETS_A_FRAME + dropped}]},
        "expect": {"frames_lost": 1},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {cause: 1}
    packets = read_packets(tmp_path / "packets.bin")
    assert [packet.psn for packet in packets] == list(range(5 * PACKETS_A_FRAME))


def test_the_last_frame_of_an_unreliable_connection_may_be_the_lost_one(tmp_path):
    fault = {"action": "drop", "psn": 5 * PACKETS_A_FRAME - 1}
    outcome = run(tmp_path, {**UNRELIABLE, "link": {"peer": "model", "faults": [fault]}, "expect": {"frames_lost": 1}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"lost_on_link": 1}


DATAGRAMS = {"rdma": {"transport": "UD", "start_psn": 0xFFFFF8}, "acquisition": {"shots": 5}, "host": {"slots": 2}}


def test_datagrams_carry_frames_to_their_places(tmp_path):
    outcome = run(tmp_path, {**DATAGRAMS, "expect": {"min_goodput_gbps": 95.0}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["configuration"]["transport"] == "UD"
    assert outcome.report["frames"]["received"] == 5
    packets = read_packets(tmp_path / "packets.bin")
    assert [packet.psn for packet in packets] == [0xFFFFF8 + index & 0xFFFFFF for index in range(len(packets))]
    assert sum(packet.ends_frame for packet in packets) == 5


@pytest.mark.parametrize(
    ("faults", "causes"),
    [
        ([("drop", 3)], {"incomplete": 1}),
        ([("drop", 0)], {"incomplete": 1}),
        ([("drop", 15)], {"incomplete": 1}),
        ([("corrupt", 7)], {"incomplete": 1}),
        ([("drop", place) for place in range(16)], {"lost_on_link": 1}),
        ([("duplicate", 4)], {}),
        ([("reorder", 5)], {}),
        ([("drop", 2), ("duplicate", 9), ("drop", 40)], {"incomplete": 2}),
    ],
)
def test_a_lost_datagram_costs_its_frame_alone(tmp_path, faults, causes):
    """Of the second frame (places count in it), and sometimes of the third."""
    change = {
        **DATAGRAMS,
        "rdma": {"transport": "UD"},
        "link": {
            "peer": "model",
            "faults": [{"action": action, "psn": PACKETS_A_FRAME + place} for action, place in faults],
        },
        "expect": {"frames_lost": sum(causes.values())},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == causes


CODES = {"wrong_key": 0x0A, "access": 0x0A, "bad_entry": 0x05, "silence": 0x06, "not_ready": 0x09}


def test_a_queue_pair_that_goes_fatal_comes_back_and_nothing_is_lost(tmp_path):
    """Two of the faults directly behind one another, the packet numbers near their wrap."""
    faults = [{"kind": kind, "frame": frame} for frame, kind in enumerate(CODES, start=1)]
    change = {
        "acquisition": {"shots": 7, "prf_hz": 2000.0},
        "rdma": {"faults": faults, "retry_count": 1, "rnr_retry": 0, "start_psn": 0xFFFFF0},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["received"] == 7
    recoveries = outcome.simulated["recoveries"]
    assert [entry["error"] for entry in recoveries] == list(CODES.values())
    starts = [0xFFFFF0] + [entry["first_psn"] for entry in recoveries]
    assert len(set(starts)) == len(starts)
    assert all(entry["reposted"] >= 1 and entry["took_us"] < 50 for entry in recoveries)
    assert outcome.simulated["ring_counters"]["RELEASES_IGNORED"] == 0
    records = list(CaptureReader(tmp_path / "capture.bin"))
    assert [int(np.frombuffer(record.data, HEADER, 1)[0]["sequence"]) for record in records] == list(range(7))


def test_a_packet_that_never_gets_through_ends_the_queue_pair_in_the_middle_of_a_message(tmp_path):
    """What was acknowledged of it is free in the ring: only the rest is sent again, and the frame is right."""
    drops = [{"action": "drop", "psn": 16 + 12}] * 2  # the second one sees only what the first lets through
    change = {
        "acquisition": {"shots": 4, "prf_hz": 2000.0},
        "rdma": {
            "block_bytes": 65536,
            "acknowledge_every": 2,
            "retry_count": 1,
            "faults": [{"kind": "wrong_key", "frame": 3}],
        },
        "link": {"peer": "model", "faults": drops},
    }
    outcome = run(tmp_path, change)
    # One end more than the scenario asks for, and that is told of; the frames are right all the same.
    assert [entry["error"] for entry in outcome.simulated["recoveries"]] == [0x06, 0x0A]
    assert outcome.code == 1 and outcome.report["bit_exact"] is True
    assert outcome.report["frames"]["received"] == 4
    assert any("recoveries is 2, expected == 1" in reason for reason in outcome.report["reasons"])
    assert outcome.simulated["ring_counters"]["RELEASES_IGNORED"] == 0


@pytest.mark.parametrize("pmtu", [1024, 256])
def test_small_packets_reach_the_wire_limit(tmp_path, pmtu):
    """The whole frame is in the ring before it goes out, so that only the engine can be too slow."""
    change = {
        "acquisition": {"samples": 2046, "shots": 1},
        "rdma": {"pmtu": pmtu, "interrupt_threshold": 128, "interrupt_timeout_ns": 100_000},
    }
    limit = parse(merged(SMALL, change), "test").wire_goodput_gbps
    outcome = run(tmp_path, merged(change, {"expect": {"min_goodput_gbps": 0.99 * limit}}))
    assert outcome.code == 0, outcome.report["reasons"]


def test_photoacoustic_frames_with_a_laser_that_jitters_and_fails(tmp_path):
    acquisition = {"mode": "photoacoustic", "shots": 7, "jitter_ns": 200.0, "missing_pulses": [3, 4]}
    outcome = run(tmp_path, {"acquisition": acquisition})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["received"] == 5
    assert outcome.simulated["laser_missing"] == 2
    assert len(set(outcome.simulated["trigger_errors_ns"])) > 2
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    assert [int(frame["flags"]) for frame in frames] == [0, 0, 0, DropCause.LASER_MISSING, 0]
    assert {int(frame["dropped_before"]) for frame in frames} == {0}
    assert {(int(frame["mode"]), int(frame["sample_rate"]), int(frame["channels"])) for frame in frames} == {
        (2, 12500, 64)
    }


STALLED = 3
"""Frames of 1 MiB that come while the ring's four wait for the host."""
OUTGROWN = 3
"""Of ten frames of 2 MiB, 111 us apart, those that find less than 2 MiB free: the link takes 171 us a frame."""
ALTERNATING = {"mode": ["ultrasound", "photoacoustic"], "channels": 128, "retune_us": 5.0}


def test_modes_change_between_shots(tmp_path):
    outcome = run(tmp_path, {"acquisition": {**ALTERNATING, "shots": 5, "jitter_ns": 30.0}})
    assert outcome.code == 0, outcome.report["reasons"]
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    found = [(int(frame["mode"]), int(frame["channels"]), int(frame["sample_rate"])) for frame in frames]
    assert found == [(1, 128, 8000), (2, 64, 12500)] * 2 + [(1, 128, 8000)]
    assert [int(frame["shot"]) for frame in frames] == list(range(5))
    assert {int(frame["configuration"]) - int(frame["mode"]) for frame in frames} == {0}
    ready = [switch["ready_us"] for switch in outcome.simulated["mode_switches"]]
    assert len(ready) == 4
    assert all(5.0 < microseconds < 40.0 for microseconds in ready)


def test_shots_that_come_while_the_mode_changes_are_counted_and_no_other_is_lost(tmp_path):
    """Three shots of a mode, three of the other, faster than a change: just the shots inside the changes are gone."""
    acquisition = {
        "mode": ["ultrasound"] * 3 + ["photoacoustic"] * 3,
        "channels": 128,
        "samples": 126,
        "shots": 12,
        "prf_hz": 60_000.0,
        "retune_us": 4.0,
    }
    outcome = run(tmp_path, {"acquisition": acquisition, "expect": {"frames_lost": 3}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"mode_switch": 3}
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    assert sum(int(frame["dropped_before"]) for frame in frames) == 3
    assert all((int(frame["flags"]) == DropCause.HELD) == (frame["dropped_before"] > 0) for frame in frames)


@pytest.mark.parametrize("mode", ["ultrasound", "photoacoustic"])
def test_a_trigger_into_an_open_window_is_dropped_and_told_of(tmp_path, mode):
    acquisition = {"mode": mode, "double_triggers": [0, 2], "shots": 4, "jitter_ns": 20.0}
    outcome = run(tmp_path, {"acquisition": acquisition, "expect": {"frames_lost": 2}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"trigger_too_early": 2}
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    assert [int(frame["sequence"]) for frame in frames] == [0, 2, 3, 5]
    assert [int(frame["dropped_before"]) for frame in frames] == [0, 1, 0, 1]
    early = DropCause.TRIGGER_TOO_EARLY
    assert [int(frame["flags"]) for frame in frames] == [0, early, 0, early]


def test_the_front_end_fires_its_own_shots(tmp_path):
    outcome = run(tmp_path, {"acquisition": {"trigger": "generator", "shots": 4}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.simulated["acquisition_counters"]["SHOTS_FIRED"] == 4
    # It knows its own shots to the clock edge.
    assert outcome.simulated["trigger_errors_ns"] == [0.0] * 4


def test_frames_dropped_while_the_host_stands_still_are_counted_as_its_doing(tmp_path):
    """Frames of 1 MiB a quarter of a millisecond apart: two slots, then the ring takes four and refuses what comes."""
    acquisition = {"samples": 8188, "shots": 12, "prf_hz": 4000.0, "source": "unique"}
    host = {"slots": 2, "stall_frame": 2, "stall_us": 1500.0}
    outcome = run(tmp_path, {"acquisition": acquisition, "host": host, "expect": {"frames_lost": STALLED}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"host_stalled": STALLED}
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    told = [(int(frame["dropped_before"]), int(frame["flags"])) for frame in frames if frame["dropped_before"]]
    assert told == [(STALLED, DropCause.HOST_STALLED)]


def test_frames_that_outgrow_the_ring_are_dropped_whole_and_told_of(tmp_path):
    acquisition = {"samples": 8188, "shots": 10, "prf_hz": 9000.0, "source": "unique", "channels": 128}
    outcome = run(tmp_path, {"acquisition": acquisition, "expect": {"frames_lost": OUTGROWN}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"ring_full": OUTGROWN}
    frames = [np.frombuffer(record.data, HEADER, 1)[0] for record in CaptureReader(tmp_path / "capture.bin")]
    assert [int(frame["sequence"]) for frame in frames] == [0, 1, 2, 4, 5, 7, 8]
    assert [int(frame["dropped_before"]) for frame in frames] == [0, 0, 0, 1, 0, 1, 0]
    assert {int(frame["flags"]) for frame in frames} == {0, DropCause.RING_FULL}


@pytest.mark.parametrize("source", ["constant", "square", "unique", "ramp"])
def test_every_source_goes_through_without_scrambling(tmp_path, source):
    change = {"acquisition": {"source": source, "shots": 4, "samples": 254}, "jesd204b": {"scrambling": False}}
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]


def test_a_recorded_file_is_played_and_a_wrong_one_refused_before_anything_starts(tmp_path, capsys):
    recorded = np.random.default_rng(1).integers(-32768, 32767, (2, 510, 64), np.int16)
    np.save(tmp_path / "shots.npy", recorded)
    outcome = run(tmp_path / "run", {"acquisition": {"source": str(tmp_path / "shots.npy")}})
    assert outcome.code == 0, outcome.report["reasons"]
    (first, _) = CaptureReader(tmp_path / "run" / "capture.bin")
    assert np.array_equal(np.frombuffer(first.data, "<i2")[32 : 32 + 510 * 64].reshape(510, 64), recorded[0])
    again = {"acquisition": {"source": str(tmp_path / "run" / "frames.h5")}}
    assert run(tmp_path / "again", again).code == 0
    for source, complaint in (("none.npy", "does not exist"), ("shots.npy", "holds 2 shots; the scenario asks for 3")):
        scenario = parse(merged(SMALL, {"acquisition": {"source": str(tmp_path / source), "shots": 3}}), "test")
        assert run_scenario(scenario, Options(directory=tmp_path / "refused")) == CANNOT_RUN
        assert complaint in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "refused").exists()


def test_more_shots_than_slots_reuse_the_slots(tmp_path):
    outcome = run(tmp_path, {"host": {"slots": 2}, "acquisition": {"shots": 5}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert [record.slot for record in CaptureReader(tmp_path / "capture.bin")] == [0, 1, 0, 1, 0]
    # A frame that waits for a slot goes out when there is one, not when the next frame comes.
    assert outcome.simulated["latency_us"]["max"] < 8.0


def test_an_expectation_that_is_not_met_fails_the_run(tmp_path):
    outcome = run(tmp_path, {"expect": {"min_goodput_gbps": 99.0}})
    assert outcome.code == 1
    assert any("goodput" in reason for reason in outcome.report["reasons"])


def test_a_lane_fault_flags_its_frame_and_only_that(tmp_path):
    fault = {"kind": "bit_error", "lane": 3, "shot": 1, "sample": 100}
    change = {"jesd204b": {"faults": [fault]}, "expect": {"flagged_frames": 1}}
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["reasons"][0].startswith("2 of 2 frames received: 1 with every sample bit-exact, 1 flagged")
    assert outcome.report["frames"]["flagged_samples_wrong"] > 0
    assert outcome.report["faults"] == [
        {"where": "lane 3, shot 1, sample 100", "what": "bit_error", "times": 1, "certain": True}
    ]


def test_losses_that_the_scenario_allows_for_pass(tmp_path):
    change = {
        "acquisition": {"channels": 256, "samples": 4096, "shots": 6, "prf_hz": 19_000.0},
        "expect": {"frames_lost": 3},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"ring_full": 3}


def test_the_fill_over_time_reaches_the_peak_and_no_more(clean):
    peak = clean.simulated["ring_peak_bytes"]
    assert 0.9 * peak <= max(fill for _, fill in clean.simulated["ring_timeline"]) <= peak


def test_no_burst_is_faster_than_the_wire(tmp_path):
    outcome = run(tmp_path, {"acquisition": {"samples": 16}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert 0 < outcome.simulated["goodput_gbps"] <= parse(SMALL, "test").wire_goodput_gbps


def test_a_frame_of_one_sample_is_reported_without_an_image(tmp_path):
    outcome = run(tmp_path, {"acquisition": {"samples": 1}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert (tmp_path / "report.html").exists()
    assert not (tmp_path / "bmode.png").exists()


def test_a_fault_at_a_packet_that_never_comes_fails_the_run(tmp_path):
    fault = {"action": "drop", "psn": 500_000}
    outcome = run(tmp_path, {"link": {"peer": "model", "faults": [fault]}})
    assert outcome.code == 1
    assert "PSN 500000 never acted" in outcome.report["reasons"][0]


def test_wall_time_adds_up(clean):
    wall = clean.report["wall"]
    assert sum(wall["split"].values()) == pytest.approx(wall["seconds"])


def test_a_dead_acknowledgement_path_fails_with_the_queue_pairs_state(tmp_path):
    fault = {"action": "drop", "probability": 1.0, "direction": "rx"}
    change = {"link": {"peer": "model", "faults": [fault]}, "rdma": {"retry_timeout": 1, "retry_count": 1}}
    outcome = run(tmp_path, change)
    assert outcome.code == 1
    assert "queue pair 2" in outcome.report["reasons"][0]
    assert "no acknowledgement came" in outcome.report["reasons"][0]
