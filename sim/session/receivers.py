"""The receiver as the session sees it: a real one behind the exchange, or the model's memory in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from host.exchange import (
    QUEUE_KEY,
    VERSION,
    Connect,
    Event,
    Exchange,
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
from host.frame_layout import split_immediate
from host.receive.capture import CaptureWriter
from host.receive.datagrams import Assembled, DatagramFrames
from host.receive.inspection import inspect
from sim.link.responder import Endpoint, QueuePair
from sim.link.roce import Transport, ipv4, mac
from sim.peers.interface import Wire
from sim.peers.model import ModelPeer
from sim.session.errors import ReceiverFailed

MODEL_IP = "10.77.0.2"
MODEL_MAC = "02:00:00:00:00:02"
_MODEL_FIRST_QPN = 17


class Receiver(Protocol):
    """One receiver with its queue pairs and slots."""

    frames: list[FrameReceived]

    def hello(self) -> Hello:
        """Return what the receiver offers."""
        ...

    def connect(self, message: Connect) -> None:
        """Connect its queue pairs; returns when it is ready to receive."""
        ...

    def wire(self) -> Wire:
        """Return the wire to its device; valid after :meth:`connect`."""
        ...

    def credit(self, queue_pair: int, total: int) -> int:
        """Wait until ``total`` slots of queue pair index ``queue_pair`` have been released; return how many have.

        On an unreliable connection a frame may be lost and its slot never be released: it is given up after a while,
        and ``total`` returned.
        """
        ...

    def reset(self, queue_pair: int, psn: int, receives: int) -> int:
        """Reset a queue pair, which expects ``psn`` then and gets ``receives`` receives (0: as many as it takes).

        Return how many frames have come on it.
        """
        ...

    def poll(self) -> None:
        """Take in what the receiver has said; raise :class:`ReceiverFailed` if it cannot go on."""
        ...

    def finish(self) -> Summary:
        """End the stream and return the receiver's own account."""
        ...

    def close(self) -> None:
        """Keep what has arrived, however the session ended; may be called twice."""
        ...


class RemoteReceiver:
    """A receiver process, in the micro-VM or on the host, reached by its exchange."""

    def __init__(
        self, exchange: Exchange, wire: Wire, limit_seconds: float, lost_after_seconds: float | None = None
    ) -> None:
        self._exchange = exchange
        self._wire = wire
        self._limit = limit_seconds
        self._lost_after = lost_after_seconds
        self._released: dict[int, int] = {}
        self.frames: list[FrameReceived] = []
        self.waited_seconds = 0.0

    def hello(self) -> Hello:
        """Return what the receiver offers."""
        with _listening("its offer"):
            return self._exchange.expect(Hello, self._limit)

    def connect(self, message: Connect) -> None:
        """Connect; returns when the receiver is ready."""
        with _listening("its word that it is ready"):
            self._exchange.send(message)
            self._exchange.expect(Ready, self._limit)

    def wire(self) -> Wire:
        """Return the wire to the receiver's device."""
        return self._wire

    def credit(self, queue_pair: int, total: int) -> int:
        """Wait (simulated time stands still) until enough slots are released."""
        started = time.monotonic()
        while self._released.get(queue_pair, 0) < total:
            limit = self._limit if self._lost_after is None else self._lost_after
            left = limit - (time.monotonic() - started)
            with _listening(f"slot release {total} of queue pair {queue_pair}"):
                message = self._exchange.receive(max(0.0, left))
            if message is None and self._lost_after is not None:
                self._released[queue_pair] = total
                break
            if message is None:
                raise ReceiverFailed(
                    f"the control software waits for slot release {total} of queue pair {queue_pair}; the receiver has "
                    f"released {self._released.get(queue_pair, 0)} within {self._limit:.0f} s: its consumer is stuck"
                )
            self._take(message)
        self.waited_seconds += time.monotonic() - started
        return self._released[queue_pair]

    def reset(self, queue_pair: int, psn: int, receives: int) -> int:
        """Reset the receiver's queue pair; simulated time stands still."""
        with _listening("the reset of its queue pair"):
            self._exchange.send(Reset(queue_pair, psn, receives))
        while True:
            with _listening("the reset of its queue pair"):
                message = self._exchange.receive(self._limit)
            if message is None:
                raise ReceiverFailed(f"the receiver did not reset its queue pair within {self._limit:.0f} s")
            if isinstance(message, ResetDone):
                return message.frames
            self._take(message)

    def poll(self) -> None:
        """Take in what has arrived."""
        with _listening("frames"):
            for message in self._exchange.pending():
                self._take(message)

    def finish(self) -> Summary:
        """End the stream; what is still on its way is taken in first."""
        with _listening("its summary"):
            self._exchange.send(Finish())
        while True:
            with _listening("its summary"):
                message = self._exchange.receive(self._limit)
            if message is None:
                raise ReceiverFailed(f"the receiver did not send its summary within {self._limit:.0f} s")
            if isinstance(message, Summary):
                return message
            self._take(message)

    def close(self) -> None:
        """The receiver keeps its own."""

    def _take(self, message: Message) -> None:
        if isinstance(message, FrameReceived):
            self.frames.append(message)
        elif isinstance(message, Released):
            # Slots of frames that were given up count already.
            self._released[message.queue_pair] = max(self._released.get(message.queue_pair, 0), message.count)
        elif isinstance(message, Event) and message.fatal:
            raise ReceiverFailed(f"the receiver reports {message.cause}: {message.detail}")


@contextmanager
def _listening(awaited: str) -> Iterator[None]:
    """Turn a lost or broken exchange into the receiver's failure."""
    try:
        yield
    except ExchangeError as error:
        raise ReceiverFailed(
            f"the control software waits for {awaited}, and the receiver has gone: {error}; "
            "its last words are in receiver.log"
        ) from error


class ModelReceiver:
    """The in-process model with slots, inspected and kept as a real receiver does."""

    def __init__(
        self,
        slots: int,
        slot_bytes: int,
        queue_pairs: int,
        pmtu: int,
        capture: Path,
        transport: Transport = Transport.RC,
    ) -> None:
        self._slots = slots
        self._slot_bytes = slot_bytes
        self._pmtu = pmtu
        self._transport = transport
        self._next_slots = [0] * queue_pairs
        self._memory = np.zeros(queue_pairs * slots * slot_bytes, np.uint8)
        self._qpns = [_MODEL_FIRST_QPN + index for index in range(queue_pairs)]
        self._capture = CaptureWriter(capture)
        self._peer: ModelPeer | None = None
        self._rkey = 0
        self._address = self._memory.ctypes.data
        self._released = [0] * queue_pairs
        self._used = [0] * queue_pairs
        self._flagged = 0
        self._closed = False
        self._datagrams: list[DatagramFrames] = []
        self.frames: list[FrameReceived] = []
        probe = ModelPeer([])
        self._rkey = probe.register(self._memory).region.rkey

    def hello(self) -> Hello:
        """Return what the model offers."""
        stride = self._slots * self._slot_bytes
        return Hello(
            version=VERSION,
            kernel="none (in-process model)",
            device="model",
            ip=MODEL_IP,
            mac=MODEL_MAC,
            gid=f"::ffff:{MODEL_IP}",
            pmtu=self._pmtu,
            rkey=self._rkey,
            slot_bytes=self._slot_bytes,
            huge_pages=False,
            queue_pairs=tuple(
                ReceiverQueuePair(qpn, 0, self._address + index * stride, self._slots)
                for index, qpn in enumerate(self._qpns)
            ),
        )

    def connect(self, message: Connect) -> None:
        """Make the responder for the FPGA's queue pairs."""
        pairs = [
            QueuePair(
                peer_qpn=qpn,
                device_qpn=sender.qpn,
                first_psn=sender.psn,
                pmtu=message.pmtu,
                transport=self._transport,
                queue_key=QUEUE_KEY,
                peer=Endpoint(mac(MODEL_MAC), ipv4(MODEL_IP)),
                device=Endpoint(mac(message.mac), ipv4(message.ip)),
            )
            for qpn, sender in zip(self._qpns, message.queue_pairs, strict=True)
        ]
        self._peer = ModelPeer(pairs, message.receives or None, direct=False)
        self._peer.register(self._memory)
        if self._transport is Transport.UD:
            self._datagrams = [
                DatagramFrames(
                    [self._slot(index, slot) for slot in range(self._slots)],
                    message.pmtu,
                    message.frame_bytes or self._slot_bytes,
                    partial(self._peer.post, qpn),
                )
                for index, qpn in enumerate(self._qpns)
            ]
            for frames in self._datagrams:
                frames.fill()

    def _slot(self, queue_pair: int, slot: int) -> NDArray[np.uint8]:
        start = (queue_pair * self._slots + slot) * self._slot_bytes
        return self._memory[start : start + self._slot_bytes]

    def wire(self) -> Wire:
        """Return the model itself."""
        if self._peer is None:
            raise ReceiverFailed("the model is not connected")
        return self._peer

    def credit(self, queue_pair: int, total: int) -> int:
        """Frames are released as soon as they are inspected, so a missing credit is an error."""
        self.poll()
        if self._transport is not Transport.RC:
            self._released[queue_pair] = max(self._released[queue_pair], total)
        if self._released[queue_pair] < total:
            raise ReceiverFailed(f"slot release {total} is awaited and only {self._released[queue_pair]} frames came")
        return self._released[queue_pair]

    def reset(self, queue_pair: int, psn: int, receives: int) -> int:
        """Reset the responder's queue pair."""
        if self._peer is None:
            raise ReceiverFailed("the model is not connected")
        self.poll()
        self._peer.checker.restart(self._qpns[queue_pair], psn, receives or None)
        return sum(frame.queue_pair == queue_pair for frame in self.frames)

    def poll(self) -> None:
        """Inspect, keep and release what has arrived."""
        if self._peer is None:
            return
        for completion in self._peer.take_completions():
            index = self._qpns.index(completion.peer_qpn)
            if self._datagrams:
                arrived = self._datagrams[index].arrived(completion.token, completion.immediate, completion.byte_length)
                self._assembled(index, arrived)
                continue
            slot, _ = split_immediate(completion.immediate)
            self._deliver(index, slot, completion.immediate, self._slot(index, slot), completion.byte_length)
            # As the real receiver does: slots that are passed over are those of frames that were lost.
            self._used[index] += (slot - self._next_slots[index]) % self._slots + 1
            self._next_slots[index] = (slot + 1) % self._slots
            self._released[index] = max(self._released[index], self._used[index])

    def _assembled(self, index: int, found: Sequence[Assembled]) -> None:
        """Take frames that came in datagrams; those before them, and they, are released."""
        for frame in found:
            self._deliver(index, frame.slot, frame.immediate, frame.memory, frame.octets, frame.problems)
            self._released[index] = max(self._released[index], frame.number + 1)
            self._datagrams[index].release(self._released[index])

    def _deliver(
        self,
        index: int,
        slot: int,
        immediate: int,
        memory: NDArray[np.uint8],
        octets: int,
        problems: tuple[str, ...] = (),
    ) -> None:
        """Inspect and keep one frame."""
        found = inspect(memory, immediate, octets)
        length = found.shape.frame_bytes if found.shape else 0
        problems = found.problems + problems
        self._capture.append(slot, immediate, memory[:length] if found.shape else memory)
        self._flagged += bool(problems)
        self.frames.append(
            FrameReceived(
                queue_pair=index,
                slot=slot,
                immediate=immediate,
                sequence=int(found.header["sequence"]) if found.shape else split_immediate(immediate)[1],
                bytes=length,
                ok=not problems,
                problems=problems,
                payload_crc=found.payload_crc,
            )
        )

    def close(self) -> None:
        """Keep what has arrived."""
        if not self._closed:
            self.poll()
            for index, frames in enumerate(self._datagrams):
                self._assembled(index, frames.finish())
            self._capture.close()
            self._closed = True

    def finish(self) -> Summary:
        """Return the model's account."""
        self.close()
        return Summary(frames=len(self.frames), flagged=self._flagged, events=(), counters={})
