"""Frames on disk as they came: an append-only log that survives the death of its writer.

A record is 40 bytes of header (little-endian: magic ``EBC1``, header length, slot, immediate, frame bytes, wall time in
ns, CRC-32 of the header so far, zero) and the frame exactly as it lay in memory. A record is written by one call,
straight to the file; if the writer dies in the middle, the reader stops before the truncated record and says how many
bytes it left out.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"EBC1"
_HEADER = struct.Struct("<4sIIIQQ")
_CHECK = struct.Struct("<II")
RECORD_HEADER_BYTES = _HEADER.size + _CHECK.size


class CaptureError(RuntimeError):
    """A log that is not one, or that is damaged before its end."""


@dataclass(frozen=True)
class Record:
    """One frame of a log: header, samples and trailer in ``data``."""

    slot: int
    immediate: int
    wall_time_ns: int
    data: bytes


class CaptureWriter:
    """Append frames to a log; each is handed to the kernel before :meth:`append` returns.

    What a writer that died has left unfinished at the end is removed. Raises :class:`CaptureError` if the file is no
    log.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        whole = CaptureReader(path).end_of_last_record()
        if whole < os.lseek(self._descriptor, 0, os.SEEK_END):  # the writer before this one died in the middle
            os.ftruncate(self._descriptor, whole)

    def append(self, slot: int, immediate: int, frame: Any) -> None:
        """Write one frame (any contiguous buffer of bytes); raise ``OSError`` if the disk is full.

        Nothing of a frame that could not be written whole stays in the log, so the next one may be appended.
        """
        body = memoryview(frame).cast("B")
        start = _HEADER.pack(MAGIC, RECORD_HEADER_BYTES, slot, immediate, len(body), time.time_ns())
        header = start + _CHECK.pack(zlib.crc32(start), 0)
        before = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            self._write(header, body)
        except OSError:
            os.ftruncate(self._descriptor, before)
            raise

    def _write(self, header: bytes, body: memoryview) -> None:
        written = os.writev(self._descriptor, (header, body))
        while written < len(header) + len(body):  # a large frame may take several calls on a network file system
            rest = header[written:], body[max(0, written - len(header)) :]
            count = os.writev(self._descriptor, rest)
            if count == 0:
                raise OSError(f"{self._path}: cannot write")
            written += count

    def close(self) -> None:
        """Close the log."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> CaptureWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CaptureReader:
    """Iterate over the complete records of a log. ``truncated_bytes`` is known after the iteration."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.truncated_bytes = 0

    def __iter__(self) -> Iterator[Record]:
        with self._path.open("rb") as log:
            position = 0
            while head := log.read(RECORD_HEADER_BYTES):
                record = self._parse(head, position)
                if record is None:
                    self.truncated_bytes = len(head)
                    return
                slot, immediate, length, wall_time_ns = record
                body = log.read(length)
                if len(body) < length:
                    self.truncated_bytes = len(head) + len(body)
                    return
                yield Record(slot, immediate, wall_time_ns, body)
                position += len(head) + length

    def end_of_last_record(self) -> int:
        """Return the byte behind the last whole record, from the records' headers alone."""
        with self._path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            position = 0
            while position + RECORD_HEADER_BYTES <= size:
                log.seek(position)
                record = self._parse(log.read(RECORD_HEADER_BYTES), position)
                assert record is not None
                end = position + RECORD_HEADER_BYTES + record[2]
                if end > size:
                    break
                position = end
            return position

    def _parse(self, head: bytes, position: int) -> tuple[int, int, int, int] | None:
        if len(head) < RECORD_HEADER_BYTES:
            return None
        magic, header_bytes, slot, immediate, length, wall_time_ns = _HEADER.unpack_from(head)
        check, _ = _CHECK.unpack_from(head, _HEADER.size)
        if magic != MAGIC or header_bytes != RECORD_HEADER_BYTES or check != zlib.crc32(head[: _HEADER.size]):
            raise CaptureError(f"{self._path}: no record at byte {position}")
        return slot, immediate, length, wall_time_ns
