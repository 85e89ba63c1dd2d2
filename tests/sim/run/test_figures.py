"""Goodput and latency as they are defined, on traffic small enough to compute by hand."""

import pytest

from sim.run.figures import (
    DataPacket,
    Done,
    Post,
    Timing,
    busy_intervals,
    first_transmissions,
    shared_goodput_gbps,
    stream_figures,
    unfairness_percent,
)

CLOCK = 1e9  # a cycle is a nanosecond
TIMING = Timing(core_clock_hz=CLOCK, rate_gbps=100.0, link_round_trip_ns=1500.0)
OCTETS = 1226  # with 24 octets of overhead exactly 100 ns at 100 Gb/s


def packet(first, psn, *, ends=False, payload=1000, queue_pair=2):
    return DataPacket(first, first + 99, OCTETS, payload, queue_pair, psn, ends)


def figures(packets, posts, dones, frame_ends=(), run_cycles=10_000):
    return stream_figures(TIMING, packets, posts, dones, frame_ends, run_cycles)


def test_goodput_counts_from_first_to_last_byte():
    result = figures([packet(1000, 0), packet(1100, 1, ends=True)], [Post(900, 1)], [Done(3000, True)])
    assert result.goodput_gbps == pytest.approx(2000 * 8 / 200)
    assert result.average_gbps == pytest.approx(2000 * 8 / 10_000)


def test_a_port_that_runs_ahead_of_the_wire_does_not_make_it_faster():
    packets = [DataPacket(1000 + 20 * psn, 1010 + 20 * psn, OCTETS, 1000, 2, psn, psn == 3) for psn in range(4)]
    assert figures(packets, [Post(900, 1)], [Done(3000, True)]).goodput_gbps == pytest.approx(80.0)


def test_idle_time_between_busy_intervals_does_not_count():
    packets = [packet(1000, 0, ends=True), packet(50_000, 1, ends=True)]
    posts, dones = [Post(900, 1), Post(49_900, 1)], [Done(3000, True), Done(52_000, True)]
    assert figures(packets, posts, dones).goodput_gbps == pytest.approx(80.0)


def test_a_gap_while_work_is_outstanding_counts():
    packets = [packet(1000, 0), packet(1900, 1, ends=True)]
    assert figures(packets, [Post(900, 1)], [Done(3000, True)]).goodput_gbps == pytest.approx(16.0)


def test_a_retransmission_adds_time_but_no_payload():
    packets = [packet(1000, 0), packet(1100, 1, ends=True), packet(1200, 0), packet(1300, 1, ends=True)]
    result = figures(packets, [Post(900, 1)], [Done(4000, True)])
    assert result.retransmitted_packets == 2
    assert result.goodput_gbps == pytest.approx(2000 * 8 / 400)


def test_first_transmissions_survive_the_wrap_of_the_psn_and_count_each_queue_pair():
    packets = [packet(0, 0xFFFFFF), packet(100, 0), packet(200, 0xFFFFFF), packet(300, 5, queue_pair=3)]
    assert [entry.first_cycle for entry in first_transmissions(packets)] == [0, 100, 300]


def test_latency_leaves_out_wire_time_and_link_delays():
    # The frame is whole at 1000; its two packets take 200 ns on the wire, the link 1500; completion comes at 3000.
    result = figures([packet(1000, 0), packet(1100, 1, ends=True)], [Post(990, 1)], [Done(3000, True)], [1000])
    assert result.latencies_us == pytest.approx([(2000 - 200 - 1500) / 1000])


def test_what_has_left_before_the_frame_is_whole_is_not_subtracted():
    result = figures([packet(1000, 0), packet(1100, 1, ends=True)], [Post(990, 1)], [Done(3000, True)], [1150])
    assert result.latencies_us == pytest.approx([(3000 - 1150 - 50 - 1500) / 1000])


def test_doorbells_that_find_the_engine_idle_are_timed():
    packets = [packet(1000, 0), packet(1100, 1, ends=True)]
    result = figures(packets, [Post(990, 1), Post(1050, 1)], [Done(3000, False), Done(3001, True)])
    assert result.doorbell_to_wire_ns == pytest.approx(10.0)


def test_overlapping_work_is_one_busy_interval():
    assert busy_intervals([Post(10, 2), Post(20, 1)], [Done(30, False), Done(40, False), Done(50, True)]) == [(10, 50)]


def test_work_that_never_completes_keeps_the_interval_open_to_the_last_event():
    assert busy_intervals([Post(10, 2)], [Done(30, False)]) == [(10, 30)]


def test_no_traffic_gives_no_figures():
    result = figures([], [], [])
    assert (result.goodput_gbps, result.latencies_us, result.doorbell_to_wire_ns) == (0.0, (), None)


def shared(turns):
    """Goodput of queue pairs 2 and 3, whose packets name 17 and 18; ``turns`` says which of them sends each packet."""
    sent = {17: 0, 18: 0}
    packets = []
    for index, queue_pair in enumerate(turns):
        packets.append(packet(1000 + 100 * index, sent[queue_pair], queue_pair=queue_pair))
        sent[queue_pair] += 1
    posts = [Post(900, 1, 2), Post(910, 1, 3)]
    ends = [Done(9000, True, 2), Done(9000, True, 3)]
    return shared_goodput_gbps(TIMING, packets, posts, ends, {2: 17, 3: 18})


def test_queue_pairs_that_take_turns_share_evenly():
    # Both have packets to send from 1100 to 1699: three packets each but for the first and the last of the six.
    result = shared([17, 18, 17, 18, 17, 18, 17])
    assert set(result) == {2, 3}
    assert sum(result.values()) == pytest.approx(5000 * 8 / 499)
    assert unfairness_percent(shared([17, 18, 17, 18, 17, 18, 17, 18]).values()) == pytest.approx(0.0)


def test_a_queue_pair_that_is_served_twice_as_often_shows():
    assert unfairness_percent(shared([18] + [17, 17, 18] * 10 + [17]).values()) == pytest.approx(66.7, abs=8.0)


def test_time_in_which_only_one_had_packets_to_send_does_not_count():
    even = shared([17, 18] * 4)
    assert shared([17] * 20 + [17, 18] * 4 + [18] * 20) == pytest.approx(even, rel=0.01)


def test_without_common_time_there_is_no_share():
    assert shared([17, 17, 18, 18]) == {}
    assert unfairness_percent([]) is None
    assert unfairness_percent([5.0]) is None
