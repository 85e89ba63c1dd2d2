"""RoCEv2 frames over IPv4: bytes to fields and back, and the invariant check sum.

Frames are whole Ethernet frames without preamble and FCS. Field names follow the InfiniBand specification (IBTA vol.
1, chapter 9, and annex A17 for RoCEv2). A :class:`Packet` holds what a frame means; what follows from that (lengths,
pad count, header check sum, ICRC) is written by :func:`encode` and verified by :func:`decode`, and so cannot
contradict it.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_ARP = 0x0806
PROTOCOL_UDP = 17
ROCE_PORT = 4791
DEFAULT_PKEY = 0xFFFF
PSN_BITS = 24
PSN_MASK = (1 << PSN_BITS) - 1
IPV4_DONT_FRAGMENT = 0b010
ICRC_BYTES = 4
BTH_END = 14 + 20 + 8 + 12
"""Octets of an untagged frame up to and with the base transport header; extension headers follow."""

SYNDROME_ACK = 0x1F
"""AETH syndrome of an acknowledgement that carries no credits."""
SYNDROME_RNR = 0x20
"""AETH syndrome of a receiver-not-ready NAK; the low five bits are the timer code."""
SYNDROME_NAK_SEQUENCE = 0x60
SYNDROME_NAK_INVALID = 0x61
SYNDROME_NAK_ACCESS = 0x62
SYNDROME_NAK_OPERATION = 0x63


class ProtocolError(ValueError):
    """A frame that is no well-formed RoCEv2 packet: names the field, the value that it had, and what was expected."""

    def __init__(self, name: str, value: object, expectation: str) -> None:
        self.field = name
        self.value = value
        self.expectation = expectation
        super().__init__(f"{name} is {value}, expected {expectation}")


class Transport(StrEnum):
    """Service type, from the top three bits of the opcode."""

    RC = "RC"
    UC = "UC"
    UD = "UD"
    CNP = "CNP"


class Opcode(IntEnum):
    """BTH opcodes known to the codec. Atomics and SEND with invalidate are not among them."""

    RC_SEND_FIRST = 0x00
    RC_SEND_MIDDLE = 0x01
    RC_SEND_LAST = 0x02
    RC_SEND_LAST_IMM = 0x03
    RC_SEND_ONLY = 0x04
    RC_SEND_ONLY_IMM = 0x05
    RC_WRITE_FIRST = 0x06
    RC_WRITE_MIDDLE = 0x07
    RC_WRITE_LAST = 0x08
    RC_WRITE_LAST_IMM = 0x09
    RC_WRITE_ONLY = 0x0A
    RC_WRITE_ONLY_IMM = 0x0B
    RC_READ_REQUEST = 0x0C
    RC_READ_RESPONSE_FIRST = 0x0D
    RC_READ_RESPONSE_MIDDLE = 0x0E
    RC_READ_RESPONSE_LAST = 0x0F
    RC_READ_RESPONSE_ONLY = 0x10
    RC_ACKNOWLEDGE = 0x11
    UC_SEND_FIRST = 0x20
    UC_SEND_MIDDLE = 0x21
    UC_SEND_LAST = 0x22
    UC_SEND_LAST_IMM = 0x23
    UC_SEND_ONLY = 0x24
    UC_SEND_ONLY_IMM = 0x25
    UC_WRITE_FIRST = 0x26
    UC_WRITE_MIDDLE = 0x27
    UC_WRITE_LAST = 0x28
    UC_WRITE_LAST_IMM = 0x29
    UC_WRITE_ONLY = 0x2A
    UC_WRITE_ONLY_IMM = 0x2B
    UD_SEND_ONLY = 0x64
    UD_SEND_ONLY_IMM = 0x65
    CNP = 0x81


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """What an opcode says about its packet: place in the message, and the extension headers in wire order."""

    opcode: Opcode
    transport: Transport
    operation: str
    """``send``, ``write``, ``read``, ``response``, ``acknowledge`` or ``cnp``."""
    first: bool
    last: bool
    deth: bool
    reth: bool
    aeth: bool
    immediate: bool
    header_bytes: int
    """Octets of all extension headers."""
    request: bool


def _describe(opcode: Opcode) -> OpcodeInfo:
    name = opcode.name
    transport = Transport.CNP if opcode is Opcode.CNP else Transport(name[:2])
    if opcode is Opcode.CNP:
        operation = "cnp"
    elif "RESPONSE" in name:
        operation = "response"
    else:
        operation = name.split("_")[1].lower()
    single = "ONLY" in name or operation in ("read", "acknowledge", "cnp")
    first = single or "FIRST" in name
    last = single or "LAST" in name
    deth = transport is Transport.UD
    reth = operation == "read" or (operation == "write" and first)
    aeth = operation == "acknowledge" or (operation == "response" and (first or last))
    immediate = name.endswith("IMM")
    return OpcodeInfo(
        opcode=opcode,
        transport=transport,
        operation=operation,
        first=first,
        last=last,
        deth=deth,
        reth=reth,
        aeth=aeth,
        immediate=immediate,
        header_bytes=8 * deth + 16 * reth + 4 * aeth + 4 * immediate,
        request=operation in ("send", "write", "read"),
    )


OPCODES: dict[int, OpcodeInfo] = {int(opcode): _describe(opcode) for opcode in Opcode}
"""Known opcodes by their number."""


@dataclass(slots=True)
class Ethernet:
    """Addresses, six octets each."""

    destination: bytes
    source: bytes


@dataclass(slots=True)
class Ipv4:
    """IPv4 header without options. Addresses are numbers (10.0.0.1 is 0x0A000001); ``flags`` are the three top bits."""

    source: int
    destination: int
    tos: int = 0
    identification: int = 0
    flags: int = IPV4_DONT_FRAGMENT
    ttl: int = 64


@dataclass(slots=True)
class Udp:
    """UDP header. The destination port is always 4791; a check sum of 0 means none, as usual for RoCEv2."""

    source_port: int
    checksum: int = 0


@dataclass(slots=True)
class Bth:
    """Base transport header (IBTA 9.2). PadCnt is not here: it is the length of :attr:`Packet.pad`."""

    opcode: Opcode
    destination_qp: int
    psn: int
    ack_request: bool = False
    solicited: bool = False
    migration: bool = False
    pkey: int = DEFAULT_PKEY
    fecn: bool = False
    becn: bool = False
    reserved6: int = 0
    """The six bits below FECN and BECN; the ICRC does not cover this octet."""
    reserved7: int = 0
    """The seven bits below AckReq."""


@dataclass(slots=True)
class Reth:
    """RDMA extended header: remote address, key, and length of the whole message in bytes (IBTA 9.3.3)."""

    address: int
    rkey: int
    length: int


@dataclass(slots=True)
class Aeth:
    """Acknowledge extended header (IBTA 9.3.5)."""

    syndrome: int
    msn: int


@dataclass(slots=True)
class ImmDt:
    """Immediate data, 32 opaque bits."""

    value: int


@dataclass(slots=True)
class Deth:
    """Datagram extended header (IBTA 9.3.1)."""

    qkey: int
    source_qp: int


@dataclass(slots=True)
class Packet:
    """A RoCEv2 packet. Which of the optional headers exist follows from the opcode."""

    ethernet: Ethernet
    ipv4: Ipv4
    udp: Udp
    bth: Bth
    reth: Reth | None = None
    aeth: Aeth | None = None
    immediate: ImmDt | None = None
    deth: Deth | None = None
    payload: bytes = b""
    pad: bytes = b""
    """Octets between payload and ICRC; :func:`padding` gives the ones that a payload needs."""
    trailing: bytes = b""
    """Octets behind the end that the IP header gives, such as the padding of short Ethernet frames."""
    info: OpcodeInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.info = OPCODES[self.bth.opcode]


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The BTH fields that selection and captures need, read without decoding the packet."""

    opcode: int
    destination_qp: int
    psn: int
    ack_request: bool


# Ethernet, IPv4, UDP and BTH have fixed places as long as there are neither VLAN tags nor IP options.
_FIXED = struct.Struct(">6s6sH BBHHHBBHII HHHH BBHII")
_RETH = struct.Struct(">QII")
_U32 = struct.Struct(">I")
_TWO_U32 = struct.Struct(">II")
_WORDS = struct.Struct(">10H")
_ICRC = struct.Struct("<I")
_VERSION_AND_IHL = 0x45
_LRH_STANDIN = zlib.crc32(b"\xff" * 8)


def mac(text: str) -> bytes:
    """Return the six octets of ``aa:bb:cc:dd:ee:ff``; raise ``ValueError`` for anything else."""
    octets = bytes.fromhex(text.replace(":", ""))
    if len(octets) != 6 or text.count(":") != 5:
        raise ValueError(f"{text!r} is no MAC address of the form aa:bb:cc:dd:ee:ff")
    return octets


def ipv4(text: str) -> int:
    """Return the number of a dotted IPv4 address; raise ``ValueError`` for anything else."""
    return int(IPv4Address(text))


def padding(payload_bytes: int) -> bytes:
    """Return the 0 to 3 zero octets that bring a payload to a multiple of four."""
    return bytes(-payload_bytes % 4)


def psn_difference(a: int, b: int) -> int:
    """Return ``a - b`` on the circle of 2^24 PSNs, -2^23 to 2^23 - 1; positive when ``a`` is ahead."""
    return (a - b + 0x800000 & PSN_MASK) - 0x800000


def icrc(frame: bytes, end: int | None = None) -> int:
    """Return the invariant CRC of a frame whose ICRC field starts at octet ``end`` (default: its last four octets).

    CRC-32 of Ethernet over eight octets of ones (they stand for the missing LRH), the frame from the IP header on, with
    the fields that routers may change replaced by ones (IBTA annex A17.3.3). On the wire the value is little-endian.
    """
    head = bytearray(frame[14:BTH_END])
    head[1] = head[8] = head[10] = head[11] = 0xFF  # TOS, TTL, header check sum
    head[26] = head[27] = 0xFF  # UDP check sum
    head[32] = 0xFF  # FECN, BECN, reserved
    stop = len(frame) - ICRC_BYTES if end is None else end
    return zlib.crc32(memoryview(frame)[BTH_END:stop], zlib.crc32(head, _LRH_STANDIN))


def seal(frame: bytes) -> bytes:
    """Return ``frame`` with its last four octets replaced by the ICRC that the rest calls for."""
    return frame[:-ICRC_BYTES] + _ICRC.pack(icrc(frame))


def _ones_complement_sum(words: tuple[int, ...] | list[int]) -> int:
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ipv4_checksum(header: bytes) -> int:
    """Return the check sum of a 20-octet IPv4 header, whatever its check sum field holds."""
    words = list(_WORDS.unpack(header))
    words[5] = 0
    return _ones_complement_sum(words) ^ 0xFFFF


def udp_checksum(frame: bytes) -> int:
    """Return the UDP check sum of an IPv4 frame, whatever its check sum field holds (never 0, which means none)."""
    length = int.from_bytes(frame[38:40], "big")
    datagram = frame[34:40] + b"\0\0" + frame[42 : 34 + length] + bytes(length % 2)
    words = struct.unpack(f">{len(datagram) // 2}H", datagram)
    pseudo = (*struct.unpack(">4H", frame[26:34]), PROTOCOL_UDP, length)
    return _ones_complement_sum(pseudo + words) ^ 0xFFFF or 0xFFFF


def glimpse(frame: bytes) -> Glimpse | None:
    """Return the BTH of a frame that looks like RoCEv2 over IPv4, else None. Nothing is verified beyond that look."""
    if (
        len(frame) < BTH_END + ICRC_BYTES
        or frame[12:15] != b"\x08\x00\x45"
        or frame[23] != PROTOCOL_UDP
        or frame[36:38] != b"\x12\xb7"
    ):
        return None
    return Glimpse(
        opcode=frame[42],
        destination_qp=int.from_bytes(frame[47:50], "big"),
        psn=int.from_bytes(frame[51:54], "big"),
        ack_request=frame[50] >= 0x80,
    )


def payload_offset(opcode: int) -> int:
    """Return the octet of a frame where the payload starts (behind the BTH if the opcode is unknown)."""
    info = OPCODES.get(opcode)
    return BTH_END + (info.header_bytes if info else 0)


def _require(condition: bool, name: str, value: object, expectation: str) -> None:
    if not condition:
        raise ProtocolError(name, value, expectation)


def decode(frame: bytes, *, verify: bool = True) -> Packet:
    """Return the packet in ``frame``; raise :class:`ProtocolError` if there is none.

    Raised are errors for which no receiver could make sense of the packet or every receiver drops it: wrong types and
    versions, contradicting lengths, IP options or fragments, unknown opcode, bad check sums (UDP's only if it is not
    0). ``verify=False`` skips the three check sums. Conformance beyond that is for :mod:`sim.link.checker`.
    """
    size = len(frame)
    if size < BTH_END + ICRC_BYTES:
        raise ProtocolError("frame.length", size, f"at least {BTH_END + ICRC_BYTES}")
    (
        destination_mac, source_mac, ethertype,
        version, tos, total, identification, fragment, ttl, protocol, header_checksum, source, destination,
        source_port, destination_port, udp_length, checksum,
        opcode, flags, pkey, congestion_qp, request_psn,
    ) = _FIXED.unpack_from(frame)  # fmt: skip
    _require(ethertype == ETHERTYPE_IPV4, "ethernet.ethertype", f"{ethertype:#06x}", "0x0800")
    _require(version == _VERSION_AND_IHL, "ipv4.version_ihl", f"{version:#04x}", "0x45")
    _require(protocol == PROTOCOL_UDP, "ipv4.protocol", protocol, "17")
    _require(fragment & 0x3FFF == 0, "ipv4.fragment", f"{fragment:#06x}", "an unfragmented datagram")
    _require(total <= size - 14, "ipv4.total_length", total, f"at most {size - 14}, what the frame holds")
    _require(destination_port == ROCE_PORT, "udp.destination_port", destination_port, str(ROCE_PORT))
    _require(udp_length == total - 20, "udp.length", udp_length, f"{total - 20}, IP total length less its header")
    _require(flags & 0x0F == 0, "bth.transport_version", flags & 0x0F, "0")
    info = OPCODES.get(opcode)
    if info is None:
        raise ProtocolError("bth.opcode", f"{opcode:#04x}", "a known opcode")
    pad_count = flags >> 4 & 3
    payload_start = BTH_END + info.header_bytes
    icrc_start = total + 14 - ICRC_BYTES
    payload_end = icrc_start - pad_count
    if payload_end < payload_start:
        least = payload_start + pad_count + ICRC_BYTES - 14
        raise ProtocolError("ipv4.total_length", total, f"at least {least} for {info.opcode.name} with pad {pad_count}")
    if verify:
        expected = ipv4_checksum(frame[14:34])
        _require(header_checksum == expected, "ipv4.checksum", f"{header_checksum:#06x}", f"{expected:#06x}")
        if checksum:
            expected = udp_checksum(frame)
            _require(checksum == expected, "udp.checksum", f"{checksum:#06x}", f"0 or {expected:#06x}")
        (present,) = _ICRC.unpack_from(frame, icrc_start)
        expected = icrc(frame, icrc_start)
        if present != expected:
            raise ProtocolError("icrc", frame[icrc_start : icrc_start + 4].hex(), _ICRC.pack(expected).hex())

    packet = Packet(
        Ethernet(destination_mac, source_mac),
        Ipv4(source, destination, tos, identification, fragment >> 13, ttl),
        Udp(source_port, checksum),
        Bth(
            info.opcode,
            congestion_qp & 0xFFFFFF,
            request_psn & PSN_MASK,
            bool(request_psn >> 31),
            bool(flags & 0x80),
            bool(flags & 0x40),
            pkey,
            bool(congestion_qp >> 31),
            bool(congestion_qp >> 30 & 1),
            congestion_qp >> 24 & 0x3F,
            request_psn >> 24 & 0x7F,
        ),
        payload=frame[payload_start:payload_end],
        pad=frame[payload_end:icrc_start],
        trailing=frame[icrc_start + ICRC_BYTES :],
    )
    at = BTH_END
    if info.deth:
        qkey, source_qp = _TWO_U32.unpack_from(frame, at)
        packet.deth = Deth(qkey, source_qp & 0xFFFFFF)
        at += 8
    if info.reth:
        packet.reth = Reth(*_RETH.unpack_from(frame, at))
        at += 16
    if info.aeth:
        (value,) = _U32.unpack_from(frame, at)
        packet.aeth = Aeth(value >> 24, value & 0xFFFFFF)
        at += 4
    if info.immediate:
        packet.immediate = ImmDt(*_U32.unpack_from(frame, at))
    return packet


def _extension_headers(packet: Packet) -> bytes:
    info = packet.info
    wanted = {
        "deth": (info.deth, packet.deth),
        "reth": (info.reth, packet.reth),
        "aeth": (info.aeth, packet.aeth),
        "immediate": (info.immediate, packet.immediate),
    }
    for name, (needed, header) in wanted.items():
        if needed != (header is not None):
            raise ValueError(f"{info.opcode.name} {'needs' if needed else 'has no'} {name}")
    parts = []
    if packet.deth is not None:
        parts.append(_TWO_U32.pack(packet.deth.qkey, packet.deth.source_qp))
    if packet.reth is not None:
        parts.append(_RETH.pack(packet.reth.address, packet.reth.rkey, packet.reth.length))
    if packet.aeth is not None:
        parts.append(_U32.pack(packet.aeth.syndrome << 24 | packet.aeth.msn))
    if packet.immediate is not None:
        parts.append(_U32.pack(packet.immediate.value))
    return b"".join(parts)


def encode(packet: Packet) -> bytes:
    """Return the frame of ``packet``, with lengths, pad count, IP check sum and ICRC filled in.

    Raises ``ValueError`` if the extension headers do not fit the opcode or the pad is longer than three octets, and
    ``struct.error`` if a value does not fit its field.
    """
    extensions = _extension_headers(packet)
    if len(packet.pad) > 3:
        raise ValueError(f"a pad of {len(packet.pad)} octets does not fit PadCnt")
    bth, ip = packet.bth, packet.ipv4
    if not (0 <= bth.psn <= PSN_MASK and 0 <= bth.destination_qp < 1 << 24):
        raise ValueError(f"PSN {bth.psn} or queue pair {bth.destination_qp} does not fit into 24 bits")
    total = BTH_END - 14 + len(extensions) + len(packet.payload) + len(packet.pad) + ICRC_BYTES
    fixed = bytearray(
        _FIXED.pack(
            packet.ethernet.destination,
            packet.ethernet.source,
            ETHERTYPE_IPV4,
            _VERSION_AND_IHL,
            ip.tos,
            total,
            ip.identification,
            ip.flags << 13,
            ip.ttl,
            PROTOCOL_UDP,
            0,
            ip.source,
            ip.destination,
            packet.udp.source_port,
            ROCE_PORT,
            total - 20,
            packet.udp.checksum,
            bth.opcode,
            bth.solicited << 7 | bth.migration << 6 | len(packet.pad) << 4,
            bth.pkey,
            bth.fecn << 31 | bth.becn << 30 | bth.reserved6 << 24 | bth.destination_qp,
            bth.ack_request << 31 | bth.reserved7 << 24 | bth.psn,
        )
    )
    fixed[24:26] = ipv4_checksum(bytes(fixed[14:34])).to_bytes(2, "big")
    body = bytes(fixed) + extensions + packet.payload + packet.pad
    return body + _ICRC.pack(icrc(body, len(body))) + packet.trailing


def summary(frame: bytes) -> str:
    """Return one line on the BTH of ``frame`` for captures and messages; never raises."""
    seen = glimpse(frame)
    if seen is None:
        return f"not RoCEv2, {len(frame)} octets"
    info = OPCODES.get(seen.opcode)
    name = info.opcode.name if info else f"opcode {seen.opcode:#04x}"
    line = f"{name} QP {seen.destination_qp:#x} PSN {seen.psn:#08x}"
    if seen.ack_request:
        line += " AckReq"
    if info and info.aeth and len(frame) >= BTH_END + 4:
        line += f" syndrome {frame[BTH_END]:#04x}"
    return line
