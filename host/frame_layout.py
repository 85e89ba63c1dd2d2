"""The frame in memory: header, samples, trailer. The one place where its layout is written.

Little-endian throughout. A frame is a 64-byte header, ``samples x channels`` int16 in sample-major order (``[sample][channel]``),
padding to 64 bytes, and a 64-byte trailer; in the ring and in a receive slot it is contiguous. Both check sums are CRC-32C
(Castagnoli: reflected polynomial 0x82F63B78, initial value and final complement all ones).
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

HEADER = np.dtype(
    {
        "names": [
            "magic",
            "version",
            "header_bytes",
            "mode",
            "sample_format",
            "sequence",
            "shot",
            "configuration",
            "timestamp",  # [63:32] seconds, [31:2] nanoseconds, [1:0] quarter nanoseconds, of the first sample
            "trigger",  # [63:8] sample tick of the trigger, [7:0] fraction in 1/256 sample
            "samples",
            "channels",
            "sample_rate",  # units of 10 kHz
            "payload_bytes",  # samples * channels * 2, without padding
            "dropped_before",  # frames dropped between the previous delivered frame and this one, saturating
            "ring_high_water",  # units of 256 bytes, rounded up, since the previous frame
            "flags",
            "crc",  # of bytes 0..59
        ],
        "formats": ["<u4", "u1", "u1", "u1", "u1", "<u8", "<u4", "<u4", "<u8", "<u8", "<u4", "<u2", "<u2", "<u4", "<u2"]
        + ["<u2", "<u4", "<u4"],
        "offsets": [0, 4, 5, 6, 7, 8, 16, 20, 24, 32, 40, 44, 46, 48, 52, 54, 56, 60],
        "itemsize": HEADER_BYTES,
    }
)

TRAILER = np.dtype(
    {
        "names": [
            "magic",
            "link_errors",  # see LinkError, gathered from the frame's first to its last sample
            "sequence",
            "timestamp",  # of the last sample, as in the header
            "payload_crc",  # of the samples without padding
            "samples",
            "error_lanes",  # one bit a lane (lanes 0..63) that had a data error
            "crc",  # of bytes 0..59
        ],
        "formats": ["<u4", "<u4", "<u8", "<u8", "<u4", "<u4", "<u8", "<u4"],
        "offsets": [0, 4, 8, 16, 24, 28, 32, 60],
        "itemsize": TRAILER_BYTES,
    }
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
    CROSSING_OVERFLOW = 1 << 15


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


def header_of(frame: NDArray[np.uint8]) -> Any:
    """View the first 64 bytes of ``frame`` as one :data:`HEADER` record (no copy)."""
    return frame[:HEADER_BYTES].view(HEADER)[0]


def trailer_of(frame: NDArray[np.uint8], shape: FrameShape) -> Any:
    """View the trailer of ``frame`` as one :data:`TRAILER` record (no copy)."""
    return frame[shape.trailer_offset : shape.frame_bytes].view(TRAILER)[0]
