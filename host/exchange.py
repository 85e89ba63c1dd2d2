"""The queue pair exchange: messages between the control software and the receiver, and the stream that carries them.

One JSON object a line, UTF-8, each with a ``type``; the receiver speaks first (:class:`Hello`).
``host/receive/README.md`` shows the order. Both sides use these classes, so neither can send what the other refuses.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import select
import socket
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

VERSION = 1
LONGEST_LINE = 1 << 20
PATH_MTUS = (256, 512, 1024, 2048, 4096)
TRANSPORTS = ("RC", "UC", "UD")
QUEUE_KEY = 0x45425544
"""Key of all datagrams: keeps strays out, hides nothing."""
QPN_LIMIT = 1 << 24
PSN_LIMIT = 1 << 24
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_WRITE_LIMIT_SECONDS = 10.0


class ExchangeError(RuntimeError):
    """A message that breaks the protocol; the text names the message, the key and what is allowed."""


class ExchangeClosed(ExchangeError):
    """The other side has gone."""


def _in_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ExchangeError(f"{name} = {value}: allowed {low} to {high}")


def _check_network(ip: str, mac: str, pmtu: int) -> None:
    try:
        ipaddress.IPv4Address(ip)
    except ValueError as error:
        raise ExchangeError(f"ip = {ip!r}: must be an IPv4 address") from error
    if not _MAC.fullmatch(mac):
        raise ExchangeError(f"mac = {mac!r}: must be six lower-case octets with colons")
    if pmtu not in PATH_MTUS:
        raise ExchangeError(f"pmtu = {pmtu}: allowed {', '.join(map(str, PATH_MTUS))}")


@dataclass(frozen=True)
class ReceiverQueuePair:
    """A queue pair of the receiver and the slots that belong to it."""

    qpn: int
    psn: int
    """First PSN that the receiver would send."""
    address: int
    """Virtual address of its first slot."""
    slots: int

    def __post_init__(self) -> None:
        _in_range("qpn", self.qpn, 2, QPN_LIMIT - 1)
        _in_range("psn", self.psn, 0, PSN_LIMIT - 1)
        _in_range("address", self.address, 0, (1 << 64) - 1)
        _in_range("slots", self.slots, 1, 1 << 12)


@dataclass(frozen=True)
class SenderQueuePair:
    """A queue pair of the FPGA; its place in the list pairs it with the receiver's."""

    qpn: int
    psn: int
    """PSN of the first packet that the FPGA will send."""

    def __post_init__(self) -> None:
        _in_range("qpn", self.qpn, 2, QPN_LIMIT - 1)
        _in_range("psn", self.psn, 0, PSN_LIMIT - 1)


@dataclass(frozen=True)
class Hello:
    """Receiver to control, first: what it is and where its memory lies."""

    type: ClassVar[str] = "hello"
    version: int
    kernel: str
    device: str
    ip: str
    mac: str
    gid: str
    pmtu: int
    """Path MTU that the receiver was told to use, in bytes; not above what the port offers."""
    rkey: int
    slot_bytes: int
    huge_pages: bool
    queue_pairs: tuple[ReceiverQueuePair, ...]

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ExchangeError(f"version = {self.version}: this side speaks version {VERSION}")
        _check_network(self.ip, self.mac, self.pmtu)
        _in_range("rkey", self.rkey, 0, (1 << 32) - 1)
        _in_range("slot_bytes", self.slot_bytes, 4096, 1 << 31)
        if not self.queue_pairs:
            raise ExchangeError("queue_pairs = []: at least one")


@dataclass(frozen=True)
class Connect:
    """Control to receiver: the FPGA's side of the connection."""

    type: ClassVar[str] = "connect"
    version: int
    ip: str
    mac: str
    pmtu: int
    queue_pairs: tuple[SenderQueuePair, ...]
    transport: str = "RC"
    """Of all queue pairs; must be the receiver's."""
    frame_bytes: int = 0
    """Bytes of the largest frame, for which a receiver of datagrams prepares; 0: those of a slot."""
    recovers: bool = False
    """Control resets queue pairs that fail: the receiver waits for that and goes on."""
    receives: int = 0
    """Receives that each queue pair gets until it is reset, to show one that is not ready; 0: as many as it takes."""

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ExchangeError(f"version = {self.version}: this side speaks version {VERSION}")
        _check_network(self.ip, self.mac, self.pmtu)
        if self.transport not in TRANSPORTS:
            raise ExchangeError(f"transport = {self.transport!r}: allowed {', '.join(TRANSPORTS)}")
        _in_range("frame_bytes", self.frame_bytes, 0, 1 << 31)
        if not self.queue_pairs:
            raise ExchangeError("queue_pairs = []: at least one")


@dataclass(frozen=True)
class Ready:
    """Receiver to control: every queue pair is ready to receive and all receives are posted; the FPGA may send."""

    type: ClassVar[str] = "ready"


@dataclass(frozen=True)
class Reset:
    """Control to receiver: its own queue pair has been reset; reset yours, and expect ``psn`` first."""

    type: ClassVar[str] = "reset"
    queue_pair: int
    """Index of the queue pair, from 0."""
    psn: int
    receives: int = 0
    """As in :class:`Connect`."""

    def __post_init__(self) -> None:
        _in_range("psn", self.psn, 0, PSN_LIMIT - 1)


@dataclass(frozen=True)
class ResetDone:
    """Receiver to control: the queue pair is ready again; so many frames have arrived on it since the start."""

    type: ClassVar[str] = "reset_done"
    queue_pair: int
    frames: int


@dataclass(frozen=True)
class FrameReceived:
    """Receiver to control: a frame has arrived and was checked."""

    type: ClassVar[str] = "frame"
    queue_pair: int
    """Index of the queue pair, from 0."""
    slot: int
    """Slot within the queue pair's own slots."""
    immediate: int
    sequence: int
    """From the header; if that is not valid, the low bits of the immediate."""
    bytes: int
    """Length of the whole frame by its header, 0 if that is not valid."""
    ok: bool
    problems: tuple[str, ...]
    payload_crc: int
    """CRC-32C computed over the samples in memory, 0 if the header is not valid."""


@dataclass(frozen=True)
class Released:
    """Receiver to control: so many slots of a queue pair have been released since the start, in the order of use."""

    type: ClassVar[str] = "released"
    queue_pair: int
    count: int


@dataclass(frozen=True)
class Event:
    """Receiver to control: something that is not a frame; after a fatal one no further frame will come."""

    type: ClassVar[str] = "event"
    cause: str
    """A short stable name, e.g. ``queue_pair_error``."""
    detail: str
    fatal: bool


@dataclass(frozen=True)
class Finish:
    """Control to receiver: no more frames will be sent; report and end."""

    type: ClassVar[str] = "finish"


@dataclass(frozen=True)
class Summary:
    """Receiver to control, last: what happened since Ready."""

    type: ClassVar[str] = "summary"
    frames: int
    flagged: int
    """Frames with at least one problem."""
    events: tuple[str, ...]
    counters: dict[str, int]
    """Differences of the device's hardware counters since before Ready."""


Message = Union[  # noqa: UP007 - used at run time
    Hello, Connect, Ready, FrameReceived, Released, Event, Finish, Summary, Reset, ResetDone
]
_MESSAGES: dict[str, type[Any]] = {message.type: message for message in get_args(Message)}
_M = TypeVar("_M")


def encode(message: Message) -> bytes:
    """Return the message as one line, newline included."""
    return json.dumps({"type": message.type, **_plain(message)}, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message in ``line``; raise :class:`ExchangeError` if it is not exactly one of the known ones."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise ExchangeError(f"not JSON: {line[:80]!r}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise ExchangeError(f"not an object with a type: {line[:80]!r}")
    kind = raw.pop("type")
    if kind not in _MESSAGES:
        raise ExchangeError(f"type = {kind!r}: allowed {', '.join(_MESSAGES)}")
    message: Message = _build(_MESSAGES[kind], raw, kind)
    return message


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _build(kind: type[Any], raw: dict[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    names = [entry.name for entry in fields(kind)]
    unknown, missing = set(raw) - set(names), set(names) - set(raw)
    if unknown or missing:
        raise ExchangeError(f"{where}: unknown keys {sorted(unknown)}, missing keys {sorted(missing)}")
    try:
        return kind(**{name: _typed(hints[name], raw[name], f"{where}.{name}") for name in names})
    except ExchangeError as error:
        raise (error if str(error).startswith(where) else ExchangeError(f"{where}: {error}")) from error


def _typed(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(get_args(hint)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: _typed(get_args(hint)[1], item, f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(hint) and isinstance(value, dict):
        return _build(hint, value, where)  # type: ignore[arg-type] # a dataclass type, not an instance
    if type(value) is hint:  # exact: bool is an int, but True is no QPN
        return value
    raise ExchangeError(f"{where} = {value!r}: must be {getattr(hint, '__name__', hint)}")


class ByteStream(Protocol):
    """A non-blocking file descriptor pair, as a socket or a serial port has."""

    def fileno(self) -> int:
        """Return the descriptor to poll."""
        ...

    def read(self) -> bytes | None:
        """Return what is there, ``None`` if there is nothing yet, ``b""`` at the end."""
        ...

    def write(self, data: bytes) -> int:
        """Write some of ``data``, return how much; 0 if there is no room now."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


class SocketStream:
    """A connected stream socket."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Return what is there, ``None`` if nothing, ``b""`` at the end."""
        try:
            return self._socket.recv(65536)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def write(self, data: bytes) -> int:
        """Send some of ``data``; raise :class:`ExchangeClosed` if the other side has gone."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise ExchangeClosed(f"the other side has closed the exchange ({error})") from error

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class PortStream:
    """A character device that carries bytes both ways (a virtio serial port)."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def fileno(self) -> int:
        """Return the port's descriptor."""
        return self._descriptor

    def connected(self) -> bool:
        """Tell whether the other end is open: what is written before would be lost, and reads would report the end."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return not any(events & select.POLLHUP for _, events in poller.poll(0))

    def read(self) -> bytes | None:
        """Return what is there, ``None`` if nothing, ``b""`` if the other end is closed."""
        try:
            return os.read(self._descriptor, 65536)
        except BlockingIOError:
            return None

    def write(self, data: bytes) -> int:
        """Write some of ``data``; raise :class:`ExchangeClosed` if the device has gone."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise ExchangeClosed(f"the other side has closed the exchange ({error})") from error

    def close(self) -> None:
        """Close the port."""
        os.close(self._descriptor)


class Exchange:
    """Messages over a byte stream. Not thread-safe; the two directions are independent."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._partial = b""
        self._lines: deque[bytes] = deque()
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor to poll for input; ask :meth:`pending` first."""
        return self._stream.fileno()

    def send(self, message: Message) -> None:
        """Send one message; raise :class:`ExchangeClosed` if the other side has gone or does not read for 10 s."""
        data = memoryview(encode(message))
        deadline = time.monotonic() + _WRITE_LIMIT_SECONDS
        while data:
            written = self._stream.write(bytes(data))
            data = data[written:]
            if data and not written:
                _wait(self._stream.fileno(), select.POLLOUT, deadline)
                if time.monotonic() > deadline:
                    raise ExchangeClosed(
                        f"the other side has not read a {message.type} message for {_WRITE_LIMIT_SECONDS:.0f} s"
                    )

    def pending(self) -> Iterator[Message]:
        """Yield the messages that are there, without waiting; raise :class:`ExchangeClosed` at the end."""
        self._fill()
        while self._lines:
            yield decode(self._lines.popleft())
        if self._closed:
            raise ExchangeClosed("the other side has closed the exchange")

    def receive(self, timeout_seconds: float) -> Message | None:
        """Return the next message, or ``None`` after ``timeout_seconds``; raise :class:`ExchangeClosed` at the end."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            if not self._lines:
                self._fill()
            if self._lines:
                return decode(self._lines.popleft())
            if self._closed:
                raise ExchangeClosed("the other side has closed the exchange")
            if time.monotonic() >= deadline:
                return None
            _wait(self._stream.fileno(), select.POLLIN, deadline)

    def expect(self, kind: type[_M], timeout_seconds: float) -> _M:
        """Return the next message, which must be a ``kind``.

        Raise :class:`ExchangeError` if none comes in time, or something else does, such as a fatal event.
        """
        message = self.receive(timeout_seconds)
        if message is None:
            raise ExchangeError(f"no {kind.__name__} from the other side within {timeout_seconds:.1f} s")
        if isinstance(message, kind):
            return message
        if isinstance(message, Event):
            raise ExchangeError(f"{message.cause}: {message.detail}")
        raise ExchangeError(f"a {type(message).__name__} came where {kind.__name__} was due")

    def close(self) -> None:
        """Close the stream."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self) -> None:
        while not self._closed:
            chunk = self._stream.read()
            if chunk is None:
                return
            if not chunk:
                self._closed = True
                return
            *complete, self._partial = (self._partial + chunk).split(b"\n")
            self._lines.extend(line for line in complete if line)
            if len(self._partial) > LONGEST_LINE:
                raise ExchangeError(f"a line of more than {LONGEST_LINE} bytes")


def _wait(descriptor: int, events: int, deadline: float) -> None:
    poller = select.poll()
    poller.register(descriptor, events)
    poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
