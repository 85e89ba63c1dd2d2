"""Plans against runs of the RTL, against themselves, and the command's exit codes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.__main__ import main
from host.plan import Plan, Settings, make_plan
from host.plan import plan as module
from sim.scenario.load import load
from sim.scenario.model import BLOCK_TABLE_ENTRIES, MAX_LANE_RATE_GBPS, RING_BYTES

MEASURED_PEAK = 1_839_104
MEASURED_GOODPUT = 98.026917
"""``simulated.ring_peak_bytes`` and ``.goodput_gbps`` in report.json of 'make sim' (default scenario, Verilator)."""
HARMLESS_STALL_US, HARMFUL_STALL_US = 168, 171
"""Two runs of the default scenario with one stall of the link so long, at the first packet of the second frame (PSN
513, retry_timeout 8): with the first no frame was lost, with the second one was refused as ring_full."""


def test_the_plan_of_the_default_scenario_is_what_the_rtl_does():
    plan = make_plan(Settings())
    assert plan.ring_peak_bytes == MEASURED_PEAK
    assert plan.goodput_gbps == pytest.approx(MEASURED_GOODPUT, abs=5e-5)
    assert plan.longest_stall_us is not None
    assert HARMLESS_STALL_US < plan.longest_stall_us < HARMFUL_STALL_US
    assert plan.ring_peak_cut_through_bytes < plan.ring_peak_bytes < plan.ring_peak_store_and_forward_bytes


def test_defaults_are_those_of_the_default_scenario():
    scenario, plan = load("default", {}), make_plan(Settings())
    mode = scenario.acquisition.main_mode
    shape = scenario.acquisition.shape_of(mode)
    assert (plan.settings.mode, plan.channels, plan.settings.samples) == (mode.name, shape.channels, shape.samples)
    assert (plan.sample_rate_hz, plan.settings.prf_hz) == (mode.sample_rate_hz, scenario.acquisition.prf_hz)
    assert plan.frame_bytes == shape.frame_bytes
    same = ("pmtu", "block_bytes", "interrupt_threshold", "interrupt_timeout_ns", "transport")
    assert [getattr(plan.settings, name) for name in same] == [getattr(scenario.rdma, name) for name in same]
    assert plan.settings.link_gbps == scenario.link.rate_gbps
    assert plan.settings.round_trip_ns == 2 * scenario.link.delay_ns + scenario.link.turnaround_ns
    assert plan.settings.ring_bytes == RING_BYTES
    assert scenario.rdma.acknowledge_every == module.ACKNOWLEDGE_EVERY_PACKETS
    assert (module.BLOCK_TABLE_ENTRIES, module.FASTEST_LANE_GBPS) == (BLOCK_TABLE_ENTRIES, MAX_LANE_RATE_GBPS)


def test_published_sustained_samples():
    found = [
        make_plan(Settings(goodput_gbps=95.6, prf_hz=prf, ring_bytes=1 << 30)).greatest_samples
        for prf in (1e3, 2e3, 5e3, 1e4)
    ]
    assert found == [23_339, 11_669, 4_667, 2_333]


def obstacles(**change):
    plan = make_plan(Settings(**change))
    assert plan.sustainable == (not plan.obstacles) == (plan.settings.samples <= plan.greatest_samples)
    assert all(obstacle.why and obstacle.change for obstacle in plan.obstacles)
    return [obstacle.name for obstacle in plan.obstacles]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({}, []),
        ({"mode": "photoacoustic", "prf_hz": 1000}, []),
        ({"samples": 4787}, ["link"]),
        ({"link_gbps": 40}, ["link"]),
        ({"samples": 4096, "prf_hz": 20_000}, ["window", "link"]),
        ({"samples": 8192, "prf_hz": 100}, ["ring"]),
        ({"samples": 8190, "prf_hz": 100}, []),
        ({"samples": 8064, "prf_hz": 2900, "interrupt_timeout_ns": 0}, ["ring"]),
        ({"samples": 4096, "block_bytes": 4096}, ["block_table"]),
        ({"sample_rate_hz": 125e6}, ["lane_rate"]),
        ({"mode": "photoacoustic", "channels": 256}, ["lanes"]),
    ],
)
def test_each_obstacle_is_named(change, names):
    assert obstacles(**change) == names


def test_what_cannot_be_carried_has_no_greatest_values():
    plan = make_plan(Settings(sample_rate_hz=125e6))
    assert (plan.greatest_samples, plan.greatest_prf_hz) == (0, 0.0)
    assert plan.longest_stall_us is None


def test_without_acknowledgements_bytes_are_free_as_they_leave():
    reliable, not_so = (make_plan(Settings(transport=kind)) for kind in ("RC", "UC"))
    assert not_so.ring_peak_bytes < reliable.ring_peak_bytes
    assert make_plan(Settings(transport="UD")).goodput_gbps < not_so.goodput_gbps


def test_what_the_frame_before_left_counts_for_the_peak():
    # No timer and a response as long as what is left of the period: most of a frame is there when the next begins.
    slow = Settings(samples=2048, interrupt_timeout_ns=0, interrupt_threshold=128, response_ns=150_000)
    assert make_plan(slow).ring_peak_bytes > make_plan(slow.model_copy(update={"prf_hz": 1000.0})).ring_peak_bytes


valid = st.builds(
    Settings,
    mode=st.sampled_from(["ultrasound", "photoacoustic"]),
    samples=st.integers(1, 65_535),
    prf_hz=st.floats(1.0, 1e5),
    channels=st.sampled_from([64, 128]),
    link_gbps=st.floats(1.0, 400.0),
    pmtu=st.sampled_from([256, 1024, 4096]),
    transport=st.sampled_from(["RC", "UC", "UD"]),
    block_bytes=st.sampled_from([32_768, 262_144]),
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(valid)
def test_the_greatest_values_are_sustainable_and_a_little_more_is_not(setting):
    plan = make_plan(setting)
    if plan.greatest_samples:
        assert make_plan(setting.model_copy(update={"samples": plan.greatest_samples})).sustainable
    if plan.greatest_samples < module.MOST_SAMPLES:
        assert not make_plan(setting.model_copy(update={"samples": plan.greatest_samples + 1})).sustainable
    if plan.greatest_prf_hz:
        assert make_plan(setting.model_copy(update={"prf_hz": plan.greatest_prf_hz})).sustainable
        assert not make_plan(setting.model_copy(update={"prf_hz": plan.greatest_prf_hz + 0.2})).sustainable
    assert plan.sustainable == (setting.samples <= plan.greatest_samples)


def test_the_command_shows_figures_and_its_exit_code_tells(capsys):
    assert main(["plan"]) == 0
    shown = capsys.readouterr().out
    assert "327.68 Gb/s" in shown and "39.4 mm" in shown and "513 packets" in shown and "sustainable: at" in shown
    assert main(["plan", "--samples", "8192"]) == 1
    shown = capsys.readouterr().out
    assert "not sustainable" in shown and "fewer samples" in shown


def test_json_holds_every_figure(capsys):
    assert main(["plan", "--json", "--mode", "photoacoustic"]) == 0
    assert Plan.model_validate_json(capsys.readouterr().out) == make_plan(Settings(mode="photoacoustic"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--pmtu", "1500"], "pmtu"),
        (["--samples", "0"], "--samples"),
        (["--samples", "many"], "--samples"),
        (["--mode", "doppler"], "--mode"),
        (["--prf-hz", "nan"], "--prf-hz"),
        (["--block-bytes", "5000"], "--block-bytes"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_by_name(capsys, arguments, says):
    assert main(["plan", *arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err and not captured.out


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    shown = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')}" in shown for name in Settings.model_fields)
    assert "examples:" in shown


def test_the_readme_shows_what_the_command_prints(capsys):
    main(["plan", "--json"])
    plan = json.loads(capsys.readouterr().out)
    from sim.sources import ROOT

    readme = (ROOT / "host" / "plan" / "README.md").read_text()
    assert f"{plan['ring_peak_bytes']} bytes" in readme and f"{plan['longest_stall_us']:.1f} us" in readme
