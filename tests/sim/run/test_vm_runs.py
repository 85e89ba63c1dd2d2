"""The whole pipeline against a real rdma_rxe in the micro-VM: what `make sim` shows a user."""

import json
import subprocess

import h5py
import pytest

from sim.run.runner import Options, run_scenario
from sim.scenario.load import load
from tests.sim.run.scenario_runs import Outcome, run

pytestmark = pytest.mark.peer

REAL = {"link": {"peer": "vm"}}


def run_named(name, directory, **overrides):
    code = run_scenario(load(name, {"link": {"peer": "vm"}, **overrides}), Options(directory=directory))
    return Outcome(code, json.loads((directory / "report.json").read_text()), directory)


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    return run_named("default", tmp_path_factory.mktemp("default"))


def test_the_default_scenario_passes_with_the_published_figures(default):
    assert default.code == 0, default.report["reasons"]
    report = default.report
    assert report["frames"]["received"] == report["frames"]["sent"] == 4
    assert report["bit_exact"] is True
    assert report["peer"]["kind"] == "vm"
    assert report["peer"]["kernel"].startswith("6.1.")
    assert report["simulated"]["goodput_gbps"] >= 95.6
    assert report["simulated"]["latency_us"]["max"] <= 8.0
    assert report["simulated"]["retransmitted_packets"] == 0


def test_the_verbs_device_counts_no_surprise(default):
    counters = default.report["peer"]["counters"]
    assert counters["rcvd_pkts"] == len(read_frames(default.directory, "udp.dstport == 4791 && ip.src == 10.77.0.1"))
    for name in ("out_of_seq_request", "duplicate_request", "send_rnr_err"):
        assert counters[name] == 0, name


def read_frames(directory, display_filter):
    command = [
        "tshark",
        "-r",
        str(directory / "link.pcapng"),
        "-Y",
        display_filter,
        "-T",
        "fields",
        "-e",
        "frame.number",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.split()


def test_wireshark_dissects_every_frame_as_rocev2(default):
    everything = read_frames(default.directory, "frame")
    assert len(everything) > 2000
    assert read_frames(default.directory, "infiniband || arp") == everything
    assert read_frames(default.directory, "_ws.malformed") == []


def test_the_frames_file_holds_what_was_received(default):
    with h5py.File(default.directory / "frames.h5") as file:
        assert file["tracks/track_0/data/raw_data"].shape == (4, 1, 4096, 256, 1)
        assert file["tracks/track_0/data/raw_data"].dtype == "int16"


def test_real_and_model_peer_give_the_same_simulated_figures(tmp_path):
    real, model = run(tmp_path / "vm", REAL), run(tmp_path / "model")
    assert real.code == 0, real.report["reasons"]
    assert model.code == 0, model.report["reasons"]
    assert real.simulated == model.simulated


def test_the_photoacoustic_scenario_passes_with_the_published_figures(tmp_path):
    outcome = run_named("photoacoustic", tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    simulated, frames = outcome.simulated, outcome.report["frames"]
    assert frames["received"] == frames["sent"] == 22
    assert simulated["laser_missing"] == 2
    # Half a link clock of 250 MHz, and all of it is used: the pulses come at any time.
    errors = simulated["trigger_error_ns"]
    assert -2.0 <= errors["min"] < -1.2
    assert 1.2 < errors["max"] <= 2.0
    delays = simulated["trigger_to_first_sample_ns"]
    assert abs(delays["p50"] - 60.0) <= 2.0
    assert 56.0 <= delays["min"] <= delays["max"] <= 64.0
    reached = {row["key"]: row["reached"] for row in outcome.report["published"]}
    assert reached["photoacoustic_rate"] and reached["laser_delay"] and reached["trigger_precision"]
    with h5py.File(tmp_path / "frames.h5") as file:
        raw = file["tracks/track_0/data/raw_data"]
        assert raw.shape == (22, 1, 2048, 128, 1)


def test_modes_change_while_running_and_nothing_is_lost(tmp_path):
    outcome = run_named("modeswitch", tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["received"] == 6
    switches = outcome.simulated["mode_switches"]
    assert [switch["to"] for switch in switches] == ["photoacoustic", "ultrasound"] * 2 + ["photoacoustic"]
    assert all(switch["first_sample_us"] <= switch["ready_us"] < 100.0 for switch in switches)
    with h5py.File(tmp_path / "frames.h5") as file:
        assert list(file["frames"]["mode"]) == [1, 2] * 3
        assert list(file["frames"]["dropped_before"]) == [0] * 6
        shapes = [file[f"tracks/track_{track}/data/raw_data"].shape for track in (0, 1)]
        assert shapes == [(3, 1, 4096, 256, 1), (3, 1, 4096, 128, 1)]
    assert (tmp_path / "bmode-photoacoustic.png").stat().st_size > 0


def test_every_fault_is_repaired_with_the_real_peer(tmp_path):
    outcome = run_named("faults", tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    assert all(fault["times"] == 1 for fault in outcome.report["faults"])


@pytest.mark.icarus
def test_the_smoke_scenario_passes_on_icarus(tmp_path):
    outcome = run_named("smoke", tmp_path, simulator="icarus")
    assert outcome.code == 0, outcome.report["reasons"]


def test_lanes_as_far_apart_as_may_be(tmp_path):
    outcome = run_named("skew", tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    counters = outcome.simulated["link_counters"]
    assert counters["REINITIALISATIONS"] == 0 and counters["FILL_MOST"] - counters["FILL_LEAST"] >= 35
    assert not any(value for name, value in counters.items() if name.startswith("LANE_"))


def test_lanes_that_drop_flag_their_frames_and_come_back(tmp_path):
    outcome = run_named("lanedrop", tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    counters = outcome.simulated["link_counters"]
    assert counters["REINITIALISATIONS"] == 2
    # Every dead octet is counted, and only where it was.
    assert counters["LANE_NOT_IN_TABLE"] == counters["LANE_NOT_IN_TABLE[5]"] == 4 * 8000
    assert outcome.report["frames"]["dropped_by_cause"] == {"link_down": 1}
    assert {name for name in counters if name.startswith("LANE_CGS_LOSSES[")} == {
        "LANE_CGS_LOSSES[5]",
        "LANE_CGS_LOSSES[30]",
    }
    assert counters["LANE_DISPARITY[12]"] == 1
    page = (outcome.directory / "report.html").read_text()
    assert "lane 30: losses of code group synchronisation" in page


@pytest.mark.parametrize("name", ["rc", "uc", "ud", "multiqp", "lossy", "recovery", "handshake"])
def test_what_the_rdma_engine_is_measured_by(tmp_path, name):
    outcome = run_named(name, tmp_path)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["peer"]["kind"] == "vm"


def test_after_a_lost_continuation_the_software_device_hears_nothing_more_on_an_unreliable_connection(tmp_path):
    """By the specification a FIRST or ONLY starts anew (the model peer does so); this kernel drops all that follows."""
    fault = {"action": "drop", "psn": 16 + 3}
    change = {
        "rdma": {"transport": "UC"},
        "acquisition": {"shots": 4},
        "link": {"peer": "vm", "faults": [fault]},
        "expect": {"frames_lost": 3},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["dropped_by_cause"] == {"lost_on_link": 3}
    # All that was not dropped on the link reached the device; what it did with it, no counter tells.
    assert outcome.report["peer"]["counters"]["rcvd_pkts"] == 4 * 16 - 1
