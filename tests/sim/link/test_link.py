from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from sim.link.responder import Reply, reply_packet
from sim.link.roce import Opcode, ProtocolError, decode, encode
from tests.sim.link.frames import CONNECTION, noise, request, write_frames

DELAY = 500 * FS_PER_NS
STEP = 100 * FS_PER_NS
ARP = b"\xff" * 12 + b"\x08\x06" + bytes(46)


def frame(psn: int, seed: int = 0) -> bytes:
    return encode(request(Opcode.RC_SEND_ONLY, psn, noise(64, seed), ack_request=True))


def acknowledge(psn: int) -> bytes:
    return encode(reply_packet(CONNECTION, Reply(CONNECTION.device_qpn, psn, 0x1F, 1)))


def link(*faults: Fault, seed: int = 1, **options) -> Link:
    return Link(LinkSettings(faults=faults, **options), seed)


def arrivals(subject: Link, frames, direction=Direction.TX) -> list[tuple[int, bytes]]:
    """Carry frames that leave every 100 ns; return (arrival in units of 100 ns less the delay, frame)."""
    out = []
    for index, item in enumerate(frames):
        out += subject.carry(item, index * STEP, direction)
    return [((delivery.time_fs - DELAY) // STEP, delivery.frame) for delivery in out]


def test_without_faults_only_time_passes():
    subject = link(tx_delay_fs=3, rx_delay_fs=5)
    assert subject.carry(frame(0), 10, Direction.TX) == [Delivery(13, frame(0))]
    assert subject.carry(ARP, 10, Direction.RX) == [Delivery(15, ARP)]
    assert subject.injections == []


def test_a_drop_takes_the_first_occurrence_only():
    subject = link(Fault(Action.DROP, psn=1))
    frames = [frame(0), frame(1), frame(2), frame(1), frame(2)]
    assert [item for _, item in arrivals(subject, frames)] == [frames[0], *frames[2:]]
    (injection,) = subject.injections
    assert (injection.action, injection.direction, injection.psn, injection.time_fs) == ("drop", "tx", 1, STEP)
    assert (injection.opcode, injection.destination_qp, injection.fault) == (Opcode.RC_SEND_ONLY, 0x11, 0)


def test_a_later_occurrence_or_all_can_be_chosen():
    frames = [frame(1), frame(1), frame(1)]
    assert len(arrivals(link(Fault("drop", psn=1, occurrence=2)), frames)) == 2
    assert arrivals(link(Fault("drop", psn=1, occurrence=0)), frames) == []


def test_directions_have_faults_of_their_own():
    subject = link(Fault("drop", "rx", psn=1))
    assert len(arrivals(subject, [frame(1)])) == 1
    assert arrivals(subject, [acknowledge(1)], Direction.RX) == []


def test_a_duplicate_arrives_right_behind():
    subject = link(Fault("duplicate", psn=0))
    assert arrivals(subject, [frame(0), frame(1)]) == [(0, frame(0)), (0, frame(0)), (1, frame(1))]


def test_a_reordered_frame_lets_the_next_pass():
    subject = link(Fault("reorder", psn=0))
    frames = [frame(0), frame(1), frame(2)]
    assert arrivals(subject, frames) == [(1, frames[1]), (1, frames[0]), (2, frames[2])]
    assert subject.flush_due_fs(Direction.TX) is None


def test_a_reordered_frame_that_nothing_overtakes_goes_on_alone():
    expected = [Delivery(REORDER_HOLD_FS + DELAY, frame(0), (Action.REORDER,))]
    asked = link(Fault("reorder", psn=0))
    assert asked.carry(frame(0), 0, Direction.TX) == []
    assert asked.flush_due_fs(Direction.TX) == REORDER_HOLD_FS
    assert asked.flush(REORDER_HOLD_FS - 1, Direction.TX) == []
    assert asked.flush(REORDER_HOLD_FS, Direction.TX) == expected
    unasked = link(Fault("reorder", psn=0))
    unasked.carry(frame(0), 0, Direction.TX)
    late = REORDER_HOLD_FS + 1
    assert unasked.carry(frame(1), late, Direction.TX) == [*expected, Delivery(late + DELAY, frame(1))]
    barely = link(Fault("reorder", psn=0))
    barely.carry(frame(0), 0, Direction.TX)
    assert [item.frame for item in barely.carry(frame(1), REORDER_HOLD_FS, Direction.TX)] == [frame(1), frame(0)]


def test_a_dropped_frame_overtakes_nothing():
    subject = link(Fault("reorder", psn=0), Fault("drop", psn=1))
    frames = [frame(0), frame(1), frame(2)]
    assert arrivals(subject, frames) == [(2, frames[2]), (2, frames[0])]


def test_nothing_comes_after_a_drop():
    subject = link(Fault("drop", psn=0), Fault("duplicate", psn=0), Fault("stall", psn=0))
    assert arrivals(subject, [frame(0), frame(1)]) == [(1, frame(1))]
    assert [injection.action for injection in subject.injections] == ["drop"]


@pytest.mark.parametrize("original", [frame(0), *write_frames(b"12345", 0, 1, 0), acknowledge(0)])
def test_a_truncated_frame_is_the_beginning_of_one_and_no_packet(original):
    lengths = set()
    for seed in range(40):
        (delivery,) = link(Fault("truncate", psn=0), seed=seed).carry(original, 0, Direction.TX)
        assert original.startswith(delivery.frame) and len(delivery.frame) < len(original)
        with pytest.raises(ProtocolError):
            decode(delivery.frame)
        lengths.add(len(delivery.frame))
    assert len(lengths) > 2
    both = link(Fault("truncate", psn=0), Fault("corrupt", psn=0))  # a bit of what is left
    (delivery,) = both.carry(original, 0, Direction.TX)
    assert delivery.faults == ("truncate", "corrupt")


def test_a_delayed_frame_is_overtaken():
    subject = link(Fault("delay", psn=0, delay_ns=250))
    (first, second, third) = arrivals(subject, [frame(0), frame(1), frame(2)])
    assert first == (2, frame(0))  # 2.5 steps
    assert (second, third) == ((1, frame(1)), (2, frame(2)))


def test_a_stall_keeps_the_order_and_the_line_rate():
    subject = link(Fault("stall", psn=1, delay_ns=1000))
    deliveries = []
    for psn in range(4):
        deliveries += subject.carry(frame(psn), psn * STEP, Direction.TX)
    late = subject.carry(frame(9), 20 * STEP, Direction.TX)
    assert [item.frame for item in deliveries] == [frame(psn) for psn in range(4)]
    times = [item.time_fs - DELAY for item in deliveries]
    spacing = line_time_fs(len(frame(0)), 100.0)
    assert times == [0, 11 * STEP, 11 * STEP + spacing, 11 * STEP + 2 * spacing]
    assert late[0].time_fs == 20 * STEP + DELAY
    (injection,) = subject.injections
    assert injection.detail == "1000 ns"


@pytest.mark.parametrize("original", [frame(0), *write_frames(b"12345", 0, 1, 0), acknowledge(0)])
def test_corruption_flips_one_bit_of_payload_or_icrc(original):
    headers = len(original) - 4 - len(decode(original).payload) - len(decode(original).pad)
    places = set()
    for seed in range(40):
        direction = Direction.RX if decode(original).aeth else Direction.TX
        subject = link(Fault("corrupt", direction, psn=0), seed=seed)
        (delivery,) = subject.carry(original, 0, direction)
        difference = int.from_bytes(original, "big") ^ int.from_bytes(delivery.frame, "big")
        assert difference.bit_count() == 1
        octet = len(original) - 1 - (difference.bit_length() - 1) // 8
        assert octet >= headers
        places.add(octet)
        assert f"of octet {octet}" in subject.injections[0].detail
        with pytest.raises(ProtocolError, match="icrc"):
            decode(delivery.frame)
    assert len(places) > 3


def test_probability_hits_about_as_often_as_asked():
    subject = link(Fault("drop", probability=0.1))
    passed = arrivals(subject, [frame(psn) for psn in range(2000)])
    assert 1740 < len(passed) < 1860
    assert len(passed) + len(subject.injections) == 2000


def test_a_faults_own_seed_replaces_the_links():
    def lost(link_seed: int, fault_seed: int | None) -> list[int]:
        subject = link(Fault("drop", probability=0.3, seed=fault_seed), seed=link_seed)
        arrivals(subject, [frame(psn) for psn in range(60)])
        return [injection.psn for injection in subject.injections]

    assert lost(1, None) == lost(1, None) != lost(2, None)
    assert lost(1, 7) == lost(2, 7) != lost(1, 8)


def test_other_frames_pass_and_draw_nothing():
    plain, mixed = (link(Fault("drop", probability=0.5)) for _ in range(2))
    frames = [frame(psn) for psn in range(30)]
    survivors = [item for _, item in arrivals(plain, frames)]
    with_arp = [item for _, item in arrivals(mixed, [item for one in frames for item in (one, ARP)])]
    assert [item for item in with_arp if item != ARP] == survivors
    assert with_arp.count(ARP) == 30


@pytest.mark.parametrize(
    "bad",
    [
        {"action": "drop"},
        {"action": "drop", "psn": 1, "probability": 0.5},
        {"action": "drop", "probability": 0.0},
        {"action": "drop", "probability": 1.5},
        {"action": "explode", "psn": 1},
        {"action": "drop", "psn": 1, "direction": "up"},
        {"action": "drop", "psn": 1, "occurrence": -1},
        {"action": "delay", "psn": 1, "delay_ns": -1},
    ],
)
def test_impossible_faults_are_refused(bad):
    with pytest.raises(ValueError):
        Fault(**bad)


def test_line_time_counts_preamble_fcs_and_gap():
    assert line_time_fs(4154, 100.0) == (4154 + 24) * 80_000
    assert line_time_fs(20, 100.0) == line_time_fs(60, 100.0) == 84 * 80_000


faults = st.builds(
    Fault,
    action=st.sampled_from(list(Action)),
    direction=st.sampled_from(list(Direction)),
    probability=st.sampled_from([0.1, 0.5, 1.0]),
    delay_ns=st.sampled_from([50, 5_000, 20_000]),
) | st.builds(
    Fault,
    action=st.sampled_from(list(Action)),
    direction=st.sampled_from(list(Direction)),
    psn=st.integers(0, 3),
    occurrence=st.integers(0, 2),
)
traffic = st.lists(st.tuples(st.sampled_from(list(Direction)), st.integers(0, 3), st.integers(0, 15_000)), max_size=25)


def play(subject: Link, sequence, flushes: bool) -> dict[Direction, list[Delivery]]:
    """Carry a sequence of (direction, psn, ns since the last); optionally ask for held frames at every occasion."""
    out: dict[Direction, list[Delivery]] = {direction: [] for direction in Direction}
    now = 0
    for direction, psn, gap in sequence:
        before = now
        now += gap * FS_PER_NS
        for other in Direction:
            if flushes and now > before:
                out[other] += subject.flush(now - 1, other)
        out[direction] += subject.carry(frame(psn) if direction is Direction.TX else acknowledge(psn), now, direction)
    for direction in Direction:
        out[direction] += subject.flush(now + 10 * REORDER_HOLD_FS, direction)
    return out


@settings(max_examples=200, deadline=None)
@given(st.lists(faults, max_size=4), traffic, st.integers(0, 2**63 - 1))
def test_the_same_frames_times_and_seed_give_the_same_deliveries(chosen, sequence, seed):
    one, two, asked = (link(*chosen, seed=seed) for _ in range(3))
    first = play(one, sequence, flushes=False)
    assert play(two, sequence, flushes=False) == first
    assert one.injections == two.injections
    assert play(asked, sequence, flushes=True) == first  # when it was asked makes no difference


@settings(max_examples=100, deadline=None)
@given(st.lists(faults, max_size=4), traffic)
def test_each_direction_is_alone(chosen, sequence):
    both = play(link(*chosen), sequence, flushes=False)
    for direction in Direction:
        now, alone = 0, []
        for way, psn, gap in sequence:
            now += gap
            if way is direction:
                alone.append((now, way, psn))
        gaps = [
            later - earlier
            for earlier, later in zip(
                [0, *(time for time, _, _ in alone)], (time for time, _, _ in alone), strict=False
            )
        ]
        mine = [(way, psn, gap) for (_, way, psn), gap in zip(alone, gaps, strict=True)]
        assert play(link(*chosen), mine, flushes=False)[direction] == both[direction]


@settings(max_examples=100, deadline=None)
@given(st.lists(faults, max_size=4), traffic)
def test_nothing_is_early_and_the_books_balance(chosen, sequence):
    subject = link(*chosen)
    delivered = play(subject, sequence, flushes=False)
    count = sum(len(items) for items in delivered.values())
    copies = sum(injection.action is Action.DUPLICATE for injection in subject.injections)
    drops = [injection for injection in subject.injections if injection.action is Action.DROP]
    # A frame that is dropped after it was duplicated takes its copies along.
    wasted = sum(
        injection.action is Action.DUPLICATE
        and any(drop.time_fs == injection.time_fs and drop.direction is injection.direction for drop in drops)
        for injection in subject.injections
    )
    assert len(sequence) - len(drops) <= count <= len(sequence) + copies - len(drops)
    assert count >= len(sequence) + copies - len(drops) - wasted
    assert all(item.time_fs >= DELAY for items in delivered.values() for item in items)


def test_settings_name_each_direction():
    both = replace(LinkSettings(), tx_delay_fs=1, rx_delay_fs=2)
    assert (both.delay_fs(Direction.TX), both.delay_fs(Direction.RX)) == (1, 2)
