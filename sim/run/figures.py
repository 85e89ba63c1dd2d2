"""Figures in simulated time: a pure function of packets, doorbells, completions and frame ends.

Two definitions matter for comparison. *Goodput* is payload bits (each byte once, however often it was sent) over the
time that their frames take on the wire, from the first to the last, in the intervals in which work was outstanding.
*Latency* of a frame is from its last byte in the ring to its completion, less the wire time of what had not left by
then, less the link model's delays and turnaround: what the design itself adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

WIRE_OVERHEAD_OCTETS = 24  # preamble and delimiter 8, FCS 4, gap 12


@dataclass(frozen=True, slots=True)
class DataPacket:
    """One data packet as it left the MAC; cycles are of its first and last beat."""

    first_cycle: int
    last_cycle: int
    frame_octets: int
    payload_octets: int
    queue_pair: int
    psn: int
    ends_frame: bool


@dataclass(frozen=True)
class Post:
    """One doorbell: at ``cycle``, ``work_requests`` became outstanding on a queue pair of the engine."""

    cycle: int
    work_requests: int
    queue_pair: int = 0


@dataclass(frozen=True)
class Done:
    """One completion queue entry written; ``ends_frame`` if its work request carried an immediate."""

    cycle: int
    ends_frame: bool
    queue_pair: int = 0


@dataclass(frozen=True)
class Timing:
    """Constants of the run: core clock, line rate, what the link model adds between departure and acknowledgement."""

    core_clock_hz: float
    rate_gbps: float
    link_round_trip_ns: float

    def nanoseconds(self, cycles: float) -> float:
        """Core cycles as time."""
        return cycles * 1e9 / self.core_clock_hz

    def wire_cycles(self, frame_octets: int) -> float:
        """Core cycles that a frame occupies the wire."""
        return (frame_octets + WIRE_OVERHEAD_OCTETS) * 8 / self.rate_gbps * self.core_clock_hz / 1e9


@dataclass(frozen=True)
class StreamFigures:
    """Results; latencies in the order of the frames."""

    goodput_gbps: float
    average_gbps: float
    latencies_us: tuple[float, ...]
    doorbell_to_wire_ns: float | None
    retransmitted_packets: int


def first_transmissions(packets: Sequence[DataPacket]) -> list[DataPacket]:
    """The packets that carry a PSN of their queue pair for the first time, in order of departure."""
    newest: dict[int, int] = {}
    fresh = []
    for packet in packets:
        last = newest.get(packet.queue_pair)
        if last is None or 0 < (packet.psn - last) & 0xFFFFFF < 1 << 23:
            newest[packet.queue_pair] = packet.psn
            fresh.append(packet)
    return fresh


def busy_intervals(posts: Sequence[Post], dones: Sequence[Done]) -> list[tuple[int, int]]:
    """Intervals of core cycles in which work requests were outstanding."""
    changes = sorted([(post.cycle, post.work_requests) for post in posts] + [(done.cycle, -1) for done in dones])
    intervals, outstanding, start = [], 0, 0
    for cycle, change in changes:
        if outstanding == 0:
            start = cycle
        outstanding += change
        if outstanding == 0:
            intervals.append((start, cycle))
    if outstanding > 0:
        intervals.append((start, changes[-1][0]))
    return intervals


def stream_figures(
    timing: Timing,
    packets: Sequence[DataPacket],
    posts: Sequence[Post],
    dones: Sequence[Done],
    frame_ends: Sequence[int],
    run_cycles: int,
) -> StreamFigures:
    """Compute all figures. ``frame_ends`` are the cycles at which frames were whole in the ring, in ring order."""
    fresh = first_transmissions(packets)
    intervals = busy_intervals(posts, dones)
    octets = sum(packet.payload_octets for packet in fresh)
    sending = _sending_cycles(timing, packets, intervals)
    return StreamFigures(
        goodput_gbps=octets * 8 / timing.nanoseconds(sending) if sending else 0.0,
        average_gbps=octets * 8 / timing.nanoseconds(run_cycles) if run_cycles else 0.0,
        latencies_us=tuple(_latencies(timing, fresh, dones, frame_ends)),
        doorbell_to_wire_ns=_doorbell_to_wire(timing, packets, posts, intervals),
        retransmitted_packets=len(packets) - len(fresh),
    )


def shared_goodput_gbps(
    timing: Timing,
    packets: Sequence[DataPacket],
    posts: Sequence[Post],
    dones: Sequence[Done],
    destinations: Mapping[int, int],
) -> dict[int, float]:
    """Goodput of each of several queue pairs of the engine while all of them had packets to send, in Gb/s.

    ``destinations`` gives for each queue pair of the engine the one that its packets name. A queue pair has packets to
    send from its first to its last in each interval in which it had work outstanding. Empty if there was no such time.
    """
    fresh = first_transmissions(packets)
    common: list[tuple[int, int]] | None = None
    for queue_pair, destination in destinations.items():
        own = [packet for packet in packets if packet.queue_pair == destination]
        busy = busy_intervals(
            [post for post in posts if post.queue_pair == queue_pair],
            [done for done in dones if done.queue_pair == queue_pair],
        )
        sending = _sending_intervals(own, busy)
        common = sending if common is None else _intersection(common, sending)
    cycles = sum(end - start for start, end in common or ())
    if not cycles:
        return {}
    octets = dict.fromkeys(destinations, 0)
    numbers = {destination: queue_pair for queue_pair, destination in destinations.items()}
    for packet in fresh:
        if any(start <= packet.first_cycle < end for start, end in common or ()):
            octets[numbers[packet.queue_pair]] += packet.payload_octets
    return {queue_pair: count * 8 / timing.nanoseconds(cycles) for queue_pair, count in octets.items()}


def unfairness_percent(goodputs: Iterable[float]) -> float | None:
    """Largest less smallest goodput in percent of the mean; None if there are not at least two."""
    values = list(goodputs)
    if len(values) < 2 or not sum(values):
        return None
    return (max(values) - min(values)) * len(values) / sum(values) * 100


def _sending_intervals(packets: Sequence[DataPacket], busy: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """From the first to the last packet of each busy interval."""
    found = []
    for start, end in busy:
        inside = [packet for packet in packets if start <= packet.first_cycle <= end]
        if inside:
            found.append((inside[0].first_cycle, inside[-1].last_cycle))
    return found


def _intersection(ones: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    pairs = [(max(one[0], other[0]), min(one[1], other[1])) for one in ones for other in others]
    return sorted(pair for pair in pairs if pair[0] < pair[1])


def _sending_cycles(timing: Timing, packets: Sequence[DataPacket], intervals: Sequence[tuple[int, int]]) -> float:
    """Core cycles from the first to the last octet on the wire, over all intervals.

    The design's port runs ahead of the wire by what a MAC's FIFO takes, so the wire is reckoned from the lengths; whole
    frames count, gap included: a burst of one packet is no faster than many.
    """
    total, position = 0.0, 0
    for start, end in intervals:
        while position < len(packets) and packets[position].first_cycle < start:
            position += 1
        first = position
        wire_free = 0.0
        while position < len(packets) and packets[position].last_cycle <= end:
            packet = packets[position]
            wire_free = max(wire_free, packet.first_cycle) + timing.wire_cycles(packet.frame_octets)
            position += 1
        if position > first:
            total += wire_free - packets[first].first_cycle
    return total


def _latencies(
    timing: Timing, fresh: Sequence[DataPacket], dones: Sequence[Done], frame_ends: Sequence[int]
) -> list[float]:
    last_packets = [index for index, packet in enumerate(fresh) if packet.ends_frame]
    completed = [done.cycle for done in dones if done.ends_frame]
    latencies = []
    for end, last_packet, done in zip(frame_ends, last_packets, completed, strict=False):
        unsent = 0.0
        for packet in reversed(fresh[: last_packet + 1]):
            if packet.last_cycle < end:
                break
            share = min(1.0, (packet.last_cycle + 1 - end) / (packet.last_cycle + 1 - packet.first_cycle))
            unsent += timing.wire_cycles(packet.frame_octets) * share
        own = timing.nanoseconds(done - end - unsent) - timing.link_round_trip_ns
        latencies.append(own / 1000)
    return latencies


def _doorbell_to_wire(
    timing: Timing, packets: Sequence[DataPacket], posts: Sequence[Post], intervals: Sequence[tuple[int, int]]
) -> float | None:
    """Median over the doorbells that found the engine idle."""
    waits, position = [], 0
    starts = {start for start, _ in intervals}
    for post in posts:
        if post.cycle not in starts:
            continue
        while position < len(packets) and packets[position].first_cycle < post.cycle:
            position += 1
        if position < len(packets):
            waits.append(packets[position].first_cycle - post.cycle)
    return timing.nanoseconds(median(waits)) if waits else None
