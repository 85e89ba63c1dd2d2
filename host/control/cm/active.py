"""The side that asks for a connection: datagrams in, datagrams out, no input or output of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from host.control.cm.messages import Kind, Message, MessageError, Request, reason_of, simple, unpack


class State(Enum):
    """How far the connection has come."""

    IDLE = "idle"
    ASKED = "asked"
    ESTABLISHED = "established"
    LEAVING = "leaving"
    CLOSED = "closed"


class Refused(RuntimeError):
    """The other end does not connect; the text says why, ``reason`` is the protocol's number for that."""

    def __init__(self, text: str, reason: int) -> None:
        super().__init__(text)
        self.reason = reason


class Silent(RuntimeError):
    """The other end does not answer; the text says what was awaited."""


@dataclass(frozen=True)
class Accepted:
    """What the other end said when it accepted."""

    qpn: int
    start_psn: int
    """First PSN that we shall send: in this protocol each end chooses what it is sent."""
    private_data: bytes


class ActiveConnection:
    """One connection, from REQ to DREP. Each method returns the datagrams that are to be sent now.

    Datagrams may be lost: :meth:`timed_out` is to be called when nothing has come for a while after something was
    sent, and says again what was said; after ``attempts`` of that it raises :class:`Silent`.
    """

    def __init__(self, request: Request, attempts: int = 8) -> None:
        self._request = request
        self._attempts = attempts
        self._left = attempts
        self._last: list[bytes] = []
        self._remote_id = 0
        self.state = State.IDLE
        self.accepted: Accepted | None = None

    def open(self) -> list[bytes]:
        """Ask for the connection."""
        self.state = State.ASKED
        return self._say([self._request.pack()])

    def close(self) -> list[bytes]:
        """End the connection. Without one there is nothing to say."""
        if self.state is not State.ESTABLISHED or self.accepted is None:
            self.state = State.CLOSED
            return []
        self.state = State.LEAVING
        request = self._request
        # The transaction is one of its own.
        leave = simple(Kind.DREQ, request.transaction + 1, request.communication_id, self._remote_id, self.accepted.qpn)
        return self._say([leave])

    def take(self, datagram: bytes) -> list[bytes]:
        """Take in a datagram; raise :class:`Refused` if the other end does not connect.

        What is not for this connection, or does not belong where it comes, is passed over: a network may bring it.
        """
        try:
            message = unpack(datagram)
        except MessageError:
            return []
        if message.kind is Kind.DREQ and message.receiver_id != self._request.communication_id:
            # Of a connection that software has forgotten: unanswered, it would be said again and again.
            return [simple(Kind.DREP, message.transaction, message.receiver_id, message.sender_id)]
        if message.receiver_id != self._request.communication_id:
            return []
        return self._take(message)

    def timed_out(self) -> list[bytes]:
        """Nothing has come in time: say it again."""
        if self.state not in (State.ASKED, State.LEAVING):
            return []
        if self._left == 0:
            awaited = "the connection" if self.state is State.ASKED else "its end"
            self.state = State.CLOSED
            raise Silent(f"{self._request.remote_ip} has not answered about {awaited}, asked {self._attempts} times")
        self._left -= 1
        return self._last

    def _take(self, message: Message) -> list[bytes]:
        if message.kind is Kind.MRA:  # it needs more time
            self._left = self._attempts
        elif message.kind is Kind.REJ and self.state is State.ASKED:
            self.state = State.CLOSED
            raise Refused(
                f"{self._request.remote_ip} refuses the connection to port {self._request.port}: "
                f"{reason_of(message.reason)}",
                message.reason,
            )
        elif message.kind is Kind.REP and self.state in (State.ASKED, State.ESTABLISHED):
            self._remote_id = message.sender_id
            self.accepted = Accepted(message.qpn, message.start_psn, message.private_data)
            self.state = State.ESTABLISHED
            return self._ready(message)
        elif message.kind is Kind.DREQ:
            self.state = State.CLOSED
            return [simple(Kind.DREP, message.transaction, self._request.communication_id, message.sender_id)]
        elif message.kind is Kind.DREP and self.state is State.LEAVING:
            self.state = State.CLOSED
        return []

    def _ready(self, reply: Message) -> list[bytes]:
        return [simple(Kind.RTU, reply.transaction, self._request.communication_id, self._remote_id)]

    def _say(self, datagrams: list[bytes]) -> list[bytes]:
        self._last = datagrams
        self._left = self._attempts - 1
        return datagrams
