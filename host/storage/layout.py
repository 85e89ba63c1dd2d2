"""Names and types in ``frames.h5``; the README of this folder shows the whole tree.

Samples and scan parameters lie where zea (version 0.1) looks for them, with its names, shapes and types, so that its
tools open the file. The table of frames is ours: one row a frame, in order of arrival, over all tracks.
"""

from __future__ import annotations

import numpy as np

LAYOUT = "echobench-frames"
LAYOUT_VERSION = 1

TABLE = np.dtype(
    [
        ("track", "<i4"),  # number of the track that holds the samples
        ("index", "<i8"),  # frame number within that track
        ("sequence", "<u8"),
        ("shot", "<u4"),
        ("mode", "u1"),  # as in the frame header: 1 ultrasound, 2 photoacoustic
        ("crc_ok", "u1"),  # 1 if payload and header agreed with their check sums on arrival
        ("trigger_fraction", "u1"),  # 1/256 sample
        ("configuration", "<u4"),
        ("timestamp_s", "<u4"),  # PTP time of the first sample, seconds
        ("timestamp_ns", "<f8"),  # and nanoseconds, in steps of 0.25
        ("end_timestamp_s", "<u4"),  # of the last sample; zero where there was no trailer
        ("end_timestamp_ns", "<f8"),
        ("trigger_tick", "<u8"),  # sample tick of the trigger
        ("dropped_before", "<u4"),  # frames lost between the previous frame and this one
        ("ring_high_water_bytes", "<u4"),
        ("link_errors", "<u4"),  # bits of host.frame_layout.LinkError
        ("error_lanes", "<u8"),
        ("flags", "<u4"),
    ]
)


def split_timestamp(raw: int) -> tuple[int, float]:
    """Return ``(seconds, nanoseconds)`` of a header's or trailer's timestamp word.

    Nanoseconds in steps of a quarter.
    """
    return raw >> 32, (raw & 0xFFFF_FFFF) / 4


def raw_data_path(track: int) -> str:
    """Where the samples of a track are: int16 ``[frame, transmit = 1, sample, channel, component = 1]``."""
    return f"tracks/track_{track}/data/raw_data"


def scan_path(track: int) -> str:
    """The group of a track's scan parameters."""
    return f"tracks/track_{track}/scan"
