"""Client of rdma-core's ``ibv_rc_pingpong``, ``ibv_uc_pingpong``, ``ibv_ud_pingpong``: one message over TCP each way.

The program sends back what it receives, from the same buffer. With ``-c`` it looks at the first octet of each page of
a message, which must be 0.
"""

from __future__ import annotations

from host.programs.channel import Channel, ChannelError
from host.programs.end import End, ip_of

PORT = 18515
QUEUE_KEY = 0x11111111
"""Of the datagram variant."""
MESSAGE_OCTETS = 52


def address_message(end: End) -> bytes:
    """Return the 52 octets by which an end makes itself known."""
    return f"{0:04x}:{end.qpn:06x}:{end.psn:06x}:{end.gid.hex()}".encode() + b"\0"


def read_address_message(data: bytes) -> End:
    """Return the end that :func:`address_message` describes; raise :class:`ChannelError` if it does not."""
    try:
        _, qpn, psn, gid = data.rstrip(b"\0").decode("ascii").split(":")
        return End(int(qpn, 16), int(psn, 16), ip_of(bytes.fromhex(gid)))
    except ValueError as error:
        raise ChannelError(f"the program's address cannot be read ({error}): {data!r}") from error


def introduce(channel: Channel, local: End) -> End:
    """Exchange ends. The program's queue pair is ready when this returns, and waits for the first message."""
    channel.send(address_message(local))
    remote = read_address_message(channel.receive(MESSAGE_OCTETS, "address"))
    channel.send(b"done\0")
    return remote
