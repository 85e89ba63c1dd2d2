"""The peer's machine with a relay to programs in it in the receiver's place."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.exchange import SocketStream
from host.programs.channel import ChannelError
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import CONTROL_LIMIT_SECONDS, ControlAddress, PeerSettings, last_words
from sim.programs.messages import Lines

ANSWER_SECONDS = 60.0
START_SECONDS = 120.0


@dataclass(frozen=True)
class ProgramSettings(PeerSettings):
    """Settings of a peer that runs programs."""

    connection_manager: bool = True

    def receiver_arguments(self, device: str, control: str) -> list[str]:
        """Return the arguments after ``python`` that start the relay."""
        arguments = ["-m", "sim.programs.relay", "--device", device, "--ip", self.network.peer_ip]
        return [*arguments, "--pmtu", str(self.pmtu), "--control", control, "--status", str(self.status_file)]


@dataclass(frozen=True)
class Ending:
    """How a program ended, and all it printed."""

    code: int
    output: str


class RemoteProgram:
    """A program under the relay, and a channel to its TCP port."""

    def __init__(self, lines: Lines, log: Path) -> None:
        self._lines = lines
        self._log = log
        self._received = b""

    def start(self, command: list[str], port: int | None) -> bool:
        """Run it and connect to its port, if it has one; tell whether that succeeded."""
        self._received = b""
        self._lines.send({"run": command, "port": port})
        return bool(self._answer("started", START_SECONDS, f"{command[0]} to listen")["started"])

    def send(self, data: bytes) -> None:
        """Write to the program's connection."""
        self._lines.send({"data": data.hex()})

    def receive(self, count: int, what: str) -> bytes:
        """Return exactly ``count`` bytes; raise :class:`ChannelError` if they do not come."""
        while len(self._received) < count:
            message = self._lines.receive(ANSWER_SECONDS)
            if message is None:
                raise ChannelError(f"waited {ANSWER_SECONDS:.0f} s for the program's {what}{last_words(self._log)}")
            data = bytes.fromhex(message.get("data", ""))
            if not data:
                raise ChannelError(f"the program closed the connection; {what} was due")
            self._received += data
        found, self._received = self._received[:count], self._received[count:]
        return found

    def peek(self, address: int, count: int) -> bytes:
        """Return octets of the program's memory."""
        self._lines.send({"peek": [address, count]})
        return bytes.fromhex(self._answer("peeked", ANSWER_SECONDS, "the program's memory")["peeked"])

    def end(self, seconds: float) -> Ending:
        """Wait for its end, or bring it about after ``seconds``."""
        self._lines.send({"end": seconds})
        message = self._answer("exit", seconds + ANSWER_SECONDS, "the program's end")
        return Ending(message["exit"], message["output"])

    def close(self) -> None:
        """Leave the relay; it ends then."""
        self._lines.close()

    def _answer(self, key: str, limit_seconds: float, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + limit_seconds
        while (message := self._lines.receive(max(0.0, deadline - time.monotonic()))) is not None:
            if key in message:
                return message  # what the program had still to say is of no interest now
        raise PeerLost(f"lost the relay to programs while waiting for {what}{last_words(self._log)}")


def open_relay(address: ControlAddress) -> RemoteProgram:
    """Connect to the relay; raise :class:`PeerLost` if it is not there."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONTROL_LIMIT_SECONDS)
    try:
        connection.connect(address.path)
    except OSError as error:
        connection.close()
        raise PeerLost(f"cannot reach the relay to programs ({error}){last_words(Path(address.log))}") from error
    return RemoteProgram(Lines(SocketStream(connection)), Path(address.log))
