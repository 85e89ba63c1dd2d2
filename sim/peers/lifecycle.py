"""What all real peers have in common: settings, description, addresses that travel between processes, errors.

The process that starts a peer (the runner) is not the one that talks to it (the simulator); so a peer gives out
addresses, which are plain data, and :func:`open_wire` and :func:`open_control` turn them into connections, in whichever
process.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from host.exchange import Exchange, SocketStream
from sim.peers.interface import PeerLost, Wire
from sim.sources import ROOT

if TYPE_CHECKING:
    from types import TracebackType

LINK_MTU = 4200
"""MTU of the peer's network device: 4176 is the least for a path MTU of 4096."""
CONTROL_LIMIT_SECONDS = 10.0


class PeerError(RuntimeError):
    """A peer cannot be had; the text says why, and ``hint`` what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\nHint: {hint}")
        self.hint = hint


@dataclass(frozen=True)
class Network:
    """The two ends of the cable, IPv4 and MAC."""

    fpga_ip: str = "10.77.0.1"
    fpga_mac: str = "02:eb:00:00:00:01"
    peer_ip: str = "10.77.0.2"
    peer_mac: str = "02:eb:00:00:00:02"
    prefix: int = 24


@dataclass(frozen=True)
class PeerSettings:
    """What a peer must know before it starts."""

    run_directory: Path
    """Where its logs, status and captured frames go; must exist."""
    slot_bytes: int
    slots: int = 16
    """Receive slots of each queue pair."""
    queue_pairs: int = 1
    pmtu: int = 4096
    transport: str = "RC"
    capture: bool = True
    """Keep every received frame in ``capture.bin``, as it comes."""
    network: Network = field(default_factory=Network)
    connection_manager: bool = False
    """Programs there listen at the kernel's communication manager."""

    @property
    def pool_bytes(self) -> int:
        """Bytes of all receive slots."""
        return self.slots * self.queue_pairs * self.slot_bytes

    @property
    def status_file(self) -> Path:
        """Written by the receiver when it is ready for the exchange."""
        return self.run_directory / "receiver.json"

    @property
    def receiver_log(self) -> Path:
        """What the receiver process says."""
        return self.run_directory / "receiver.log"

    @property
    def capture_file(self) -> Path:
        """Received frames; see ``host/receive/capture.py``."""
        return self.run_directory / "capture.bin"

    def receiver_arguments(self, device: str, control: str) -> list[str]:
        """Return the arguments after ``python`` that start the receiver."""
        arguments = ["-m", "host.receive", "serve", "--device", device, "--control", control]
        arguments += ["--ip", self.network.peer_ip, "--slots", str(self.slots), "--slot-bytes", str(self.slot_bytes)]
        arguments += ["--queue-pairs", str(self.queue_pairs), "--pmtu", str(self.pmtu)]
        arguments += ["--transport", self.transport, "--status", str(self.status_file)]
        return arguments + (["--capture", str(self.capture_file)] if self.capture else [])


@dataclass(frozen=True)
class PeerDescription:
    """What a started peer is, for the report."""

    kind: str
    kernel: str
    device: str
    ip: str
    mac: str
    mtu: int
    pmtu: int
    fpga_ip: str
    fpga_mac: str
    huge_pages: bool
    start_seconds: Mapping[str, float]
    """Wall seconds from start to ready (``ready``), and the guest's own clock at each stage where there is a guest."""
    details: Mapping[str, str]


@dataclass(frozen=True)
class WireAddress:
    """Where a wire can be opened, once, from any process of this machine."""

    kind: Literal["datagram", "tap"]
    peer: str
    """For messages, e.g. ``micro-VM``."""
    process: int
    """When this process ends, the peer has gone."""
    local: str
    """Socket to bind, or name of the TAP device."""
    remote: str
    """Socket of the peer; empty for a TAP device."""
    log: str
    """File whose last lines explain a loss."""

    def to_json(self) -> str:
        """Return the address as JSON, for a command line or the environment."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the address that :meth:`to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class ControlAddress:
    """Where the receiver's end of the queue pair exchange listens."""

    peer: str
    path: str
    log: str

    def to_json(self) -> str:
        """Return the address as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the address that :meth:`to_json` wrote."""
        return cls(**json.loads(text))


class Peer(Protocol):
    """A far end of the cable, from start to stop. Leaving its ``with`` block stops it."""

    def start(self) -> None:
        """Begin to start; returns at once when everything it needs is in the cache."""
        ...

    def wait_ready(self, limit_seconds: float) -> None:
        """Return when its receiver waits for the exchange; raise :class:`PeerError` on failure or after the limit."""
        ...

    def wire_address(self) -> WireAddress:
        """Return where :func:`open_wire` finds it."""
        ...

    def control_address(self) -> ControlAddress:
        """Return where :func:`open_control` finds it."""
        ...

    def describe(self) -> PeerDescription:
        """Return what it is; known after :meth:`wait_ready`."""
        ...

    def ending(self, within_seconds: float = 0.0) -> str | None:
        """Say in words how its process ended; None if it still runs ``within_seconds`` from now."""
        ...

    def stop(self) -> None:
        """End it and remove its sockets; may be called at any time, any number of times."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_wire(address: WireAddress, send_limit_seconds: float = 5.0) -> Wire:
    """Open a wire; raise :class:`PeerLost` if the peer is not there."""
    from sim.peers.wires import DatagramWire, TapWire  # noqa: PLC0415 - they need this module

    return (DatagramWire if address.kind == "datagram" else TapWire)(address, send_limit_seconds)


def open_control(address: ControlAddress) -> Exchange:
    """Connect to the receiver's end of the exchange; raise :class:`PeerLost` if it is not there."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONTROL_LIMIT_SECONDS)
    try:
        connection.connect(address.path)
    except OSError as error:
        connection.close()
        raise PeerLost(
            f"cannot reach the control channel of the {address.peer} ({error}){last_words(Path(address.log))}"
        ) from error
    return Exchange(SocketStream(connection))


def last_words(log: Path, lines: int = 12) -> str:
    """Return the end of a log for an error message, or a remark that there is none."""
    try:
        text = log.read_text(errors="replace").strip()
    except OSError:
        text = ""
    if not text:
        return f"; {log.name} is empty"
    return f"; the end of {log.name}:\n" + "\n".join(f"  | {line}" for line in text.splitlines()[-lines:])


def search_path() -> str:
    """Return a PYTHONPATH with which a bare interpreter (``-S``) finds what this one finds, the checkout first.

    The start-up code of a virtual environment takes a second in an emulated machine; with this it is not needed.
    """
    standard = (f"{sys.base_prefix}/lib/python3.11", f"{sys.base_prefix}/lib/python311.zip")
    entries = [entry for entry in sys.path if entry and not entry.startswith(standard)]
    return ":".join(dict.fromkeys([str(ROOT), *entries]))


def wait_for_status(settings: PeerSettings, alive: Any, deadline: float) -> dict[str, Any] | None:
    """Return the receiver's status once it is written; ``None`` if ``alive()`` turns false or ``deadline`` passes."""
    while True:
        if settings.status_file.exists():
            status: dict[str, Any] = json.loads(settings.status_file.read_text())
            return status
        if not alive() or time.monotonic() > deadline:
            return None
        time.sleep(0.02)
