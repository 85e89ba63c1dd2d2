"""What every source of samples offers: shots by index, made when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray


class SourceError(ValueError):
    """A source cannot give what the scenario asks of it; the message says what, and what would be right."""


class ShotSource(ABC):
    """``shots`` arrays of int16 ``[samples, channels]``. Shot ``i`` is the same whenever and how often it is asked for.

    Memory does not grow with ``shots``: nothing that belongs to a single shot is kept.
    """

    def __init__(self, shots: int, samples: int, channels: int) -> None:
        for name, value in (("shots", shots), ("samples", samples), ("channels", channels)):
            if value < 1:
                raise SourceError(f"{name} must be at least 1, not {value}")
        self.shots = shots
        self.samples = samples
        self.channels = channels

    def shot(self, index: int) -> NDArray[np.int16]:
        """Return shot ``index`` (from 0); raise ``IndexError`` outside ``0 .. shots - 1``."""
        if not 0 <= index < self.shots:
            raise IndexError(f"shot {index} of a source with {self.shots} shots")
        return self._make(index)

    @abstractmethod
    def _make(self, index: int) -> NDArray[np.int16]: ...

    def close(self) -> None:  # noqa: B027 - most sources hold nothing that must be given back
        """Give back files; a closed source makes no more shots."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
