"""What is wrong with a frame in memory: every check that can be made without knowing what the samples should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from host.frame_layout import (
    HEADER_BYTES,
    HEADER_MAGIC,
    LAYOUT_VERSION,
    SAMPLE_FORMAT_INT16,
    TRAILER_MAGIC,
    FrameShape,
    LinkError,
    header_of,
    split_immediate,
    trailer_of,
)

_CHECKED_BYTES = 60
_LINK_ERRORS = {value: name.lower() for name, value in vars(LinkError).items() if name.isupper()}


@dataclass(frozen=True)
class Inspection:
    """The findings about one frame.

    ``shape`` and ``trailer`` are ``None`` when the header cannot be trusted; ``problems`` is empty for a good frame.
    """

    header: Any
    trailer: Any
    shape: FrameShape | None
    payload_crc: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.problems


def crc32c(data: NDArray[np.uint8]) -> int:
    """CRC-32C of contiguous bytes, without a copy."""
    return int(google_crc32c.value(data))


def inspect(memory: NDArray[np.uint8], immediate: int, last_write_bytes: int) -> Inspection:
    """Check the frame at the start of ``memory`` (a slot).

    It was announced by ``immediate``, of a WRITE of ``last_write_bytes`` bytes. Each problem is ``"<name>: <detail>"``;
    names are header_magic, header_version, header_crc, length, trailer_magic, trailer_crc, payload_crc, tear,
    link_errors.
    """
    header = header_of(memory)
    problems = _header_problems(memory, header)
    if problems:
        return Inspection(header, None, None, 0, tuple(problems))
    shape = FrameShape(int(header["samples"]), int(header["channels"]))
    problem = _length_problem(header, shape, len(memory), last_write_bytes)
    if problem:
        return Inspection(header, None, None, 0, (problem,))
    trailer = trailer_of(memory, shape)
    payload_crc = crc32c(memory[HEADER_BYTES : HEADER_BYTES + shape.payload_bytes])
    problems = _trailer_problems(memory, shape, trailer)
    if not problems and payload_crc != trailer["payload_crc"]:
        problems.append(f"payload_crc: samples give 0x{payload_crc:08x}, trailer says 0x{trailer['payload_crc']:08x}")
    problems += _tears(header, trailer, immediate)
    if not problems and trailer["link_errors"]:
        problems.append(f"link_errors: {_link_error_names(int(trailer['link_errors']))}")
    return Inspection(header, trailer, shape, payload_crc, tuple(problems))


def _header_problems(memory: NDArray[np.uint8], header: Any) -> list[str]:
    if header["magic"] != HEADER_MAGIC:
        return [f"header_magic: 0x{header['magic']:08x} instead of 0x{HEADER_MAGIC:08x}"]
    expected = crc32c(memory[:_CHECKED_BYTES])
    if header["crc"] != expected:
        return [f"header_crc: 0x{header['crc']:08x} instead of 0x{expected:08x}"]
    if (header["version"], header["header_bytes"], header["sample_format"]) != (
        LAYOUT_VERSION,
        HEADER_BYTES,
        SAMPLE_FORMAT_INT16,
    ):
        return [
            f"header_version: version {header['version']}, header of {header['header_bytes']} bytes, sample format "
            f"{header['sample_format']}; this receiver reads {LAYOUT_VERSION}, {HEADER_BYTES}, {SAMPLE_FORMAT_INT16}"
        ]
    return []


def _length_problem(header: Any, shape: FrameShape, room: int, last_write_bytes: int) -> str | None:
    if header["payload_bytes"] != shape.payload_bytes:
        return (
            f"length: {header['payload_bytes']} payload bytes for {shape.samples} samples of {shape.channels} channels"
        )
    if shape.frame_bytes > room:
        return f"length: a frame of {shape.frame_bytes} bytes in a slot of {room}"
    if last_write_bytes > shape.frame_bytes:
        return f"length: the last WRITE brought {last_write_bytes} bytes of a frame of {shape.frame_bytes}"
    return None


def _trailer_problems(memory: NDArray[np.uint8], shape: FrameShape, trailer: Any) -> list[str]:
    if trailer["magic"] != TRAILER_MAGIC:
        return [f"trailer_magic: 0x{trailer['magic']:08x} instead of 0x{TRAILER_MAGIC:08x}"]
    expected = crc32c(memory[shape.trailer_offset : shape.trailer_offset + _CHECKED_BYTES])
    if trailer["crc"] != expected:
        return [f"trailer_crc: 0x{trailer['crc']:08x} instead of 0x{expected:08x}"]
    if trailer["samples"] != shape.samples:
        return [f"length: trailer counts {trailer['samples']} samples, header {shape.samples}"]
    return []


def _tears(header: Any, trailer: Any, immediate: int) -> list[str]:
    _, low_bits = split_immediate(immediate)
    sequence = int(header["sequence"])
    if trailer["magic"] == TRAILER_MAGIC and trailer["sequence"] != sequence:
        return [f"tear: header is of frame {sequence}, trailer of frame {trailer['sequence']}"]
    if sequence & 0xFFFFF != low_bits:
        return [f"tear: header is of frame {sequence}, the immediate of a frame that ends in 0x{low_bits:05x}"]
    return []


def _link_error_names(errors: int) -> str:
    names = [name for bit, name in _LINK_ERRORS.items() if errors & bit]
    unknown = errors & ~sum(_LINK_ERRORS)
    return ", ".join(names + ([f"0x{unknown:x}"] if unknown else []))
