"""Random fault cases for the receive link: a seed says everything about a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim.adc import Burst, Character, Fault, LaneDrop, LinkConfig, OctetError, Restart, Slip, characters
from sim.adc.ilas import FIELD_WIDTHS, Sequence
from tests.sim.adc.streams import Constant, Noise, Ramp, UniqueCodes

LINKS = 4
LANES = 8
FIRST_BEAT, LAST_BEAT = 40, 620
"""Faults begin in these beats: from before synchronisation to well into user data."""
SHORTEST, RECOVERY = 900, 850
"""Beats that a case lasts at least, and after its last fault has ended: enough for the links to be up again."""

WITHOUT_SKEW = 10
"""Each so many-th case has lanes that come together, so that now and then the first of them is just in time too."""

IDENTIFIERS = ("did", "adjcnt", "bid")
"""Fields that are not compared unless asked for."""


@dataclass
class Case:
    """What is played, and how the receiver is set."""

    seed: int
    config: LinkConfig
    source: Any
    registers: dict[str, int] = field(default_factory=dict)
    transmitter: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    kinds: list[tuple[str, int]] = field(default_factory=list)
    """Kind of each fault and the beat at which it begins, 0 if it is always there."""
    lane_map: list[int] = field(default_factory=lambda: list(range(LANES)))
    flips: dict[int, set[int]] = field(default_factory=dict)
    lost_bits: dict[int, set[int]] = field(default_factory=dict)
    sysref_shift: tuple[int, int, int] | None = None
    """Shift of SYSREF, from beat, to beat."""
    recovers: bool = True
    """The links must be up, with clean words, in the end."""
    flagged: bool = False
    """All words must be marked."""

    @property
    def end_beat(self) -> int:
        """The beat at which the case is judged."""
        last = max([beat for _, beat in self.kinds] + [0 if self.sysref_shift is None else self.sysref_shift[2]])
        lengths = [getattr(fault, "beats", 0) + getattr(fault, "every", 0) * 3 for fault in self.faults]
        return max(SHORTEST, last + max(lengths, default=0) + RECOVERY) if self.recovers else SHORTEST + 300

    def __str__(self) -> str:
        config = self.config
        return (
            f"seed {self.seed}: K={config.frames_per_multiframe} F={config.octets_per_frame} "
            f"scrambling={config.scrambling} {type(self.source).__name__} {self.kinds} {self.registers} "
            f"{self.transmitter} {self.faults}"
        )


Draw = Callable[[Case, np.random.Generator, int], None]


def _lane(rng: np.random.Generator) -> int:
    return int(rng.integers(LANES))


def _burst(case: Case, rng: np.random.Generator, beat: int) -> None:
    octets = int(rng.choice([1, 1, 2, 3, 5, 9, 40]))
    case.faults.append(Burst(_lane(rng), beat=beat, octets=octets, seed=int(rng.integers(1 << 30))))


def _disparity(case: Case, rng: np.random.Generator, beat: int) -> None:
    case.faults.append(Burst(_lane(rng), beat=beat, octets=int(rng.integers(1, 3)), wrong=False))


def _silent(case: Case, rng: np.random.Generator, beat: int) -> None:
    """A wrong octet that is valid, told by a disparity error up to sixteen octets later.

    That is four beats, however the transceiver groups octets into beats after its next alignment.
    """
    lane, octet = _lane(rng), int(rng.integers(4))
    case.faults.append(OctetError(lane, beat, octet, int(rng.integers(1, 256))))
    beats, told = divmod(octet + int(rng.integers(1, 17)), 4)
    case.faults.append(OctetError(lane, beat + beats, told, 0, "disparity"))


def _character(case: Case, rng: np.random.Generator, beat: int) -> None:
    every = [
        characters.K,
        characters.R,
        characters.A,
        characters.Q,
        characters.F,
        0xF7,
        0xFB,
        0xFD,
        0xFE,
        0x3C,
        0x5C,
        0xDC,
    ]
    character = int(rng.choice(every))
    # In the last octet of a beat an alignment character may stand right, and be one for all that a receiver can know.
    octets = 3 if character in (characters.F, characters.A) else 4
    case.faults.append(Character(_lane(rng), beat=beat, character=character, octet=int(rng.integers(octets))))


def _flips(case: Case, rng: np.random.Generator, beat: int) -> None:
    """Single bits on a line, far enough apart not to hide each other."""
    lane = _lane(rng)
    count = int(rng.integers(1, 6))
    bits = 40 * beat + np.cumsum(rng.integers(400, 1200, count))
    case.flips.setdefault(lane, set()).update(bits.tolist())


def _lost_bit(case: Case, rng: np.random.Generator, beat: int) -> None:
    case.lost_bits.setdefault(_lane(rng), set()).add(40 * beat + int(rng.integers(40)))


def _drop(how: str) -> Draw:
    def draw(case: Case, rng: np.random.Generator, beat: int) -> None:
        case.faults.append(LaneDrop(_lane(rng), beat=beat, beats=int(rng.integers(8, 400)), how=how))  # type: ignore[arg-type]

    return draw


def _restart(case: Case, rng: np.random.Generator, beat: int) -> None:
    case.faults.append(Restart(int(rng.integers(LINKS)), beat=beat, beats=int(rng.integers(0, 200))))


def _sysref(case: Case, rng: np.random.Generator, beat: int) -> None:
    case.sysref_shift = (int(rng.choice([1, 1, 2, 5, 11])), max(beat, 330), max(beat, 330) + 80)


def _slip(case: Case, rng: np.random.Generator, beat: int) -> None:
    octets = int(rng.choice([1, -1, 2, 3, 4, -4, case.config.octets_per_frame, -case.config.octets_per_frame]))
    case.faults.append(Slip(_lane(rng), beat=beat, octets=octets))


def _clock(case: Case, rng: np.random.Generator, beat: int) -> None:
    """A clock that is off: a beat too many or too few again and again."""
    case.faults.append(Slip(_lane(rng), beat=beat, octets=int(rng.choice([4, -4])), every=97, times=3))


def _field(case: Case, rng: np.random.Generator, beat: int) -> None:
    del beat
    name = str(rng.choice([name for name in FIELD_WIDTHS if name not in IDENTIFIERS]))
    case.transmitter["ilas"] = {_lane(rng): Sequence(add={name: int(rng.choice([1, -1]))})}
    case.recovers, case.flagged = False, True


def _fchk(case: Case, rng: np.random.Generator, beat: int) -> None:
    del beat
    case.transmitter["ilas"] = {_lane(rng): Sequence(add_to_sum=int(rng.integers(1, 256)))}
    case.recovers, case.flagged = False, True


def _structure(case: Case, rng: np.random.Generator, beat: int) -> None:
    del beat
    wrong = [Sequence(multiframes=3), Sequence(multiframes=5), Sequence(multiframes=0), Sequence(configuration=False)]
    case.transmitter["ilas"] = {_lane(rng): wrong[int(rng.integers(len(wrong)))]}
    case.recovers = False


def _late(case: Case, rng: np.random.Generator, beat: int) -> None:
    del beat
    reaction = [0] * LINKS
    reaction[int(rng.integers(LINKS))] = int(rng.integers(1, 4))
    case.transmitter["reaction_multiframes"] = reaction
    case.recovers = False


def _skew(case: Case, rng: np.random.Generator, beat: int) -> None:
    """Delays of up to two multiframes, delivered right or not at all."""
    del beat
    most = 2 * case.config.octets_per_frame * case.config.frames_per_multiframe
    delays = [int(rng.integers(most)) if rng.random() < 0.3 else int(rng.integers(16)) for _ in range(LANES)]
    case.transmitter["lane_delays"] = delays
    case.recovers = False


def _swap(case: Case, rng: np.random.Generator, beat: int) -> None:
    """The two lanes of a converter exchanged."""
    del beat
    link = int(rng.integers(LINKS))
    order = list(range(LANES))
    order[2 * link], order[2 * link + 1] = order[2 * link + 1], order[2 * link]
    case.transmitter["lane_order"] = order
    case.lane_map = list(range(LANES))
    case.recovers, case.flagged = False, True


def _scrambling(case: Case, rng: np.random.Generator, beat: int) -> None:
    del rng, beat
    case.registers["scrambling"] = int(not case.config.scrambling)
    case.recovers, case.flagged = False, True


def _multiframe(case: Case, rng: np.random.Generator, beat: int) -> None:
    del beat
    others = [k for k in (8, 9, 12, 16) if k != case.config.frames_per_multiframe]
    case.registers["frames_per_multiframe"] = int(rng.choice(others))
    case.recovers = False


KINDS: dict[str, Draw] = {
    "burst": _burst,
    "disparity": _disparity,
    "silent octet": _silent,
    "character": _character,
    "line bits": _flips,
    "lost line bit": _lost_bit,
    "dead lane": _drop("dead"),
    "stuck lane": _drop("stuck"),
    "lane of commas": _drop("commas"),
    "restart": _restart,
    "sysref": _sysref,
    "slip": _slip,
    "clock": _clock,
    "ilas field": _field,
    "ilas sum": _fchk,
    "ilas structure": _structure,
    "late converter": _late,
    "skew": _skew,
    "swapped lanes": _swap,
    "scrambling differs": _scrambling,
    "multiframe differs": _multiframe,
}
LASTING = ("ilas", "late", "skew", "swapped", "scrambling", "multiframe")
"""Beginnings of kinds that are there all the time; one of them a case."""
NEEDS_REPETITION = ("slip", "clock")
"""Found soon only where samples repeat without scrambling."""
NEEDS_VARIETY = ("line bits", "lost line bit", "scrambling differs")
"""Constant samples may be of balanced characters alone, which never tell a wrong disparity."""


def draw(seed: int) -> Case:
    """Return the case of ``seed``."""
    rng = np.random.default_rng((seed, 204))
    names = list(KINDS)
    chosen = [names[int(rng.integers(len(names)))]]
    while len(chosen) < 3 and rng.random() < 0.4:
        other = names[int(rng.integers(len(names)))]
        if not any(name.startswith(LASTING) for name in (*chosen, other)):
            chosen.append(other)
    if any(name in NEEDS_REPETITION for name in chosen):
        chosen = [name for name in chosen if name not in NEEDS_VARIETY]
    f = int(rng.choice([16, 16, 16, 8]))
    k = int(rng.choice([8, 9, 12, 16] if f == 16 else [16]))
    repeating = any(name in NEEDS_REPETITION for name in chosen)
    scrambling = bool(rng.random() < 0.6) and not repeating
    config = LinkConfig(links=LINKS, octets_per_frame=f, frames_per_multiframe=k, scrambling=scrambling)
    sources: list[Any] = [Noise(config.channels, seed=seed), Noise(config.channels, seed=seed), Ramp(config.channels)]
    if not any(name in NEEDS_VARIETY for name in chosen):
        sources += [Constant(config.channels, 0x0155), UniqueCodes(config.channels)]
    source = Constant(config.channels, 0x0155) if repeating else sources[int(rng.integers(len(sources)))]
    case = Case(seed, config, source)
    case.registers["release_delay"] = int(rng.integers(config.beats_per_multiframe))
    case.registers["lmfc_offset"] = int(rng.choice([0, int(rng.integers(config.beats_per_multiframe))]))
    case.registers["error_report"] = int(rng.random() < 0.3)
    case.registers["sysref_once"] = int(rng.random() < 0.2)
    case.transmitter["lane_delays"] = rng.integers(0, 24, LANES).tolist()
    if seed % WITHOUT_SKEW == 0:
        case.transmitter["lane_delays"] = [0] * LANES
    if rng.random() < 0.3 and not any(name.startswith("swapped") for name in chosen):
        case.lane_map = rng.permutation(LANES).tolist()
        case.transmitter["lane_order"] = np.argsort(case.lane_map).tolist()
    for name in chosen:
        beat = int(rng.integers(FIRST_BEAT, LAST_BEAT))
        if name in NEEDS_REPETITION:
            # Before user data a slip is a delay.
            beat = int(rng.integers(420, LAST_BEAT))
        case.kinds.append((name, 0 if name.startswith(LASTING) else beat))
        KINDS[name](case, rng, beat)
    # Behind the line's code nothing may tell of a silent octet: many characters have one code for both disparities.
    on_line = {*case.flips, *case.lost_bits}
    case.faults[:] = [fault for fault in case.faults if not (isinstance(fault, OctetError) and fault.lane in on_line)]
    return case
