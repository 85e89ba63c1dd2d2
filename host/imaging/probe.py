"""The transducer that samples were taken with: all that beamforming has to know of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Probe:
    """A linear array: element ``e``, which is channel ``e``, at ``x = (e - (elements - 1) / 2) * pitch``, ``z = 0``.

    Lengths in metres, frequencies in hertz, speeds in metres a second. Raises ``ValueError`` for impossible values.
    """

    elements: int
    pitch_m: float = 0.2e-3
    centre_frequency_hz: float = 5.0e6
    sound_speed_m_s: float = 1540.0
    name: str = "linear array"

    def __post_init__(self) -> None:
        if self.elements < 1:
            raise ValueError(f"a probe has at least one element, not {self.elements}")
        for field in ("pitch_m", "centre_frequency_hz", "sound_speed_m_s"):
            if not getattr(self, field) > 0:
                raise ValueError(f"{field} must be positive, not {getattr(self, field)}")

    @property
    def wavelength_m(self) -> float:
        """Wavelength at the centre frequency."""
        return self.sound_speed_m_s / self.centre_frequency_hz

    @property
    def element_x_m(self) -> NDArray[np.float64]:
        """Lateral positions of the elements, shape ``[elements]``, centred on zero."""
        index = np.arange(self.elements, dtype=np.float64)
        return np.asarray((index - (self.elements - 1) / 2) * self.pitch_m, dtype=np.float64)
