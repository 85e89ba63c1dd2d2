"""Data packets on disk as they left the MAC, so that a run's memory does not grow with its length."""

from __future__ import annotations

import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from sim.run.figures import DataPacket

_RECORD = struct.Struct("<QQIIIIB")


class PacketLog:
    """Appends packets to a file; a context manager."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def append(self, packet: DataPacket) -> None:
        """Add one packet."""
        self._file.write(
            _RECORD.pack(
                packet.first_cycle,
                packet.last_cycle,
                packet.frame_octets,
                packet.payload_octets,
                packet.queue_pair,
                packet.psn,
                packet.ends_frame,
            )
        )

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_packets(path: Path) -> list[DataPacket]:
    """Return all packets of a file, in the order of departure."""
    return [DataPacket(*fields[:6], bool(fields[6])) for fields in _RECORD.iter_unpack(path.read_bytes())]
