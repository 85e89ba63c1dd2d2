"""The receiver's conversation with one front end: who comes, what is agreed, what arrives, what goes back.

A state machine that never waits for long: :meth:`FrontEnd.step` does what there is to do and returns.
"""

from __future__ import annotations

import contextlib
import logging
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    Message,
    Ready,
    ReceiverQueuePair,
    Released,
    Reset,
    ResetDone,
    Summary,
)
from host.receive.account import SequenceAccount, Statistics
from host.receive.connection import Connection, ConnectionFailed
from host.receive.control_stream import ControlListener
from host.receive.device import Device, DeviceError
from host.receive.evidence import Evidence

if TYPE_CHECKING:
    from host.receive.collector import FrameCollector
    from host.receive.frame import Frame

_ACTIVE_LIMIT_SECONDS = 5.0
_QUIET_SECONDS = 0.1
"""Without a frame for so long, none is on its way to a queue pair that is to be reset."""
_MOST_EVENTS = 1000
"""Events that are kept by their words; further ones are only counted."""
_LOG = logging.getLogger("echobench.receive")


class State(Enum):
    """How far the conversation has come."""

    LISTENING = "listening"
    AGREEING = "agreeing"
    STREAMING = "streaming"
    DRAINING = "draining"
    """No more will come; the summary is due when all that came has been taken."""
    FINISHED = "finished"
    FAILED = "failed"


class FrontEnd:
    """One front end's listener, exchange, queue pairs and frames.

    ``offer(connections)`` gives the Hello message; ``collect(connections)`` a collector over this front end's slots.
    ``persistent``: when control software goes away without a word, listen again.
    """

    def __init__(
        self,
        device: Device,
        listener: ControlListener,
        connections: Sequence[Connection],
        *,
        offer: Callable[[], Hello],
        collect: Callable[[], FrameCollector],
        pmtu: int,
        transport: str,
        persistent: bool,
    ) -> None:
        self._device = device
        self._listener = listener
        self._connections = tuple(connections)
        self._make_offer = offer
        self._collect = collect
        self._pmtu = pmtu
        self._transport = transport
        self._persistent = persistent
        self._exchange: Exchange | None = None
        self._collector: FrameCollector | None = None
        self._released = [0] * len(connections)
        self._recovers = False
        self._failed = ""
        self._counters: dict[str, int] = {}
        self._before = Statistics()
        self._now = Statistics()
        self._account = SequenceAccount()
        self._event_count = 0
        self._arrived: list[Frame] = []
        self.name = listener.name
        self.state = State.LISTENING
        self.failure = ""
        self.evidence: Evidence | None = None
        """Counters of the moment when it was connected."""
        self.events: list[str] = []

    @property
    def offer(self) -> Hello:
        """What is offered to control software that comes."""
        return self._make_offer()

    @property
    def held(self) -> int:
        """Frames that the application has and did not release."""
        return 0 if self._collector is None else self._collector.held

    @property
    def slots(self) -> int:
        """Receive slots of all its queue pairs, once it is connected."""
        return 0 if self._collector is None else self._collector.slots

    @property
    def statistics(self) -> Statistics:
        """What became of its frames, over all its connections."""
        account = self._account
        return self._before + replace(self._now, dropped=account.dropped, lost=account.lost)

    @property
    def looked_at(self) -> bool:
        """Whether somebody has come can only be found out by looking."""
        return self.state is State.LISTENING and self._listener.fileno() is None

    @property
    def open(self) -> bool:
        """More frames may come."""
        return self.state not in (State.FINISHED, State.FAILED)

    def descriptors(self) -> list[int]:
        """Return what becomes readable when there is something to do."""
        found = [self._listener.fileno() if self.state is State.LISTENING else None]
        if self._exchange is not None:
            found.append(self._exchange.fileno())
        if self.state is State.STREAMING:
            found += [connection.event.fileno() for connection in self._connections]
        return [descriptor for descriptor in found if descriptor is not None]

    def step(self) -> list[Frame]:
        """Do what there is to do; return the frames that have arrived.

        To be called when those of the last call have been taken.
        """
        try:
            if self.state is State.LISTENING:
                self._listen()
            if self.state is State.AGREEING:
                self._agree()
            if self.state is State.DRAINING:
                self._summarise()
            if self.state is State.STREAMING:
                self._stream()
        except ExchangeClosed as error:
            self._gone(str(error))
        except ExchangeError as error:
            self._fail("setup_failed" if self.state is State.AGREEING else "exchange_broken", str(error))
        except (ConnectionFailed, DeviceError) as error:
            self._fail("setup_failed", str(error))
        found, self._arrived = self._arrived, []
        return found

    def acknowledge_events(self, *, check: bool) -> None:
        """Arm the completion channels again; with ``check``, ask the device for failures that bring no completion."""
        if self.state is not State.STREAMING:
            return
        for connection in self._connections:
            connection.acknowledge_event()
            if check:
                connection.check()

    def report(self, cause: str, detail: str, *, fatal: bool) -> None:
        """Log an event and tell control software of it."""
        _LOG.log(logging.ERROR if fatal else logging.WARNING, "%s: %s", cause, detail)
        self._event_count += 1
        if len(self.events) < _MOST_EVENTS:
            self.events.append(f"{cause}: {detail}")
        if self._exchange is not None:
            with contextlib.suppress(ExchangeClosed):  # it is told of that by itself
                self._exchange.send(Event(cause, detail, fatal))

    def close(self) -> None:
        """Hang up. Listener and queue pairs belong to whoever made them."""
        if self._exchange is not None:
            self._exchange.close()

    def _listen(self) -> None:
        if self.held:  # their slots must not be offered to somebody else yet
            return
        stream = self._listener.accept()
        if stream is None:
            return
        self._exchange = Exchange(stream)
        self.state = State.AGREEING
        self._exchange.send(self.offer)
        # numpy takes seconds to load in an emulated machine: do it while the other side reads Hello and prepares.
        self._collector = self._collect()

    def _agree(self) -> None:
        assert self._exchange is not None
        message = next(self._exchange.pending(), None)
        if message is None:
            return
        if not isinstance(message, Connect):
            raise ExchangeError(f"a {message.type} message came where connect was due")
        self._refuse(message)
        self._device.wait_active(_ACTIVE_LIMIT_SECONDS)
        self._device.take_events()  # of the time before, when the link was not up
        self._counters = self._device.counters()
        self._recovers = message.recovers
        for connection, peer in zip(self._connections, message.queue_pairs, strict=True):
            connection.connect(peer.qpn, peer.psn, message.ip, message.pmtu, message.frame_bytes, message.receives)
        self._released = [0] * len(self._connections)
        self._before, self._now, self._account = self.statistics, Statistics(), SequenceAccount()
        self.evidence = self._device.evidence()
        self._exchange.send(Ready())
        self.state = State.STREAMING
        _LOG.info("%s: connected to the front end at %s", self.name, message.ip)

    def _refuse(self, request: Connect) -> None:
        """Raise :class:`ExchangeError` for what cannot work."""
        if len(request.queue_pairs) != len(self._connections):
            raise ExchangeError(
                f"connect names {len(request.queue_pairs)} queue pairs, this receiver has {len(self._connections)}"
            )
        if request.pmtu > self._pmtu:
            raise ExchangeError(f"connect asks for a path MTU of {request.pmtu}, this receiver has {self._pmtu}")
        if request.transport != self._transport:
            raise ExchangeError(
                f"transport = {request.transport}: the queue pairs of this receiver are {self._transport}"
            )
        if request.mac == self._device.port.mac:
            raise ExchangeError(f"mac = {request.mac}: is the receiver's own; the device would loop replies back")
        known = _neighbour(request.ip)
        if known not in (None, request.mac):
            raise ExchangeError(f"mac = {request.mac}: this machine would send to {request.ip} at {known}")

    def _stream(self) -> None:
        assert self._exchange is not None and self._collector is not None
        self._take(self._collector)
        while self.state is State.STREAMING and (message := next(self._exchange.pending(), None)) is not None:
            self._answer(self._exchange, self._collector, message)

    def _answer(self, exchange: Exchange, collector: FrameCollector, message: Message) -> None:
        if isinstance(message, Finish):
            self._take(collector)
            self._announce(collector.finish())
            self.state = State.DRAINING if self.state is State.STREAMING else self.state
            return
        if not isinstance(message, Reset):
            raise ExchangeError(f"a {message.type} message came while receiving")
        if not 0 <= message.queue_pair < len(self._connections):
            raise ExchangeError(f"queue_pair = {message.queue_pair}: there are {len(self._connections)}")
        self._device.wait_quiet(_QUIET_SECONDS)  # all that is on its way to the queue pair has come then
        self._take(collector)
        self._connections[message.queue_pair].reset(message.psn, message.receives)
        self._failed = ""
        exchange.send(ResetDone(message.queue_pair, collector.arrived(message.queue_pair)))

    def _summarise(self) -> None:
        assert self._exchange is not None and self._collector is not None
        self._send_credit(self._collector)
        self._exchange.send(self._summary())
        self.state = State.FINISHED

    def _take(self, collector: FrameCollector) -> None:
        """Take in the frames that have arrived; a queue pair that failed is reported, once."""
        from host.receive.collector import QueuePairFailed  # noqa: PLC0415 - see _listen()

        try:
            while frames := collector.poll():
                self._announce(frames)
        except QueuePairFailed as error:
            if str(error) != self._failed:
                self._failed = str(error)
                self.report("queue_pair_error", str(error), fatal=not self._recovers)
            if not self._recovers:
                self._end(str(error))
        self._send_credit(collector)

    def _announce(self, frames: list[Frame]) -> None:
        assert self._exchange is not None
        self._keep(frames)  # before anything is sent, which fails when the other side has gone
        for frame in frames:
            self._exchange.send(
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

    def _keep(self, frames: list[Frame]) -> None:
        self._arrived += frames
        for frame in frames:
            if frame.shape is None:
                self._account.take_low_bits(frame.sequence)
            else:
                self._account.take(frame.sequence, int(frame.header["dropped_before"]))
            octets = frame.shape.frame_bytes if frame.shape else 0
            self._now += Statistics(frames=1, flagged=int(not frame.ok), bytes=octets)

    def _send_credit(self, collector: FrameCollector) -> None:
        assert self._exchange is not None
        for index, known in enumerate(self._released):
            count = collector.released(index)
            if count != known:
                self._released[index] = count
                self._exchange.send(Released(index, count))

    def _summary(self) -> Summary:
        now = self._device.counters()
        left_out = self._event_count - len(self.events)
        return Summary(
            frames=self._now.frames,
            flagged=self._now.flagged,
            events=(*self.events, *([f"{left_out} further events"] if left_out else [])),
            counters={name: value - self._counters.get(name, 0) for name, value in now.items()},
        )

    def _gone(self, why: str) -> None:
        """Control software is gone: end, or make the queue pairs ready for whoever comes next."""
        self._take_last()
        if not self._persistent:
            self._end(f"control software has gone: {why}")
            return
        self.report("control_lost", f"{self.name}: {why}; waiting for it to come again", fatal=False)
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None
        try:
            for connection in self._connections:
                connection.disconnect()
        except ConnectionFailed as error:
            self._end(str(error))
            return
        self.state = State.LISTENING

    def _take_last(self) -> None:
        """Keep the frames that have come and that nobody is told of any more."""
        from host.receive.collector import QueuePairFailed  # noqa: PLC0415 - see _listen()

        if self.state is State.STREAMING and self._collector is not None:
            with contextlib.suppress(QueuePairFailed):
                self._keep(self._collector.poll())

    def _fail(self, cause: str, detail: str) -> None:
        self.report(cause, detail, fatal=True)
        self._end(detail)

    def _end(self, why: str) -> None:
        self.failure = why
        self.state = State.FAILED


def hello_of(
    device: Device, connections: Sequence[Connection], addresses: Sequence[int], slots: int, **offered: Any
) -> Hello:
    """Return the offer of queue pairs with ``slots`` slots each, the first ones at ``addresses``."""
    port = device.port
    return Hello(
        version=VERSION,
        kernel=platform.release(),
        device=device.name,
        ip=port.ip,
        mac=port.mac,
        gid=port.gid,
        queue_pairs=tuple(
            ReceiverQueuePair(connection.qpn, connection.psn, address, slots)
            for connection, address in zip(connections, addresses, strict=True)
        ),
        **offered,
    )


def _neighbour(ip: str) -> str | None:
    """Return the MAC address that the kernel has for ``ip``, if it has one."""
    for line in Path("/proc/net/arp").read_text().splitlines()[1:]:
        address, _, _, mac, *_ = line.split()
        if address == ip and mac != "00:00:00:00:00:00":
            return mac
    return None
