"""An in-process peer: numpy memory behind the responder, and the strict checker in front of it.

It answers as rdma_rxe does, frame for frame (IP identification apart), takes RDMA WRITEs with and without immediate
on RC and UC and datagrams on UD, and reports what a real receiver would learn: completions and memory. Nothing here
waits for anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.link.checker import ProtocolChecker, Violation
from sim.link.responder import Completion, Outcome, QueuePair, Region, Responder, Verdict, reply_packet
from sim.link.roce import encode
from sim.peers.interface import PeerLost


@dataclass(frozen=True, slots=True)
class Memory:
    """A registered buffer: what the requester must know of it, and the octets."""

    region: Region
    data: NDArray[np.uint8]


class ModelPeer:
    """A :class:`~sim.peers.interface.Wire` whose other end is this object itself.

    ``receives`` counts the entries of every receive queue; None never runs dry. With ``direct`` the frames come
    straight from the device and are checked as it sent them; without, a link with faults lies between and only the
    responder looks.
    """

    def __init__(self, queue_pairs: Sequence[QueuePair], receives: int | None = None, *, direct: bool = True) -> None:
        self._memories: dict[int, Memory] = {}
        self._direct = direct
        self._replies: deque[bytes] = deque()
        self._completions: deque[Completion] = deque()
        self._posted: dict[int, deque[tuple[int, NDArray[np.uint8]]]] = {}
        self._closed = False
        self.checker = ProtocolChecker(Responder(queue_pairs, regions=(), receives=receives))

    @property
    def violations(self) -> list[Violation]:
        """Deviations from the protocol so far; a run that has any must not pass."""
        return self.checker.violations

    def register(self, data: NDArray[np.uint8], address: int | None = None, *, remote_write: bool = True) -> Memory:
        """Register ``data`` at virtual ``address``, its own by default; keys are formed as rxe forms them.

        Raises ``ValueError`` unless ``data`` is contiguous, one-dimensional and of octets.
        """
        if data.dtype != np.uint8 or data.ndim != 1 or not data.flags.c_contiguous:
            raise ValueError("a memory region is a contiguous one-dimensional uint8 array")
        index = len(self._memories) + 1
        region = Region(
            rkey=index << 8 | (0x5B * index & 0xFF),
            address=data.ctypes.data if address is None else address,
            length=data.size,
            remote_write=remote_write,
        )
        memory = Memory(region, data)
        self._memories[region.rkey] = memory
        self.checker.responder.regions = {key: entry.region for key, entry in self._memories.items()}
        return memory

    def send(self, frame: bytes) -> None:
        """Take one frame; its reply, if any, can be received at once."""
        if self._closed:
            raise PeerLost("the model peer has been closed")
        packet = self.checker.departed(frame) if self._direct else None
        outcome = self.checker.delivered(frame, packet=packet)
        if outcome.peer_qpn in self._posted:
            self._take_datagram(outcome)
        elif outcome.verdict is Verdict.EXECUTE:
            if outcome.payload:
                memory = self._memories[outcome.rkey]
                start = outcome.address - memory.region.address
                memory.data[start : start + len(outcome.payload)] = np.frombuffer(outcome.payload, np.uint8)
            if outcome.completion is not None:
                self._completions.append(outcome.completion)
        if outcome.reply is not None:
            qp = self.checker.responder.queue_pairs[outcome.peer_qpn]
            self._replies.append(encode(reply_packet(qp, outcome.reply)))

    def post(self, peer_qpn: int, token: int, memory: NDArray[np.uint8]) -> None:
        """Post a receive for a datagram; its completion carries ``token``."""
        self._posted.setdefault(peer_qpn, deque()).append((token, memory))

    def _take_datagram(self, outcome: Outcome) -> None:
        """A datagram takes the oldest receive; without one it is gone."""
        posted = self._posted[outcome.peer_qpn]
        if outcome.completion is None or not posted:
            return
        token, memory = posted.popleft()
        memory[: len(outcome.payload)] = np.frombuffer(outcome.payload, np.uint8)
        self._completions.append(replace(outcome.completion, token=token))

    def receive(self, timeout_seconds: float) -> bytes | None:
        """Return the oldest reply, None if there is none: waiting would not bring one."""
        if self._closed:
            raise PeerLost("the model peer has been closed")
        return self._replies.popleft() if self._replies else None

    def take_completions(self) -> list[Completion]:
        """Return the receive completions since the last call, oldest first."""
        taken = list(self._completions)
        self._completions.clear()
        return taken

    def post_receives(self, peer_qpn: int, count: int = 1) -> None:
        """Post receives on a peer that counts them."""
        self.checker.responder.post_receives(peer_qpn, count)

    def close(self) -> None:
        """Cut the wire; both directions raise :class:`PeerLost` from now on."""
        self._closed = True
