"""Faults of the receive link in a scenario: which keys a kind has, and what is refused."""

from __future__ import annotations

import pytest

from sim.scenario.lane_faults import KEYS
from sim.scenario.load import ScenarioError, parse

VALUES = {
    "lane": 2,
    "link": 1,
    "octets": 8,
    "octet": 3,
    "bit": 5,
    "character": 0x1C,
    "beats": 50,
    "times": 2,
    "field": "cs",
    "add": 1,
    "multiframes": 3,
    "frames": 16,
    "value": 1,
    "channel": 3,
    "other": 5,
    "shot": 1,
    "sample": 9,
}
HOW = {"lane_drop": "stuck", "replacement": "never"}


def scenario(fault: dict, acquisition: dict | None = None, **jesd204b):
    tables = {"acquisition": acquisition or {}, "jesd204b": {"faults": [fault], **jesd204b}}
    return parse({"name": "x", **tables}, "x.toml")


def keys_of(kind: str, *, optional: bool) -> dict:
    names = (*KEYS[kind].needs, *(KEYS[kind].may if optional else ()))
    return {"kind": kind, **{name: HOW[kind] if name == "how" else VALUES[name] for name in names}}


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("kind", KEYS)
def test_every_kind_with_its_keys(kind: str, optional: bool) -> None:
    fault = scenario(keys_of(kind, optional=optional)).jesd204b.faults[0]
    assert fault.kind == kind and fault.where


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_that_is_missing_or_means_nothing_is_refused(kind: str) -> None:
    good = keys_of(kind, optional=True)
    for name in KEYS[kind].needs:
        with pytest.raises(ScenarioError, match=f"needs {name}"):
            scenario({key: value for key, value in good.items() if key != name})
    for name in set(VALUES) - set(good):
        with pytest.raises(ScenarioError, match=f"{name}: means nothing for {kind}"):
            scenario({**good, name: VALUES[name]})


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"kind": "bit_error", "lane": 32}, "lane = 32"),
        ({"kind": "restart", "link": 16}, "link = 16"),
        ({"kind": "swap_lanes", "lane": 1, "other": 32}, "other = 32: allowed 0 to 31"),
        ({"kind": "duplicate_channel", "channel": 1, "other": 300}, "other = 300"),
        ({"kind": "slip", "lane": 1, "octets": 0}, "octets = 0: a slip loses or repeats at least one"),
        ({"kind": "clock", "lane": 1, "beats": 9, "octets": 0}, "octets = 0: a clock loses"),
        ({"kind": "swap_lanes", "lane": 1, "other": 1}, "lane = 1, other = 1: swap_lanes takes two"),
        (
            {"kind": "duplicate_channel", "channel": 4, "other": 4},
            "channel = 4, other = 4: duplicate_channel takes two",
        ),
        ({"kind": "sender_multiframe", "frames": 33}, "frames"),
        ({"kind": "sender_multiframe", "frames": 2}, "frames"),
        ({"kind": "burst", "lane": 1, "octets": 0}, "octets = 0"),
        ({"kind": "delay", "lane": 1, "octets": -1}, "a lane cannot be early"),
        ({"kind": "rotation", "octets": 9}, "rotation has 1 to 8"),
        ({"kind": "clock", "lane": 1, "beats": 9, "octets": 3}, "whole beats"),
        ({"kind": "ilas_length", "lane": 1, "multiframes": 6}, "allowed 0 to 5"),
        ({"kind": "ilas_hit", "lane": 1, "octets": -1}, "ilas_hit has 0 to 512"),
        ({"kind": "ilas_hit", "lane": 1, "multiframes": 4}, "ilas_hit has 0 to 512, 0 to 3"),
        ({"kind": "ilas_field", "lane": 1, "field": "xyz"}, "field = xyz: allowed are did"),
        ({"kind": "lane_drop", "lane": 1, "how": "never"}, "lane_drop has dead, stuck, commas"),
        ({"kind": "slip", "lane": 1, "octets": 4, "shot": 4}, "shot = 4: allowed 0 to 3"),
    ],
)
def test_impossible_values_are_refused(fault: dict, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        scenario(fault)


LONG = {"shots": 4, "samples": 4096, "prf_hz": 5000}
BETWEEN = round(1e9 / 5000 / 12.5)
"""Samples from a shot of :data:`LONG` to the next."""
NO_EFFECT = [
    ({"kind": "ilas_length", "lane": 1, "multiframes": 4}, {}, "multiframes = 4: changes nothing", {"multiframes": 5}),
    ({"kind": "ilas_sum", "lane": 1, "add": 0}, {}, "add = 0: changes nothing", {"add": -1}),
    (
        {"kind": "ilas_field", "lane": 1, "field": "hd", "add": 2},
        {},
        "field = hd, add = 2: changes nothing",
        {"add": 3},
    ),
    ({"kind": "late", "link": 1, "multiframes": 0}, {}, "multiframes = 0: changes nothing", {"multiframes": 1}),
    ({"kind": "delay", "lane": 1, "octets": 0}, {}, "octets = 0: changes nothing", {"octets": 1}),
    (
        {"kind": "character", "lane": 1, "character": 5},
        {},
        "character = 5: no control character; there are 0x1C",
        {"character": 0xF7},
    ),
    (
        {"kind": "sender_multiframe", "frames": 32},
        {},
        "frames = 32: changes nothing, jesd204b.k is the same",
        {"frames": 31},
    ),
    ({"kind": "sender_multiframe", "frames": 8}, {"k": 8}, "frames = 8: changes nothing", {"frames": 32}),
    ({"kind": "scrambler_seed", "value": 0x7F80}, {}, "value = 32640: changes nothing", {"value": 0}),
    ({"kind": "sysref", "beats": 128}, {}, "beats = 128: whole multiframes of 128 beats", {"beats": 127}),
    ({"kind": "sysref_period", "beats": 512}, {}, "beats = 512: changes nothing", {"beats": 128}),
    (
        {"kind": "ilas_hit", "lane": 1, "octets": 512},
        {},
        "octets = 512: a multiframe has 512; allowed 0 to 511",
        {"octets": 511},
    ),
    ({"kind": "ilas_hit", "lane": 1, "octets": 128}, {"k": 8}, "allowed 0 to 127", {"octets": 127}),
    (
        {"kind": "lane_drop", "lane": 1, "shot": 3, "sample": 4096},
        {},
        "sample = 4096: the run's last window is over then; allowed 0 to 4095",
        {"sample": 4095},
    ),
    (
        {"kind": "lane_drop", "lane": 1, "shot": 2, "sample": BETWEEN + 4100},
        {},
        "sample = 20100: the run's last window is over",
        {"sample": BETWEEN + 4095},
    ),
]
"""A fault, keys beside it, how it is refused, and the nearest thing that has an effect."""


@pytest.mark.parametrize(("fault", "beside", "complaint", "mend"), NO_EFFECT)
def test_values_without_effect_are_refused_and_their_neighbours_are_not(fault, beside, complaint, mend) -> None:
    with pytest.raises(ScenarioError, match=rf"jesd204b.faults\[0\].*{complaint}"):
        scenario(fault, acquisition=LONG, **beside)
    assert scenario({**fault, **mend}, acquisition=LONG, **beside)


ALONE_OR_TOGETHER = [
    ([{"kind": "sysref_missing"}], {"subclass": 0}, r"\[0\].kind = sysref_missing: has no effect in subclass 0"),
    ([{"kind": "sysref_once"}], {"subclass": 0}, r"\[0\].kind = sysref_once: has no effect in subclass 0"),
    ([{"kind": "sysref_missing"}, {"kind": "sysref_jitter", "beats": 3}], {}, "leaves nothing for sysref_jitter"),
    ([{"kind": "sysref_once"}, {"kind": "sysref", "beats": 3}], {}, r"\[1\].kind = sysref: the only pulse"),
    ([{"kind": "scrambler_seed", "value": 1}], {"scrambling": False}, "converters that do not scramble"),
    ([{"kind": "scrambler_seed", "value": 1}, {"kind": "sender_scrambling"}], {}, "converters that do not scramble"),
    ([{"kind": "replacement", "how": "always"}], {}, "has no effect on converters that scramble"),
    (
        [{"kind": "ilas_no_configuration", "lane": 2}, {"kind": "ilas_field", "lane": 2, "field": "cs"}],
        {},
        r"\[1\].kind = ilas_field: ilas_no_configuration leaves lane 2",
    ),
    (
        [{"kind": "ilas_length", "lane": 2, "multiframes": 1}, {"kind": "ilas_sum", "lane": 2}],
        {},
        "ilas_length leaves lane 2 no configuration",
    ),
    (
        [{"kind": "ilas_length", "lane": 2, "multiframes": 0}, {"kind": "ilas_no_configuration", "lane": 2}],
        {},
        "ilas_length leaves lane 2",
    ),
]


@pytest.mark.parametrize(("faults", "beside", "complaint"), ALONE_OR_TOGETHER)
def test_faults_that_leave_each_other_nothing_to_act_on_are_refused(faults, beside, complaint) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        parse({"name": "x", "jesd204b": {"faults": faults, **beside}}, "x.toml")


def test_what_makes_a_fault_useful_elsewhere_is_allowed() -> None:
    unscrambled = {"scrambling": False}
    assert scenario({"kind": "replacement", "how": "always"}, **unscrambled)
    assert scenario({"kind": "sysref", "beats": 3}, subclass=0)
    parse(
        {
            "name": "x",
            "jesd204b": {
                **unscrambled,
                "faults": [{"kind": "scrambler_seed", "value": 1}, {"kind": "sender_scrambling"}],
            },
        },
        "x",
    )
    lanes = [{"kind": "ilas_no_configuration", "lane": 2}, {"kind": "ilas_field", "lane": 3, "field": "cs"}]
    parse({"name": "x", "jesd204b": {"faults": lanes}}, "x")


@pytest.mark.parametrize("kind", KEYS)
def test_a_fault_that_is_there_twice_is_refused(kind: str) -> None:
    """With ``beats`` of a SYSREF changed, too: only one of the two could be meant."""
    fault = keys_of(kind, optional=True)
    other = {**fault, "beats": 51} if kind in ("sysref_once", "sysref_period", "sysref_jitter", "lane_drop") else fault
    beside = {"kind": "bit_error", "lane": 9}
    with pytest.raises(ScenarioError, match=rf"faults\[2\] = {kind}: the same as faults\[0\]"):
        parse({"name": "x", "jesd204b": {"faults": [fault, beside, other]}}, "x.toml")


def test_lanes_swapped_back_are_refused() -> None:
    faults = [{"kind": "swap_lanes", "lane": 1, "other": 2}, {"kind": "swap_lanes", "lane": 2, "other": 1}]
    with pytest.raises(ScenarioError, match=r"faults\[1\] = swap_lanes: the same as"):
        parse({"name": "x", "jesd204b": {"faults": faults}}, "x.toml")


def test_the_mode_of_the_shot_counts() -> None:
    """Frames of 8 octets and multiframes of 64 beats in photoacoustic shots."""
    modes = {"mode": ["ultrasound", "photoacoustic"], "samples": 254}
    character = {"kind": "character", "lane": 1, "character": 0x1C, "octet": 8}
    assert scenario({**character, "shot": 0}, acquisition=modes)
    with pytest.raises(ScenarioError, match=r"octet = 8: .* allowed 0 to 7"):
        scenario({**character, "shot": 1}, acquisition=modes)
    assert scenario({"kind": "sysref", "beats": 64, "shot": 0}, acquisition=modes)
    with pytest.raises(ScenarioError, match="whole multiframes of 64 beats"):
        scenario({"kind": "sysref", "beats": 64, "shot": 1}, acquisition=modes)


def test_a_shot_whose_pulse_does_not_come_has_no_faults() -> None:
    acquisition = {"mode": "photoacoustic", "shots": 5, "samples": 254, "missing_pulses": [2]}
    fault = {"kind": "bit_error", "lane": 1, "shot": 2}
    with pytest.raises(ScenarioError, match=r"faults\[0\].shot = 2: acquisition.missing_pulses has it"):
        scenario(fault, acquisition=acquisition)
    assert scenario({**fault, "shot": 3}, acquisition=acquisition)


@pytest.mark.parametrize(
    ("acquisition", "jesd204b", "complaint"),
    [
        ({}, {"inverted_lanes": [3, 3]}, "3: there more than once"),
        ({}, {"software_inverted_lanes": [1, 2, 1]}, "1: there more than once"),
        ({}, {"interrupts": ["cgs_lost", "came_up", "cgs_lost"]}, "cgs_lost: there more than once"),
        ({"double_triggers": [1, 1]}, {}, "1: there more than once"),
        (
            {"mode": "photoacoustic", "samples": 254, "missing_pulses": [1, 2, 1]},
            {},
            "1: there more than once; name each once",
        ),
    ],
)
def test_lists_that_name_something_twice_are_refused(acquisition, jesd204b, complaint) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        parse({"name": "x", "acquisition": acquisition, "jesd204b": jesd204b}, "x.toml")


def test_skew_that_looks_like_lateness_is_refused() -> None:
    fault = {"kind": "deaf", "link": 0}
    assert scenario(fault, k=8, lane_skew_octets=56).jesd204b.lane_skew_octets == 56
    with pytest.raises(ScenarioError, match="lane_skew_octets = 57: allowed 0 to 56"):
        scenario(fault, k=8, lane_skew_octets=57)


def test_a_lane_may_die_as_late_as_the_last_window_may_end() -> None:
    """Pulses that jitter make it later, seen from another shot; a generator that stops for changes of mode, much."""
    laser = {"mode": "photoacoustic", "shots": 2, "samples": 250, "prf_hz": 10_000, "jitter_ns": 400}
    drop = {"kind": "lane_drop", "lane": 1, "shot": 0}
    last = 12_500 + 250 + 107
    """A period, a window, 800 ns of jitter and 60 of delay, in samples of 8 ns."""
    assert scenario({**drop, "sample": last}, acquisition=laser)
    with pytest.raises(ScenarioError, match=f"sample = {last + 1}: the run's last window is over then"):
        scenario({**drop, "sample": last + 1}, acquisition=laser)
    with pytest.raises(ScenarioError, match="allowed 0 to 249"):
        scenario({**drop, "shot": 1, "sample": 250}, acquisition=laser)
    modes = {"mode": ["ultrasound", "photoacoustic"], "samples": 250, "trigger": "generator", "shots": 2}
    assert scenario({**drop, "shot": 1, "sample": 99_999}, acquisition=modes)
