"""Faults of the receive link that a scenario can ask for, and which keys each kind has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sim.adc.code_8b10b import CODES, CONTROL, NO_CODE
from sim.adc.ilas import FIELD_WIDTHS, MULTIFRAMES

Kind = Literal[
    "bit_error",
    "burst",
    "disparity",
    "character",
    "line_bit",
    "line_slip",
    "lane_drop",
    "slip",
    "clock",
    "restart",
    "sysref",
    "sysref_missing",
    "sysref_once",
    "sysref_period",
    "sysref_jitter",
    "sender_multiframe",
    "sender_scrambling",
    "delay",
    "rotation",
    "late",
    "deaf",
    "ilas_field",
    "ilas_sum",
    "ilas_length",
    "ilas_no_configuration",
    "ilas_hit",
    "replacement",
    "scrambler_seed",
    "swap_lanes",
    "duplicate_channel",
]


@dataclass(frozen=True)
class Keys:
    """Keys of a kind beside ``kind``: those that must be there, those that may."""

    needs: tuple[str, ...]
    may: tuple[str, ...] = ()

    @property
    def placed(self) -> bool:
        """It happens in the window of a shot, and is not there from the beginning."""
        return "shot" in self.may


_PLACE = ("shot", "sample")
KEYS: dict[str, Keys] = {
    "bit_error": Keys(("lane",), _PLACE),
    "burst": Keys(("lane",), (*_PLACE, "octets")),
    "disparity": Keys(("lane",), (*_PLACE, "octets")),
    "character": Keys(("lane", "character"), (*_PLACE, "octet")),
    "line_bit": Keys(("lane",), (*_PLACE, "bit")),
    "line_slip": Keys(("lane",), _PLACE),
    "lane_drop": Keys(("lane",), (*_PLACE, "beats", "how")),
    "slip": Keys(("lane", "octets"), _PLACE),
    "clock": Keys(("lane", "beats"), (*_PLACE, "octets", "times")),
    "restart": Keys(("link",), (*_PLACE, "beats")),
    "sysref": Keys(("beats",), _PLACE),
    "sysref_missing": Keys(()),
    "sysref_once": Keys((), ("beats",)),
    "sysref_period": Keys(("beats",)),
    "sysref_jitter": Keys(("beats",)),
    "sender_multiframe": Keys(("frames",)),
    "sender_scrambling": Keys(()),
    "delay": Keys(("lane", "octets")),
    "rotation": Keys(("octets",)),
    "late": Keys(("link",), ("multiframes",)),
    "deaf": Keys(("link",)),
    "ilas_field": Keys(("lane", "field"), ("add",)),
    "ilas_sum": Keys(("lane",), ("add",)),
    "ilas_length": Keys(("lane", "multiframes")),
    "ilas_no_configuration": Keys(("lane",)),
    "ilas_hit": Keys(("lane",), ("multiframes", "octets")),
    "replacement": Keys(("how",)),
    "scrambler_seed": Keys(("value",)),
    "swap_lanes": Keys(("lane", "other")),
    "duplicate_channel": Keys(("channel", "other")),
}
MOST_ROTATION = 8
"""Octets: two link clocks of a transceiver that aligns anew."""
HOW = {"lane_drop": ("dead", "stuck", "commas"), "replacement": ("never", "always")}

CONTROL_CHARACTERS = tuple(octet for octet in range(256) if CODES[0, CONTROL + octet] != NO_CODE)
"""Octets that there is a control character for: nothing else leaves a decoder as one."""
ONE_EACH: dict[str, tuple[str, ...]] = {
    "character": ("lane", "shot", "sample", "octet"),
    "lane_drop": ("lane", "shot", "sample"),
    "sysref_missing": (),
    "sysref_once": (),
    "sysref_period": (),
    "sysref_jitter": (),
    "sender_multiframe": (),
    "sender_scrambling": (),
    "rotation": (),
    "late": ("link",),
    "deaf": ("link",),
    "delay": ("lane",),
    "ilas_field": ("lane", "field"),
    "ilas_sum": ("lane",),
    "ilas_length": ("lane",),
    "ilas_no_configuration": ("lane",),
    "ilas_hit": ("lane", "multiframes", "octets"),
    "replacement": (),
    "scrambler_seed": (),
    "duplicate_channel": ("channel",),
}
"""Keys of which no two faults of a kind may have the same values: one would undo the other, or stand for both.

Kinds that are not named may only not be there twice with all keys alike.
"""

assert set(KEYS) == set(get_args(Kind)) and set(ONE_EACH) < set(KEYS)


class LaneFault(BaseModel):
    """One fault on the serial links: in the window of a shot, or there from the beginning."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: Kind
    lane: Annotated[int, Field(ge=0, le=31)] | None = None
    link: Annotated[int, Field(ge=0, le=15)] | None = None
    shot: Annotated[int, Field(ge=0)] = 0
    sample: Annotated[int, Field(ge=0)] = 0
    beats: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Link clocks: of a `lane_drop`, of commas of a `restart`, between slips of a `clock`; of a `sysref`, its shift,
    its period, how far its jitter goes, or when its only pulse comes."""
    octets: Annotated[int, Field(ge=-512, le=512)] = 4
    """Length of a ``burst``; what a ``slip`` or ``clock`` loses (negative: repeats); a ``delay``, a ``rotation``;
    the place of an ``ilas_hit`` in its multiframe."""
    times: Annotated[int, Field(ge=1, le=100)] = 8
    octet: Annotated[int, Field(ge=0, le=15)] = 0
    """Of the frame."""
    bit: Annotated[int, Field(ge=0, le=39)] = 0
    """Of the frame's first beat on the line."""
    character: Annotated[int, Field(ge=0, le=255)] = 0
    how: Literal["dead", "stuck", "commas", "never", "always"] = "dead"
    field: str = ""
    add: Annotated[int, Field(ge=-255, le=255)] = 1
    multiframes: Annotated[int, Field(ge=0, le=8)] = 1
    frames: Annotated[int, Field(ge=3, le=32)] = 32
    value: Annotated[int, Field(ge=0, le=0x7FFF)] = 0
    channel: Annotated[int, Field(ge=0, le=255)] | None = None
    other: Annotated[int, Field(ge=0, le=255)] | None = None

    @property
    def placed(self) -> bool:
        """It happens in the window of a shot."""
        return KEYS[self.kind].placed

    @property
    def where(self) -> str:
        """The place, for reports."""
        parts = [
            f"{name} {getattr(self, name)}" for name in ("lane", "link", "channel") if getattr(self, name) is not None
        ]
        parts += [f"shot {self.shot}", f"sample {self.sample}"] if self.placed else []
        return ", ".join(parts) or "all lanes"

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two faults of which one would have no effect, or which could be one."""
        if self.kind == "swap_lanes":
            return self.kind, frozenset((self.lane, self.other))
        keys = ONE_EACH.get(self.kind, (*KEYS[self.kind].needs, *KEYS[self.kind].may))
        return self.kind, *(getattr(self, name) for name in keys)

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> Self:
        keys, given = KEYS[self.kind], self.model_fields_set - {"kind"}
        if missing := set(keys.needs) - given:
            raise ValueError(f"{self.kind} needs {', '.join(sorted(missing))}")
        if useless := given - set(keys.needs) - set(keys.may):
            allowed = ", ".join((*keys.needs, *keys.may))
            raise ValueError(f"{', '.join(sorted(useless))}: means nothing for {self.kind}; it has {allowed}")
        if "how" in given and self.how not in HOW[self.kind]:
            raise ValueError(f"how = {self.how}: {self.kind} has {', '.join(HOW[self.kind])}")
        return self

    @model_validator(mode="after")
    def _values_of_the_kind(self) -> Self:
        for names, good, allowed in _LIMITS.get(self.kind, ()):
            if not good(self):
                values = ", ".join(f"{name} = {getattr(self, name)}" for name in names)
                raise ValueError(f"{values}: {allowed}")
        return self


_LIMITS: dict[str, tuple[tuple[tuple[str, ...], Callable[[LaneFault], bool], str], ...]] = {
    "burst": ((("octets",), lambda fault: fault.octets >= 1, "burst has at least 1"),),
    "disparity": ((("octets",), lambda fault: fault.octets >= 1, "disparity has at least 1"),),
    "character": (
        (
            ("character",),
            lambda fault: fault.character in CONTROL_CHARACTERS,
            f"no control character; there are {', '.join(f'0x{octet:02X}' for octet in CONTROL_CHARACTERS)}",
        ),
    ),
    "slip": ((("octets",), lambda fault: fault.octets != 0, "a slip loses or repeats at least one"),),
    "clock": (
        (("octets",), lambda fault: fault.octets != 0, "a clock loses or repeats at least one"),
        (("octets",), lambda fault: fault.octets % 4 == 0, "a clock that is off loses whole beats of 4"),
    ),
    "delay": (
        (("octets",), lambda fault: fault.octets >= 0, "a lane cannot be early"),
        (("octets",), lambda fault: fault.octets != 0, "changes nothing; allowed from 1"),
    ),
    "rotation": (
        (("octets",), lambda fault: 1 <= fault.octets <= MOST_ROTATION, f"rotation has 1 to {MOST_ROTATION}"),
    ),
    "late": ((("multiframes",), lambda fault: fault.multiframes > 0, "changes nothing; allowed from 1"),),
    "ilas_field": (
        (
            ("field",),
            lambda fault: fault.field in FIELD_WIDTHS,
            f"allowed are {', '.join(FIELD_WIDTHS)}",
        ),
        (
            ("field", "add"),
            lambda fault: fault.add % (1 << FIELD_WIDTHS[fault.field]) != 0,
            "changes nothing: a field is counted modulo two to the power of its bits",
        ),
    ),
    "ilas_sum": ((("add",), lambda fault: fault.add != 0, "changes nothing"),),
    "ilas_length": (
        (("multiframes",), lambda fault: fault.multiframes <= MULTIFRAMES + 1, f"allowed 0 to {MULTIFRAMES + 1}"),
        (
            ("multiframes",),
            lambda fault: fault.multiframes != MULTIFRAMES,
            "changes nothing, the sequence has so many; allowed 0 to 3, and 5",
        ),
    ),
    "ilas_hit": (
        (
            ("octets", "multiframes"),
            lambda fault: fault.octets >= 0 and fault.multiframes <= MULTIFRAMES - 1,
            "ilas_hit has 0 to 512, 0 to 3",
        ),
    ),
    "swap_lanes": ((("lane", "other"), lambda fault: fault.lane != fault.other, "swap_lanes takes two"),),
    "duplicate_channel": (
        (("channel", "other"), lambda fault: fault.channel != fault.other, "duplicate_channel takes two"),
    ),
}
"""By kind: the keys concerned, what must hold, and what is said if it does not."""
