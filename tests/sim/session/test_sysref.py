"""SYSREF beat by beat, as it should be and with each fault, in chunks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scenario.lane_faults import LaneFault
from sim.session.lane_faults import LaneFaults
from sim.session.sysref import Sysref

PERIOD = 40
BEATS = 1000


def pulses(sysref: Sysref, *, origin: int = 0, chunk: int = BEATS) -> list[int]:
    sysref.restart(origin, PERIOD)
    found = [sysref.pulses(first, chunk) for first in range(origin, origin + BEATS, chunk)]
    return np.flatnonzero(np.concatenate(found)).tolist()


def faulty(**fault) -> Sysref:
    return LaneFaults([LaneFault(**fault)]).sysref(1)


@pytest.mark.parametrize("chunk", [BEATS, 500, 100, 8])
@pytest.mark.parametrize("origin", [0, 7, 4096])
def test_a_pulse_every_period_from_the_reset_on(origin: int, chunk: int) -> None:
    assert pulses(Sysref(1), origin=origin, chunk=chunk) == list(range(0, BEATS, PERIOD))


@pytest.mark.parametrize("chunk", [BEATS, 8])
def test_missing_once_and_of_another_period(chunk: int) -> None:
    assert pulses(faulty(kind="sysref_missing"), chunk=chunk) == []
    assert pulses(faulty(kind="sysref_once", beats=1), chunk=chunk) == [PERIOD]
    assert pulses(faulty(kind="sysref_once", beats=2 * PERIOD), chunk=chunk) == [2 * PERIOD]
    assert pulses(faulty(kind="sysref_period", beats=33), chunk=chunk) == list(range(0, BEATS, 33))


def test_jitter_is_within_its_limits_and_does_not_depend_on_chunks() -> None:
    """The first pulse may have come before the reset, that behind the last beat before it."""
    whole = pulses(faulty(kind="sysref_jitter", beats=2))
    late = {(pulse + PERIOD // 2) % PERIOD - PERIOD // 2 for pulse in whole}
    assert late == {-2, -1, 0, 1, 2}
    assert len(whole) in range(BEATS // PERIOD - 1, BEATS // PERIOD + 2)
    for chunk in (500, 100, 8):
        assert pulses(faulty(kind="sysref_jitter", beats=2), chunk=chunk) == whole
    assert pulses(LaneFaults([LaneFault(kind="sysref_jitter", beats=2)]).sysref(2)) != whole


def test_shifts_add_up_each_from_its_beat_on() -> None:
    sysref = Sysref(1)
    sysref.restart(0, PERIOD)
    sysref.shift(210, 3)
    sysref.shift(450, -1)
    found = np.flatnonzero(np.concatenate([sysref.pulses(first, 100) for first in range(0, 600, 100)])).tolist()
    assert found == [0, 40, 80, 120, 160, 200, 243, 283, 323, 363, 403, 443, 482, 522, 562]


def test_a_reset_begins_anew() -> None:
    sysref = Sysref(1)
    sysref.restart(0, PERIOD)
    sysref.shift(0, 5)
    sysref.restart(1000, 50)
    assert np.flatnonzero(sysref.pulses(1000, 120)).tolist() == [0, 50, 100]


def test_what_sysref_does_otherwise_counts_when_it_does() -> None:
    """A period of three is right each third time; a pulse that is moved counts for every shift that moved it."""
    for fault, first in (
        ({"kind": "sysref_missing"}, 0),
        ({"kind": "sysref_once", "beats": 2 * PERIOD}, 0),
        ({"kind": "sysref_period", "beats": 3 * PERIOD}, PERIOD),
        ({"kind": "sysref_period", "beats": PERIOD // 2}, PERIOD // 2),
    ):
        made = LaneFaults([LaneFault(**fault)])
        sysref = made.sysref(1)
        pulses(sysref, chunk=8)
        assert (made.times(first), made.times(first + 1)) == ([0], [1]), fault
    sysref = Sysref(1)
    sysref.restart(0, PERIOD)
    early, late = sysref.shift(90, 2), sysref.shift(BEATS + 1, 3)
    for first in range(0, BEATS, 8):
        sysref.pulses(first, 8)
    assert early == [3 * PERIOD + 2] and late == [] and sysref.deviations == []


@pytest.mark.parametrize("chunk", [BEATS, 100, 8])
def test_shifts_do_not_depend_on_chunks(chunk: int) -> None:
    sysref = Sysref(1)
    sysref.restart(0, PERIOD)
    sysref.shift(90, PERIOD + 5)
    found = np.concatenate([sysref.pulses(first, chunk) for first in range(0, BEATS, chunk)])
    assert np.flatnonzero(found).tolist() == [0, 40, 80, *range(165, BEATS, PERIOD)]
