"""An encoder of RoCEv2 frames that shares nothing with the RTL: ``struct`` and ``zlib.crc32``.

Octets of a frame are as on the wire, from the destination MAC address to the ICRC; the FCS is the MAC's business.
"""

from __future__ import annotations

import dataclasses
import struct
import zlib
from dataclasses import dataclass

from scapy.utils import checksum

ROCE_PORT = 4791
WITH_RETH = frozenset({0x06, 0x0A, 0x0B, 0x0C})
WITH_IMMEDIATE = frozenset({0x03, 0x05, 0x09, 0x0B})
WITH_AETH = frozenset({0x0D, 0x0F, 0x10, 0x11})
WITH_IETH = frozenset({0x16, 0x17})
DATAGRAM = 0x60
"""Transport bits of datagrams, all of which have a DETH."""
CNP = 0x81


@dataclass(frozen=True)
class Packet:
    """Fields of one packet; ``opcode`` decides which extension headers are written."""

    opcode: int
    payload: bytes = b""
    psn: int = 0
    dest_qpn: int = 0x11
    ack_request: bool = False
    solicited: bool = False
    migreq: bool = False
    pkey: int = 0xFFFF
    remote_address: int = 0
    remote_key: int = 0
    dma_length: int = 0
    immediate: int = 0
    """ImmDt, or AETH as syndrome << 24 | MSN."""
    qkey: int = 0
    source_qpn: int = 0
    becn: bool = False
    dest_mac: int = 0x020000000002
    source_mac: int = 0x020000000001
    dest_ip: int = 0x0A000002
    source_ip: int = 0x0A000001
    source_port: int = 0xC000
    traffic_class: int = 0
    ttl: int = 64

    def swapped(self, **changes: object) -> Packet:
        """Return the same packet in the other direction."""
        return dataclasses.replace(
            self,
            dest_mac=self.source_mac,
            source_mac=self.dest_mac,
            dest_ip=self.source_ip,
            source_ip=self.dest_ip,
            **changes,
        )


def extensions(packet: Packet) -> bytes:
    operation = packet.opcode & 0x1F
    octets = b""
    if packet.opcode == CNP:
        return bytes(16)
    if packet.opcode & 0xE0 == DATAGRAM:
        octets += struct.pack(">II", packet.qkey, packet.source_qpn)
    if operation in WITH_RETH:
        octets += struct.pack(">QII", packet.remote_address, packet.remote_key, packet.dma_length)
    if operation in WITH_IMMEDIATE | WITH_AETH:
        octets += struct.pack(">I", packet.immediate)
    if operation in WITH_IETH:
        octets += struct.pack(">I", packet.remote_key)
    return octets


def ipv4(packet: Packet, transport: bytes, **changes: int) -> bytes:
    """Return the IPv4 header for ``transport``.

    ``changes`` set ``first`` (version and IHL), ``length``, ``fragment`` (flags and offset), ``protocol``.
    """
    head = struct.pack(
        ">BBHHHBBHII",
        changes.get("first", 0x45),
        packet.traffic_class,
        changes.get("length", 20 + len(transport)),
        0,
        changes.get("fragment", 0x4000),
        packet.ttl,
        changes.get("protocol", 17),
        0,
        packet.source_ip,
        packet.dest_ip,
    )
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:]


def icrc(ip_packet: bytes) -> bytes:
    """Return the ICRC field of an IPv4 packet without it."""
    masked = bytearray(b"\xff" * 8 + ip_packet)
    for offset in (1, 8, 10, 11, 26, 27, 32):
        masked[8 + offset] = 0xFF
    return struct.pack("<I", zlib.crc32(masked))


def encode(packet: Packet, *, tver: int = 0, pad: int | None = None, udp_length: int | None = None, **ip: int) -> bytes:
    """Return the frame; keyword arguments make it wrong on purpose, with a right ICRC all the same."""
    filled = -len(packet.payload) % 4 if pad is None else pad
    flags = packet.solicited << 7 | packet.migreq << 6 | (filled & 3) << 4 | tver
    bth = struct.pack(
        ">BBHII",
        packet.opcode,
        flags,
        packet.pkey,
        packet.becn << 30 | packet.dest_qpn,
        packet.ack_request << 31 | packet.psn,
    )
    body = bth + extensions(packet) + packet.payload + bytes(filled)
    length = 8 + len(body) + 4
    udp = struct.pack(">HHHH", packet.source_port, ROCE_PORT, length if udp_length is None else udp_length, 0)
    transport = udp + body
    datagram = ipv4(packet, transport + bytes(4), **ip) + transport
    ethernet = packet.dest_mac.to_bytes(6, "big") + packet.source_mac.to_bytes(6, "big") + b"\x08\x00"
    return ethernet + datagram + icrc(datagram)


_PAYLOAD = bytes(range(64))
VECTORS: dict[str, tuple[Packet, bytes]] = {
    "write_only": (
        Packet(
            opcode=0x0A,
            payload=_PAYLOAD,
            psn=0x123456,
            ack_request=True,
            remote_address=0x7F0000001000,
            remote_key=0x1A2B3C4D,
            dma_length=64,
        ),
        bytes.fromhex(
            "02000000000202000000000108004500007c000040004011266f0a0000010a000002c00012b7006800000a00ffff0000001180123456"
            "00007f00000010001a2b3c4d00000040000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425"
            "262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fa07f8efd"
        ),
    ),
    "write_padded": (
        Packet(
            opcode=0x0A,
            payload=bytes.fromhex("1122334455"),
            psn=0xFFFFFF,
            ack_request=True,
            remote_address=0x7F0000001003,
            remote_key=0x1A2B3C4D,
            dma_length=5,
        ),
        bytes.fromhex(
            "02000000000202000000000108004500004400004000401126a70a0000010a000002c00012b7003000000a30ffff0000001180ffffff"
            "00007f00000010031a2b3c4d00000005112233445500000043f9fc37"
        ),
    ),
    "write_immediate_empty": (
        Packet(opcode=0x0B, ack_request=True, immediate=0xDEADBEEF),
        bytes.fromhex(
            "02000000000202000000000108004500004000004000401126ab0a0000010a000002c00012b7002c00000b00ffff0000001180000000"
            "00000000000000000000000000000000deadbeefc45ef976"
        ),
    ),
    "unconnected_write": (
        Packet(
            opcode=0x2A,
            payload=_PAYLOAD,
            psn=0x123456,
            remote_address=0x7F0000001000,
            remote_key=0x1A2B3C4D,
            dma_length=64,
        ),
        bytes.fromhex(
            "02000000000202000000000108004500007c000040004011266f0a0000010a000002c00012b7006800002a00ffff0000001100123456"
            "00007f00000010001a2b3c4d00000040000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425"
            "262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f3cf96690"
        ),
    ),
    "acknowledge": (
        Packet(opcode=0x11, psn=0x123456, dest_qpn=0x22, immediate=0x1F000001).swapped(),
        bytes.fromhex(
            "02000000000102000000000208004500003000004000401126bb0a0000020a000001c00012b7001c00001100ffff0000002200123456"
            "1f00000188dffe6f"
        ),
    ),
}
"""Golden vectors: packet and frame. Checked elsewhere against a SoftRoCE device and scapy."""
