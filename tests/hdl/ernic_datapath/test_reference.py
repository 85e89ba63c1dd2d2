"""The reference itself against the golden vectors and against scapy's RoCE layer, which knows the ICRC by itself."""

from __future__ import annotations

import random

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tests.hdl.ernic_datapath.reference import VECTORS, Packet, encode, extensions


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name):
    packet, frame = VECTORS[name]
    assert encode(packet) == frame


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 255, 1024])
def test_against_scapy(length):
    generator = random.Random(length)
    packet = Packet(
        opcode=generator.choice([0x04, 0x06, 0x07, 0x0B, 0x11]),
        payload=generator.randbytes(length),
        psn=generator.getrandbits(24),
        dest_qpn=generator.getrandbits(24),
        ack_request=bool(generator.getrandbits(1)),
        migreq=bool(generator.getrandbits(1)),
        remote_address=generator.getrandbits(64),
        remote_key=generator.getrandbits(32),
        dma_length=length,
        immediate=generator.getrandbits(32),
        traffic_class=generator.getrandbits(8),
        ttl=generator.getrandbits(8),
    )
    pad = -length % 4
    theirs = (
        Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
        / IP(src="10.0.0.1", dst="10.0.0.2", id=0, flags="DF", ttl=packet.ttl, tos=packet.traffic_class)
        / UDP(sport=packet.source_port, dport=4791, chksum=0)
        / BTH(
            opcode=packet.opcode,
            migreq=packet.migreq,
            padcount=pad,
            pkey=packet.pkey,
            dqpn=packet.dest_qpn,
            ackreq=packet.ack_request,
            psn=packet.psn,
        )
        / Raw(extensions(packet) + packet.payload + bytes(pad))
    )
    assert bytes(theirs) == encode(packet)
