"""RC WRITEs and the frames in them, made by hand.

Nothing here shares code with the RTL, the link model or the receiver.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from crc32c import crc32c

from host.exchange import Hello
from sim.peers.lifecycle import Network

FIRST, MIDDLE, LAST, LAST_IMM, ONLY, ONLY_IMM = 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B
ACK = 0x11


def _ip_sum(header: bytes) -> int:
    total = sum(struct.unpack(">10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Writer:
    """One queue pair of a pretended FPGA."""

    network: Network
    qpn: int
    remote_qpn: int
    rkey: int
    pmtu: int = 4096
    psn: int = 0

    def packet(self, opcode: int, psn: int, body: bytes, *, ack: bool) -> bytes:
        """Return one Ethernet frame; ``body`` is everything between BTH and ICRC."""
        pad = -len(body) % 4
        bth = struct.pack(">BBHII", opcode, 0x40 | pad << 4, 0xFFFF, self.remote_qpn, ack << 31 | psn & 0xFFFFFF)
        payload = bth + body + bytes(pad)
        udp = struct.pack(">HHHH", 0xC123, 4791, 8 + len(payload) + 4, 0)
        addresses = b"".join(bytes(map(int, ip.split("."))) for ip in (self.network.fpga_ip, self.network.peer_ip))
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp) + len(payload) + 4, psn & 0xFFFF, 0x4000, 64, 17, 0)
        ip += addresses
        ip = ip[:10] + struct.pack(">H", _ip_sum(ip)) + ip[12:]
        masked_ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
        masked = b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + payload[12:]
        icrc = struct.pack("<I", zlib.crc32(masked))
        macs = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in (self.network.peer_mac, self.network.fpga_mac))
        return macs + b"\x08\x00" + ip + udp + payload + icrc

    def write(self, address: int, data: bytes, immediate: int | None = None) -> list[bytes]:
        """Return the packets of one WRITE, the last one asking for an acknowledgement."""
        pieces = [data[start : start + self.pmtu] for start in range(0, len(data), self.pmtu)] or [b""]
        reth = struct.pack(">QII", address, self.rkey, len(data))
        tail = b"" if immediate is None else struct.pack(">I", immediate)
        packets = []
        for index, piece in enumerate(pieces):
            first, last = index == 0, index == len(pieces) - 1
            opcode = {(True, True): ONLY, (True, False): FIRST, (False, True): LAST, (False, False): MIDDLE}[
                first, last
            ]
            opcode += last and immediate is not None
            body = (reth if first else b"") + (tail if last else b"") + piece
            packets.append(self.packet(opcode, self.psn, body, ack=last))
            self.psn = (self.psn + 1) & 0xFFFFFF
        return packets

    def frame(self, hello: Hello, slot: int, data: bytes, sequence: int, block_bytes: int = 32768) -> list[bytes]:
        """Return the packets that put a whole frame into a slot, as the control software would order it."""
        base = hello.queue_pairs[0].address + slot * hello.slot_bytes
        packets = []
        for start in range(0, len(data), block_bytes):
            block = data[start : start + block_bytes]
            last = start + len(block) == len(data)
            packets += self.write(base + start, block, slot << 20 | sequence & 0xFFFFF if last else None)
        return packets


def ultrasound_frame(sequence: int, samples: bytes, channels: int, *, link_errors: int = 0) -> bytes:
    """Return a frame in the layout of the documentation, from its byte offsets alone."""
    count = len(samples) // (2 * channels)
    timestamp = 5 << 32 | 1000 << 2
    header = struct.pack(
        "<IBBBBQIIQQIHHIHHI",
        *(0x31464245, 1, 64, 1, 1, sequence, sequence & 0xFFFFFFFF, 9, timestamp, 7 << 8),
        *(count, channels, 8000, len(samples), 0, 4, 0),
    )
    header += struct.pack("<I", crc32c(header))
    payload = samples + bytes(-len(samples) % 64)
    trailer = struct.pack("<IIQQIIQ20x", 0x31544245, link_errors, sequence, timestamp + 400, crc32c(samples), count, 0)
    trailer += struct.pack("<I", crc32c(trailer))
    return header + payload + trailer


@dataclass(frozen=True)
class Reply:
    """What is in an acknowledgement."""

    opcode: int
    qpn: int
    psn: int
    syndrome: int
    msn: int

    @classmethod
    def parse(cls, frame: bytes) -> Reply:
        """Take an Ethernet frame apart."""
        opcode, _, _, qpn, psn, aeth = struct.unpack_from(">BBHIII", frame, 42)
        return cls(opcode, qpn & 0xFFFFFF, psn & 0xFFFFFF, aeth >> 24, aeth & 0xFFFFFF)
