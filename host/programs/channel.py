"""Bytes to and from a program's TCP port; on a board a socket, in simulation whatever reaches the program."""

from __future__ import annotations

import socket
import time
from typing import Protocol

LIMIT_SECONDS = 60.0


class ChannelError(RuntimeError):
    """The program does not say what is due; the text says what that is."""


class Channel(Protocol):
    """A stream of bytes both ways."""

    def send(self, data: bytes) -> None:
        """Write all of ``data``."""
        ...

    def receive(self, count: int, what: str) -> bytes:
        """Return exactly ``count`` bytes, which are ``what``; raise :class:`ChannelError` if they do not come."""
        ...


class TcpChannel:
    """A connection to a program on another machine."""

    def __init__(self, host: str, port: int, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._limit = limit_seconds
        self._socket = socket.create_connection((host, port), limit_seconds)

    def send(self, data: bytes) -> None:
        """Write all of ``data``."""
        self._socket.sendall(data)

    def receive(self, count: int, what: str) -> bytes:
        """Return exactly ``count`` bytes; raise :class:`ChannelError` if they do not come within the limit."""
        deadline = time.monotonic() + self._limit
        found = b""
        while len(found) < count:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                part = self._socket.recv(count - len(found))
            except TimeoutError:
                raise ChannelError(f"waited {self._limit:.0f} s for the program's {what}") from None
            if not part:
                raise ChannelError(f"the program closed the connection; {what} was due")
            found += part
        return found

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
