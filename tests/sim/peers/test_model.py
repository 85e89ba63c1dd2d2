from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.link.checker import ProtocolChecker
from sim.link.responder import Completion, QueuePair, Responder
from sim.link.roce import (
    PSN_MASK,
    Aeth,
    Bth,
    Deth,
    ImmDt,
    Ipv4,
    Opcode,
    Reth,
    Transport,
    decode,
    encode,
    psn_difference,
    seal,
)
from sim.peers.interface import PeerLost, Wire
from sim.peers.model import ModelPeer
from tests.sim.link.frames import CONNECTION, DEVICE, PEER, changed, noise, request, write_frames, write_packets

BASE = 0x7F00_0000_0000
ACK, NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS = 0x1F, 0x60, 0x61, 0x62


class TB:
    """A model peer with one region of ``size`` octets, and the answers that it gave."""

    def __init__(self, size: int = 1 << 16, qp: QueuePair = CONNECTION, **options) -> None:
        self.qp = qp
        self.peer = ModelPeer([qp], **options)
        self.memory = self.peer.register(np.zeros(size, np.uint8), BASE)
        self.rkey = self.memory.region.rkey

    def send(self, *frames: bytes) -> list[tuple[int, int, int]]:
        """Send frames; return (psn, syndrome, msn) of each reply."""
        for frame in frames:
            self.peer.send(frame)
        replies = []
        while (frame := self.peer.receive(0)) is not None:
            packet = decode(frame)
            assert packet.bth.opcode is Opcode.RC_ACKNOWLEDGE
            replies.append((packet.bth.psn, packet.aeth.syndrome, packet.aeth.msn))
        return replies

    def write(self, data: bytes, psn: int, offset: int = 0, **options) -> list[bytes]:
        return write_frames(data, BASE + offset, self.rkey, psn, qp=self.qp, **options)

    def packets(self, data: bytes, psn: int, offset: int = 0, **options):
        return write_packets(data, BASE + offset, self.rkey, psn, qp=self.qp, **options)

    @property
    def rules(self) -> list[str]:
        return [violation.rule for violation in self.peer.violations]


def test_a_write_lands_and_only_ack_requests_are_answered():
    tb, data = TB(), noise(3 * 4096 + 5)
    frames = tb.write(data, 0, offset=3)
    assert tb.send(*frames) == [(3, ACK, 1)]
    assert tb.memory.data[3 : 3 + len(data)].tobytes() == data
    assert not tb.memory.data[:3].any() and not tb.memory.data[3 + len(data) :].any()
    assert tb.rules == [] and tb.peer.take_completions() == []


def test_replies_are_formed_as_rxe_forms_them():
    tb = TB()
    tb.peer.send(tb.write(b"12345678", 0)[0])
    frame = tb.peer.receive(0)
    assert len(frame) == 62
    packet = decode(frame)
    assert (packet.ethernet.destination, packet.ethernet.source) == (DEVICE.mac, PEER.mac)
    assert packet.ipv4 == Ipv4(PEER.ip, DEVICE.ip, tos=0, identification=0, flags=2, ttl=64)
    assert packet.udp.source_port == 0xC132 and packet.udp.checksum == 0
    assert packet.bth == Bth(Opcode.RC_ACKNOWLEDGE, CONNECTION.device_qpn, 0)
    assert packet.aeth == Aeth(ACK, 1)
    assert frame[43] == 0  # neither SE nor MigReq


@pytest.mark.parametrize(("one", "other"), [(17, 18), (0x123456, 0xABCDEF), (0xFFFFFF, 0xFFFFFF), (0x100000, 1)])
def test_the_source_port_folds_the_product_of_the_queue_pairs(one, other):
    bits = f"{one * other:060b}"
    label = int(bits[:20], 2) ^ int(bits[20:40], 2) ^ int(bits[40:], 2)
    qp = replace(CONNECTION, peer_qpn=one, device_qpn=other)
    assert qp.reply_source_port == 0xC000 + (label % 2**14 ^ label // 2**14)


def test_an_immediate_completes_with_the_length_of_the_message():
    tb = TB()
    data = noise(2 * 4096)
    tb.send(*tb.write(data, 0, immediate=0x00100007), *tb.write(b"", 2, immediate=9))
    assert tb.peer.take_completions() == [Completion(0x11, 0x00100007, 8192), Completion(0x11, 9, 0)]
    assert tb.peer.take_completions() == []
    assert tb.rules == []


def test_message_numbers_count_messages_without_acknowledgement_too():
    tb = TB()
    silent = encode(changed(tb.packets(b"abcd", 0)[0], ack_request=False))
    assert tb.send(silent) == []
    assert tb.send(*tb.write(b"abcd", 1)) == [(1, ACK, 2)]
    assert tb.rules == ["bth.ack_request"]


def test_a_gap_is_reported_once_until_it_closes():
    tb = TB(direct=False)
    frames = tb.write(noise(6 * 4096), 0, ack_every=1)
    assert tb.send(frames[0]) == [(0, ACK, 0)]
    assert tb.send(frames[2], frames[3], frames[4]) == [(1, NAK_SEQUENCE, 0)]
    assert tb.send(frames[0]) == [(0, ACK, 0)]
    assert tb.send(frames[3]) == []  # a duplicate in between does not close the gap
    assert tb.send(frames[1]) == [(1, ACK, 0)]
    assert tb.send(frames[3]) == [(2, NAK_SEQUENCE, 0)]
    assert tb.send(*frames[2:]) == [(2, ACK, 0), (3, ACK, 0), (4, ACK, 0), (5, ACK, 1)]


def test_duplicates_are_acknowledged_with_the_latest_psn_and_not_executed():
    tb = TB(direct=False)
    old, new = tb.write(b"old.", 0), tb.write(b"new.", 1)
    tb.send(*old, *new)
    again = encode(changed(decode(old[0]), ack_request=False))
    assert tb.send(again, *new) == [(1, ACK, 2), (1, ACK, 2)]
    assert tb.memory.data[:4].tobytes() == b"new."


@pytest.mark.parametrize(("ahead", "syndrome"), [(0x7FFFFF, NAK_SEQUENCE), (0x800000, ACK)])
def test_the_psn_circle_is_halved(ahead, syndrome):
    tb = TB(direct=False)
    assert tb.send(*tb.write(b"abcd", ahead))[0][1] == syndrome


def test_psns_wrap():
    qp = replace(CONNECTION, first_psn=0xFFFFFE)
    tb, data = TB(qp=qp), noise(5 * 4096)
    replies = tb.send(*tb.write(data, 0xFFFFFE, ack_every=1))
    assert [psn for psn, _, _ in replies] == [0xFFFFFE, 0xFFFFFF, 0, 1, 2]
    assert tb.memory.data[: len(data)].tobytes() == data and tb.rules == []


def test_receive_credits_run_out_and_come_back():
    tb = TB(receives=1)
    tb.send(*tb.write(b"abcd", 0, immediate=1))
    frames = tb.write(noise(2 * 4096), 1, immediate=2)
    assert tb.send(*frames) == [(2, 0x20 | 12, 1)]
    assert not tb.memory.data[4096:8192].any()  # the refused packet is not written
    assert tb.send(*tb.write(b"efgh", 3)) == [(2, NAK_SEQUENCE, 1)]
    tb.peer.post_receives(0x11)
    assert tb.send(frames[1], *tb.write(b"efgh", 3)) == [(2, ACK, 2), (3, ACK, 3)]
    assert [completion.immediate for completion in tb.peer.take_completions()] == [1, 2]
    assert tb.rules == []


def test_exactly_the_region_is_open():
    tb = TB(size=8192)
    assert tb.send(*tb.write(noise(8192), 0)) == [(1, ACK, 1)]
    assert tb.send(*tb.write(b"", 2, offset=1 << 40)) == [(2, ACK, 2)]  # nothing to write, nothing to check


@pytest.mark.parametrize("case", ["end", "start", "key", "whole range", "read only"])
def test_access_outside_is_refused_at_the_first_packet(case):
    tb = TB(size=8192)
    locked = tb.peer.register(np.zeros(8192, np.uint8), BASE + (1 << 20), remote_write=False)
    frames = {
        "end": tb.write(b"abcde", 0, offset=8188),
        "start": tb.write(b"abcd", 0, offset=-1),
        "key": write_frames(b"abcd", BASE, tb.rkey ^ 1, 0),
        "whole range": tb.write(noise(3 * 4096), 0)[:1],
        "read only": write_frames(b"abcd", BASE + (1 << 20), locked.region.rkey, 0),
    }[case]
    assert tb.send(*frames) == [(0, NAK_ACCESS, 0)]
    assert tb.send(*tb.write(b"abcd", 1)) == []  # the queue pair is dead
    assert not tb.memory.data.any() and not locked.data.any()
    assert tb.rules == ["responder"] or case == "whole range"


def test_a_queue_pair_comes_back_by_reset():
    tb = TB()
    tb.send(*write_frames(b"abcd", BASE, 0xBAD, 0))
    tb.peer.checker.restart(0x11, 100)
    assert tb.send(*tb.write(b"abcd", 100)) == [(100, ACK, 1)]


def tampered(packet, offset: int, value: int) -> bytes:
    frame = bytearray(encode(packet))
    frame[offset] = value
    return seal(bytes(frame))


ONLY = Opcode.RC_WRITE_ONLY
INVALID = [(0, NAK_INVALID, 0)]
GOOD = [(0, ACK, 1)]


def _packet(**bth):
    packet = write_packets(b"12345", BASE, 0x15B, 0)[0]
    return changed(packet, **bth)


def _with(**parts):
    return encode(replace(_packet(), **parts))


@pytest.mark.parametrize(
    ("frame", "rule", "replies"),
    [
        (_with(ipv4=Ipv4(DEVICE.ip, PEER.ip, ttl=0)), "ipv4.ttl", GOOD),
        (_with(ipv4=Ipv4(DEVICE.ip, PEER.ip, flags=0)), "ipv4.flags", GOOD),
        (_with(ipv4=Ipv4(DEVICE.ip + 4, PEER.ip)), "ipv4.addresses", []),
        (_with(pad=b"\0\0\1"), "pad", GOOD),
        (_with(trailing=b"\0"), "frame.length", GOOD),
        (_with(reth=Reth(BASE, 0x15B, 6)), "reth.length", INVALID),
        (_with(pad=b""), "bth.pad_count", INVALID),
        (encode(_packet(reserved6=1)), "bth.reserved", GOOD),
        (encode(_packet(reserved7=1)), "bth.reserved", GOOD),
        (encode(_packet(becn=True)), "bth.congestion", GOOD),
        (encode(_packet(pkey=0x8000)), "bth.pkey", []),
        (encode(_packet(destination_qp=0x99)), "bth.destination_qp", []),
        (encode(_packet(ack_request=False)), "bth.ack_request", []),
        (encode(_packet(psn=1)), "bth.psn", [(0, NAK_SEQUENCE, 0)]),
        (encode(_packet(psn=PSN_MASK)), "bth.psn", [(PSN_MASK, ACK, 0)]),
        (encode(_packet(opcode=Opcode.UC_WRITE_ONLY)), "bth.opcode", []),
        (tampered(_packet(), 0, 0x06), "ethernet.destination", []),
        (tampered(_packet(), 6, 0x06), "ethernet.source", GOOD),
        (tampered(_packet(), 24, 0xFF), "ipv4.checksum", []),
        (tampered(_packet(), 39, 0x31), "udp.length", []),
        (encode(_packet())[:-1] + b"\0", "icrc", []),
        (write_frames(noise(5000), BASE, 0x15B, 0)[1], "bth.psn", [(0, NAK_SEQUENCE, 0)]),
        (encode(changed(write_packets(noise(5000), BASE, 0x15B, 0)[1], psn=0)), "bth.opcode", INVALID),
        (
            encode(replace(request(Opcode.RC_WRITE_FIRST, 0, noise(4096)), reth=Reth(BASE, 0x15B, 4096))),
            "reth.length",
            INVALID,
        ),
        (
            encode(replace(request(Opcode.RC_WRITE_FIRST, 0, noise(4092)), reth=Reth(BASE, 0x15B, 8192))),
            "payload.length",
            INVALID,
        ),
        (
            encode(replace(request(ONLY, 0, noise(4100), ack_request=True), reth=Reth(BASE, 0x15B, 4100))),
            "payload.length",
            INVALID,
        ),
        (encode(request(Opcode.RC_SEND_ONLY, 0, b"1234", ack_request=True)), "responder", INVALID),
    ],
)
def test_each_rule_can_fail(frame, rule, replies):
    tb = TB()
    assert tb.rkey == 0x15B
    assert tb.send(frame) == replies
    assert rule in tb.rules
    assert all(str(violation) for violation in tb.peer.violations)


def test_rules_about_the_order_of_a_message():
    def rules(*packets) -> list[str]:
        checker = ProtocolChecker(Responder([CONNECTION]))
        for packet in packets:
            checker.departed(encode(packet), 0)
        return [violation.rule for violation in checker.violations]

    first, middle, last = write_packets(noise(3 * 4096), BASE, 1, 0)
    assert rules(first, middle, last) == []
    assert rules(first, middle, last, first, middle, last) == []  # going back is allowed, as often as it takes
    assert rules(first, middle, middle, last) == []
    only = write_packets(b"abcd", BASE, 1, 1)[0]
    assert rules(first, only) == ["bth.opcode"]
    assert rules(first, changed(last, psn=1)) == ["reth.length"]
    assert rules(first, middle, changed(middle, psn=2)) == ["reth.length"]
    assert rules(first, last) == ["bth.psn"]
    assert rules(first, changed(middle, opcode=Opcode.RC_SEND_MIDDLE)) == ["bth.opcode"]
    moved = replace(only, udp=replace(only.udp, source_port=0xC001))
    assert rules(write_packets(b"abcd", BASE, 1, 0)[0], moved) == ["udp.source_port"]


def test_a_retransmission_must_repeat_what_was_sent():
    checker = ProtocolChecker(Responder([CONNECTION]))
    packets = write_packets(noise(3 * 4096), BASE, 1, 0)
    for packet in packets:
        checker.departed(encode(packet), 0)
    checker.departed(encode(changed(packets[1], ack_request=True)), 0)
    assert checker.violations == [] and checker.retransmitted == 1
    checker.departed(encode(replace(packets[1], payload=noise(4096, seed=2))), 0)
    assert [violation.rule for violation in checker.violations] == ["retransmission"]


def test_violations_do_not_fill_the_memory():
    checker = ProtocolChecker(Responder([CONNECTION]))
    for _ in range(1500):
        checker.departed(b"", 0)
    assert checker.violation_count == 1500 and len(checker.violations) == 1000


def test_arp_is_counted_and_anything_else_is_a_violation():
    checker = ProtocolChecker(Responder([CONNECTION]))
    checker.departed(b"\xff" * 12 + b"\x08\x06" + bytes(46), 0)
    assert checker.other_frames == 1 and checker.violations == []
    checker.departed(b"\xff" * 12 + b"\x86\xdd" + bytes(46), 0)
    assert [violation.rule for violation in checker.violations] == ["ethernet.ethertype"]


def test_foreign_transport_is_refused_at_construction():
    with pytest.raises(ValueError, match="only RC, UC and UD"):
        replace(CONNECTION, transport=Transport.CNP)
    with pytest.raises(ValueError, match="pmtu 1500"):
        replace(CONNECTION, pmtu=1500)


def test_uc_never_answers_and_resynchronises_at_a_start():
    qp = replace(CONNECTION, transport=Transport.UC, pmtu=256)
    tb = TB(qp=qp, direct=False)
    lost = tb.write(noise(3 * 256), 0, immediate=1)
    assert tb.send(lost[0], lost[2]) == []
    data = noise(2 * 256, seed=2)
    assert tb.send(*tb.write(data, 3, offset=4096, immediate=2)) == []
    assert tb.memory.data[4096:4608].tobytes() == data
    assert [completion.immediate for completion in tb.peer.take_completions()] == [2]
    assert tb.rules == []


DATAGRAMS = replace(CONNECTION, transport=Transport.UD, queue_key=0x1234)


def datagram(psn: int, payload: bytes, *, key: int = 0x1234, source: int = CONNECTION.device_qpn, **bth):
    packet = request(Opcode.UD_SEND_ONLY_IMM, psn, payload, qp=DATAGRAMS, **bth)
    return encode(replace(packet, deth=Deth(key, source), immediate=ImmDt(0x1000 + psn)))


def test_a_datagram_takes_the_oldest_receive_in_any_order():
    tb = TB(qp=DATAGRAMS, direct=False)
    memory = np.zeros((3, 4096), np.uint8)
    for token, place in enumerate(memory):
        tb.peer.post(0x11, token, place)
    assert (
        tb.send(datagram(7, b"seven..."), datagram(9, b"key!", key=1), datagram(5, b"five"), datagram(5, b"five")) == []
    )
    assert tb.peer.take_completions() == [
        Completion(0x11, 0x1007, 8, token=0), Completion(0x11, 0x1005, 4, token=1), Completion(0x11, 0x1005, 4, token=2)
    ]  # fmt: skip
    assert [place[:8].tobytes() for place in memory] == [b"seven...", b"five\0\0\0\0", b"five\0\0\0\0"]
    assert tb.send(datagram(8, b"gone")) == [] and tb.peer.take_completions() == []


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        (datagram(1, b"abcd"), None),
        (datagram(2, b"abcd"), "bth.psn"),
        (datagram(0, b"abcd"), "bth.psn"),
        (datagram(1, b"abcd", ack_request=True), "bth.ack_request"),
        (datagram(1, b"abcd", key=0x1235), "deth"),
        (datagram(1, b"abcd", source=77), "deth"),
        (datagram(1, bytes(4100)), "payload.length"),
    ],
)
def test_rules_of_datagrams(second, rule):
    checker = ProtocolChecker(Responder([DATAGRAMS]))
    checker.departed(datagram(0, b"abcd"), 0)
    checker.departed(second, 0)
    assert [violation.rule for violation in checker.violations] == [rule] * (rule is not None)


def test_the_wire_ends_when_closed():
    tb = TB()
    wire: Wire = tb.peer
    wire.send(tb.write(b"abcd", 0)[0])
    tb.peer.close()
    with pytest.raises(PeerLost):
        wire.receive(0)
    with pytest.raises(PeerLost):
        wire.send(b"")


def test_only_plain_octets_can_be_registered():
    peer = ModelPeer([CONNECTION])
    for bad in (np.zeros(4, np.int16), np.zeros((2, 2), np.uint8), np.zeros(8, np.uint8)[::2]):
        with pytest.raises(ValueError, match="contiguous"):
            peer.register(bad)
    own = peer.register(np.zeros(64, np.uint8))
    assert own.region.address == own.data.ctypes.data


class NaiveResponder:
    """The go-back-N rules once more, from their text: a list of what was accepted, searched each time."""

    def __init__(self, first_psn: int) -> None:
        self.accepted: list[int] = []
        self.first = first_psn
        self.memory = bytearray(1 << 12)
        self.silent = False
        self.place = 0

    def take(self, packet) -> tuple[int, int] | None:
        expected = (self.first + len(self.accepted)) % 2**24
        if packet.bth.psn == expected:
            self.silent = False
            if packet.reth is not None:
                self.place = packet.reth.address - BASE
            self.memory[self.place : self.place + len(packet.payload)] = packet.payload
            self.place += len(packet.payload)
            self.accepted.append(packet.bth.psn)
            return (packet.bth.psn, ACK) if packet.bth.ack_request else None
        if packet.bth.psn in self.accepted or (expected - packet.bth.psn) % 2**24 <= 2**23:
            return (expected - 1) % 2**24, ACK
        if self.silent:
            return None
        self.silent = True
        return expected, NAK_SEQUENCE


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0, 5, 0xFFFFFA]),
    st.lists(st.integers(1, 700), min_size=1, max_size=4),
    st.integers(1, 5),
    st.data(),
)
def test_any_sequence_is_answered_as_by_the_naive_responder(first_psn, sizes, ack_every, data):
    qp = replace(CONNECTION, pmtu=256, first_psn=first_psn)
    tb = TB(size=1 << 12, qp=qp, direct=False)
    packets, psn = [], first_psn
    for index, size in enumerate(sizes):
        packets += tb.packets(noise(size, seed=index), psn, offset=512 * index, ack_every=ack_every)
        psn = first_psn + len(packets)
    naive = NaiveResponder(first_psn)
    for index in data.draw(st.lists(st.integers(0, len(packets) - 1), max_size=40)):
        packet = packets[index]
        expected = naive.take(packet)
        assert [reply[:2] for reply in tb.send(encode(packet))] == ([expected] if expected else [])
    assert tb.memory.data.tobytes() == bytes(naive.memory)
    assert tb.rules == []


class GoBackN:
    """A requester: window, cumulative acknowledgement, restart at a NAK or when nothing else moves."""

    def __init__(self, packets, window: int) -> None:
        self.packets, self.window = packets, window
        self.first = packets[0].bth.psn
        self.acknowledged = self.sent = 0

    def next(self):
        if self.sent == min(len(self.packets), self.acknowledged + self.window):
            return None
        self.sent += 1
        return self.packets[self.sent - 1]

    def hear(self, psn: int, syndrome: int) -> None:
        place = psn_difference(psn, self.first)
        if syndrome == ACK and place >= self.acknowledged:
            self.acknowledged = place + 1
            self.sent = max(self.sent, self.acknowledged)
        if syndrome == NAK_SEQUENCE and place >= self.acknowledged:
            self.acknowledged = self.sent = place

    @property
    def done(self) -> bool:
        return self.acknowledged == len(self.packets)

    def time_out(self) -> None:
        self.sent = self.acknowledged


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.sampled_from([0, 0xFFFFF0]), st.integers(0, 2**32))
def test_go_back_n_always_converges(count, window, first_psn, seed):
    chance = random.Random(seed)
    qp = replace(CONNECTION, pmtu=256, first_psn=first_psn)
    tb = TB(size=1 << 14, qp=qp, direct=False)
    payload = noise(count * 256 - 13)
    packets = tb.packets(payload, first_psn, immediate=77, ack_every=3)
    sender = GoBackN(packets, window)
    checker = ProtocolChecker(Responder([qp]))
    held: list[bytes] = []
    for _ in range(10_000):
        if sender.done:
            break
        packet = sender.next()
        if packet is None:
            sender.time_out()
            continue
        frame = encode(packet)
        checker.departed(frame, 0)
        fate = chance.choice(["pass"] * 5 + ["drop", "duplicate", "hold"])
        frames = {"pass": [frame], "drop": [], "duplicate": [frame, frame], "hold": []}[fate]
        for delivered in frames + (held if frames else []):
            for psn, syndrome, _ in tb.send(delivered):
                if chance.random() > 0.1:
                    sender.hear(psn, syndrome)
        if frames:
            held.clear()
        if fate == "hold":
            held.append(frame)
    assert sender.done
    assert tb.memory.data[: len(payload)].tobytes() == payload
    assert tb.peer.take_completions() == [Completion(qp.peer_qpn, 77, len(payload))]
    assert tb.rules == [] and checker.violations == []
