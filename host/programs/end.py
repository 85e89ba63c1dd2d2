"""What the two ends of a connection tell each other, whatever the program."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address


@dataclass(frozen=True)
class End:
    """Queue pair, first PSN and IPv4 address of one end; where it can be written to or read from, if it can."""

    qpn: int
    psn: int
    ip: IPv4Address
    address: int = 0
    remote_key: int = 0

    @property
    def gid(self) -> bytes:
        """The RoCEv2 GID: the IPv4 address, mapped into IPv6; 16 octets."""
        return IPv6Address(f"::ffff:{self.ip}").packed


def ip_of(gid: bytes) -> IPv4Address:
    """Return the IPv4 address of a RoCEv2 GID; raise ``ValueError`` if it is not a mapped one."""
    mapped = IPv6Address(gid).ipv4_mapped
    if mapped is None:
        raise ValueError(f"{IPv6Address(gid)} is not an IPv4 address: let the program use the index of an IPv4 GID")
    return mapped
