"""The tap: a pcapng file of what crosses the device's end of the cable, in simulated time.

Two interfaces: ``tx`` holds the frames as they leave the device, before the link's faults (so none is corrupted
there, and a frame that the link drops is recorded all the same); ``rx`` holds what arrives at the device, after the
faults, plus the replies that the link dropped, at the time when they would have arrived. Each packet's comment has
the wall time, the faults, and the BTH. Time stamps are nanoseconds of simulated time, and the packets of the file are
in their order.

The format is draft-ietf-opsawg-pcapng; only section header, interface description and enhanced packet blocks are
needed. They are written here because the generic writer of python-pcapng takes about 60 us a frame, this one a few.
"""

from __future__ import annotations

import heapq
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from sim.link.link import Action, Direction
from sim.link.roce import summary

SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
ENHANCED_PACKET = 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
LINKTYPE_ETHERNET = 1
OPTION_COMMENT = 1
OPTION_USER_APPLICATION = 4
OPTION_INTERFACE_NAME = 2
OPTION_INTERFACE_DESCRIPTION = 3
OPTION_EPB_FLAGS = 2
OPTION_TIMESTAMP_RESOLUTION = 9
FS_PER_NS = 1_000_000
FLUSH_BYTES = 1 << 20

_OPTION = struct.Struct("<HH")
_PACKET = struct.Struct("<IIIIIII")
_LENGTH = struct.Struct("<I")
_FLAGS = struct.Struct("<HHI")

# Interface numbers and EPB direction flags (1 inbound, 2 outbound, seen from the device).
_INTERFACES = {
    Direction.TX: (0, 2, "tx", "device to peer, before link faults"),
    Direction.RX: (1, 1, "rx", "peer to device, after link faults"),
}


def _option(code: int, value: bytes) -> bytes:
    return _OPTION.pack(code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    total = len(body) + 12
    return struct.pack("<II", kind, total) + body + _LENGTH.pack(total)


class Capture:
    """Writes ``path``; a context manager. Meant as the ``tap`` of :class:`sim.link.lockstep.Lockstep`.

    Frames may be recorded before their time; :meth:`settle` writes those that nothing can precede any more, and
    :meth:`close` the rest. ``wall`` gives seconds; comments hold them relative to the start of the capture. A file
    whose writer died is readable up to its last complete block.
    """

    def __init__(self, path: Path, wall: Callable[[], float] = time.monotonic) -> None:
        self.frames = 0
        self._wall = wall
        self._started = wall()
        self._waiting: list[tuple[int, int, bytes]] = []
        self._number = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("wb")
        self._append(
            _block(
                SECTION_HEADER,
                struct.pack("<IHHq", BYTE_ORDER_MAGIC, 1, 0, -1)
                + _option(OPTION_USER_APPLICATION, b"EchoBench, simulated time")
                + _option(0, b""),
            )
        )
        for _, _, name, description in _INTERFACES.values():
            self._append(
                _block(
                    INTERFACE_DESCRIPTION,
                    struct.pack("<HHI", LINKTYPE_ETHERNET, 0, 0)
                    + _option(OPTION_INTERFACE_NAME, name.encode())
                    + _option(OPTION_INTERFACE_DESCRIPTION, description.encode())
                    + _option(OPTION_TIMESTAMP_RESOLUTION, b"\x09")
                    + _option(0, b""),
                )
            )

    def record(self, direction: Direction, frame: bytes, time_fs: int, faults: Sequence[Action] = ()) -> None:
        """Record ``frame`` at ``time_fs`` of simulated time."""
        comment = f"{direction} wall {self._wall() - self._started:.6f} s; {summary(frame)}"
        if faults:
            comment += f"; link fault: {', '.join(faults)}"
        text = comment.encode()
        interface, flags, _, _ = _INTERFACES[direction]
        size, stamp = len(frame), time_fs // FS_PER_NS
        total = 32 + size + -size % 4 + 4 + len(text) + -len(text) % 4 + 8 + 4
        head = _PACKET.pack(ENHANCED_PACKET, total, interface, stamp >> 32, stamp & 0xFFFFFFFF, size, size)
        block = b"".join(
            (
                head,
                frame,
                bytes(-size % 4),
                _OPTION.pack(OPTION_COMMENT, len(text)),
                text,
                bytes(-len(text) % 4),
                _FLAGS.pack(OPTION_EPB_FLAGS, 4, flags),
                bytes(4),
                _LENGTH.pack(total),
            )
        )
        self._number += 1
        heapq.heappush(self._waiting, (time_fs, self._number, block))
        self.frames += 1
        if direction == Direction.TX:
            self.settle(time_fs)

    def settle(self, now_fs: int) -> None:
        """Write what was recorded for times before ``now_fs``."""
        while self._waiting and self._waiting[0][0] < now_fs:
            self._append(heapq.heappop(self._waiting)[2])

    def close(self) -> None:
        """Write all that is left and close the file; again is harmless."""
        if self._file.closed:
            return
        while self._waiting:
            self._append(heapq.heappop(self._waiting)[2])
        self._flush()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, block: bytes) -> None:
        self._out.append(block)
        self._out_bytes += len(block)
        if self._out_bytes >= FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._file.write(b"".join(self._out))
        self._file.flush()
        self._out.clear()
        self._out_bytes = 0
