"""Faults of the receive link that a scenario can ask for, and which keys each kind has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sim.adc.ilas import FIELD_WIDTHS

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

assert set(KEYS) == set(get_args(Kind))


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
        if self.kind == "ilas_field" and self.field not in FIELD_WIDTHS:
            raise ValueError(f"field = {self.field}: allowed are {', '.join(FIELD_WIDTHS)}")
        if self.kind in ("burst", "disparity") and self.octets < 1:
            raise ValueError(f"octets = {self.octets}: {self.kind} has at least 1")
        if self.kind == "delay" and self.octets < 0:
            raise ValueError(f"octets = {self.octets}: a lane cannot be early")
        if self.kind == "rotation" and not 1 <= self.octets <= MOST_ROTATION:
            raise ValueError(f"octets = {self.octets}: rotation has 1 to {MOST_ROTATION}")
        if self.kind == "ilas_hit" and (self.octets < 0 or self.multiframes > 3):
            raise ValueError(f"octets = {self.octets}, multiframes = {self.multiframes}: ilas_hit has 0 to 512, 0 to 3")
        if self.kind in ("slip", "clock") and not self.octets:
            raise ValueError(f"octets = 0: a {self.kind} loses or repeats at least one")
        if self.kind in ("swap_lanes", "duplicate_channel"):
            one = "lane" if self.kind == "swap_lanes" else "channel"
            if getattr(self, one) == self.other:
                raise ValueError(f"{one} = other = {self.other}: {self.kind} takes two")
        if self.kind == "clock" and self.octets % 4:
            raise ValueError(f"octets = {self.octets}: a clock that is off loses whole beats of 4")
        if self.kind == "ilas_length" and self.multiframes > 5:
            raise ValueError(f"multiframes = {self.multiframes}: allowed 0 to 5")
        return self
