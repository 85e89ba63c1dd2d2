"""Where control software reaches a process of the receiving machine: a virtio serial port, or a socket to listen on."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from pathlib import Path
from typing import Any, Protocol

from host.exchange import ByteStream, PortStream, SocketStream
from host.receive.device import DeviceError

_PORTS = Path("/sys/class/virtio-ports")


class ControlListener(Protocol):
    """A place to which control software may come, one after the other."""

    name: str

    def fileno(self) -> int | None:
        """Return the descriptor that becomes readable when somebody has come; ``None`` if it must be looked at."""
        ...

    def accept(self) -> ByteStream | None:
        """Return the stream of who has come; ``None`` if nobody has."""
        ...

    def close(self) -> None:
        """Let nobody come any more."""
        ...


def listen(control: str) -> ControlListener:
    """Listen at ``port:NAME`` or ``unix:PATH``; raise :class:`DeviceError` if that cannot be."""
    kind, _, where = control.partition(":")
    return _PortListener(where) if kind == "port" else _SocketListener(Path(where))


def wait_for_control(listener: ControlListener) -> ByteStream:
    """Return the stream of whoever comes; the owner of this process sets the limit."""
    while (stream := listener.accept()) is None:
        descriptor = listener.fileno()
        select.select([] if descriptor is None else [descriptor], [], [], None if descriptor is not None else 0.02)
    return stream


class _SocketListener:
    def __init__(self, path: Path) -> None:
        self.name = f"unix:{path}"
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_stale(path)
            self._socket.bind(str(path))
        except OSError as error:
            self._socket.close()
            raise DeviceError(f"cannot listen at {path}: {error}") from error
        self._socket.listen(1)
        self._socket.setblocking(False)

    def fileno(self) -> int | None:
        return self._socket.fileno()

    def accept(self) -> ByteStream | None:
        try:
            connected, _ = self._socket.accept()
        except BlockingIOError:
            return None
        return SocketStream(connected)

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def _remove_stale(path: Path) -> None:
    """Remove the socket of a receiver that is gone; raise ``OSError`` if one still listens, or it is something else."""
    if not path.exists():
        return
    if not path.is_socket():
        raise OSError("there is a file of that name, which is no socket")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError("another receiver listens there: end it, or choose another path")


class _PortListener:
    def __init__(self, name: str) -> None:
        self.name = f"port:{name}"
        self._device = _port_device(name)
        self._waiting: PortStream | None = None

    def fileno(self) -> int | None:
        return None  # a hang-up, which is what an unconnected port shows, is level triggered: nothing to sleep on

    def accept(self) -> ByteStream | None:
        self._waiting = self._waiting or PortStream(self._device)
        if not self._waiting.connected():
            return None
        connected, self._waiting = self._waiting, None
        return connected

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.close()


def write_status(path: Path, status: dict[str, Any]) -> None:
    """Write ``status`` and the kernel's uptime as JSON, in one step for whoever waits for the file."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps({**status, "uptime_seconds": uptime}))
    os.replace(unfinished, path)  # noqa: PTH105 - pathlib is no different


def _port_device(name: str) -> Path:
    for entry in _PORTS.glob("*/name"):
        if entry.read_text().strip() == name:
            return Path("/dev") / entry.parent.name
    raise DeviceError(f"no virtio serial port named {name!r}; is the module virtio_console loaded?")
