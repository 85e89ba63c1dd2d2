"""A scenario is refused before anything is built, with key, value and what is allowed."""

import pytest

from sim.scenario.load import ScenarioError, load, names, parse

BASE = {"name": "test"}
BOTH = ["ultrasound", "photoacoustic"]


@pytest.mark.parametrize("name", names())
def test_every_scenario_of_the_project_is_valid_and_bears_its_file_name(name):
    assert load(name).name == name


def test_defaults_are_the_published_setup():
    scenario = load("default")
    (mode,) = scenario.acquisition.modes
    shape = scenario.acquisition.shape_of(mode)
    assert (mode.name, shape.channels, shape.samples, scenario.acquisition.shots) == ("ultrasound", 256, 4096, 4)
    assert (mode.link_clock_hz, mode.lane_rate_gbps) == (320_000_000, 12.8)
    assert (scenario.rdma.pmtu, scenario.rdma.sq_depth, scenario.rdma.batch) == (4096, 1024, 8)
    assert scenario.links == 16


def test_photoacoustic_frames_have_half_the_channels_of_the_same_converters():
    scenario = parse({**BASE, "acquisition": {"mode": "photoacoustic", "shots": 4, "missing_pulses": [2]}}, "t")
    (mode,) = scenario.acquisition.modes
    assert scenario.links == 16
    assert scenario.acquisition.shape_of(mode).channels == 128
    assert (mode.link_clock_hz, mode.lane_rate_gbps, mode.parts(60.0)) == (250_000_000, 10.0, 7.5 * 256)
    assert scenario.acquisition.triggers == ((0, 0.0), (1, 0.0), (3, 0.0))


def test_pulses_may_be_missing_between_changes_of_mode_and_the_generator_may_fire_the_laser():
    modes = [*BOTH, *["photoacoustic"] * 3]
    acquisition = {"mode": modes, "shots": 10, "missing_pulses": [2, 3, 8], "trigger": "generator", "jitter_ns": 9.0}
    assert len(parse({**BASE, "acquisition": acquisition}, "t").acquisition.triggers) == 7


def test_a_list_of_modes_is_one_a_shot_and_begins_anew():
    scenario = parse({**BASE, "acquisition": {"mode": [*BOTH, "photoacoustic"]}}, "t").acquisition
    assert [scenario.mode_of(shot).identifier for shot in range(5)] == [1, 2, 2, 1, 2]
    assert [scenario.shape_of(mode).channels for mode in scenario.modes] == [256, 128]
    assert scenario.main_mode.name == "ultrasound"
    assert scenario.links == 16


def test_software_knows_the_wiring_unless_it_is_told_another():
    links = parse({**BASE, "jesd204b": {"lane_map": "reversed", "inverted_lanes": [3]}}, "t").jesd204b
    assert links.wired(4) == links.wired_for_software(4) == (3, 2, 1, 0)
    assert links.inverted_for_software == (3,)
    mistaken = {"lane_map": list(range(31, -1, -1)), "software_lane_map": "identity", "software_inverted_lanes": [5]}
    links = parse({**BASE, "jesd204b": mistaken}, "t").jesd204b
    assert links.wired(32)[:2] == (31, 30)
    assert links.wired_for_software(4) == (0, 1, 2, 3)
    assert (links.inverted_lanes, links.inverted_for_software) == ((), (5,))


def test_the_wire_limit_counts_preamble_gap_and_check_sums():
    assert parse(BASE, "t").wire_goodput_gbps == pytest.approx(98.04, abs=0.01)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"frobnicate": 1}, "unknown key frobnicate; keys of a scenario: name, seed"),
        (
            {"rdma": {"transport": "UD", "pmtu": 256}, "host": {"slots": 4}},
            "host.slots = 4: a frame takes 8193 datagrams",
        ),
        (
            {"rdma": {"qps": 2, "faults": [{"kind": "wrong_key", "frame": 1}]}},
            "rdma.faults = 1: allowed with one queue pair",
        ),
        (
            {"rdma": {"posting": "hardware", "faults": [{"kind": "silence", "frame": 1}]}},
            "rdma.posting processor",
        ),
        (
            {"rdma": {"faults": [{"kind": "silence", "frame": 2}, {"kind": "access", "frame": 2}]}},
            "frames: allowed rising, 0 to 3",
        ),
        (
            {"rdma": {"rnr_retry": 1, "faults": [{"kind": "not_ready", "frame": 0}]}},
            "the first frame finds a receive; not_ready is allowed from 1",
        ),
        ({"rdma": {"faults": [{"kind": "not_ready", "frame": 1}]}}, "rdma.rnr_retry = 7: retries for ever"),
        ({"rdma": {"faults": [{"kind": "silence", "frame": 4}]}}, "frames: allowed rising, 0 to 3"),
        ({"acquisition": {"sample": 4}}, "unknown key acquisition.sample; keys of acquisition: mode"),
        ({"acquisition": {"samples": "12"}}, "acquisition.samples = '12'"),
        ({"acquisition": {"samples": 0}}, "acquisition.samples = 0: Input should be greater than or equal to 1"),
        ({"acquisition": {"samples": 9000}}, "allowed 1 to 8191 at 256 channels"),
        ({"acquisition": {"channels": 100}}, "64, 128 or 256"),
        ({"acquisition": {"prf_hz": 30_000.0}}, "allowed below 19531 Hz"),
        ({"acquisition": {"prf_hz": 6000.0, "shots": 64}}, "outgrow the ring of 4194304"),
        ({"acquisition": {"source": "noise"}}, "must be phantom, ramp, unique, prbs, constant, square or the path"),
        ({"acquisition": {"mode": "doppler"}}, "acquisition.mode[0] = 'doppler': Input should be 'ultrasound' or"),
        ({"acquisition": {"mode": "photoacoustic", "channels": 256}}, "would need 20.00 Gb/s a lane; at most 12.8"),
        ({"acquisition": {"jitter_ns": 75_000.0}}, "acquisition.jitter_ns = 75000.0: allowed below 74400"),
        ({"acquisition": {"missing_pulses": [1]}}, "only the laser has pulses"),
        ({"acquisition": {"mode": "photoacoustic", "missing_pulses": [3]}}, "allowed 1 to 2: a pulse is missed when"),
        ({"acquisition": {"mode": "photoacoustic", "missing_pulses": [0]}}, "greater than or equal to 1"),
        (
            {"acquisition": {"mode": "photoacoustic", "missing_pulses": [1], "jitter_ns": 60_000.0}},
            "pulses so late count as missing",
        ),
        ({"acquisition": {"mode": []}}, "acquisition.mode = (): Tuple should have at least 1 item"),
        ({"acquisition": {"mode": ["ultrasound", "doppler"]}}, "acquisition.mode[1] = 'doppler'"),
        ({"acquisition": {"mode": BOTH, "channels": 64}}, "photoacoustic frames would have 32; allowed 128 or 256"),
        ({"acquisition": {"mode": BOTH, "source": "shots.npy"}}, "a file holds frames of one mode"),
        ({"acquisition": {"mode": BOTH, "missing_pulses": [2]}}, "only the laser has pulses"),
        ({"acquisition": {"mode": BOTH, "missing_pulses": [1]}}, "without a change of mode between"),
        (
            {"acquisition": {"mode": [*BOTH, "photoacoustic", "photoacoustic"], "missing_pulses": [2, 3], "shots": 8}},
            "without a change of mode between",
        ),
        (
            {"acquisition": {"trigger": "generator", "mode": BOTH, "prf_hz": 16_500.0}},
            "the generator has to be stopped after a window if the mode changes, within 10 us; 9.4 us are left",
        ),
        ({"acquisition": {"trigger": "generator", "jitter_ns": 1.0}}, "the generator has none; allowed 0"),
        (
            {"acquisition": {"trigger": "generator", "prf_hz": 200_000.0, "samples": 100, "channels": 64}},
            "allowed up to 100000 with the generator",
        ),
        ({"acquisition": {"double_triggers": [4]}}, "allowed 0 to 3"),
        ({"acquisition": {"double_triggers": [1], "trigger": "generator"}}, "the generator fires once"),
        (
            {"acquisition": {"double_triggers": [1], "samples": 64}},
            "windows of 800 ns are too short; allowed from 1200",
        ),
        ({"host": {"slots": 4, "stall_frame": 3}}, "host.stall_frame = 3: the first 4 frames find free slots"),
        ({"rdma": {"pmtu": 1500}}, "rdma.pmtu = 1500: Input should be 256, 512, 1024, 2048 or 4096"),
        ({"rdma": {"block_bytes": 5000}}, "rdma.block_bytes = 5000"),
        ({"rdma": {"block_bytes": 4096}}, "the block table holds 256"),
        ({"rdma": {"start_psn": 1 << 24}}, "less than or equal to 16777215"),
        ({"jesd204b": {"k": 40}}, "less than or equal to 32"),
        ({"jesd204b": {"faults": [{"kind": "bit_error", "lane": 32}]}}, "jesd204b.faults[0].lane = 32"),
        ({"jesd204b": {"faults": [{"kind": "bit_error", "lane": 0, "shot": 4}]}}, "allowed 0 to 3"),
        ({"link": {"peer": "cloud"}}, "link.peer = 'cloud'"),
        ({"link": {"rate_gbps": 400.0}}, "less than or equal to 100"),
        ({"link": {"faults": [{"action": "drop"}]}}, "exactly one of psn and probability"),
        ({"link": {"faults": [{"action": "drop", "psn": 1, "colour": "red"}]}}, "unknown key link.faults[0].colour"),
        ({"seed": -1}, "seed = -1"),
        ({"acquisition": {"prf_hz": 1e-9}}, "acquisition.prf_hz = 1e-09: Input should be greater than or equal to 1"),
        ({"acquisition": {"prf_hz": float("nan")}}, "acquisition.prf_hz = nan: Input should be a finite number"),
        ({"acquisition": 3}, "acquisition = 3: must be a table"),
        ({"link": {"faults": "none"}}, "link.faults = 'none': must be an array"),
        ({"link": {"faults": [{"action": "drop", "psn": 3, "delay_ns": 5}]}}, "delay_ns means nothing for drop"),
        (
            {"link": {"rate_gbps": 1.0}, "acquisition": {"shots": 1}},
            "rdma.retry_timeout = 4: the acknowledgement of 16 packets takes up to 536.3 us",
        ),
        ({"link": {"rate_gbps": 1.0}, "acquisition": {"shots": 1}}, "allowed 8 to 31"),
        ({"rdma": {"write_each": True}}, "rdma.write_each = True: is for UC; RC allows false"),
        ({"rdma": {"posting": "hardware", "qps": 2}}, 'rdma.qps = 2: rdma.posting = "hardware" allows 1'),
        ({"rdma": {"posting": "hardware", "transport": "UC"}}, 'UC: rdma.posting = "hardware" allows RC'),
        (
            {"rdma": {"posting": "hardware"}, "host": {"slots": 4, "stall_frame": 9}},
            'host.stall_frame = 9: rdma.posting = "processor" allows it',
        ),
        ({"rdma": {"posting": "firmware"}}, "rdma.posting = 'firmware': Input should be 'processor' or 'hardware'"),
        ({"expect": {"max_unfairness_percent": 5.0}}, "expect.max_unfairness_percent = 5.0: one queue pair shares"),
        ({"rdma": {"batch": 64, "sq_depth": 16}}, "rdma.batch = 64: allowed 1 to rdma.sq_depth = 16"),
        ({"expect": {"frames_lost": 5}}, "expect.frames_lost = 5: allowed 0 to 4 shots"),
        ({"expect": {"flagged_frames": 5}}, "expect.flagged_frames = 5: allowed 0 to 4 shots"),
        (
            {"jesd204b": {"lane_map": "straight"}},
            'allowed are "identity", "reversed" or a list with the number of each',
        ),
        ({"jesd204b": {"lane_map": [0, 1, 1, 2]}}, "a list with the number of each lane once"),
        ({"jesd204b": {"lane_map": [1, 0]}}, "jesd204b.lane_map = [1, 0]: 2 lanes; there are 32"),
        ({"jesd204b": {"software_lane_map": [1, 0]}}, "jesd204b.software_lane_map = [1, 0]: 2 lanes; there are 32"),
        ({"jesd204b": {"inverted_lanes": [32]}}, "jesd204b.inverted_lanes[0] = 32"),
        (
            {"acquisition": {"channels": 64}, "jesd204b": {"software_inverted_lanes": [8]}},
            "jesd204b.software_inverted_lanes = [8]: allowed 0 to 7",
        ),
        ({"jesd204b": {"interrupts": ["came_up", "noise"]}}, "noise: no cause; there are disparity, not_in_table"),
        ({"name": "../evil"}, "name = '../evil': allowed are 1 to 64 letters, digits"),
    ],
)
def test_bad_input_is_refused_with_key_and_reason(change, complaint):
    with pytest.raises(ScenarioError) as refusal:
        parse({**BASE, **change}, "t.toml")
    assert complaint in str(refusal.value)


def test_all_complaints_come_at_once():
    with pytest.raises(ScenarioError) as refusal:
        parse({**BASE, "rdma": {"pmtu": 3, "batch": 0}}, "t.toml")
    assert "rdma.pmtu" in str(refusal.value)
    assert "rdma.batch" in str(refusal.value)


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(ScenarioError, match="default"):
        load("nonsense")


def test_a_directory_is_called_one(tmp_path):
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(ScenarioError, match="is a directory"):
        load(str(folder))


def test_broken_toml_names_file_and_place(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("name = \n")
    with pytest.raises(ScenarioError, match=r"broken.toml: not valid TOML.*line 1"):
        load(str(path))


def test_overrides_replace_single_keys():
    scenario = load("default", {"seed": 7, "link": {"peer": "model"}})
    assert (scenario.seed, scenario.link.peer) == (7, "model")


def test_a_burst_that_the_ring_absorbs_is_allowed_at_a_rate_that_cannot_be_sustained():
    assert parse({**BASE, "acquisition": {"prf_hz": 6000.0, "shots": 4}}, "t").acquisition.shots == 4
