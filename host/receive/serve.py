"""The receiver as a process: queue pair exchange over a control stream; frames checked, logged, released."""

from __future__ import annotations

import contextlib
import platform
import select
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from host.exchange import (
    VERSION,
    Connect,
    Event,
    Exchange,
    ExchangeClosed,
    ExchangeError,
    Finish,
    FrameReceived,
    Hello,
    Ready,
    ReceiverQueuePair,
    Released,
    Reset,
    ResetDone,
    Summary,
)
from host.receive.capture import CaptureWriter
from host.receive.connection import Connection, ConnectionFailed
from host.receive.control_stream import wait_for_control, write_status
from host.receive.device import Device, DeviceError
from host.receive.pool import MemoryPool, PoolError

if TYPE_CHECKING:
    from host.receive.receiver import Frame, Receiver

_ACTIVE_LIMIT_SECONDS = 5.0
_HEARTBEAT_MS = 500
_QUIET_SECONDS = 0.1
"""Without a frame for so long, none is on its way to a queue pair that is to be reset."""
EXIT_BAD_SETUP = 2
EXIT_FAILED = 3


@dataclass(frozen=True)
class ServeOptions:
    """What the receiver process is told on its command line."""

    device: str
    control: str
    """``port:NAME`` (a virtio serial port) or ``unix:PATH`` (a socket to listen on)."""
    slots: int
    slot_bytes: int
    queue_pairs: int
    pmtu: int
    transport: str = "RC"
    ip: str | None = None
    status: Path | None = None
    """Written when the receiver is ready for the exchange: the Hello message and the kernel's uptime, as JSON."""
    capture: Path | None = None


class Service:
    """The receiver's resources and its conversation with the control software."""

    def __init__(self, options: ServeOptions) -> None:
        self._options = options
        self._device = Device(options.device, options.ip)
        self._device.check_path_mtu(options.pmtu)
        self._pool = MemoryPool(options.slots * options.queue_pairs, options.slot_bytes)
        if self._pool.note:
            _log(self._pool.note)
        self._region = self._device.register(self._pool)
        self._connections = [self._connection(index) for index in range(options.queue_pairs)]
        self._capture = CaptureWriter(options.capture) if options.capture else None
        self._counters: dict[str, int] = {}
        self._frames = 0
        self._flagged = 0
        self._events: list[str] = []
        self._released = [0] * options.queue_pairs
        self._recovers = False
        self._failed = ""

    def _connection(self, index: int) -> Connection:
        options = self._options
        if options.transport != "UD":
            return Connection(self._device, options.transport)
        # Numpy loads slowly in an emulated machine, and only datagrams need it so early.
        import numpy as np  # noqa: PLC0415

        from host.receive.datagram_connection import DatagramConnection  # noqa: PLC0415

        first = index * options.slots
        slots = [np.frombuffer(self._pool.slot(slot), np.uint8) for slot in range(first, first + options.slots)]
        return DatagramConnection(self._device, slots, self._region.lkey)

    def hello(self) -> Hello:
        """Describe the receiver."""
        port, options = self._device.port, self._options
        return Hello(
            version=VERSION,
            kernel=platform.release(),
            device=self._device.name,
            ip=port.ip,
            mac=port.mac,
            gid=port.gid,
            pmtu=options.pmtu,
            rkey=self._region.rkey,
            slot_bytes=options.slot_bytes,
            huge_pages=self._pool.huge,
            queue_pairs=tuple(
                ReceiverQueuePair(
                    connection.qpn, connection.psn, self._pool.slot_address(index * options.slots), options.slots
                )
                for index, connection in enumerate(self._connections)
            ),
        )

    def run(self, exchange: Exchange) -> int:
        """Serve one connection from Hello to Summary; return the process's exit code."""
        exchange.send(self.hello())
        # numpy takes seconds to load in an emulated machine: do it while the other side reads Hello and prepares.
        from host.receive.receiver import Receiver  # noqa: PLC0415

        try:
            self._connect(exchange)
            receiver = Receiver(self._connections, self._pool)
            exchange.send(Ready())
            return self._serve(exchange, receiver)
        except ExchangeClosed:
            raise
        except (ConnectionFailed, DeviceError, ExchangeError) as error:
            self._report(exchange, "setup_failed", str(error))
            return EXIT_FAILED

    def close(self) -> None:
        """Give everything back, in the order that the device wants."""
        for connection in self._connections:
            connection.close()
        self._device.close()
        self._pool.close()
        if self._capture:
            self._capture.close()

    def _connect(self, exchange: Exchange) -> None:
        request = None
        while request is None:  # the owner of this process sets the limit
            request = exchange.receive(60.0)
        if not isinstance(request, Connect):
            raise ExchangeError(f"a {request.type} message came where connect was due")
        if len(request.queue_pairs) != len(self._connections):
            raise ExchangeError(
                f"connect names {len(request.queue_pairs)} queue pairs, this receiver has {len(self._connections)}"
            )
        if request.pmtu > self._options.pmtu:
            raise ExchangeError(
                f"connect asks for a path MTU of {request.pmtu}, this receiver has {self._options.pmtu}"
            )
        if request.transport != self._options.transport:
            raise ExchangeError(
                f"transport = {request.transport}: the queue pairs of this receiver are {self._options.transport}"
            )
        if request.mac == self._device.port.mac:
            raise ExchangeError(f"mac = {request.mac}: is the receiver's own; the device would loop replies back")
        known = _neighbour(request.ip)
        if known not in (None, request.mac):
            raise ExchangeError(f"mac = {request.mac}: this machine would send to {request.ip} at {known}")
        self._device.wait_active(_ACTIVE_LIMIT_SECONDS)
        self._device.take_events()  # of the time before, when the link was not up
        self._counters = self._device.counters()
        self._recovers = request.recovers
        for connection, peer in zip(self._connections, request.queue_pairs, strict=True):
            connection.connect(peer.qpn, peer.psn, request.ip, request.pmtu, request.frame_bytes, request.receives)

    def _serve(self, exchange: Exchange, receiver: Receiver) -> int:
        from host.receive.receiver import ReceiveFailed  # noqa: PLC0415 - see run()

        poller = select.poll()
        poller.register(exchange.fileno(), select.POLLIN)
        poller.register(self._device.asynchronous.fileno(), select.POLLIN)
        for connection in self._connections:
            poller.register(connection.event.fileno(), select.POLLIN)
        while True:
            try:
                self._take(exchange, receiver)
            except ReceiveFailed as error:
                if str(error) != self._failed:
                    self._report(exchange, "queue_pair_error", str(error), fatal=not self._recovers)
                    self._failed = str(error)
                if not self._recovers:
                    return EXIT_FAILED
            except OSError as error:
                self._report(exchange, "capture_failed", f"frames cannot be kept on disk: {error}")
                return EXIT_FAILED
            for message in exchange.pending():
                if isinstance(message, Finish):
                    for frame in receiver.finish():
                        self._consume(exchange, frame)
                    exchange.send(self._summary())
                    return 0
                if not isinstance(message, Reset):
                    raise ExchangeError(f"a {message.type} message came while receiving")
                self._reset(exchange, receiver, message)
            idle = not poller.poll(_HEARTBEAT_MS)
            trouble = self._asynchronous_events(exchange)
            for connection in self._connections:
                connection.acknowledge_event()
                if idle or trouble:
                    connection.check()

    def _reset(self, exchange: Exchange, receiver: Receiver, message: Reset) -> None:
        """Reset a queue pair when all that is on its way to it has come."""
        from host.receive.receiver import ReceiveFailed  # noqa: PLC0415 - see run()

        if not 0 <= message.queue_pair < len(self._connections):
            raise ExchangeError(f"queue_pair = {message.queue_pair}: there are {len(self._connections)}")
        self._device.wait_quiet(_QUIET_SECONDS)
        with contextlib.suppress(ReceiveFailed):
            self._take(exchange, receiver)
        self._connections[message.queue_pair].reset(message.psn, message.receives)
        self._failed = ""
        exchange.send(ResetDone(message.queue_pair, receiver.arrived(message.queue_pair)))

    def _take(self, exchange: Exchange, receiver: Receiver) -> None:
        while frames := receiver.poll():
            for frame in frames:
                self._consume(exchange, frame)
            for index in range(len(self._connections)):
                count = receiver.released(index)
                if count != self._released[index]:
                    self._released[index] = count
                    exchange.send(Released(index, count))

    def _consume(self, exchange: Exchange, frame: Frame) -> None:
        with frame:
            self._frames += 1
            self._flagged += not frame.ok
            if self._capture:
                self._capture.append(frame.slot, frame.immediate, frame.memory)
            exchange.send(
                FrameReceived(
                    queue_pair=frame.queue_pair,
                    slot=frame.slot,
                    immediate=frame.immediate,
                    sequence=frame.sequence,
                    bytes=frame.shape.frame_bytes if frame.shape else 0,
                    ok=frame.ok,
                    problems=frame.problems,
                    payload_crc=frame.payload_crc,
                )
            )

    def _asynchronous_events(self, exchange: Exchange) -> bool:
        names = self._device.take_events()
        for name in names:
            self._report(exchange, "device_event", f"{self._device.name}: {name}", fatal=False)
        return bool(names)

    def _report(self, exchange: Exchange, cause: str, detail: str, *, fatal: bool = True) -> None:
        _log(f"{cause}: {detail}")
        self._events.append(f"{cause}: {detail}")
        exchange.send(Event(cause, detail, fatal))

    def _summary(self) -> Summary:
        now = self._device.counters()
        return Summary(
            frames=self._frames,
            flagged=self._flagged,
            events=tuple(self._events),
            counters={name: value - self._counters.get(name, 0) for name, value in now.items()},
        )


def serve(options: ServeOptions) -> int:
    """Run the receiver until the control software says finish or goes away; return the exit code."""
    try:
        service = Service(options)
    except (DeviceError, PoolError, ConnectionFailed, ValueError) as error:
        _log(f"error: {error}")
        return EXIT_BAD_SETUP
    try:
        with contextlib.closing(_open_control(options, service)) as exchange:
            return service.run(exchange)
    except ExchangeClosed as error:
        _log(f"error: {error}")
        return EXIT_FAILED
    finally:
        service.close()


def _open_control(options: ServeOptions, service: Service) -> Exchange:
    return Exchange(wait_for_control(options.control, lambda: _announce(options, service)))


def _neighbour(ip: str) -> str | None:
    """Return the MAC address that the kernel has for ``ip``, if it has one."""
    for line in Path("/proc/net/arp").read_text().splitlines()[1:]:
        address, _, _, mac, *_ = line.split()
        if address == ip and mac != "00:00:00:00:00:00":
            return mac
    return None


def _announce(options: ServeOptions, service: Service) -> None:
    if options.status is None:
        return
    hello = service.hello()
    status = {
        "kernel": hello.kernel,
        "device": hello.device,
        "ip": hello.ip,
        "mac": hello.mac,
        "gid": hello.gid,
        "pmtu": hello.pmtu,
        "huge_pages": hello.huge_pages,
    }
    write_status(options.status, status)


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
