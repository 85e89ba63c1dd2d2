"""The frame in memory: header, samples, trailer. The one place where its layout is written.

Little-endian throughout. A frame is a 64-byte header, ``samples x channels`` int16 in sample-major order
(``[sample][channel]``), padding to 64 bytes, and a 64-byte trailer; in the ring and in a receive slot it is contiguous.
The check sums are CRC-32C (Castagnoli: reflected polynomial 0x82F63B78, initial value and final complement all ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_MAGIC = 0x31464245  # "EBF1"
TRAILER_MAGIC = 0x31544245  # "EBT1"
LAYOUT_VERSION = 1
HEADER_BYTES = 64
TRAILER_BYTES = 64
SAMPLE_FORMAT_INT16 = 1
MODE_ULTRASOUND = 1
MODE_PHOTOACOUSTIC = 2
HIGH_WATER_UNIT = 256
"""The header's ring high-water mark counts units of this many bytes, rounded up."""


def _record(size: int, fields: list[tuple[str, str, int]]) -> np.dtype[Any]:
    """Return the dtype of a record from ``(name, format, byte offset)`` rows."""
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": size})


HEADER = _record(
    HEADER_BYTES,
    [
        ("magic", "<u4", 0),
        ("version", "u1", 4),
        ("header_bytes", "u1", 5),
        ("mode", "u1", 6),
        ("sample_format", "u1", 7),
        ("sequence", "<u8", 8),
        ("shot", "<u4", 16),
        ("configuration", "<u4", 20),
        ("timestamp", "<u8", 24),  # of the first sample: [63:32] seconds, [31:2] nanoseconds, [1:0] quarters of one
        ("trigger", "<u8", 32),  # [63:8] sample tick of the trigger, [7:0] fraction in 1/256 sample
        ("samples", "<u4", 40),
        ("channels", "<u2", 44),
        ("sample_rate", "<u2", 46),  # units of 10 kHz
        ("payload_bytes", "<u4", 48),  # samples * channels * 2, without padding
        ("dropped_before", "<u2", 52),  # frames dropped between the previous delivered frame and this one, saturating
        ("ring_high_water", "<u2", 54),  # units of HIGH_WATER_UNIT, rounded up, since the previous frame
        ("flags", "<u4", 56),  # see DropCause: all that has happened since the previous delivered frame
        ("crc", "<u4", 60),  # of bytes 0..59
    ],
)

TRAILER = _record(
    TRAILER_BYTES,
    [
        ("magic", "<u4", 0),
        ("link_errors", "<u4", 4),  # see LinkError, gathered from the frame's first to its last sample
        ("sequence", "<u8", 8),
        ("timestamp", "<u8", 16),  # of the last sample, as in the header
        ("payload_crc", "<u4", 24),  # of the samples without padding
        ("samples", "<u4", 28),
        ("error_lanes", "<u8", 32),  # one bit a lane (lanes 0..63) that had a data error
        ("crc", "<u4", 60),  # of bytes 0..59
    ],
)


class LinkError:
    """Bits of the trailer's ``link_errors``; any of them set means that samples of the frame may be wrong."""

    DISPARITY = 1 << 0
    NOT_IN_TABLE = 1 << 1
    UNEXPECTED_K = 1 << 2
    FRAME_MISALIGNED = 1 << 3
    MULTIFRAME_MISALIGNED = 1 << 4
    CGS_LOST = 1 << 5
    BUFFER_OVERFLOW = 1 << 6
    BUFFER_UNDERFLOW = 1 << 7
    LINK_DOWN = 1 << 8
    ILAS_MISMATCH = 1 << 9
    SYSREF_MISALIGNED = 1 << 10
    SKEWED = 1 << 11
    CROSSING_OVERFLOW = 1 << 15


class DropCause:
    """Bits of the header's ``flags``: why frames were dropped since the previous delivered one.

    ``dropped_before`` counts them. A laser pulse that did not come shows too, but is no frame.
    """

    RING_FULL = 1 << 0
    DESCRIPTORS_FULL = 1 << 1
    RING_DISABLED = 1 << 2
    HOST_STALLED = 1 << 3
    TRIGGER_TOO_EARLY = 1 << 4
    LINK_DOWN = 1 << 5
    HELD = 1 << 6
    """Dropped because acquisition was held, for a change of mode."""
    LASER_MISSING = 1 << 7


@dataclass(frozen=True)
class FrameShape:
    """Samples and channels of a frame, and the sizes that follow."""

    samples: int
    channels: int

    @property
    def payload_bytes(self) -> int:
        """Bytes of samples, without padding."""
        return self.samples * self.channels * 2

    @property
    def trailer_offset(self) -> int:
        """Byte offset of the trailer in the frame."""
        return HEADER_BYTES + -(-self.payload_bytes // 64) * 64

    @property
    def frame_bytes(self) -> int:
        """Bytes of the whole frame, header and trailer included."""
        return self.trailer_offset + TRAILER_BYTES


def immediate(slot: int, sequence: int) -> int:
    """The 32-bit immediate of a frame's last WRITE: slot in bits 31:20, low bits of the sequence below."""
    if not 0 <= slot < 1 << 12:
        raise ValueError(f"slot {slot} does not fit into 12 bits")
    return slot << 20 | sequence & 0xFFFFF


def split_immediate(value: int) -> tuple[int, int]:
    """Return ``(slot, low 20 bits of the sequence)``."""
    return value >> 20, value & 0xFFFFF


FRAME_NUMBERS = 1 << 17
"""Numbers of frames in the immediate of a datagram; they begin anew."""
DATAGRAM_PLACES = 1 << 14


def datagram_immediate(frame: int, place: int, *, last: bool) -> int:
    """The immediate of one datagram: number of the frame on its queue pair in 31:15, whether it ends it, its place.

    The datagram's octets belong ``place`` path MTUs behind the frame's first. Raise ``ValueError`` for a place above
    14 bits.
    """
    if not 0 <= place < DATAGRAM_PLACES:
        raise ValueError(f"place {place} does not fit into 14 bits")
    return frame % FRAME_NUMBERS << 15 | last << 14 | place


def split_datagram_immediate(value: int) -> tuple[int, int, bool]:
    """Return ``(number of the frame modulo 2^17, place, whether it is the frame's last)``."""
    return value >> 15, value & DATAGRAM_PLACES - 1, bool(value >> 14 & 1)


def header_of(frame: NDArray[np.uint8]) -> Any:
    """View the first 64 bytes of ``frame`` as one :data:`HEADER` record (no copy)."""
    return frame[:HEADER_BYTES].view(HEADER)[0]


def trailer_of(frame: NDArray[np.uint8], shape: FrameShape) -> Any:
    """View the trailer of ``frame`` as one :data:`TRAILER` record (no copy)."""
    return frame[shape.trailer_offset : shape.frame_bytes].view(TRAILER)[0]
