from __future__ import annotations

import heapq
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.link.checker import ProtocolChecker
from sim.link.link import (
    FS_PER_NS,
    REORDER_HOLD_FS,
    Action,
    Delivery,
    Direction,
    Fault,
    Link,
    LinkSettings,
    line_time_fs,
)
from sim.link.lockstep import Lockstep, Outgoing
from sim.link.responder import QueuePair, Reply, Responder, reply_packet
from sim.link.roce import ProtocolError, Transport, decode, encode, psn_difference
from sim.peers.model import ModelPeer
from tests.sim.link.frames import CONNECTION, changed, noise, write_frames, write_packets

BASE = 0x1000
DELAY = 500 * FS_PER_NS
TURNAROUND = 300 * FS_PER_NS
ROUND = 2 * DELAY + TURNAROUND
ACK, NAK_SEQUENCE, RNR = 0x1F, 0x60, 0x2C
ARP = b"\xff" * 12 + b"\x08\x06" + bytes(46)


def lockstep(*faults: Fault, qps=(CONNECTION,), seed: int = 1, tap=None, regions=None) -> Lockstep:
    link = Link(LinkSettings(DELAY, DELAY, faults=faults), seed)
    return Lockstep(link, ProtocolChecker(Responder(qps, regions)), TURNAROUND, tap)


def answer(psn: int, syndrome: int = ACK, qp: QueuePair = CONNECTION) -> bytes:
    return encode(reply_packet(qp, Reply(qp.device_qpn, psn, syndrome, 0)))


def kinds(subject: Lockstep) -> list[str]:
    return [discrepancy.kind for discrepancy in subject.discrepancies]


def test_a_request_goes_out_at_once_and_its_reply_has_a_place_in_time():
    subject = lockstep()
    first, last = write_frames(noise(5000), BASE, 1, 0)
    assert subject.sent(first, 1000) == [Outgoing(first, 1000 + DELAY)]
    assert subject.next_fs() is None and subject.awaited == 0
    assert subject.sent(last, 2000) == [Outgoing(last, 2000 + DELAY)]
    assert subject.next_fs() == 2000 + ROUND and subject.awaited == 1
    assert subject.due(2000 + ROUND - 1) is None
    assert "ACK (0x1f) PSN 0x000001" in subject.due(2000 + ROUND).describes


@pytest.mark.parametrize("now", [2000, 2000 + DELAY, 2000 + ROUND])
def test_an_early_and_an_awaited_reply_arrive_at_the_same_time(now):
    subject = lockstep()
    for index, frame in enumerate(write_frames(noise(5000), BASE, 1, 0)):
        subject.sent(frame, 1000 * (index + 1))
    assert subject.matched(answer(1), now) == [Delivery(2000 + ROUND, answer(1))]
    assert subject.next_fs() is None and subject.discrepancies == []


def test_predictions_follow_the_responder():
    subject = lockstep(Fault("drop", psn=1))
    frames = write_frames(noise(4 * 4096), BASE, 1, 0, ack_every=1)
    for index, frame in enumerate(frames):
        subject.sent(frame, index)
    # PSN 0 is acknowledged, 1 is lost, 2 draws the NAK, 3 nothing.
    assert subject.matched(answer(0), 10) == [Delivery(ROUND, answer(0))]
    assert subject.matched(answer(1, NAK_SEQUENCE), 10) == [Delivery(2 + ROUND, answer(1, NAK_SEQUENCE))]
    assert subject.awaited == 0
    subject.sent(frames[0], 20)
    assert subject.matched(answer(0), 30) == [Delivery(20 + ROUND, answer(0))]
    assert subject.discrepancies == []


def test_a_corrupted_request_is_not_answered():
    subject = lockstep(Fault("corrupt", psn=0))
    (frame,) = write_frames(b"abcd", BASE, 1, 0)
    (out,) = subject.sent(frame, 0)
    assert out.frame != frame and subject.awaited == 0
    assert subject.checker.violations == []  # the link did it, not the device


def test_a_delayed_request_reaches_the_peer_in_simulated_order():
    subject = lockstep(Fault("delay", psn=0, delay_ns=1000))
    frames = [*write_frames(b"abcd", BASE, 1, 0), *write_frames(b"abcd", BASE, 1, 1)]
    late = 1000 * FS_PER_NS
    assert subject.sent(frames[0], 0) == []
    assert subject.next_fs() == late + 1
    assert subject.sent(frames[1], 10) == [Outgoing(frames[1], 10 + DELAY)]
    assert subject.advance(late).outgoing == []
    assert subject.advance(late + 1).outgoing == [Outgoing(frames[0], late + DELAY)]
    assert [subject.matched(answer(0, NAK_SEQUENCE), late), subject.matched(answer(0), late)] == [
        [Delivery(10 + ROUND, answer(0, NAK_SEQUENCE))],
        [Delivery(late + ROUND, answer(0))],
    ]
    assert subject.discrepancies == []


def test_a_held_request_is_released_by_time_alone():
    subject = lockstep(Fault("reorder", psn=0))
    (frame,) = write_frames(b"abcd", BASE, 1, 0)
    assert subject.sent(frame, 0) == []
    assert subject.next_fs() == REORDER_HOLD_FS + 1
    assert subject.advance(REORDER_HOLD_FS + 1).outgoing == [Outgoing(frame, REORDER_HOLD_FS + DELAY)]
    assert subject.next_fs() == REORDER_HOLD_FS + ROUND


def test_a_held_reply_is_released_by_time_alone():
    subject = lockstep(Fault("reorder", "rx", psn=0))
    subject.sent(write_frames(b"abcd", BASE, 1, 0)[0], 0)
    assert subject.matched(answer(0), 5) == []
    released = DELAY + TURNAROUND + REORDER_HOLD_FS + DELAY
    assert subject.next_fs() == released
    assert subject.advance(released - 1).deliveries == []
    assert subject.advance(released).deliveries == [Delivery(released, answer(0), (Action.REORDER,))]


def test_a_held_reply_waits_for_the_replies_that_may_overtake_it():
    subject = lockstep(Fault("reorder", "rx", psn=0))
    subject.sent(write_frames(b"abcd", BASE, 1, 0)[0], 0)
    subject.sent(write_frames(b"abcd", BASE, 1, 1)[0], REORDER_HOLD_FS)
    subject.matched(answer(0), 5)
    released = REORDER_HOLD_FS + ROUND
    assert subject.advance(released).deliveries == []  # the second reply is due now and still open
    deliveries = subject.matched(answer(1), released)
    assert [item.frame for item in deliveries] == [answer(1), answer(0)]


def test_faults_on_replies_happen_at_their_departure():
    subject = lockstep(Fault("drop", "rx", psn=0), Fault("duplicate", "rx", psn=1), Fault("delay", "rx", psn=2))
    for psn in range(3):
        subject.sent(write_frames(b"abcd", BASE, 1, psn)[0], psn)
    assert subject.matched(answer(0), 9) == []
    assert [item.time_fs for item in subject.matched(answer(1), 9)] == [1 + ROUND] * 2
    assert [item.time_fs for item in subject.matched(answer(2), 9)] == [2 + ROUND + 5000 * FS_PER_NS]
    assert subject.discrepancies == []


def test_a_reply_given_up_is_lost_and_discarded_when_it_comes_late():
    subject = lockstep()
    for psn in range(2):
        subject.sent(write_frames(b"abcd", BASE, 1, psn)[0], psn)
    oldest = subject.due(ROUND)
    assert subject.lost(oldest, ROUND) == []
    assert subject.matched(answer(1), ROUND) == [Delivery(1 + ROUND, answer(1))]
    assert subject.matched(answer(0), ROUND) == []
    assert kinds(subject) == ["lost", "late"]
    assert subject.lost(oldest, ROUND) == [] and kinds(subject) == ["lost", "late"]


def test_replies_that_were_passed_over_are_missing():
    subject = lockstep()
    for psn in range(3):
        subject.sent(write_frames(b"abcd", BASE, 1, psn)[0], psn)
    assert subject.matched(answer(2), 9) == [Delivery(2 + ROUND, answer(2))]
    assert kinds(subject) == ["missing", "missing"] and subject.awaited == 0


def test_another_reply_than_predicted_takes_its_place():
    subject = lockstep()
    subject.sent(write_frames(b"abcd", BASE, 1, 0)[0], 7)
    refused = answer(0, 0x62)
    assert subject.matched(refused, 9) == [Delivery(7 + ROUND, refused)]
    assert kinds(subject) == ["mismatch"]
    assert "NAK remote access" in subject.discrepancies[0].detail


def test_a_reply_to_nothing_is_delivered_one_delay_later():
    subject = lockstep()
    assert subject.matched(answer(0), 9) == [Delivery(9 + DELAY, answer(0))]
    request = write_frames(b"abcd", BASE, 1, 0)[0]
    assert subject.matched(request, 9) == [Delivery(9 + DELAY, request)]
    assert subject.matched(answer(0)[:-1] + b"\0", 9)[0].frame == answer(0)[:-1] + b"\0"
    assert kinds(subject) == ["unpredicted", "unpredicted", "malformed", "unpredicted"]


def test_frames_that_are_not_roce_are_counted_only():
    subject = lockstep()
    assert subject.matched(ARP, 0) == []
    assert subject.other_frames == 1 and subject.discrepancies == []
    assert subject.sent(ARP, 0) == [Outgoing(ARP, DELAY)]
    assert subject.awaited == 0


def test_access_errors_are_predicted_when_the_regions_are_known():
    peer = ModelPeer([CONNECTION])
    memory = peer.register(np.zeros(64, np.uint8), BASE)
    subject = lockstep(regions=[memory.region])
    subject.sent(write_frames(noise(65), BASE, memory.region.rkey, 0)[0], 0)
    assert subject.matched(answer(0, 0x62), 1) == [Delivery(ROUND, answer(0, 0x62))]
    assert kinds(subject) == []
    assert [violation.rule for violation in subject.checker.violations] == ["responder"]


def test_nothing_is_expected_on_uc():
    qp = replace(CONNECTION, transport=Transport.UC)
    subject = lockstep(qps=[qp])
    subject.sent(write_frames(b"abcd", BASE, 1, 0, qp=qp)[0], 0)
    assert subject.awaited == 0 and subject.next_fs() is None


def test_a_peer_that_is_not_ready_is_followed():
    subject = lockstep()
    packets = [*write_packets(b"abcd", BASE, 1, 0, immediate=5), *write_packets(b"abcd", BASE, 1, 1)]
    for index, packet in enumerate(packets):
        subject.sent(encode(packet), index)
    assert subject.matched(answer(0, RNR), 9) == [Delivery(ROUND, answer(0, RNR))]
    assert subject.matched(answer(0, NAK_SEQUENCE), 9) == [Delivery(1 + ROUND, answer(0, NAK_SEQUENCE))]
    for index, packet in enumerate(packets):
        subject.sent(encode(packet), 100 + index)
    # It may be refused again, and then goes through.
    assert subject.matched(answer(0, RNR), 109) == [Delivery(100 + ROUND, answer(0, RNR))]
    assert subject.matched(answer(0, NAK_SEQUENCE), 109)[0].time_fs == 101 + ROUND
    for index, packet in enumerate(packets):
        subject.sent(encode(packet), 200 + index)
    assert subject.matched(answer(0), 209) == [Delivery(200 + ROUND, answer(0))]
    assert subject.matched(answer(1), 209) == [Delivery(201 + ROUND, answer(1))]
    assert kinds(subject) == ["not_ready", "not_ready"]
    assert subject.checker.violations == []


def test_a_peer_that_missed_a_request_is_followed():
    subject = lockstep()
    frames = write_frames(noise(4 * 4096), BASE, 1, 0, ack_every=2)
    for index, frame in enumerate(frames):
        subject.sent(frame, index)
    assert subject.matched(answer(0), 9) == [Delivery(ROUND, answer(0))]
    # PSN 1 never got there: 2 draws a NAK where an ACK was predicted, 3 nothing.
    assert subject.matched(answer(1, NAK_SEQUENCE), 9) == [Delivery(2 + ROUND, answer(1, NAK_SEQUENCE))]
    assert subject.awaited == 0 and kinds(subject) == ["unseen"]
    for index, frame in enumerate(frames[1:]):
        subject.sent(frame, 100 + index)
    assert [subject.matched(answer(psn), 109) for psn in (2, 3)] == [
        [Delivery(101 + ROUND, answer(2))],
        [Delivery(102 + ROUND, answer(3))],
    ]
    assert subject.replies == {"ack": 3, "nak": 1}
    assert kinds(subject) == ["unseen"]


def test_what_a_reply_proves_is_forgotten():
    subject = lockstep()
    for psn, frame in enumerate(write_frames(noise(6 * 4096), BASE, 1, 0, ack_every=2)):
        subject.sent(frame, psn)
    (history,) = subject._history.values()
    assert len(history) == 6
    subject.matched(answer(2), 9)
    assert [entry.packet.bth.psn for entry in history] == [3, 4, 5]


def test_queue_pairs_may_answer_in_any_order():
    other = replace(CONNECTION, peer_qpn=0x21, device_qpn=0x22)
    orders = []
    for swap in (False, True):
        subject = lockstep(Fault("drop", "rx", probability=0.5), qps=[CONNECTION, other], seed=3)
        deliveries = []
        for psn in range(20):
            for index, qp in enumerate((CONNECTION, other)):
                subject.sent(write_frames(b"abcd", BASE, 1, psn, qp=qp)[0], 10 * psn + index)
            for qp in (other, CONNECTION) if swap else (CONNECTION, other):
                deliveries += subject.matched(answer(psn, qp=qp), 10 * psn + 5)
        assert subject.discrepancies == [] and 5 < len(deliveries) < 35
        orders.append(deliveries)
    assert orders[0] == orders[1]


def test_the_tap_sees_both_directions_and_what_the_link_does():
    class Recorder:
        def __init__(self):
            self.seen = []

        def record(self, direction, frame, time_fs, faults):
            self.seen.append((direction, decode(frame).bth.psn, time_fs, tuple(faults)))

    tap = Recorder()
    subject = lockstep(Fault("drop", psn=1), Fault("drop", "rx", psn=2), Fault("reorder", "rx", psn=3), tap=tap)
    for psn in (0, 1, 1, 2, 3, 4):
        subject.sent(write_frames(b"abcd", BASE, 1, psn)[0], psn)
    for psn in (0, 1, 2, 3, 4):
        subject.matched(answer(psn), 9)
    assert [entry[1:] for entry in tap.seen if entry[0] is Direction.TX] == [
        (0, 0, ()),
        (1, 1, (Action.DROP,)),
        (1, 1, ()),
        (2, 2, ()),
        (3, 3, ()),
        (4, 4, ()),
    ]
    assert [entry[1:] for entry in tap.seen if entry[0] is Direction.RX] == [
        (0, ROUND, ()),
        (1, 1 + ROUND, ()),
        (2, 2 + ROUND, (Action.DROP,)),
        (4, 4 + ROUND, ()),
        (3, 4 + ROUND, (Action.REORDER,)),
    ]


def test_discrepancies_do_not_fill_the_memory():
    subject = lockstep()
    for _ in range(1200):
        subject.matched(answer(0), 0)
    assert subject.discrepancy_count == 1200 and len(subject.discrepancies) == 1000


class Device:
    """A requester in simulated time: paced by the line, go-back-N on NAK and time-out, patient when told not ready."""

    TIME_OUT = 60_000 * FS_PER_NS
    RNR_WAIT = 640 * FS_PER_NS

    def __init__(self, packets, window: int) -> None:
        self.packets, self.window = packets, window
        self.first = packets[0].bth.psn
        self.acknowledged = self.sent = 0
        self.ready_fs = 0
        self.quiet_since_fs = 0

    @property
    def done(self) -> bool:
        return self.acknowledged == len(self.packets)

    @property
    def may_send(self) -> bool:
        return self.sent < min(len(self.packets), self.acknowledged + self.window)

    def wake_fs(self) -> int:
        return self.ready_fs if self.may_send else self.quiet_since_fs + self.TIME_OUT

    def act(self, now_fs: int) -> bytes | None:
        if not self.may_send and now_fs >= self.quiet_since_fs + self.TIME_OUT:
            self.sent, self.ready_fs, self.quiet_since_fs = self.acknowledged, now_fs, now_fs
        if not self.may_send or now_fs < self.ready_fs:
            return None
        frame = encode(self.packets[self.sent])
        self.sent += 1
        self.ready_fs = now_fs + line_time_fs(len(frame), 100.0)
        self.quiet_since_fs = now_fs
        return frame

    def hear(self, frame: bytes, now_fs: int) -> None:
        try:
            reply = decode(frame)
        except ProtocolError:
            return
        place = psn_difference(reply.bth.psn, self.first)
        if not self.acknowledged - 1 <= place < max(self.sent, self.acknowledged + 1):
            return
        if reply.aeth.syndrome == ACK:
            self.acknowledged = max(self.acknowledged, place + 1)
            self.sent = max(self.sent, self.acknowledged)
        elif place >= self.acknowledged:
            self.acknowledged = self.sent = place
            if reply.aeth.syndrome >> 5 == 1:
                self.ready_fs = now_fs + self.RNR_WAIT
        self.quiet_since_fs = now_fs


class Run:
    """A run without simulator: device, lockstep, and a peer that is ready at a poll with probability ``quick``."""

    def __init__(
        self, faults, quick: float, count: int = 40, qp: QueuePair = CONNECTION, peer: ModelPeer | None = None
    ):
        self.qp = replace(qp, pmtu=256)
        self.peer = peer or ModelPeer([self.qp], direct=False)
        self.memory = self.peer.register(np.zeros(256 * count, np.uint8), BASE)
        self.payload = noise(256 * count - 3)
        rkey = self.memory.region.rkey
        packets = write_packets(self.payload, BASE, rkey, qp.first_psn, qp=self.qp, immediate=3, ack_every=4)
        self.device = Device(packets, window=24)
        self.lockstep = lockstep(*faults, qps=[self.qp], seed=5, regions=[self.memory.region])
        self.quick, self.wall = quick, random.Random(1)
        self.log: list[tuple[int, str, bytes]] = []
        self.arrivals: list[tuple[int, int, bytes]] = []
        self.waits = 0

    def hand(self, outgoing) -> None:
        for item in outgoing:
            self.peer.send(item.frame)

    def schedule(self, deliveries) -> None:
        for delivery in deliveries:
            self.log.append((delivery.time_fs, "scheduled", delivery.frame))
            heapq.heappush(self.arrivals, (delivery.time_fs, len(self.log), delivery.frame))

    def play(self) -> Run:
        now = 0
        for _ in range(20_000):
            if self.device.done:
                break
            times = [self.device.wake_fs(), self.lockstep.next_fs(), self.arrivals[0][0] if self.arrivals else None]
            now = max(now, min(time for time in times if time is not None))
            if self.wall.random() < self.quick and (frame := self.peer.receive(0)) is not None:
                self.schedule(self.lockstep.matched(frame, now))
            while (expectation := self.lockstep.due(now)) is not None:
                frame = self.peer.receive(1)
                self.waits += 1
                taken = self.lockstep.matched(frame, now) if frame else self.lockstep.lost(expectation, now)
                self.schedule(taken)
            advance = self.lockstep.advance(now)
            self.hand(advance.outgoing)
            self.schedule(advance.deliveries)
            while self.arrivals and self.arrivals[0][0] <= now:
                arrived, _, frame = heapq.heappop(self.arrivals)
                assert arrived == now, "a delivery came too late"
                self.log.append((now, "heard", frame))
                self.device.hear(frame, now)
            if (frame := self.device.act(now)) is not None:
                self.log.append((now, "sent", frame))
                self.hand(self.lockstep.sent(frame, now))
        assert self.device.done, "the run did not end"
        return self

    @property
    def timeline(self) -> list[tuple[int, str, bytes]]:
        return [entry for entry in self.log if entry[1] != "scheduled"]


fault_lists = st.lists(
    st.builds(
        Fault,
        action=st.sampled_from(list(Action)),
        direction=st.sampled_from(list(Direction)),
        probability=st.sampled_from([0.02, 0.1]),
        delay_ns=st.sampled_from([300, 5_000]),
    ),
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(fault_lists, st.sampled_from([0, 0xFFFFE0]))
def test_simulated_time_does_not_depend_on_the_peers_speed(faults, first_psn):
    qp = replace(CONNECTION, first_psn=first_psn)
    runs = [Run(faults, quick, qp=qp).play() for quick in (0.0, 0.3, 1.0)]
    assert runs[0].waits > runs[2].waits  # they did differ on the wall
    for run in runs:
        assert run.lockstep.discrepancies == []
        assert run.lockstep.checker.violations == [] and run.peer.violations == []
        assert run.memory.data[: len(run.payload)].tobytes() == run.payload
        assert [completion.immediate for completion in run.peer.take_completions()] == [3]
        shadow, real = (checker.responder.state(qp.peer_qpn) for checker in (run.lockstep.checker, run.peer.checker))
        assert shadow == real
    for other in runs[1:]:
        assert runs[0].timeline == other.timeline
        # At the end the quicker peer has answered requests whose replies were not due yet.
        end = runs[0].timeline[-1][0] - ROUND
        done, too = ([i for i in run.lockstep.link.injections if i.time_fs <= end] for run in (runs[0], other))
        assert done == too


class DeafPeer(ModelPeer):
    """Loses one frame in eight, as a socket that overflows; no prediction can know."""

    def __init__(self, *arguments, seed: int, **options) -> None:
        super().__init__(*arguments, **options)
        self.chance = random.Random(seed)

    def send(self, frame: bytes) -> None:
        if self.chance.random() > 1 / 8:
            super().send(frame)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_survives_a_peer_that_loses_frames(seed):
    peer = DeafPeer([replace(CONNECTION, pmtu=256)], direct=False, seed=seed)
    run = Run([], 0.4, peer=peer).play()
    assert run.memory.data[: len(run.payload)].tobytes() == run.payload
    assert set(kinds(run.lockstep)) & {"unseen", "lost"}
    assert not set(kinds(run.lockstep)) & {"malformed", "unpredicted"}


def test_a_run_survives_a_peer_that_is_not_ready():
    peer = ModelPeer([replace(CONNECTION, pmtu=256)], receives=0, direct=False)
    run = Run([], 0.4, peer=peer)
    refusals = iter(range(3))

    class Reposting:
        def record(self, direction, frame, time_fs, faults):
            if direction is Direction.RX and decode(frame).aeth.syndrome >> 5 == 1 and next(refusals) == 2:
                peer.post_receives(CONNECTION.peer_qpn)

    run.lockstep._tap = Reposting()
    run.play()
    assert kinds(run.lockstep) == ["not_ready"] * 3
    assert [completion.immediate for completion in peer.take_completions()] == [3]


def test_requests_that_do_not_ask_are_not_awaited():
    subject = lockstep()
    packet = write_packets(b"abcd", BASE, 1, 0)[0]
    subject.sent(encode(changed(packet, ack_request=False)), 0)
    assert subject.awaited == 0
    assert [violation.rule for violation in subject.checker.violations] == ["bth.ack_request"]
