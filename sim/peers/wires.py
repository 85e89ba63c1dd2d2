"""Wires to peers outside this process: datagram sockets to QEMU, and a TAP device. One datagram, one Ethernet frame."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sim.peers.interface import PeerLost
from sim.peers.lifecycle import last_words

if TYPE_CHECKING:
    from sim.peers.lifecycle import WireAddress

_BUFFER_BYTES = 4 << 20
_LONGEST_FRAME = 65536
_RETRY_SECONDS = 0.001
_ENDING_SECONDS = 1.0
"""The sockets of a peer go a little before its process does: how long to wait for that to be the cause."""
TUN_SET_INTERFACE = 0x400454CA  # TUNSETIFF
TUN_SET_PERSISTENT = 0x400454CB  # TUNSETPERSIST
TUN_TAP_WITHOUT_HEADER = 0x0002 | 0x1000  # IFF_TAP | IFF_NO_PI


class _Wire:
    """What both wires share: waiting with a limit, and saying who waited for whom."""

    def __init__(self, address: WireAddress, send_limit_seconds: float, descriptor: int) -> None:
        self._address = address
        self._limit = send_limit_seconds
        self._descriptor = descriptor
        try:
            self._process = os.pidfd_open(address.process)  # becomes readable when the process ends
        except ProcessLookupError as error:
            raise self._ended() from error
        self._input = select.poll()
        self._output = select.poll()
        self._input.register(descriptor, select.POLLIN)
        self._output.register(descriptor, select.POLLOUT)
        for poller in (self._input, self._output):
            poller.register(self._process, select.POLLIN)
        if self._has_ended(self._input.poll(0)):
            os.close(self._process)
            raise self._ended()

    def send(self, frame: bytes) -> None:
        """Hand over one frame, within the send limit; raise :class:`PeerLost` when it passes or the peer ends."""
        deadline = 0.0
        while not self._try_send(frame):
            now = time.monotonic()
            deadline = deadline or now + self._limit
            if now > deadline:
                raise self._lost(f"the link waited {self._limit:.1f} s for it to take a frame of {len(frame)} bytes")
            if self._has_ended(self._output.poll(max(0.0, deadline - now) * 1000)):
                raise self._lost("it ended while the link waited for it to take a frame")

    def receive(self, timeout_seconds: float) -> bytes | None:
        """Return the next frame, ``None`` after the time-out; raise :class:`PeerLost` if none can come any more."""
        frame = self._try_receive()
        if frame is not None:
            return frame
        events = self._input.poll(timeout_seconds * 1000)
        frame = self._try_receive() if events else None
        if frame is None and self._has_ended(events):
            raise self._lost("it ended while the link waited for a frame")
        return frame

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._process)

    def __enter__(self) -> _Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _try_send(self, frame: bytes) -> bool:
        raise NotImplementedError

    def _try_receive(self) -> bytes | None:
        raise NotImplementedError

    def _has_ended(self, events: list[tuple[int, int]]) -> bool:
        return any(descriptor == self._process for descriptor, _ in events)

    def _failed(self, reason: str) -> PeerLost:
        """Name the cause of a failed call: the end of the peer's process if it is ending, else ``reason``."""
        ending = select.poll()
        ending.register(self._process, select.POLLIN)
        return self._ended() if ending.poll(_ENDING_SECONDS * 1000) else self._lost(reason)

    def _ended(self) -> PeerLost:
        return self._lost(f"its process {self._address.process} has ended")

    def _lost(self, reason: str) -> PeerLost:
        return PeerLost(f"lost the {self._address.peer}: {reason}{last_words(Path(self._address.log))}")


class DatagramWire(_Wire):
    """The wire to QEMU.

    The kernel queues ten datagrams each way; a full queue makes the sender wait, nothing is dropped.
    """

    def __init__(self, address: WireAddress, send_limit_seconds: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        Path(address.local).unlink(missing_ok=True)
        try:
            super().__init__(address, send_limit_seconds, self._socket.fileno())
        except PeerLost:
            self._socket.close()
            raise
        try:
            self._socket.bind(address.local)
            self._socket.connect(address.remote)
        except OSError as error:
            failure = self._failed(f"its socket cannot be opened ({error})")
            self.close()
            raise failure from error

    def close(self) -> None:
        """Close the socket and remove its file."""
        super().close()
        self._socket.close()
        with contextlib.suppress(OSError):
            Path(self._address.local).unlink()

    def _try_send(self, frame: bytes) -> bool:
        try:
            self._socket.send(frame)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                time.sleep(_RETRY_SECONDS)  # not something that can be polled for
                return False
            raise self._failed(f"it does not take frames any more ({error})") from error
        return True

    def _try_receive(self) -> bytes | None:
        try:
            return self._socket.recv(_LONGEST_FRAME)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._failed(f"no more frames can come ({error})") from error


class TapWire(_Wire):
    """The wire to this machine's own network stack, through a TAP device that exists already."""

    def __init__(self, address: WireAddress, send_limit_seconds: float) -> None:
        self._address = address
        try:
            self._tap = attach_tap(address.local)
        except OSError as error:
            raise self._lost(f"its network device {address.local} cannot be attached to ({error})") from error
        try:
            super().__init__(address, send_limit_seconds, self._tap)
        except PeerLost:
            os.close(self._tap)
            raise

    def close(self) -> None:
        """Detach from the device; it stays, without carrier."""
        super().close()
        os.close(self._tap)

    def _try_send(self, frame: bytes) -> bool:
        try:
            os.write(self._tap, frame)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._failed(f"network device {self._address.local} takes no frames ({error})") from error
        return True

    def _try_receive(self) -> bytes | None:
        try:
            return os.read(self._tap, _LONGEST_FRAME)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._failed(f"network device {self._address.local} gives no frames ({error})") from error


def attach_tap(name: str) -> int:
    """Return a non-blocking descriptor of the TAP device ``name``.

    The device is made if it does not exist. Raises ``OSError``.
    """
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUN_SET_INTERFACE, struct.pack("16sH22x", name.encode(), TUN_TAP_WITHOUT_HEADER))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
