"""The modes of the front end: what a mode id in the frame header means for links, clocks and channels.

The link clock is lane rate / 40. A link has two lanes; a frame of ``octets_per_frame`` octets a lane is one sample of
all its channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from host.frame_layout import MODE_PHOTOACOUSTIC, MODE_ULTRASOUND

LANES_A_LINK = 2
_OCTETS_A_CLOCK = 4
_OCTETS_A_SAMPLE = 2
FRACTION = 256
"""Times on the sample clock (window delay, trigger) count 1/256 sample."""


@dataclass(frozen=True)
class Mode:
    """One mode. ``identifier`` is the header's mode id."""

    name: str
    identifier: int
    sample_rate_hz: int
    octets_per_frame: int

    @property
    def clocks_a_sample(self) -> int:
        """Link clocks of a sample."""
        return self.octets_per_frame // _OCTETS_A_CLOCK

    @property
    def link_clock_hz(self) -> int:
        """Frequency of the link clock."""
        return self.sample_rate_hz * self.clocks_a_sample

    @property
    def channels_a_link(self) -> int:
        """Channels of a converter."""
        return LANES_A_LINK * self.octets_per_frame // _OCTETS_A_SAMPLE

    @property
    def lane_rate_gbps(self) -> float:
        """Line rate of a lane, 8b/10b coded."""
        return self.link_clock_hz * _OCTETS_A_CLOCK * 10 / 1e9

    @property
    def one_way(self) -> bool:
        """Sound only travels from tissue to probe: a laser made it."""
        return self.identifier == MODE_PHOTOACOUSTIC

    @property
    def sample_ns(self) -> float:
        """Length of a sample."""
        return 1e9 / self.sample_rate_hz

    def parts(self, nanoseconds: float) -> int:
        """A time in 1/256 sample, rounded."""
        return round(nanoseconds / self.sample_ns * FRACTION)


ULTRASOUND = Mode("ultrasound", MODE_ULTRASOUND, 80_000_000, 16)
PHOTOACOUSTIC = Mode("photoacoustic", MODE_PHOTOACOUSTIC, 125_000_000, 8)
MODES = {mode.name: mode for mode in (ULTRASOUND, PHOTOACOUSTIC)}
MODES_BY_ID = {mode.identifier: mode for mode in MODES.values()}
