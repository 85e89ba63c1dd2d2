"""Frames and connections that the tests of link and peers share."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np

from sim.link.responder import Endpoint, QueuePair
from sim.link.roce import (
    PSN_MASK,
    Bth,
    Ethernet,
    ImmDt,
    Ipv4,
    Opcode,
    Packet,
    Reth,
    Transport,
    Udp,
    encode,
    ipv4,
    mac,
    padding,
)

DEVICE = Endpoint(mac("02:00:00:00:00:01"), ipv4("10.0.0.1"))
PEER = Endpoint(mac("02:00:00:00:00:02"), ipv4("10.0.0.2"))
CONNECTION = QueuePair(peer_qpn=0x11, device_qpn=0x12, device=DEVICE, peer=PEER)


def request(opcode: Opcode, psn: int, payload: bytes = b"", qp: QueuePair = CONNECTION, **bth) -> Packet:
    """A request of the device on ``qp`` without extension headers."""
    return Packet(
        Ethernet(qp.peer.mac, qp.device.mac),
        Ipv4(qp.device.ip, qp.peer.ip),
        Udp(0xC000),
        Bth(opcode, qp.peer_qpn, psn & PSN_MASK, **bth),
        payload=payload,
        pad=padding(len(payload)),
    )


def write_packets(
    data: bytes,
    address: int,
    rkey: int,
    psn: int,
    *,
    qp: QueuePair = CONNECTION,
    immediate: int | None = None,
    ack_every: int = 0,
) -> list[Packet]:
    """One WRITE message as a requester would cut it, AckReq on the last packet and on every ``ack_every``-th."""
    name = "RC" if qp.transport is Transport.RC else "UC"
    chunks = [data[at : at + qp.pmtu] for at in range(0, len(data), qp.pmtu)] or [b""]
    packets = []
    for index, chunk in enumerate(chunks):
        first, last = index == 0, index == len(chunks) - 1
        place = "ONLY" if first and last else "FIRST" if first else "LAST" if last else "MIDDLE"
        suffix = "_IMM" if last and immediate is not None else ""
        wanted = last or bool(ack_every and (psn + index) % ack_every == 0)
        packet = request(
            Opcode[f"{name}_WRITE_{place}{suffix}"],
            psn + index,
            chunk,
            qp,
            ack_request=wanted and qp.transport is Transport.RC,
        )
        if first:
            packet.reth = Reth(address, rkey, len(data))
        if suffix:
            packet.immediate = ImmDt(immediate)
        packets.append(packet)
    return packets


def write_frames(*arguments, **options) -> list[bytes]:
    """The frames of :func:`write_packets`."""
    return [encode(packet) for packet in write_packets(*arguments, **options)]


def changed(packet: Packet, **bth) -> Packet:
    """The packet with other BTH fields."""
    return replace(packet, bth=replace(packet.bth, **bth))


def noise(size: int, seed: int = 1) -> bytes:
    """``size`` reproducible octets."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).tobytes()


def reference_icrc(frame: bytes) -> bytes:
    """The ICRC bit by bit, from the definition: no zlib, no tables, no seed."""
    covered = bytearray(b"\xff" * 8 + frame[14:-4])
    for offset in (1, 8, 10, 11, 26, 27, 32):
        covered[8 + offset] = 0xFF
    register = 0xFFFFFFFF
    for octet in covered:
        for bit in range(8):
            feedback = register & 1 ^ octet >> bit & 1
            register = register >> 1 ^ (0xEDB88320 if feedback else 0)
    return struct.pack("<I", register ^ 0xFFFFFFFF)
