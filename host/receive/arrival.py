"""What a completion tells of a frame; apart from verbs, so that recordings need none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Arrival:
    """The completion of a WRITE with immediate: the bytes that WRITE brought, and its immediate.

    Of a frame that came in datagrams: its bytes, its place in the order of frames, where it lies, and what is wrong.
    """

    immediate: int
    length: int
    number: int | None = None
    memory: NDArray[np.uint8] | None = None
    problems: tuple[str, ...] = ()
