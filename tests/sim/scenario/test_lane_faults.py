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


def scenario(fault: dict, **jesd204b):
    return parse({"name": "x", "jesd204b": {"faults": [fault], **jesd204b}}, "x.toml")


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
        ({"kind": "swap_lanes", "lane": 1, "other": 1}, "lane = other = 1: swap_lanes takes two"),
        ({"kind": "duplicate_channel", "channel": 4, "other": 4}, "channel = other = 4: duplicate_channel takes two"),
        ({"kind": "scrambler_seed", "value": 1}, "jesd204b.scrambling = False: a fault scrambler_seed needs true"),
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
        scenario(fault, scrambling=fault["kind"] != "scrambler_seed")


def test_skew_that_looks_like_lateness_is_refused() -> None:
    fault = {"kind": "deaf", "link": 0}
    assert scenario(fault, k=8, lane_skew_octets=56).jesd204b.lane_skew_octets == 56
    with pytest.raises(ScenarioError, match="lane_skew_octets = 57: allowed 0 to 56"):
        scenario(fault, k=8, lane_skew_octets=57)
