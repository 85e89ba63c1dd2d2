"""Parameters of the links and the lengths that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OCTETS_PER_BEAT = 4
SCRAMBLER_SEED = 0x7F80
"""State of the scramblers at the first octet of user data; 15 bits."""


@dataclass(frozen=True)
class LinkConfig:
    """``links`` equal links of 16-bit samples (N = N' = 16, S = 1, no control bits, no HD).

    Raises ``ValueError`` with the name of the parameter if the values do not make a link that exists.
    """

    links: int = 16
    lanes_per_link: int = 2
    octets_per_frame: int = 16
    frames_per_multiframe: int = 32
    scrambling: bool = True
    subclass: int = 1
    device_id: int = 0
    devices_count: bool = False
    """The device identifier of link ``k`` is ``device_id + k``."""
    bank_id: int = 0
    scrambler_seed: int = SCRAMBLER_SEED
    fchk_over_octets: bool = False
    """Check sum of the alignment sequence over packed octets, as some converters do, instead of over fields."""
    per_die: bool = False
    """The alignment sequences call each lane a link of its own (L = 1, LID = 0), as converters of several dies do."""
    replacement: Literal["standard", "never", "always"] = "standard"
    """Alignment characters in user data; ``always`` replaces two frames in a row as well (without scrambling)."""

    def __post_init__(self) -> None:
        self._demand("links", self.links, 1 <= self.links <= 64, "1 to 64")
        self._demand("lanes_per_link", self.lanes_per_link, 1 <= self.lanes_per_link <= 32, "1 to 32")
        self._demand(
            "octets_per_frame",
            self.octets_per_frame,
            self.octets_per_frame % OCTETS_PER_BEAT == 0 and 4 <= self.octets_per_frame <= 256,
            "a multiple of 4 from 4 to 256",
        )
        # JESD204B 5.3.3.5: the configuration must fit into a multiframe, and a multiframe into 1024 octets.
        least = -(-17 // self.octets_per_frame)
        most = min(32, 1024 // self.octets_per_frame)
        self._demand(
            "frames_per_multiframe",
            self.frames_per_multiframe,
            least <= self.frames_per_multiframe <= most,
            f"{least} to {most} for {self.octets_per_frame} octets a frame",
        )
        self._demand("subclass", self.subclass, self.subclass in (0, 1), "0 or 1")
        self._demand("device_id", self.device_id, 0 <= self.device_id <= 255, "0 to 255")
        self._demand("bank_id", self.bank_id, 0 <= self.bank_id <= 15, "0 to 15")
        self._demand("scrambler_seed", self.scrambler_seed, 0 <= self.scrambler_seed < 1 << 15, "15 bits")

    @staticmethod
    def _demand(name: str, value: int, good: bool, allowed: str) -> None:
        if not good:
            raise ValueError(f"{name} = {value}: allowed is {allowed}")

    @property
    def lanes(self) -> int:
        """Lanes of all links."""
        return self.links * self.lanes_per_link

    @property
    def channels_per_lane(self) -> int:
        """Samples that a lane carries in a frame."""
        return self.octets_per_frame // 2

    @property
    def converters(self) -> int:
        """M, converters a link."""
        return self.channels_per_lane * self.lanes_per_link

    @property
    def channels(self) -> int:
        """Channels of all links; channel ``lane * channels_per_lane + i`` is sample ``i`` of ``lane``'s frames."""
        return self.lanes * self.channels_per_lane

    @property
    def beats_per_frame(self) -> int:
        """Link clocks a frame, hence a sample tick."""
        return self.octets_per_frame // OCTETS_PER_BEAT

    @property
    def beats_per_multiframe(self) -> int:
        """Link clocks a multiframe."""
        return self.beats_per_frame * self.frames_per_multiframe

    @property
    def ilas_beats(self) -> int:
        """Link clocks of the initial lane alignment sequence: four multiframes."""
        return 4 * self.beats_per_multiframe

    @property
    def least_comma_beats(self) -> int:
        """Link clocks of /K/ before alignment may begin: one frame and nine octets (JESD204B 5.3.3.1)."""
        return -(-(self.octets_per_frame + 9) // OCTETS_PER_BEAT)
