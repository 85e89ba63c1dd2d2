"""Where control software reaches a process of the receiving machine: a virtio serial port, or a socket to listen on."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from host.exchange import ByteStream, PortStream, SocketStream
from host.receive.device import DeviceError

_PORTS = Path("/sys/class/virtio-ports")


def wait_for_control(control: str, announce: Callable[[], None]) -> ByteStream:
    """Return the connection of whoever comes to ``port:NAME`` or ``unix:PATH``; ``announce`` is called before the wait.

    Raise :class:`DeviceError` if there is no such port.
    """
    kind, _, where = control.partition(":")
    if kind == "port":
        port = PortStream(_port_device(where))
        announce()
        port.wait_connected()
        return port
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        Path(where).unlink(missing_ok=True)
        listener.bind(where)
        listener.listen(1)
        announce()
        connected, _ = listener.accept()
        return SocketStream(connected)


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
