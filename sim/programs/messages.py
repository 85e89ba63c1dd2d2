"""What passes between the simulator and the machine on which a program runs: one JSON object a line."""

from __future__ import annotations

import json
import select
import time
from typing import Any

from host.exchange import ByteStream


class Lines:
    """JSON objects over a byte stream, a line each."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._partial = b""
        self._found: list[dict[str, Any]] = []
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor to poll for input."""
        return self._stream.fileno()

    def send(self, message: dict[str, Any], limit_seconds: float = 10.0) -> None:
        """Write one message; raise ``TimeoutError`` if the other side does not read."""
        data = json.dumps(message).encode() + b"\n"
        deadline = time.monotonic() + limit_seconds
        while data:
            data = data[self._stream.write(data) :]
            if data:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the other side has not read for {limit_seconds:.0f} s")
                select.select([], [self._stream.fileno()], [], 0.1)

    def take(self) -> list[dict[str, Any]]:
        """Return the messages that have come whole."""
        while data := self._stream.read():
            self._partial += data
        if data == b"":
            self.closed = True
        *lines, self._partial = self._partial.split(b"\n")
        return [json.loads(line) for line in lines]

    def receive(self, limit_seconds: float) -> dict[str, Any] | None:
        """Return the next message; ``None`` if none comes within the limit or none can come any more."""
        deadline = time.monotonic() + limit_seconds
        while not self._found:
            self._found = self.take()
            if self._found:
                break
            left = deadline - time.monotonic()
            if self.closed or left <= 0:
                return None
            select.select([self._stream.fileno()], [], [], left)
        return self._found.pop(0)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
