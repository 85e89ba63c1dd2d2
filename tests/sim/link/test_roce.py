from __future__ import annotations

import struct
import warnings
import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.link import roce
from sim.link.roce import (
    Aeth,
    Bth,
    Deth,
    Ethernet,
    ImmDt,
    Ipv4,
    Opcode,
    Packet,
    ProtocolError,
    Reth,
    Udp,
    decode,
    encode,
    icrc,
    padding,
    seal,
)
from tests.sim.link.frames import noise, reference_icrc, request, write_packets

SIXTY_FOUR = bytes(range(64)).hex()
V1 = (
    "02000000000202000000000108004500007c000040004011266f0a0000010a000002c00012b7006800000a00ffff00000011"
    f"8012345600007f00000010001a2b3c4d00000040{SIXTY_FOUR}a07f8efd"
)
V2 = (
    "02000000000202000000000108004500004400004000401126a70a0000010a000002c00012b7003000000a30ffff00000011"
    "80ffffff00007f00000010031a2b3c4d00000005112233445500000043f9fc37"
)
V3 = (
    "02000000000202000000000108004500004000004000401126ab0a0000010a000002c00012b7002c00000b00ffff00000011"
    "8000000000000000000000000000000000000000deadbeefc45ef976"
)
V4 = V1.replace("00680000" + "0a00", "00680000" + "2a00").replace("8012345600007f", "0012345600007f")[:-8] + "3cf96690"
V5 = (
    "02000000000102000000000208004500003000004000401126bb0a0000020a000001c00012b7001c00001100ffff00000022"
    "001234561f00000188dffe6f"
)
V6 = (
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118"
    "000000000000000000000000000000000000000082fd002a"
)
"""A congestion notification of a ConnectX-4 Lx, as captured."""
VECTORS = {"V1": V1, "V2": V2, "V3": V3, "V4": V4, "V5": V5, "V6": V6}


@pytest.mark.parametrize("name", VECTORS)
def test_golden_vectors_decode_and_encode_to_themselves(name):
    frame = bytes.fromhex(VECTORS[name])
    packet = decode(frame)
    assert encode(packet) == frame
    assert struct.pack("<I", icrc(frame)) == frame[-4:] == reference_icrc(frame)


def test_golden_vectors_mean_what_they_should():
    first = decode(bytes.fromhex(V1))
    assert first.bth == Bth(Opcode.RC_WRITE_ONLY, 0x11, 0x123456, ack_request=True)
    assert first.reth == Reth(0x7F0000001000, 0x1A2B3C4D, 64)
    assert first.payload == bytes(range(64))
    assert first.ethernet == Ethernet(roce.mac("02:00:00:00:00:02"), roce.mac("02:00:00:00:00:01"))
    assert first.ipv4 == Ipv4(roce.ipv4("10.0.0.1"), roce.ipv4("10.0.0.2"))
    assert first.udp == Udp(0xC000)

    second = decode(bytes.fromhex(V2))
    assert (second.payload, second.pad) == (bytes.fromhex("1122334455"), bytes(3))
    assert second.bth.psn == 0xFFFFFF

    assert decode(bytes.fromhex(V3)).immediate == ImmDt(0xDEADBEEF)
    assert decode(bytes.fromhex(V4)).bth == Bth(Opcode.UC_WRITE_ONLY, 0x11, 0x123456)
    assert decode(bytes.fromhex(V5)).aeth == Aeth(0x1F, 1)

    sixth = decode(bytes.fromhex(V6))
    assert sixth.bth.becn and not sixth.bth.fecn
    assert sixth.bth.destination_qp == 0x118
    assert sixth.payload == bytes(16)


def test_the_seed_of_the_icrc_is_the_known_register_state():
    assert zlib.crc32(b"\xff" * 8) ^ 0xFFFFFFFF == 0xDEBB20E3


def test_scapy_computes_the_same_icrc():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from scapy.contrib.roce import BTH  # noqa: F401 - binds the layer to UDP port 4791
        from scapy.layers.l2 import Ether
    for text in VECTORS.values():
        frame = bytes.fromhex(text)
        layers = Ether(frame)
        del layers.icrc
        assert bytes(layers)[-4:] == frame[-4:]


octets = st.integers(0, 0xFF)
words = st.integers(0, 0xFFFFFFFF)
qpns = st.integers(0, 0xFFFFFF)


@st.composite
def packets(draw) -> Packet:
    opcode = draw(st.sampled_from(list(Opcode)))
    info = roce.OPCODES[opcode]
    payload = draw(st.binary(max_size=70))
    return Packet(
        Ethernet(draw(st.binary(min_size=6, max_size=6)), draw(st.binary(min_size=6, max_size=6))),
        Ipv4(
            draw(words),
            draw(words),
            draw(octets),
            draw(st.integers(0, 0xFFFF)),
            draw(st.sampled_from([0, 2, 4])),
            draw(octets),
        ),
        Udp(draw(st.integers(0, 0xFFFF))),
        Bth(
            opcode,
            draw(qpns),
            draw(qpns),
            *(draw(st.booleans()) for _ in range(3)),
            draw(st.integers(0, 0xFFFF)),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.integers(0, 0x3F)),
            draw(st.integers(0, 0x7F)),
        ),
        reth=Reth(draw(st.integers(0, 2**64 - 1)), draw(words), draw(words)) if info.reth else None,
        aeth=Aeth(draw(octets), draw(qpns)) if info.aeth else None,
        immediate=ImmDt(draw(words)) if info.immediate else None,
        deth=Deth(draw(words), draw(qpns)) if info.deth else None,
        payload=payload,
        pad=draw(st.binary(max_size=3)),
        trailing=draw(st.binary(max_size=5)),
    )


@settings(max_examples=200, deadline=None)
@given(packets())
def test_encode_and_decode_are_inverse(packet):
    frame = encode(packet)
    again = decode(frame)
    assert again == packet
    assert encode(again) == frame
    end = len(frame) - len(packet.trailing)
    assert frame[end - 4 : end] == reference_icrc(frame[:end])


@settings(max_examples=100, deadline=None)
@given(packets(), st.data())
def test_a_flipped_bit_is_noticed_or_not_covered(packet, data):
    frame = bytearray(encode(replace(packet, trailing=b"")))
    bit = data.draw(st.integers(14 * 8, len(frame) * 8 - 1))
    frame[bit // 8] ^= 1 << bit % 8
    if bit // 8 == 14 + 32:
        assert decode(bytes(frame)) != packet  # FECN, BECN and reserved bits are outside every check sum
        return
    with pytest.raises(ProtocolError):
        decode(bytes(frame))


def tampered(offset: int, value: int, size: int = 1, fix_header: bool = True) -> bytes:
    """V1 with a field overwritten, and the check sums made to fit."""
    frame = bytearray.fromhex(V1)
    frame[offset : offset + size] = value.to_bytes(size, "big")
    if fix_header:
        frame[24:26] = roce.ipv4_checksum(bytes(frame[14:34])).to_bytes(2, "big")
    return seal(bytes(frame))


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        (bytes.fromhex(V1)[:50], "frame.length"),
        (tampered(12, 0x86DD, 2), "ethernet.ethertype"),
        (tampered(14, 0x46), "ipv4.version_ihl"),
        (tampered(20, 0x2000, 2), "ipv4.fragment"),
        (tampered(20, 0x0001, 2), "ipv4.fragment"),
        (tampered(23, 6), "ipv4.protocol"),
        (tampered(16, 0x7D, 2), "ipv4.total_length"),
        (tampered(36, 4792, 2), "udp.destination_port"),
        (tampered(38, 0x67, 2), "udp.length"),
        (tampered(43, 0x01), "bth.transport_version"),
        (tampered(42, 0x1F), "bth.opcode"),
        (tampered(24, 0x1234, 2, fix_header=False), "ipv4.checksum"),
        (tampered(40, 0x1234, 2), "udp.checksum"),
        (bytes.fromhex(V1)[:-1] + b"\0", "icrc"),
    ],
)
def test_malformed_frames_are_refused_by_field(frame, field):
    with pytest.raises(ProtocolError) as caught:
        decode(frame)
    assert caught.value.field == field
    assert field in str(caught.value) and str(caught.value.value) in str(caught.value)


def test_a_packet_too_short_for_its_headers_is_refused():
    frame = bytearray(encode(request(Opcode.RC_SEND_ONLY, 1, b"1234")))
    frame[42] = Opcode.RC_WRITE_ONLY
    with pytest.raises(ProtocolError, match=r"ipv4.total_length is 48, expected at least 60"):
        decode(seal(bytes(frame)))


def test_check_sums_can_be_left_out():
    frame = bytes.fromhex(V1)[:-1] + b"\0"
    assert decode(frame, verify=False).payload == bytes(range(64))


def test_a_right_udp_check_sum_is_accepted():
    packet = request(Opcode.RC_WRITE_ONLY, 5, b"odd", ack_request=True)
    packet.reth = Reth(1, 2, 3)
    packet.udp.checksum = roce.udp_checksum(encode(packet))
    assert decode(encode(packet)) == packet


def test_encode_refuses_headers_that_do_not_fit_the_opcode():
    with pytest.raises(ValueError, match="RC_WRITE_FIRST needs reth"):
        encode(request(Opcode.RC_WRITE_FIRST, 0, noise(4096)))
    extra = request(Opcode.RC_SEND_ONLY, 0, b"1234")
    extra.immediate = ImmDt(1)
    with pytest.raises(ValueError, match="RC_SEND_ONLY has no immediate"):
        encode(extra)
    with pytest.raises(ValueError, match="24 bits"):
        encode(replace(extra, immediate=None, bth=Bth(Opcode.RC_SEND_ONLY, 1 << 24, 0)))
    with pytest.raises(ValueError, match="pad"):
        encode(replace(extra, immediate=None, pad=bytes(4)))


def test_psns_compare_on_a_circle():
    assert roce.psn_difference(1, 0xFFFFFF) == 2
    assert roce.psn_difference(0xFFFFFF, 1) == -2
    assert roce.psn_difference(0x7FFFFF, 0) == 0x7FFFFF
    assert roce.psn_difference(0x800000, 0) == -0x800000


def test_glimpse_reads_what_decode_reads():
    for packet in write_packets(noise(9000), 0, 1, 0xFFFFFE, immediate=7):
        seen = roce.glimpse(encode(packet))
        assert seen == roce.Glimpse(
            packet.bth.opcode, packet.bth.destination_qp, packet.bth.psn, packet.bth.ack_request
        )
    for text in ("", "ff" * 60, V1.replace("080045", "080645", 1)):
        assert roce.glimpse(bytes.fromhex(text)) is None


def test_summaries_never_raise():
    frame = bytes.fromhex(V5)
    assert roce.summary(frame) == "RC_ACKNOWLEDGE QP 0x22 PSN 0x123456 syndrome 0x1f"
    assert "AckReq" in roce.summary(bytes.fromhex(V1))
    for size in range(len(frame)):
        assert roce.summary(frame[:size])
    assert "0x1f" in roce.summary(tampered(42, 0x1F))


def test_addresses_are_read_and_refused():
    assert roce.mac("aa:bb:cc:dd:ee:ff") == bytes.fromhex("aabbccddeeff")
    for bad in ("aa:bb:cc:dd:ee", "aabbccddeeff", "aa:bb:cc:dd:ee:gg"):
        with pytest.raises(ValueError):
            roce.mac(bad)


def test_padding_completes_four():
    assert [len(padding(size)) for size in range(6)] == [0, 3, 2, 1, 0, 3]
