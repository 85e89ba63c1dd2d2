"""Frames as they arrive: ``with Receiver("rxe0", "unix:/run/receiver") as receiver: for frame in receiver: ...``."""

from __future__ import annotations

import contextlib
import logging
import select
import threading
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from host.exchange import Hello
from host.receive import affinity
from host.receive.account import Statistics
from host.receive.connection import Connection
from host.receive.control_stream import listen
from host.receive.device import Device
from host.receive.errors import ReceiveFailed, ReceiveTimeout, StreamEnded
from host.receive.evidence import Evidence, Occupancy, explain
from host.receive.front_end import FrontEnd, State, hello_of
from host.receive.pool import MemoryPool, available_memory
from host.receive.settings import ReceiverSettings

if TYPE_CHECKING:
    from host.receive.collector import FrameCollector
    from host.receive.frame import Frame

_HEARTBEAT_SECONDS = 0.5
_LISTENER_LOOK_SECONDS = 0.02
_IDLE_SECONDS = 0.1
"""Without a frame for so long, the counters are noted, to tell later what has moved since."""
_LOG = logging.getLogger("echobench.receive")


class Receiver:
    """Frames of one or more front ends, in memory that they write to.

    ``device`` is an RDMA device, ``controls`` say where the control software of each front end comes to; the keyword
    arguments are those of :class:`host.receive.settings.ReceiverSettings`. Opened by ``with`` (or :meth:`open`); raises
    :class:`~host.receive.device.DeviceError`, :class:`~host.receive.pool.PoolError`,
    :class:`~host.receive.connection.ConnectionFailed` or ``ValueError`` if it cannot be set up.

    With ``lossless``, everything is done in the calling thread while it waits for a frame, and credit for released
    slots goes back then. With ``latest``, a thread takes frames in and only the newest is kept.
    """

    def __init__(self, device: str, *controls: str, **options: Any) -> None:
        self.settings = ReceiverSettings(device, controls, **options)
        self._resources = contextlib.ExitStack()
        self._front_ends: list[FrontEnd] = []
        self._ready: deque[Frame] = deque()
        self._idle_since = time.monotonic()
        self._noted: Evidence | None = None
        self._newest: _Newest | None = None

    def open(self) -> None:
        """Take device and memory and listen for control software; it is connected while frames are waited for."""
        with contextlib.ExitStack() as opened:
            self._open(opened)
            self._resources = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack) -> None:
        settings = self.settings
        if settings.affinity:
            affinity.run_on(affinity.cpus_of(settings.affinity, settings.device))
        self._pool = pool = MemoryPool(settings.all_slots, settings.bytes_of_slot(available_memory()))
        opened.callback(pool.close)
        self._device = device = Device(settings.device, settings.ip)
        opened.callback(device.close)
        device.check_path_mtu(settings.pmtu)
        if pool.note:
            _LOG.info(pool.note)
        self._region = device.register(pool)
        if not device.pages_on_demand:
            _LOG.info("memory pool pinned: %s has no on-demand paging", device.name)
        for index, control in enumerate(settings.controls):
            self._front_ends.append(self._front_end(index, control, opened))
        if settings.policy == "latest":
            self._newest = _Newest(self)
            opened.callback(self._newest.stop)

    def _front_end(self, index: int, control: str, opened: contextlib.ExitStack) -> FrontEnd:
        settings = self.settings
        count = settings.queue_pairs * settings.slots
        first = index * count
        firsts = range(first, first + count, settings.slots)
        listener = listen(control)
        opened.callback(listener.close)
        connections: list[Connection] = []
        for slot in firsts:
            connections.append(self._connection(slot))
            opened.callback(connections[-1].close)

        def offer() -> Hello:
            return hello_of(
                self._device,
                connections,
                [self._pool.slot_address(slot) for slot in firsts],
                settings.slots,
                pmtu=settings.pmtu,
                rkey=self._region.rkey,
                slot_bytes=self._pool.slot_bytes,
                huge_pages=self._pool.huge,
            )

        def collect() -> FrameCollector:
            from host.receive.collector import FrameCollector  # noqa: PLC0415 - brings numpy, which loads slowly

            return FrameCollector(connections, [self._pool.array(slot) for slot in range(first, first + count)], index)

        front_end = FrontEnd(
            self._device,
            listener,
            connections,
            offer=offer,
            collect=collect,
            pmtu=settings.pmtu,
            transport=settings.transport,
            persistent=settings.persistent,
        )
        opened.callback(front_end.close)
        return front_end

    def _connection(self, first_slot: int) -> Connection:
        if self.settings.transport != "UD":
            return Connection(self._device, self.settings.transport)
        # Numpy loads slowly in an emulated machine, and only datagrams need it so early.
        from host.receive.datagram_connection import DatagramConnection  # noqa: PLC0415

        slots = [self._pool.array(slot) for slot in range(first_slot, first_slot + self.settings.slots)]
        return DatagramConnection(self._device, slots, self._region.lkey)

    def close(self) -> None:
        """Give device and memory back. Frames that are still held keep their memory; nothing arrives in it any more."""
        self._resources.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def description(self) -> dict[str, Any]:
        """Return what this receiver is: device, kernel, addresses, path MTU, whether its memory is in huge pages."""
        offer = self._front_ends[0].offer
        names = ("kernel", "device", "ip", "mac", "gid", "pmtu", "huge_pages")
        return {name: getattr(offer, name) for name in names}

    def report(self, cause: str, detail: str, *, fatal: bool = False) -> None:
        """Log an event and tell every front end of it; after a fatal one no frame will be taken any more."""
        for front_end in self._front_ends:
            front_end.report(cause, detail, fatal=fatal)

    @property
    def statistics(self) -> Statistics:
        """What became of the frames so far."""
        total = sum((front_end.statistics for front_end in self._front_ends), Statistics())
        return total + Statistics(skipped=self._newest.skipped if self._newest else 0)

    @property
    def held(self) -> int:
        """Frames that were given out and are not released."""
        return sum(front_end.held for front_end in self._front_ends)

    @property
    def events(self) -> tuple[str, ...]:
        """What happened beside frames, as ``"<cause>: <detail>"``: failures, resets, lost control."""
        return tuple(event for front_end in self._front_ends for event in front_end.events)

    def receive(self, timeout_seconds: float | None) -> Frame:
        """Return the next frame; ``None`` waits for ever. Other threads run while this one waits.

        Raise :class:`ReceiveTimeout`, :class:`StreamEnded` or :class:`ReceiveFailed`.
        """
        if self._newest is not None:
            return self._newest.take(timeout_seconds)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            self._look()
            if self._ready:
                return self._ready.popleft()
            self._raise_if_over()
            left = _HEARTBEAT_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise ReceiveTimeout(f"no frame within {timeout_seconds:g} s: {self.why_empty()}")
            self._wait(left)

    def __iter__(self) -> Iterator[Frame]:
        while True:
            try:
                yield self.receive(self.settings.timeout_seconds)
            except StreamEnded:
                return

    def why_empty(self) -> str:
        """Return which stage holds no frame, and what to look at; of every front end from which more may come."""
        now = self._device.evidence()
        return "; ".join(self._why(front_end, now) for front_end in self._front_ends if front_end.open)

    def _why(self, front_end: FrontEnd, now: Evidence) -> str:
        if front_end.state is State.LISTENING and front_end.held:
            return (
                f"control software may come to {front_end.name} again when the {front_end.held} frames of the "
                "connection before are released"
            )
        if front_end.state is State.LISTENING:
            return f"no control software has come to {front_end.name}: start it, or see whether it looks there"
        if front_end.state is State.AGREEING:
            return f"control software came to {front_end.name} and has not answered the offer of queue pairs"
        before = self._noted or front_end.evidence or now
        occupancy = Occupancy(front_end.held, front_end.slots)
        return f"{front_end.name}: {explain(before, now, occupancy, self._device.name, self._device.port.netdev)}"

    def _look(self) -> None:
        """Let every front end do what there is to do."""
        if self._ready:
            return
        for front_end in self._front_ends:
            self._ready += front_end.step()
        if self._ready:
            self._idle_since = time.monotonic()
            self._noted = None

    def _raise_if_over(self) -> None:
        failures = [front_end.failure for front_end in self._front_ends if front_end.failure]
        if failures:
            raise ReceiveFailed("; ".join(failures))
        if not any(front_end.open for front_end in self._front_ends):
            raise StreamEnded("every front end has finished")

    def _wait(self, limit_seconds: float) -> None:
        """Sleep until there may be something to do, no longer than ``limit_seconds`` or a heartbeat."""
        if self.settings.completion == "poll":
            time.sleep(0)  # lets other threads run
            limit_seconds = 0.0
        poller = select.poll()
        poller.register(self._device.asynchronous.fileno(), select.POLLIN)
        limit = min(limit_seconds, _HEARTBEAT_SECONDS)
        for front_end in self._front_ends:
            if front_end.looked_at:
                limit = min(limit, _LISTENER_LOOK_SECONDS)
            for descriptor in front_end.descriptors():
                poller.register(descriptor, select.POLLIN)
        idle = not poller.poll(limit * 1000)
        names = self._device.take_events()
        for front_end in self._front_ends:
            for name in names:
                front_end.report("device_event", f"{self._device.name}: {name}", fatal=False)
            front_end.acknowledge_events(check=bool(names) or idle)
        if self._noted is None and time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._noted = self._device.evidence() if self.statistics.frames else None


class _Newest:
    """Takes frames in, in a thread of its own, and keeps the newest for whoever asks."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._changed = threading.Condition()
        self._frame: Frame | None = None
        self._over: Exception | None = None
        self._stopping = False
        self.skipped = 0
        self._thread = threading.Thread(target=self._run, name="echobench-newest-frame", daemon=True)
        self._thread.start()

    def take(self, timeout_seconds: float | None) -> Frame:
        """Return the newest frame that was not taken yet, in memory of its own."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame or self._over, timeout_seconds)
            frame, self._frame = self._frame, None
            if frame is not None:
                frame.detach()
                return frame
            if self._over is not None:
                raise self._over
            raise ReceiveTimeout(f"no frame within {timeout_seconds:g} s: {self._receiver.why_empty()}")

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        self._thread.join()

    def _run(self) -> None:
        receiver = self._receiver
        while not self._stopping:
            with self._changed:
                receiver._look()
                while receiver._ready:
                    if self._frame is not None:
                        self._frame.release()
                        self.skipped += 1
                    self._frame = receiver._ready.popleft()
                    self._changed.notify()
                try:
                    receiver._raise_if_over()
                except (ReceiveFailed, StreamEnded) as error:
                    self._over = error
                    self._changed.notify()
                    return
            receiver._wait(_HEARTBEAT_SECONDS)
