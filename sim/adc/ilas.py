"""Initial lane alignment sequence (JESD204B 5.3.3.5, 8.3): four multiframes, the second with the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sim.adc import characters
from sim.adc.config import LinkConfig

MULTIFRAMES = 4
CONFIG_AT = 2
"""Octet of the second multiframe where the configuration begins, behind /R/ and /Q/."""


@dataclass(frozen=True)
class LinkFields:
    """The fields of the link configuration as sent (those "minus one" are so already)."""

    did: int = 0
    adjcnt: int = 0
    bid: int = 0
    adjdir: int = 0
    phadj: int = 0
    lid: int = 0
    scr: int = 0
    l_minus_1: int = 0
    f_minus_1: int = 0
    k_minus_1: int = 0
    m_minus_1: int = 0
    cs: int = 0
    n_minus_1: int = 15
    subclassv: int = 1
    n_total_minus_1: int = 15
    jesdv: int = 1
    s_minus_1: int = 0
    hd: int = 0
    cf: int = 0

    @classmethod
    def of(cls, config: LinkConfig, lane_in_link: int, link: int = 0) -> LinkFields:
        """What lane ``lane_in_link`` of link ``link`` of ``config`` tells about itself."""
        return cls(
            did=config.device_id + (link if config.devices_count else 0) & 0xFF,
            bid=config.bank_id,
            lid=0 if config.per_die else lane_in_link,
            scr=int(config.scrambling),
            l_minus_1=0 if config.per_die else config.lanes_per_link - 1,
            f_minus_1=config.octets_per_frame - 1,
            k_minus_1=config.frames_per_multiframe - 1,
            m_minus_1=(config.channels_per_lane if config.per_die else config.converters) - 1,
            subclassv=config.subclass,
        )

    def field_sum(self) -> int:
        """FCHK as the standard has it: the sum of the fields' values, modulo 256."""
        values: list[int] = list(asdict(self).values())
        return sum(values) & 0xFF

    def octets(self, *, fchk_over_octets: bool = False) -> bytes:
        """The fourteen configuration octets, FCHK last."""
        packed = bytes(
            [
                self.did,
                self.adjcnt << 4 | self.bid,
                self.adjdir << 6 | self.phadj << 5 | self.lid,
                self.scr << 7 | self.l_minus_1,
                self.f_minus_1,
                self.k_minus_1,
                self.m_minus_1,
                self.cs << 6 | self.n_minus_1,
                self.subclassv << 5 | self.n_total_minus_1,
                self.jesdv << 5 | self.s_minus_1,
                self.hd << 7 | self.cf,
                0,
                0,
            ]
        )
        check = sum(packed) & 0xFF if fchk_over_octets else self.field_sum()
        return packed + bytes([check])


FIELD_WIDTHS = {
    "did": 8,
    "adjcnt": 4,
    "bid": 4,
    "adjdir": 1,
    "phadj": 1,
    "lid": 5,
    "scr": 1,
    "l_minus_1": 5,
    "f_minus_1": 8,
    "k_minus_1": 5,
    "m_minus_1": 8,
    "cs": 2,
    "n_minus_1": 5,
    "subclassv": 3,
    "n_total_minus_1": 5,
    "jesdv": 3,
    "s_minus_1": 5,
    "hd": 1,
    "cf": 5,
}
"""Bits of each field of :class:`LinkFields`."""


@dataclass(frozen=True)
class Sequence:
    """How one lane's sequence differs from what it should be.

    ``add`` is added to fields by name, modulo their width, check sum included; ``add_to_sum`` to the check sum alone.
    ``multiframes`` from 0 to 5: fewer begin later, behind commas; a fifth takes the place of the first multiframe of
    user data. ``configuration`` off leaves out /Q/.
    """

    add: Mapping[str, int] = field(default_factory=dict)
    add_to_sum: int = 0
    multiframes: int = MULTIFRAMES
    configuration: bool = True
    filler: int | None = None
    """Value of the octets that mean nothing; ``None``: a ramp."""

    def __post_init__(self) -> None:
        if unknown := set(self.add) - set(FIELD_WIDTHS):
            raise ValueError(f"no field {', '.join(sorted(unknown))}; there are {', '.join(FIELD_WIDTHS)}")
        if not 0 <= self.multiframes <= MULTIFRAMES + 1:
            raise ValueError(f"multiframes = {self.multiframes}: allowed is 0 to {MULTIFRAMES + 1}")

    def fields(self, right: LinkFields) -> LinkFields:
        """What the lane tells of itself instead of ``right``."""
        changed = {
            name: getattr(right, name) + delta & (1 << FIELD_WIDTHS[name]) - 1 for name, delta in self.add.items()
        }
        return replace(right, **changed)


def sequence(
    config: LinkConfig, fields: LinkFields, deviation: Sequence = Sequence()
) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """One lane's sequence as ``(data, flags)``, one element a beat; five multiframes long if ``deviation`` says so."""
    length = config.octets_per_frame * config.frames_per_multiframe
    count = max(MULTIFRAMES, deviation.multiframes)
    octets = (np.arange(count * length) % 256).astype(np.uint8).reshape(count, length)
    if deviation.filler is not None:
        octets[:] = deviation.filler
    control = np.zeros_like(octets)
    octets[:, 0], control[:, 0] = characters.R, 1
    octets[:, -1], control[:, -1] = characters.A, 1
    late = MULTIFRAMES - deviation.multiframes
    if deviation.configuration and deviation.multiframes > 1:
        at = max(0, late) + 1
        octets[at, 1], control[at, 1] = characters.Q, 1
        config_octets = bytearray(deviation.fields(fields).octets(fchk_over_octets=config.fchk_over_octets))
        config_octets[-1] = config_octets[-1] + deviation.add_to_sum & 0xFF
        octets[at, CONFIG_AT : CONFIG_AT + len(config_octets)] = np.frombuffer(bytes(config_octets), np.uint8)
    if late > 0:
        octets[:late], control[:late] = characters.K, 1
    flags = np.packbits(control.reshape(-1, 4), axis=1, bitorder="little")[:, 0].astype(np.uint16)
    return octets.reshape(-1).view("<u4").copy(), flags
