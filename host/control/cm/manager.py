"""Carries the communication manager's datagrams over the engine's queue pair 1."""

from __future__ import annotations

from host.control.cm.active import Accepted, ActiveConnection, State
from host.control.cm.messages import OCTETS, QUEUE_KEY, Request
from host.control.engine import Identity, QueueMemory, QueuePair, QueueSettings
from host.control.platform import Platform
from host.control.receive_queue import DATAGRAM_HEADER_BYTES, ReceiveQueue
from host.control.work_queue import Opcode, WorkRequest

MANAGEMENT = 1
"""Number of the queue pair, on both ends."""
MEMORY_OCTETS = 1 << 14
"""Memory of the processing system that it needs, aligned to 256."""
_DEPTH = 16
_ELEMENT_BYTES = 512
_PMTU = 256
_RECEIVES, _INDEX = 0x1800, 0x3800
_LOOK_MICROSECONDS = 5.0


class ConnectionManager:
    """Connections of the engine to listeners of one other machine, one at a time. ``base``: see ``MEMORY_OCTETS``."""

    def __init__(self, platform: Platform, base: int) -> None:
        self._platform = platform
        memory, end = QueueMemory.place(base, _DEPTH, inline=True)
        assert end <= base + _RECEIVES
        self._receives = ReceiveQueue(
            platform,
            MANAGEMENT,
            buffers=base + _RECEIVES,
            depth=_DEPTH,
            element_bytes=_ELEMENT_BYTES,
            index=base + _INDEX,
        )
        self._pair = QueuePair(platform, MANAGEMENT, memory, self._receives)
        self._sent = 0

    async def start(self, remote: Identity) -> None:
        """Make queue pair 1 ready for datagrams to and from ``remote``."""
        self._sent = 0
        await self._pair.connect(
            QueueSettings(
                pmtu=_PMTU,
                sq_depth=_DEPTH,
                start_psn=0,
                remote=remote,
                remote_qpn=MANAGEMENT,
                timeout=0,
                retry_count=0,
                transport="UD",
                queue_key=QUEUE_KEY,
                level=1,
            )
        )

    async def establish(self, request: Request, time_out_us: float = 100_000.0) -> tuple[ActiveConnection, Accepted]:
        """Connect; return the connection and what the other end said.

        ``time_out_us`` is how long an answer may take before the question is put again. Raise
        :class:`~host.control.cm.active.Refused` or :class:`~host.control.cm.active.Silent`.
        """
        connection = ActiveConnection(request)
        await self._send(connection.open())
        await self._until(connection, State.ESTABLISHED, time_out_us)
        assert connection.accepted is not None
        return connection, connection.accepted

    async def leave(self, connection: ActiveConnection, time_out_us: float = 100_000.0) -> None:
        """End the connection; returns when the other end knows. Raise :class:`~host.control.cm.active.Silent`."""
        await self._send(connection.close())
        await self._until(connection, State.CLOSED, time_out_us)

    async def answer(self, connection: ActiveConnection) -> None:
        """Take in what has come about a connection, and answer it."""
        while self._receives.waiting:
            await self._send(connection.take(await self._receives.take(OCTETS, skip=DATAGRAM_HEADER_BYTES)))

    async def _until(self, connection: ActiveConnection, state: State, time_out_us: float) -> None:
        waited = 0.0
        while connection.state is not state:
            await self.answer(connection)
            if waited >= time_out_us:
                await self._send(connection.timed_out())
                waited = 0.0
            await self._platform.pause(_LOOK_MICROSECONDS)
            waited += _LOOK_MICROSECONDS

    async def _send(self, datagrams: list[bytes]) -> None:
        for datagram in datagrams:
            self._sent += 1
            await self._pair.post([WorkRequest(self._sent, Opcode.SEND, 0, OCTETS, inline=datagram)])
