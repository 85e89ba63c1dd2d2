"""Lockstep: which reply is due when, so that simulated time does not depend on how fast the peer is.

Frames go to the peer as soon as their order at its end of the cable is certain. A shadow of the peer (the responder
of :mod:`sim.link.responder`) predicts which of them will be answered, and with what. Each predicted reply has a fixed
place in simulated time: it leaves the peer one turnaround after its cause arrived there, and is due one receive delay
later (its own line time is not counted). The real reply is given to the simulation at that time, whether it came
early or was waited for.

The caller's part, for a simulation at time *now*:

1. frame leaves the device: ``sent(frame, now)``, hand the returned frames to the peer;
2. frame comes from the peer (poll): ``matched(frame, now)``, schedule the returned deliveries;
3. at ``next_fs()``: while ``due(now)`` returns an expectation, wait for the peer and call ``matched``, or ``lost``
   when the wall guard expires; then ``advance(now)``, and hand over what it returns.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sim.link.checker import ProtocolChecker
from sim.link.link import Action, Delivery, Direction, Link
from sim.link.responder import Outcome, QueueState, Reply, read_reply
from sim.link.roce import (
    BTH_END,
    SYNDROME_NAK_SEQUENCE,
    SYNDROME_RNR,
    Packet,
    ProtocolError,
    Transport,
    decode,
    glimpse,
    psn_difference,
    summary,
)

_KINDS = {0: "ack", 1: "rnr", 3: "nak"}  # by the top bits of the syndrome
KEPT_DISCREPANCIES = 1000
REMEMBERED_REQUESTS = 4096
"""Requests of a queue pair, since its last reply, that can be judged anew after a surprise."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A frame to hand to the peer now; in simulated time it arrives there at ``arrival_fs``."""

    frame: bytes
    arrival_fs: int


@dataclass(frozen=True, slots=True)
class Advance:
    """What became certain as time went on: frames for the peer, and deliveries to the device."""

    outgoing: list[Outgoing]
    deliveries: list[Delivery]


@dataclass(eq=False, slots=True)
class Expectation:
    """A predicted reply. Open until the real one has come (``frame``) or was given up (``lost``)."""

    due_fs: int
    departure_fs: int
    """When the reply leaves the peer."""
    reply: Reply
    cause: str
    order: int
    """Place of the request among all that were handed to the peer."""
    frame: bytes | None = None
    lost: bool = False

    @property
    def open(self) -> bool:
        """Whether the real reply is still awaited."""
        return self.frame is None and not self.lost

    @property
    def describes(self) -> str:
        """What is awaited and why, for messages."""
        return f"{self.reply}, answering {self.cause}, due at {self.due_fs / 1e9:.6f} us"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A difference between prediction and peer: after one, simulated figures may not repeat.

    ``kind`` is ``lost`` (given up by the caller), ``missing`` (later replies came), ``late`` (came after it was given
    up; discarded), ``not_ready`` and ``unseen`` (the peer refused or never saw a request; the shadow has followed
    it), ``mismatch`` (a reply other than the predicted one), ``unpredicted`` (none was predicted), ``malformed``.
    """

    kind: str
    detail: str
    time_fs: int


class Tap(Protocol):
    """A recorder of the frames at the device's end of the cable."""

    def record(self, direction: Direction, frame: bytes, time_fs: int, faults: Sequence[Action]) -> None:
        """Record one frame; ``faults`` are those that the link applies or has applied to it."""
        ...


@dataclass(slots=True)
class _Handed:
    """A request that the peer has, and the shadow's state before it."""

    order: int
    arrival_fs: int
    packet: Packet
    before: QueueState


@dataclass(order=True, slots=True)
class _Travelling:
    arrival_fs: int
    number: int
    frame: bytes = field(compare=False)
    packet: Packet | None = field(compare=False)


class Lockstep:
    """Accounting of requests and replies between one device and one peer.

    ``checker`` sees every departed frame; its responder is the shadow and must know the peer's queue pairs, and its
    memory regions if access errors are to be predicted.
    """

    def __init__(self, link: Link, checker: ProtocolChecker, turnaround_fs: int, tap: Tap | None = None) -> None:
        self.link = link
        self.checker = checker
        self.turnaround_fs = turnaround_fs
        self.discrepancies: list[Discrepancy] = []
        self.discrepancy_count = 0
        self.other_frames = 0
        """Frames of the peer that are not RoCEv2 (ARP, IPv6, ...): counted, not delivered."""
        self.replies: Counter[str] = Counter()
        """Real replies by kind (``ack``, ``nak``, ``rnr``), counted in order of their departure from the peer."""
        self.unplugged = False
        """Nothing that leaves the device arrives."""
        self._tap = tap
        self._travelling: list[_Travelling] = []
        self._numbered = 0
        self._expected: deque[Expectation] = deque()
        self._given_up: list[Expectation] = []
        self._history: dict[int, deque[_Handed]] = {
            qpn: deque(maxlen=REMEMBERED_REQUESTS) for qpn in checker.responder.queue_pairs
        }
        self._peer_of = {qp.device_qpn: qpn for qpn, qp in checker.responder.queue_pairs.items()}

    # Towards the peer

    def sent(self, frame: bytes, time_fs: int) -> list[Outgoing]:
        """Take a frame whose last octet leaves the device at ``time_fs``; return what the peer is to get now."""
        packet = self.checker.departed(frame, time_fs)
        if self.unplugged:
            if self._tap is not None:
                self._tap.record(Direction.TX, frame, time_fs, [Action.DROP])
            return self._hand_over(time_fs + self.link.settings.tx_delay_fs)
        before = self.link.injected_count(Direction.TX)
        deliveries = self.link.carry(frame, time_fs, Direction.TX)
        if self._tap is not None:
            faults = [injection.action for injection in self.link.injected(Direction.TX, before)]
            self._tap.record(Direction.TX, frame, time_fs, faults)
        for delivery in deliveries:
            self._travel(delivery, packet if delivery.frame is frame else None)
        return self._hand_over(time_fs + self.link.settings.tx_delay_fs)

    def restart(self, peer_qpn: int, first_psn: int, receives: int | None = None) -> None:
        """Forget a queue pair that both sides have reset: no request of before is under way or answered."""
        self.checker.restart(peer_qpn, first_psn, receives)
        self._history[peer_qpn].clear()

    def _travel(self, delivery: Delivery, packet: Packet | None = None) -> None:
        self._numbered += 1
        heapq.heappush(self._travelling, _Travelling(delivery.time_fs, self._numbered, delivery.frame, packet))

    def _hand_over(self, until_fs: int) -> list[Outgoing]:
        """Give the peer all that arrives up to ``until_fs``: nothing that leaves later can arrive before it."""
        outgoing = []
        while self._travelling and self._travelling[0].arrival_fs <= until_fs:
            travelling = heapq.heappop(self._travelling)
            self._numbered += 1
            self._predict(travelling, self._numbered)
            outgoing.append(Outgoing(travelling.frame, travelling.arrival_fs))
        return outgoing

    def _predict(self, travelling: _Travelling, order: int) -> None:
        packet = travelling.packet
        if packet is None:
            try:
                packet = decode(travelling.frame)
            except ProtocolError:
                return  # the peer drops it without a word
        history = self._history.get(packet.bth.destination_qp)
        if history is None:
            return
        qp = self.checker.responder.queue_pairs[packet.bth.destination_qp]
        if qp.transport is Transport.RC and packet.info.request:
            before = self.checker.responder.snapshot(qp.peer_qpn)
            history.append(_Handed(order, travelling.arrival_fs, packet, before))
        outcome = self.checker.delivered(travelling.frame, travelling.arrival_fs, packet)
        expectation = self._expectation(outcome, packet, travelling.arrival_fs, order)
        if expectation is not None:
            self._expected.append(expectation)

    def _expectation(self, outcome: Outcome, packet: Packet, arrival_fs: int, order: int) -> Expectation | None:
        if outcome.reply is None:
            return None
        departure_fs = arrival_fs + self.turnaround_fs
        cause = f"{packet.info.opcode.name} PSN {packet.bth.psn:#08x}"
        due_fs = departure_fs + self.link.settings.rx_delay_fs
        return Expectation(due_fs, departure_fs, outcome.reply, cause, order)

    # Time

    def due(self, now_fs: int) -> Expectation | None:
        """Return the oldest open expectation if it is due by ``now_fs``: simulated time must wait for it."""
        oldest = self._oldest_open()
        return oldest if oldest is not None and oldest.due_fs <= now_fs else None

    def _oldest_open(self) -> Expectation | None:
        # Resolved expectations stand in the queue only behind an open one, see _settle.
        return self._expected[0] if self._expected else None

    @property
    def awaited(self) -> int:
        """Number of open expectations."""
        return sum(expectation.open for expectation in self._expected)

    def next_fs(self) -> int | None:
        """Return the earliest simulated time at which :meth:`due` and :meth:`advance` want to be called, if any."""
        settings = self.link.settings
        times = []
        if self._expected:
            times.append(self._expected[0].due_fs)
        if self._travelling:
            times.append(self._travelling[0].arrival_fs - settings.tx_delay_fs + 1)
        held = self.link.flush_due_fs(Direction.TX)
        if held is not None:
            times.append(held + 1)
        held = self.link.flush_due_fs(Direction.RX)
        if held is not None:
            times.append(held + settings.rx_delay_fs)
        return min(times, default=None)

    def advance(self, now_fs: int) -> Advance:
        """Return what has become certain, all departures before ``now_fs`` having been given to :meth:`sent`."""
        for delivery in self.link.flush(now_fs - 1, Direction.TX):
            self._travel(delivery)
        outgoing = self._hand_over(now_fs - 1 + self.link.settings.tx_delay_fs)
        known_fs = now_fs - self.link.settings.rx_delay_fs
        oldest = self._oldest_open()
        if oldest is not None:
            known_fs = min(known_fs, oldest.departure_fs - 1)
        deliveries = self.link.flush(known_fs, Direction.RX)
        self._record_deliveries(deliveries)
        return Advance(outgoing, deliveries)

    # From the peer

    def matched(self, frame: bytes, now_fs: int) -> list[Delivery]:
        """Take a frame from the peer; return the deliveries to the device that are now certain.

        A predicted reply is delivered at its due time. One that differs from the prediction takes the place of the
        oldest one awaited on its queue pair; one that nothing was expected for is delivered one receive delay after
        ``now_fs``. Both are recorded as discrepancies.
        """
        if glimpse(frame) is None:
            self.other_frames += 1
            return []
        reply = None
        try:
            reply = read_reply(decode(frame))
        except ProtocolError as error:
            self._differ("malformed", str(error), now_fs)
        if reply is None:
            return self._unpredicted(frame, now_fs)

        expectation = self._find(reply, now_fs)
        if expectation is None:
            for given_up in self._given_up:
                if given_up.reply.agrees(reply):
                    self._given_up.remove(given_up)
                    self._differ("late", f"{reply} came after it had been given up", now_fs)
                    return []
            if self._judge_anew(reply, now_fs):
                expectation = self._find(reply, now_fs)
        if expectation is None:
            expectation = next(self._open_for(reply.device_qpn), None)
            if expectation is None:
                return self._unpredicted(frame, now_fs)
            self._differ("mismatch", f"{reply} instead of {expectation.describes}", now_fs)
        else:
            self._forget_until(expectation)
        expectation.frame = frame
        return self._settle()

    def lost(self, expectation: Expectation, now_fs: int) -> list[Delivery]:
        """Give up on a reply; return the deliveries that it held back."""
        if expectation.open:
            expectation.lost = True
            self._given_up.append(expectation)
            self._differ("lost", expectation.describes, now_fs)
        return self._settle()

    def _open_for(self, device_qpn: int) -> Iterator[Expectation]:
        return (entry for entry in self._expected if entry.open and entry.reply.device_qpn == device_qpn)

    def _find(self, reply: Reply, now_fs: int) -> Expectation | None:
        """Return the oldest open expectation that ``reply`` fulfils; older ones of its queue pair can come no more."""
        skipped: list[Expectation] = []
        for expectation in self._open_for(reply.device_qpn):
            if expectation.reply.agrees(reply):
                for missing in skipped:
                    missing.lost = True
                    self._differ("missing", missing.describes, now_fs)
                return expectation
            skipped.append(expectation)
        return None

    def _settle(self) -> list[Delivery]:
        """Send resolved replies through the link in order of departure: its faults must not depend on wall time."""
        deliveries = []
        while self._expected and not self._expected[0].open:
            expectation = self._expected.popleft()
            if expectation.frame is None:
                continue
            self.replies[_KINDS.get(expectation.frame[BTH_END] >> 5, "other")] += 1
            before = self.link.injected_count(Direction.RX)
            carried = self.link.carry(expectation.frame, expectation.departure_fs, Direction.RX)
            deliveries += carried
            self._record_deliveries(carried)
            faults = [injection.action for injection in self.link.injected(Direction.RX, before)]
            if self._tap is not None and Action.DROP in faults:
                self._tap.record(Direction.RX, expectation.frame, expectation.due_fs, faults)
        return deliveries

    def _record_deliveries(self, deliveries: list[Delivery]) -> None:
        if self._tap is not None:
            for delivery in deliveries:
                self._tap.record(Direction.RX, delivery.frame, delivery.time_fs, delivery.faults)

    def _unpredicted(self, frame: bytes, now_fs: int) -> list[Delivery]:
        self._differ("unpredicted", summary(frame), now_fs)
        deliveries = [Delivery(now_fs + self.link.settings.rx_delay_fs, frame)]
        self._record_deliveries(deliveries)
        return deliveries

    def _differ(self, kind: str, detail: str, now_fs: int) -> None:
        self.discrepancy_count += 1
        if len(self.discrepancies) < KEPT_DISCREPANCIES:
            self.discrepancies.append(Discrepancy(kind, detail, now_fs))

    # Following a peer that surprised

    def _forget_until(self, expectation: Expectation) -> None:
        """A reply proves that shadow and peer agree up to its cause; what lies before need never be judged anew."""
        history = self._history[self._peer_of[expectation.reply.device_qpn]]
        while history and history[0].order <= expectation.order:
            history.popleft()

    def _judge_anew(self, reply: Reply, now_fs: int) -> bool:
        """Explain a NAK that was not predicted, if one difference does, and predict again from there.

        A receiver-not-ready NAK says that the peer did not execute the request with that PSN (how many receives are
        posted is a matter of wall time). A sequence NAK says that it never saw the request with that PSN. Returns
        whether the requests since then have been judged anew; their predicted replies have then been replaced.
        """
        qpn = self._peer_of.get(reply.device_qpn)
        if qpn is None:
            return False
        not_ready = reply.syndrome >> 5 == SYNDROME_RNR >> 5
        if not not_ready and reply.syndrome != SYNDROME_NAK_SEQUENCE:
            return False
        entries = list(self._history[qpn])
        places = [
            index
            for index, entry in enumerate(entries)
            if entry.packet.bth.psn == reply.psn and psn_difference(entry.before.expected_psn, reply.psn) == 0
        ]
        if not places:
            return False
        start = places[-1]
        changed = entries[start]
        self._differ(
            "not_ready" if not_ready else "unseen",
            f"{reply}: the peer {'was not ready for' if not_ready else 'did not see'} a request",
            now_fs,
        )
        responder = self.checker.responder
        responder.restore(qpn, changed.before)
        kept = [
            expectation
            for expectation in self._expected
            if expectation.order < changed.order or expectation.reply.device_qpn != reply.device_qpn
        ]
        again = entries[start:] if not_ready else entries[start + 1 :]
        judge: Callable[[Packet], Outcome] = responder.not_ready if not_ready else responder.receive
        history = deque(entries[:start], maxlen=REMEMBERED_REQUESTS)
        for entry in again:
            history.append(_Handed(entry.order, entry.arrival_fs, entry.packet, responder.snapshot(qpn)))
            expectation = self._expectation(judge(entry.packet), entry.packet, entry.arrival_fs, entry.order)
            judge = responder.receive
            if expectation is not None:
                # A reply that nobody waited for may come after its time; it cannot be delivered in the past.
                expectation.due_fs = max(expectation.due_fs, now_fs)
                expectation.departure_fs = expectation.due_fs - self.link.settings.rx_delay_fs
                if expectation.reply.syndrome >> 5 == SYNDROME_RNR >> 5:
                    expectation.reply = reply  # the timer code is the peer's choice
                kept.append(expectation)
        self._history[qpn] = history
        self._expected = deque(sorted(kept, key=lambda expectation: (expectation.due_fs, expectation.order)))
        return True
