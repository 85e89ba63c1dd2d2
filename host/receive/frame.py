"""One received frame: what it says, what is wrong with it, its samples in place."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from host.frame_layout import HEADER_BYTES, FrameShape, split_immediate
from host.receive.arrival import Arrival
from host.receive.inspection import inspect


class FrameGone(RuntimeError):
    """Samples were asked of a frame that was released, or that is too broken to have any."""


class Frame:
    """One received frame. Release it (or leave its ``with`` block) when its samples are no longer needed.

    ``header`` and ``trailer`` are records of :mod:`host.frame_layout` (``trailer`` is ``None`` if the header cannot be
    trusted); ``problems`` says what is wrong, in words; ``ok`` is true when nothing is.
    """

    def __init__(
        self,
        arrival: Arrival,
        memory: NDArray[np.uint8],
        *,
        queue_pair: int,
        index: int,
        release: Callable[[Frame], None],
        front_end: int = 0,
    ) -> None:
        self._give_back = release
        self._memory: NDArray[np.uint8] | None = memory
        self.front_end = front_end
        """Place of its front end among those that the receiver listens to, from 0."""
        self.queue_pair = queue_pair
        """Place of its queue pair among those of its front end, from 0."""
        self.index = index
        """Place in the order of use on its queue pair, from 0; frames that were lost have theirs."""
        self.immediate = arrival.immediate
        self.slot, self._low_bits = split_immediate(arrival.immediate)
        findings = inspect(memory, arrival.immediate, arrival.length)
        self.header: Any = findings.header.copy()
        self.trailer: Any = None if findings.trailer is None else findings.trailer.copy()
        self.shape: FrameShape | None = findings.shape
        self.payload_crc = findings.payload_crc
        self.problems: tuple[str, ...] = findings.problems + arrival.problems

    def add_problem(self, problem: str) -> None:
        """Note what was found out about the frame after it had come."""
        self.problems = (*self.problems, problem)

    @property
    def ok(self) -> bool:
        """Nothing is wrong with the frame, as far as is known now; a sender that ignores credit may change that."""
        return not self.problems

    @property
    def sequence(self) -> int:
        """Sequence number from the header; if that is not valid, the low bits that the immediate carries."""
        return self._low_bits if self.shape is None else int(self.header["sequence"])

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The frame's bytes as they were received, header to trailer; the whole slot if the header is not valid."""
        if self._memory is None:
            raise FrameGone(f"frame {self.sequence} was released; its memory belongs to another frame now")
        return self._memory if self.shape is None else self._memory[: self.shape.frame_bytes]

    @property
    def samples(self) -> NDArray[np.int16]:
        """The samples, int16 ``[sample, channel]``, without a copy: copy them to keep them beyond the release."""
        memory = self.memory
        if self.shape is None:
            raise FrameGone(f"frame in slot {self.slot} has no valid header: {'; '.join(self.problems)}")
        payload = memory[HEADER_BYTES : HEADER_BYTES + self.shape.payload_bytes]
        return payload.view("<i2").reshape(self.shape.samples, self.shape.channels)

    def release(self) -> None:
        """Give the slot back to the sender. A second call does nothing."""
        if self._memory is not None:
            self._memory = None
            self._give_back(self)

    def detach(self) -> None:
        """Move the frame to memory of its own and give the slot back: it stays whole for as long as it is kept."""
        if self._memory is not None:
            kept = self.memory.copy()
            self.release()
            self._memory = kept
            self._give_back = _kept_by_its_owner

    def __enter__(self) -> Frame:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _kept_by_its_owner(frame: Frame) -> None:
    """Release nothing: the frame lies in no slot."""
    del frame
