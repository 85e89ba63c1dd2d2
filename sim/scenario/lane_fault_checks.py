"""Faults of the receive link against the rest of a scenario: what could never act is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sim.adc.config import OCTETS_PER_BEAT, SCRAMBLER_SEED
from sim.scenario.lane_faults import LaneFault

if TYPE_CHECKING:
    from sim.scenario.model import Acquisition, Jesd204b

SYSREF_MULTIFRAMES = 4
"""Multiframes between two pulses of the periodic SYSREF."""
NEEDS_SUBCLASS_1 = ("sysref_missing", "sysref_once")
"""In subclass 0 nobody waits for SYSREF; pulses that come are compared with the multiframes all the same."""
WITH_CONFIGURATION = 2
"""Multiframes that an alignment sequence has at least if it tells its configuration, which is in the second."""


class Refusal(NamedTuple):
    """A key below ``jesd204b.faults``, its value, and why it cannot be or what is allowed."""

    key: str
    value: object
    why: str


def refusals(acquisition: Acquisition, jesd204b: Jesd204b) -> Iterator[Refusal]:
    """Give all that can be known before the run to have no effect."""
    faults = jesd204b.faults
    yield from _repeated(faults)
    kinds: set[str] = {fault.kind for fault in faults}
    scrambled = jesd204b.scrambling is not ("sender_scrambling" in kinds)
    for index, fault in enumerate(faults):
        for name, value, why in (
            *_sysref(fault, acquisition, jesd204b, kinds),
            *_sender(fault, jesd204b.k, scrambled),
            *_sequence(fault, faults),
            *_octets(fault, acquisition, jesd204b),
            *_time(fault, acquisition),
        ):
            yield Refusal(f"[{index}].{name}", value, why)


def _repeated(faults: tuple[LaneFault, ...]) -> Iterator[Refusal]:
    first: dict[tuple[object, ...], int] = {}
    for index, fault in enumerate(faults):
        before = first.setdefault(fault.identity, index)
        if before != index:
            why = f"the same as faults[{before}], which it would undo, replace or repeat; leave one of them out"
            yield Refusal(f"[{index}]", fault.kind, why)


def _sysref(fault: LaneFault, acquisition: Acquisition, jesd204b: Jesd204b, kinds: set[str]) -> Iterator[Refusal]:
    if fault.kind in NEEDS_SUBCLASS_1 and jesd204b.subclass == 0:
        yield Refusal("kind", fault.kind, "has no effect in subclass 0, which does without SYSREF; subclass 1 has it")
    others = sorted(kind for kind in kinds if kind.startswith("sysref") and kind != "sysref_missing")
    if fault.kind == "sysref_missing" and others:
        yield Refusal("kind", fault.kind, f"leaves nothing for {', '.join(others)} to act on; leave one out")
    if fault.kind == "sysref" and "sysref_once" in kinds:
        yield Refusal("kind", fault.kind, "the only pulse of sysref_once has been before any window; leave one out")
    if fault.kind == "sysref":
        multiframe = acquisition.mode_of(fault.shot).octets_per_frame * jesd204b.k // OCTETS_PER_BEAT
        if fault.beats % multiframe == 0:
            yield Refusal("beats", fault.beats, f"whole multiframes of {multiframe} beats, where SYSREF may be")
    periods = {SYSREF_MULTIFRAMES * mode.octets_per_frame * jesd204b.k // OCTETS_PER_BEAT for mode in acquisition.modes}
    if fault.kind == "sysref_period" and periods == {fault.beats}:
        yield Refusal("beats", fault.beats, "changes nothing, SYSREF has this period; allowed is any other")


def _sender(fault: LaneFault, k: int, scrambled: bool) -> Iterator[Refusal]:
    if fault.kind == "sender_multiframe" and fault.frames == k:
        yield Refusal("frames", fault.frames, "changes nothing, jesd204b.k is the same; allowed is any other")
    if fault.kind == "scrambler_seed" and not scrambled:
        yield Refusal("kind", fault.kind, "has no effect on converters that do not scramble")
    if fault.kind == "scrambler_seed" and fault.value == SCRAMBLER_SEED:
        yield Refusal("value", fault.value, "changes nothing, scramblers start so; allowed is any other")
    if fault.kind == "replacement" and fault.how == "always" and scrambled:
        yield Refusal("how", fault.how, 'has no effect on converters that scramble; they allow "never"')


def _sequence(fault: LaneFault, faults: tuple[LaneFault, ...]) -> Iterator[Refusal]:
    """Whether the lane's alignment sequence has a configuration to be changed."""
    if fault.kind not in ("ilas_field", "ilas_sum", "ilas_no_configuration"):
        return
    for other in faults:
        if other.lane != fault.lane or other is fault:
            continue
        short = other.kind == "ilas_length" and other.multiframes < WITH_CONFIGURATION
        if short or (other.kind == "ilas_no_configuration" and fault.kind != other.kind):
            yield Refusal("kind", fault.kind, f"{other.kind} leaves lane {fault.lane} no configuration; leave one out")


def _octets(fault: LaneFault, acquisition: Acquisition, jesd204b: Jesd204b) -> Iterator[Refusal]:
    if fault.kind == "character":
        octets = acquisition.mode_of(fault.shot).octets_per_frame
        if fault.octet >= octets:
            yield Refusal("octet", fault.octet, f"a lane's frame has {octets} in this mode; allowed 0 to {octets - 1}")
    if fault.kind == "ilas_hit":
        frames = next((other.frames for other in jesd204b.faults if other.kind == "sender_multiframe"), jesd204b.k)
        octets = min(mode.octets_per_frame for mode in acquisition.modes) * frames
        if fault.octets >= octets:
            yield Refusal("octets", fault.octets, f"a multiframe has {octets}; allowed 0 to {octets - 1}")


def _time(fault: LaneFault, acquisition: Acquisition) -> Iterator[Refusal]:
    """Whether its shot comes (the first always does), and a lane dies while there is something left to be acquired."""
    if fault.shot in acquisition.missing_pulses:
        yield Refusal("shot", fault.shot, "acquisition.missing_pulses has it, so that its window never opens")
    restarting = acquisition.trigger == "generator" and len(acquisition.modes) > 1
    if fault.kind != "lane_drop" or restarting:
        return
    last = acquisition.shots - 1
    period_ns = 1e9 / acquisition.prf_hz
    sample_ns, last_ns = acquisition.mode_of(fault.shot).sample_ns, acquisition.mode_of(last).sample_ns
    left_ns = (last - fault.shot) * period_ns + acquisition.samples * last_ns
    if fault.shot != last:
        lasers = any(mode.one_way for mode in acquisition.modes)
        left_ns += 2 * acquisition.jitter_ns + acquisition.laser_delay_ns * lasers
    allowed = -int(-left_ns // sample_ns)
    if fault.sample >= allowed:
        yield Refusal("sample", fault.sample, f"the run's last window is over then; allowed 0 to {allowed - 1}")
