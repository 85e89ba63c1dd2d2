"""Send queue entries (64 bytes) and completions (4 bytes) as the engine has them in memory; PG332 v3.1."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

WQE_BYTES = 64
CQE_BYTES = 4
INLINE_BYTES = 16
_WQE = struct.Struct("<HHQIB3xQI16sI12x")
_CQE = struct.Struct("<HBB")


class Opcode(IntEnum):
    """Work request opcodes of the engine."""

    WRITE = 0x00
    WRITE_IMMEDIATE = 0x01
    SEND = 0x02
    SEND_IMMEDIATE = 0x03
    READ = 0x04


@dataclass(frozen=True)
class WorkRequest:
    """One message of ``length`` bytes from ``local_address``, for a WRITE to ``remote_address`` of the peer.

    A local address below the ring's size is one in the ring, any other one in memory.
    """

    identifier: int
    opcode: Opcode
    local_address: int
    length: int
    remote_address: int = 0
    remote_key: int = 0
    immediate: int = 0
    inline: bytes = b""
    """Data of a SEND of up to ``INLINE_BYTES``: the engine takes it from the entry, and looks at no local address."""
    ends_frame: bool = False
    """Software's own note, not in the queue entry: with it, a frame is complete."""
    frame: int = 0
    """Likewise: number of its frame on the queue pair, from 0."""

    def __post_init__(self) -> None:
        short = self.opcode in (Opcode.SEND, Opcode.SEND_IMMEDIATE) and self.length <= INLINE_BYTES
        if len(self.inline) != (self.length if short else 0):
            raise ValueError(
                f"{self.opcode.name} of {self.length} bytes with {len(self.inline)} in the entry: a SEND of up to "
                f"{INLINE_BYTES} has all of them there, all else none"
            )

    def pack(self) -> bytes:
        """Return the 64 bytes of the queue entry."""
        return _WQE.pack(
            self.identifier & 0xFFFF,
            0,
            self.local_address,
            self.length,
            self.opcode,
            self.remote_address,
            self.remote_key,
            self.inline,
            self.immediate,
        )


_FATAL = {
    0x05: "the engine could not execute it: look at its length, opcode and addresses",
    0x06: "no acknowledgement came, and all retries are used up: the receiver is gone, the link is dead, or the "
    "time-out and retry count are too small for the link",
    0x09: "the receiver was not ready, and all retries are used up: it posts no receives",
    0x0A: "the receiver refused it: look at remote key, address range and access rights",
    0x80: "an earlier work request failed",
}
"""Fatal codes of PG332 that the engine gives, and its own for what was only flushed."""


@dataclass(frozen=True)
class Completion:
    """One completion queue entry."""

    identifier: int
    opcode: int
    error: int

    @classmethod
    def unpack(cls, data: bytes) -> Completion:
        """Read the 4 bytes of an entry."""
        return cls(*_CQE.unpack(data))

    @property
    def reason(self) -> str:
        """What the error means, in words; empty without one."""
        return _FATAL.get(self.error, "unknown code") if self.error else ""
