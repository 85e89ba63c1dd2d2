"""Client of ``rping -s`` (rdmacm-utils): it reads a buffer of ours, then writes the same octets to another one.

Each step is a SEND of 16 octets: where the buffer is, or, from the server, that it is done.
"""

from __future__ import annotations

import struct

PORT = 7174
MESSAGE_OCTETS = 16
_BUFFER = struct.Struct(">QII")


def buffer_message(address: int, remote_key: int, octets: int) -> bytes:
    """Return the 16 octets that tell the server of a buffer."""
    return _BUFFER.pack(address, remote_key, octets)
