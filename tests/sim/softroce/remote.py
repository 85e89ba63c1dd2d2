"""The far end as the simulator sees it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.exchange import SocketStream
from sim.peers.interface import PeerLost
from sim.peers.lifecycle import CONTROL_LIMIT_SECONDS, ControlAddress, PeerSettings, last_words
from sim.programs.messages import Lines

ANSWER_SECONDS = 90.0


class TargetFailed(RuntimeError):
    """The far end could not do what it was asked for."""


@dataclass(frozen=True)
class TargetSettings(PeerSettings):
    """Settings of a peer with the target of the cases in the receiver's place."""

    def receiver_arguments(self, device: str, control: str) -> list[str]:
        """Return the arguments after ``python`` that start it."""
        arguments = ["-m", "tests.sim.softroce.target", "--device", device, "--ip", self.network.peer_ip]
        return [*arguments, "--pmtu", str(self.pmtu), "--control", control, "--status", str(self.status_file)]


class RemoteTarget:
    """Asks, and waits for the answer; simulated time stands still meanwhile."""

    def __init__(self, address: ControlAddress) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(CONTROL_LIMIT_SECONDS)
        connection.connect(address.path)
        self._lines = Lines(SocketStream(connection))
        self._log = Path(address.log)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer; raise :class:`PeerLost` or :class:`TargetFailed`."""
        self._lines.send({"do": do, **request})
        answer = self._lines.receive(ANSWER_SECONDS)
        if answer is None:
            raise PeerLost(f"lost the target while waiting for {do}{last_words(self._log)}")
        if "error" in answer:
            raise TargetFailed(f"{do}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Leave it; it ends then."""
        self._lines.close()
