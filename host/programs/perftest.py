"""Client of perftest's servers (``ib_write_bw``, ``ib_read_bw``, ``ib_send_bw``): what they exchange over TCP.

Every step is a message of ours, answered by one of the same size. A client that calls itself 6.06 is spared the
parameters that later versions negotiate. Formats as seen from version 6.06 of Debian 12.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from host.programs.channel import Channel, ChannelError
from host.programs.end import End, ip_of

PORT = 18515
VERSION = "6.06"
_LEAST_VERSION = (5, 70)
_CYCLE_BUFFER, _CACHE_LINE = 4096, 64
_PMTU_DIGITS = {256: "1", 512: "2", 1024: "3", 2048: "4", 4096: "5"}
_LONG, _DOUBLE = struct.Struct(">q"), struct.Struct(">d")
_OUTSTANDING_READS = 16
_GID_OCTETS = 16


@dataclass(frozen=True)
class Figures:
    """What both sides tell at the end: bytes a message, messages, MB/s (peak and average), messages a second."""

    size: int
    iterations: int
    peak: float = 0.0
    average: float = 0.0
    rate: float = 0.0


def key_message(end: End) -> bytes:
    """Return the 108 octets by which an end makes itself known."""
    gid = "".join(f"{octet:02x}:" for octet in end.gid)
    text = (
        f"{0:04x}:{_OUTSTANDING_READS:04x}:{end.qpn:06x}:{end.psn:06x}:{end.remote_key:08x}:{end.address:016x}:"
        f"{gid}{0:08x}:"
    )
    return text.encode() + b"\0"


def read_key_message(data: bytes) -> End:
    """Return the end that :func:`key_message` describes; raise :class:`ChannelError` if it does not."""
    try:
        fields = data.rstrip(b"\0").decode("ascii").rstrip(":").split(":")
        _, _, qpn, psn, key, address, *gid, _ = fields
        octets = bytes(int(octet, 16) for octet in gid)
        if len(octets) != _GID_OCTETS:
            raise ValueError(f"{len(octets)} octets of GID")
        return End(int(qpn, 16), int(psn, 16), ip_of(octets), int(address, 16), int(key, 16))
    except ValueError as error:
        raise ChannelError(f"the program's key message cannot be read ({error}): {data!r}") from error


class PerftestClient:
    """One conversation, in three parts: :meth:`open`, then traffic, then :meth:`close`."""

    def __init__(self, channel: Channel, pmtu: int) -> None:
        self._channel = channel
        self._pmtu = pmtu

    def open(self, local: End) -> End:
        """Exchange versions, path MTU and ends; the server has its queue pair ready afterwards. Return its end."""
        version = self._swap(VERSION.encode().ljust(16, b"\0"), "version").rstrip(b"\0").decode(errors="replace")
        try:
            number = tuple(int(part) for part in version.split("."))
        except ValueError:
            number = ()
        if number < _LEAST_VERSION:
            raise ChannelError(f"perftest {version!r} is too old: 5.70 or later is understood")
        self._swap(_CYCLE_BUFFER.to_bytes(4, "big"), "buffer size")
        self._swap(_CACHE_LINE.to_bytes(4, "big"), "cache line size")
        answer = self._swap(_PMTU_DIGITS[self._pmtu].encode() + b"\0", "path MTU")
        if answer[:1] < _PMTU_DIGITS[self._pmtu].encode():
            raise ChannelError(f"the program's path MTU is smaller than {self._pmtu}: code {answer[:1].decode()!r}")
        remote = read_key_message(self._swap(key_message(local), "key message"))
        self._swap(key_message(local), "second key message")
        self._swap(key_message(local), "word that it is ready")
        return remote

    def close(self, local: End, figures: Figures) -> Figures:
        """Tell that all is sent, exchange figures, say goodbye. Return the server's figures.

        A server that only receives has measured nothing: what it tells is what its memory happened to hold.
        """
        self._swap(key_message(local), "word that all has come")
        size, iterations = (
            _LONG.unpack(self._swap(_LONG.pack(value), "figures"))[0] for value in (figures.size, figures.iterations)
        )
        peak, average, rate = (
            _DOUBLE.unpack(self._swap(_DOUBLE.pack(value), "figures"))[0]
            for value in (figures.peak, figures.average, figures.rate)
        )
        self._swap(key_message(local), "goodbye")
        self._swap(b"done\0", "last word")
        return Figures(size, iterations, peak, average, rate)

    def _swap(self, data: bytes, what: str) -> bytes:
        self._channel.send(data)
        return self._channel.receive(len(data), what)
