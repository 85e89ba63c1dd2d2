"""Send queue entries (64 bytes) and completions (4 bytes) as the engine has them in memory; PG332 v3.1."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

WQE_BYTES = 64
CQE_BYTES = 4
ENTRY_DATA_BYTES = 16
"""Data that an entry itself can hold; the engine takes those of a SEND that has no more from there."""
INLINE_BYTES = 256
"""Most data that may be given with a work request instead of an address."""
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
    """Up to ``INLINE_BYTES`` of data, for any message but a READ: the caller's memory is not needed any more once it is
    posted, and ``local_address`` means nothing. Those of a SEND of up to ``ENTRY_DATA_BYTES`` must be given so."""
    ends_frame: bool = False
    """Software's own note, not in the queue entry: with it, a frame is complete."""
    frame: int = 0
    """Likewise: number of its frame on the queue pair, from 0."""

    def __post_init__(self) -> None:
        if self.in_entry and len(self.inline) != self.length:
            raise ValueError(
                f"{self.opcode.name} of {self.length} bytes with {len(self.inline)} inline: the engine takes the data "
                f"of a SEND of up to {ENTRY_DATA_BYTES} from the entry, so they must be given"
            )
        if self.inline and (
            len(self.inline) != self.length or self.length > INLINE_BYTES or self.opcode is Opcode.READ
        ):
            raise ValueError(
                f"{self.opcode.name} of {self.length} bytes with {len(self.inline)} inline: all or none, at most "
                f"{INLINE_BYTES}, and no READ"
            )

    @property
    def in_entry(self) -> bool:
        """Its data go into the entry itself."""
        return self.opcode in (Opcode.SEND, Opcode.SEND_IMMEDIATE) and self.length <= ENTRY_DATA_BYTES

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
            self.inline if self.in_entry else b"",
            self.immediate,
        )


_FATAL = {
    0x05: "the engine could not execute it: look at its length, opcode and addresses",
    0x06: "no acknowledgement came, and all retries are used up: the receiver is gone, the link is dead, or the "
    "time-out and retry count are too small for the link",
    0x09: "the receiver was not ready, and all retries are used up: it posts no receives",
    0x0A: "the receiver refused it: look at remote key, address range and access rights",
    0x1B: "the receiver's answer to a READ fits none that is due",
}
"""Fatal codes of PG332 that the engine gives."""
_FLUSHED = 0x80
"""Added to the code of the entry that failed, by those behind it."""


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
        if not self.error:
            return ""
        code = self.error & ~_FLUSHED
        reason = _FATAL.get(code, f"code {code:#04x} of the responder")
        return f"an earlier work request failed: {reason}" if self.error & _FLUSHED else reason
