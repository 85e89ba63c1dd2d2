"""Work requests that go wrong: what a scenario's ``[rdma] faults`` put in the place of good ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from host.control.engine import QueueMemory, QueuePair
from host.control.platform import Platform
from host.control.work_queue import Opcode, WorkRequest
from sim.scenario.model import QueueFault

_ANOTHER_REGION = 1 << 8
"""Keys are an index above eight bits of the region's own."""
_FAR = 1 << 40
_TOO_LONG = (8 << 20) + 4096
_READ_BYTES = 64
REFUSED = ("wrong_key", "out_of_range", "access")
"""Kinds that the peer answers with a NAK."""


@dataclass
class QueueFaults:
    """The faults of one queue pair, in the order of frames; ``scratch`` is memory for a READ that never answers."""

    faults: tuple[QueueFault, ...]
    scratch: int
    applied: Callable[[QueueFault], None]
    count: int = 0
    """How many have been put in."""

    @property
    def frame(self) -> int:
        """The frame of the latest one."""
        return self.faults[self.count - 1].frame if self.count else 0

    def receives(self) -> int:
        """Receives that the peer may have from here to the next frame that must find none; 0: any number."""
        later = (fault.frame for fault in self.faults[self.count :] if fault.kind == "not_ready")
        following = next(later, None)
        return 0 if following is None else following - self.frame

    def apply(self, request: WorkRequest) -> WorkRequest:
        """Return what is posted in the place of ``request``."""
        if self.count == len(self.faults) or request.frame != self.faults[self.count].frame:
            return request
        fault = self.faults[self.count]
        self.count += 1
        self.applied(fault)
        match fault.kind:
            case "wrong_key":
                return replace(request, remote_key=request.remote_key ^ _ANOTHER_REGION)
            case "out_of_range":
                return replace(request, remote_address=request.remote_address + _FAR)
            case "access":  # the receiver's memory is open to writes alone
                return replace(request, opcode=Opcode.READ, local_address=self.scratch, length=_READ_BYTES)
            case "bad_entry":
                return replace(request, length=_TOO_LONG)
            case _:
                return request


class FaultyQueuePair(QueuePair):
    """Posts what the faults make of the work requests."""

    def __init__(self, platform: Platform, number: int, memory: QueueMemory, faults: QueueFaults) -> None:
        super().__init__(platform, number, memory)
        self._faults = faults

    async def post(self, requests: list[WorkRequest]) -> None:
        """Store and ring the doorbell."""
        await super().post([self._faults.apply(request) for request in requests])
