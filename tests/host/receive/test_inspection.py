"""Every way in which a frame can be wrong is named, and a good frame has no name."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from host.frame_layout import HEADER_BYTES, LinkError, immediate
from host.receive.inspection import crc32c, inspect
from tests.host.receive.frames import SEQUENCE, SHAPE, frame, samples

IMMEDIATE = immediate(3, SEQUENCE)


def names(memory: np.ndarray, announced: int = IMMEDIATE, last_write: int = SHAPE.frame_bytes) -> list[str]:
    return [problem.split(":")[0] for problem in inspect(memory, announced, last_write).problems]


def patched(offset: int, data: bytes, *, fix: bool = True) -> np.ndarray:
    """Return a frame with other bytes at ``offset``; the check sum of its header or trailer follows if ``fix``."""
    memory = frame()
    memory[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
    for start in (0, SHAPE.trailer_offset):
        if fix and start <= offset < start + 60:
            memory[start + 60 : start + 64] = np.frombuffer(
                struct.pack("<I", crc32c(memory[start : start + 60])), np.uint8
            )
    return memory


def test_crc32c_of_the_check_string():
    assert crc32c(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283


def test_a_good_frame():
    found = inspect(frame(), IMMEDIATE, SHAPE.frame_bytes)
    assert found.ok and found.shape == SHAPE
    assert found.payload_crc == crc32c(samples().view(np.uint8).ravel())
    assert found.header["sequence"] == SEQUENCE


def test_padding_is_not_checked():
    memory = frame()
    memory[HEADER_BYTES + SHAPE.payload_bytes : SHAPE.trailer_offset] = 0xFF
    assert names(memory) == []


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (patched(0, b"XXXX"), "header_magic"),
        (patched(8, b"\x00", fix=False), "header_crc"),
        (patched(63, b"\x00", fix=False), "header_crc"),
        (patched(4, b"\x02"), "header_version"),
        (patched(7, b"\x09"), "header_version"),
        (patched(48, struct.pack("<I", 61)), "length"),
        (patched(40, struct.pack("<IHHI", 5000, 6, 8000, 60000)), "length"),
        (patched(64, b"\x01\x02"), "payload_crc"),
        (patched(64 + 59, b"\x01"), "payload_crc"),
        (patched(SHAPE.trailer_offset, b"XXXX"), "trailer_magic"),
        (patched(SHAPE.trailer_offset + 16, b"\x55", fix=False), "trailer_crc"),
        (patched(SHAPE.trailer_offset + 8, struct.pack("<Q", SEQUENCE + 1)), "tear"),
        (patched(SHAPE.trailer_offset + 28, struct.pack("<I", 4)), "length"),
    ],
)
def test_each_damage_has_its_name(memory: np.ndarray, expected: str):
    assert names(memory) == [expected]


def test_every_bit_of_header_samples_and_trailer_counts():
    """Whatever single bit flips outside the padding, the frame is not called good."""
    covered = [*range(HEADER_BYTES + SHAPE.payload_bytes), *range(SHAPE.trailer_offset, SHAPE.frame_bytes)]
    for offset in covered:
        memory = frame()
        memory[offset] ^= 1 << offset % 8
        assert names(memory), f"byte {offset}"


def test_immediate_of_another_frame_is_a_tear():
    assert names(frame(), immediate(3, SEQUENCE + 1)) == ["tear"]


def test_more_bytes_than_the_frame_has():
    assert names(frame(), last_write=SHAPE.frame_bytes + 64) == ["length"]


def test_link_errors_are_told_by_name():
    memory = frame(link_errors=LinkError.DISPARITY | LinkError.LINK_DOWN | 1 << 31)
    (problem,) = inspect(memory, IMMEDIATE, SHAPE.frame_bytes).problems
    assert problem == "link_errors: disparity, link_down, 0x80000000"
