"""What the transmitter asks of a sample source; `sources.TickStream` is one."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class SampleSource(Protocol):
    """An endless stream of samples of all channels by tick (frame clock); the same tick always gives the same."""

    def samples(self, first_tick: int, count: int) -> NDArray[np.int16]:
        """Return ``int16[count, channels]`` from tick ``first_tick`` on."""
        ...
