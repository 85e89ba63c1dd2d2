"""The arithmetic of a burst that goes through a ring onto a slower link. The one place of these formulas.

Bytes, seconds, bytes a second; pure functions. The model is a fluid one: while there is something to send, the link
takes it at its goodput. Where the design sends or frees in portions, a function says so.
"""

from __future__ import annotations

import math

SOUND_M_PER_S = 1540.0
"""Speed of sound in soft tissue, the mean that scanners assume."""
SAMPLE_BYTES = 2
GRANULE_BYTES = 4096
"""A frame takes whole granules of the ring (hdl/ring)."""
PACKET_OVERHEAD_OCTETS = 14 + 20 + 8 + 12 + 4 + 24
"""Ethernet, IPv4, UDP, base transport header, ICRC; preamble, FCS and gap (IEEE 802.3, InfiniBand 1.2.1 annex A17)."""
RETH_OCTETS = 16
"""Address, key and length, in the first packet of a WRITE."""
IMMEDIATE_OCTETS = 4
DATAGRAM_OCTETS = 12
"""What each datagram has beside: queue key, source, immediate."""


def burst_rate(channels: int, sample_rate_hz: float) -> float:
    """Bytes a second while a window is open."""
    return channels * SAMPLE_BYTES * sample_rate_hz


def depth_m(samples: int, sample_rate_hz: float, *, one_way: bool) -> float:
    """Depth of the last sample in metres. Light makes photoacoustic sound at once, so that travels one way only."""
    return samples / sample_rate_hz * SOUND_M_PER_S / (1 if one_way else 2)


def ring_bytes_of(frame_bytes: int) -> int:
    """What a frame takes of the ring: whole granules."""
    return -(-frame_bytes // GRANULE_BYTES) * GRANULE_BYTES


def packets_of(frame_bytes: int, pmtu: int, block_bytes: int) -> int:
    """Packets of a frame; each of its blocks is a message that begins a packet."""
    whole, rest = divmod(frame_bytes, block_bytes)
    return whole * -(-block_bytes // pmtu) + -(-rest // pmtu)


def wire_octets_of(frame_bytes: int, pmtu: int, block_bytes: int, *, datagrams: bool) -> int:
    """Octets of a frame on the wire, headers, preambles and gaps included."""
    packets = packets_of(frame_bytes, pmtu, block_bytes)
    if datagrams:
        return frame_bytes + packets * (PACKET_OVERHEAD_OCTETS + DATAGRAM_OCTETS)
    messages = -(-frame_bytes // block_bytes)
    return frame_bytes + packets * PACKET_OVERHEAD_OCTETS + messages * RETH_OCTETS + IMMEDIATE_OCTETS


def sustained_samples(goodput: float, row_bytes: int, prf_hz: float) -> int:
    """Samples a shot at which the link is just busy all the time; header and trailer not counted."""
    return math.floor(goodput / (row_bytes * prf_hz))


def cut_through_peak(frame_bytes: float, burst: float, goodput: float) -> float:
    """Most bytes in the ring if each byte may leave as soon as it is there: what comes less what goes meanwhile."""
    return frame_bytes * max(0.0, 1.0 - goodput / burst)


def service_start_s(
    window_s: float, burst: float, *, block_bytes: int, threshold: int, timeout_s: float, response_s: float
) -> float:
    """From the window's start to the first byte on the link.

    The interrupt comes with ``threshold`` blocks, or ``timeout_s`` after the first (0: no timer), or with the end of
    the frame, whichever is first; ``response_s`` is what software and engine take from there.
    """
    causes = [threshold * block_bytes / burst, window_s]
    if timeout_s:
        causes.append(block_bytes / burst + timeout_s)
    return min(causes) + response_s


def drained_peak(
    frame_bytes: int, window_s: float, goodput: float, *, start_s: float, round_trip_s: float, portion_bytes: int
) -> int:
    """Most bytes in the ring if sending starts at ``start_s``; at the window's end, what is freed by then is missing.

    Freed are portions of ``portion_bytes``, each acknowledged ``round_trip_s`` after it has left.
    """
    left = max(0.0, (window_s - start_s - round_trip_s) * goodput)
    return frame_bytes - min(frame_bytes, math.floor(left / portion_bytes) * portion_bytes)


def backlog_at_next(frame_bytes: float, period_s: float, goodput: float, *, start_s: float = 0.0) -> float:
    """Bytes of a frame that are still in the ring when the next one asks to be admitted."""
    return max(0.0, frame_bytes - max(0.0, period_s - start_s) * goodput)


def longest_stall_s(
    frame_bytes: float,
    ring_bytes: float,
    period_s: float,
    goodput: float,
    *,
    start_s: float = 0.0,
    portion_bytes: int = 0,
) -> float:
    """Longest single stop of the link, at the worst moment, that loses no frame; 0 if none is harmless.

    Frames are admitted whole: the ring must have room for all of one when it begins. The worst moment is when the first
    byte of a frame would leave, ``start_s`` into the window (round trip included). Of the frames that follow, the first
    that does not fit beside all those before it decides: number k = floor(ring / frame), which asks for admission at k
    periods. Until then (k + 1) frames less the ring must have been freed. ``portion_bytes``: freed in such portions.
    """
    whole = math.floor(ring_bytes / frame_bytes)
    due = (whole + 1) * frame_bytes - ring_bytes
    if portion_bytes:
        due = math.ceil(due / portion_bytes) * portion_bytes
    return max(0.0, whole * period_s - start_s - due / goodput)
