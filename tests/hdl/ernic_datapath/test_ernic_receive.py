"""Receive datapath: golden vectors, each check and their order, frames without a pause between, hostile frames."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from tests.hdl.ernic_datapath.reference import VECTORS, Packet, encode, icrc, ipv4
from tests.hdl.ernic_datapath.verdict import FOREIGN, Event, Ticket, judge
from tests.hdl.module_bench import SIMULATORS, run_module

MAC = 0x020000000001
IP = 0x0A000001
NO_ROOM = 29
LATENCY = 6
"""Cycles from a frame's last beat to its event."""


class TB:
    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.mac = MAC
        self.ip = IP
        self.events: list[Event] = []
        self.fields: list[tuple[int, ...]] = []
        self.tickets: list[Ticket] = []
        self.beats: list[tuple[bytes, bool]] = []
        self.take = 1.0
        """Share of cycles in which a ticket, and a beat, is taken."""
        self._ready = 0
        self.stale = b""
        """What the first lanes behind a frame's end hold; the rest is noise."""
        self.gap: Callable[[], int] = lambda: 0

    async def start(self) -> None:
        dut = self.dut
        dut.s_axis_tvalid.value = 0
        dut.m_ticket_ready.value = dut.m_beat_ready.value = 0
        self.address(MAC, IP)
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        cocotb.start_soon(self._monitor())

    def address(self, mac: int, ip: int) -> None:
        self.mac, self.ip = mac, ip
        self.dut.local_mac.value = mac
        self.dut.local_ip.value = ip

    async def _monitor(self) -> None:
        """Collect events; each frame has one, and no event comes without a frame."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            self._tickets()
            drop, cnp, good = (int(dut.m_drop_valid.value), int(dut.m_cnp_valid.value), int(dut.m_good_valid.value))
            assert drop + cnp + good == int(dut.m_packet_in.value)
            marked = bool(int(dut.m_marked_valid.value))
            if drop:
                self.events.append(Event("drop", cause=int(dut.m_drop_cause.value)))
            elif cnp:
                self.events.append(Event("cnp", qpn=int(dut.m_event_qpn.value)))
            elif good:
                names = ("opcode", "qpn", "psn", "source_ip", "source_mac")
                self.fields.append(tuple(int(getattr(dut, f"m_event_{name}").value) for name in names))
                self.events.append(Event("packet", marked=marked))
            assert good or not marked

    def _tickets(self) -> None:
        """Take tickets and beats whenever ready was given for this cycle, then draw the next cycle's."""
        dut = self.dut
        if self._ready & 1 and dut.m_ticket_valid.value:
            self.tickets.append(Ticket.unpack(int(dut.m_ticket.value)))
        if self._ready & 2 and dut.m_beat_valid.value:
            self.beats.append((int(dut.m_beat_data.value).to_bytes(64, "little"), bool(int(dut.m_beat_end.value))))
        ready = sum(bit for bit in (1, 2) if self.random.random() < self.take)
        if ready != self._ready:
            self._ready = ready
            dut.m_ticket_ready.value = ready & 1
            dut.m_beat_ready.value = ready >> 1

    async def send(self, frames: Iterable[tuple[bytes, bool]]) -> None:
        """Play (frame, bad FCS), by default one beat a cycle without a pause; lanes without an octet carry noise."""
        dut = self.dut
        for frame, bad_fcs in frames:
            for start in range(0, len(frame), 64):
                for _ in range(self.gap()):
                    dut.s_axis_tvalid.value = 0
                    dut.s_axis_tdata.value = self.random.getrandbits(512)
                    await RisingEdge(dut.clk)
                octets = frame[start : start + 64]
                last = start + 64 >= len(frame)
                filled = (octets + self.stale + self.random.randbytes(64))[:64]
                dut.s_axis_tdata.value = int.from_bytes(filled, "little")
                dut.s_axis_tkeep.value = (1 << len(octets)) - 1
                dut.s_axis_tlast.value = last
                dut.s_axis_tuser.value = bad_fcs if last else self.random.getrandbits(1)
                dut.s_axis_tvalid.value = 1
                await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 0

    async def check(self, frames: list[tuple[bytes, bool]], *, lossy: bool = False) -> list[Event]:
        """Send frames; return their events with tickets, all compared. ``lossy``: good ones may find no room."""
        for list_ in (self.events, self.fields, self.tickets, self.beats):
            list_.clear()
        await self.send(frames)
        for _ in range(LATENCY + 1):
            await RisingEdge(self.dut.clk)
        expected = [judge(frame, bad_fcs=bad, mac=self.mac, ip=self.ip) for frame, bad in frames]
        assert len(self.events) == len(frames), f"{len(self.events)} events for {len(frames)} frames"
        lost = Event("drop", cause=NO_ROOM)
        if lossy:
            pairs = zip(self.events, expected, strict=True)
            expected = [lost if got == lost and wanted.kind == "packet" else wanted for got, wanted in pairs]
        stored = [
            frame
            for (frame, _), event in zip(frames, expected, strict=True)
            if event.ticket is not None and event.ticket.stored
        ]
        tickets = [event.ticket for event in expected if event.ticket is not None]
        lengths = [int.from_bytes(frame[16:18], "big") + 14 for frame in stored]
        for _ in range(20 * (len(tickets) + sum(length // 64 + 1 for length in lengths)) + 4000):
            if len(self.tickets) == len(tickets) and len(self.beats) == sum(-(-length // 64) for length in lengths):
                break
            await RisingEdge(self.dut.clk)
        for (frame, bad), got, wanted in zip(frames, self.events, expected, strict=True):
            bare = replace(wanted, ticket=None)
            assert got == bare, f"got {got}, expected {wanted} (bad FCS {bad}, {len(frame)} octets): {frame.hex()}"
        assert self.tickets == tickets
        assert self.fields == [(t.opcode, t.qpn, t.psn, t.source_ip, t.source_mac) for t in tickets]
        self._check_beats(stored, lengths)
        return expected

    def _check_beats(self, frames: list[bytes], lengths: list[int]) -> None:
        """The beats are those of the stored frames up to their packets' ends."""
        beats = list(self.beats)
        for frame, length in zip(frames, lengths, strict=True):
            count = -(-length // 64)
            mine, beats = beats[:count], beats[count:]
            assert [end for _, end in mine] == [False] * (count - 1) + [True]
            assert b"".join(data for data, _ in mine)[:length] == frame[:length]
        assert not beats

    def packet(self, opcode: int | None = None, length: int | None = None) -> Packet:
        """A packet to this port; acknowledges are what comes most."""
        draw = self.random
        if opcode is None:
            opcode = draw.choice((0x11, 0x11, 0x11, 0x04, 0x06, 0x07, 0x0A, 0x0B, 0x2A, 0x10, 0x17, 0x64, 0x65, 0x81))
        if length is None:
            length = 0 if opcode == 0x11 else 16 if opcode == 0x81 else draw.randrange(300)
        if opcode in (0x06, 0x07):
            length -= length % 4
        syndrome = draw.choice((0x1F, 0x60, 0x61, 0x2C, 0x00))
        return Packet(
            opcode=opcode,
            payload=draw.randbytes(length),
            psn=draw.getrandbits(24),
            dest_qpn=draw.getrandbits(24),
            ack_request=bool(draw.getrandbits(1)),
            migreq=bool(draw.getrandbits(1)),
            pkey=draw.getrandbits(16),
            immediate=syndrome << 24 | draw.getrandbits(24),
            dest_mac=self.mac,
            source_mac=draw.getrandbits(48),
            dest_ip=self.ip,
            source_ip=draw.getrandbits(32),
            source_port=draw.getrandbits(16),
            traffic_class=draw.getrandbits(8),
            ttl=draw.getrandbits(8),
        )


def sealed(frame: bytes) -> bytes:
    """Return ``frame`` with its header checksum and ICRC made right for the lengths it claims, where there is room."""
    octets = bytearray(frame)
    if len(octets) >= 34:
        octets[24:26] = b"\0\0"
        total = sum(struct.unpack(">10H", octets[14:34]))
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        octets[24:26] = (total ^ 0xFFFF).to_bytes(2, "big")
    end = 14 + int.from_bytes(octets[16:18], "big")
    if 58 <= end <= len(octets):
        octets[end - 4 : end] = icrc(bytes(octets[14 : end - 4]))
    return bytes(octets)


def thin() -> bool:
    return os.environ.get("SWEEP") == "thin"


@cocotb.test()
async def golden_vectors(dut):
    tb = TB(dut)
    await tb.start()
    for name, (packet, frame) in VECTORS.items():
        tb.address(packet.dest_mac, packet.dest_ip)
        (event,) = await tb.check([(frame, False)])
        assert event.ticket is not None
        assert event.ticket.opcode == packet.opcode
        if name == "acknowledge":
            assert (event.ticket.qpn, event.ticket.psn, event.ticket.word) == (0x22, 0x123456, 0x1F000001)
        else:
            assert (event.ticket.remote_address, event.ticket.key, event.ticket.length, event.ticket.payload_bytes) == (
                (packet.remote_address, packet.remote_key, packet.dma_length, len(packet.payload))
            )


@cocotb.test()
async def latency(dut):
    tb = TB(dut)
    await tb.start()
    frame = encode(tb.packet(0x11))
    await tb.send([(frame, False)])
    for _ in range(LATENCY - 1):
        await RisingEdge(dut.clk)
        assert not int(dut.m_packet_in.value)
    await RisingEdge(dut.clk)
    assert int(dut.m_packet_in.value)


@cocotb.test()
async def each_check(dut):
    """A frame that is wrong in one place, with a right ICRC, for each cause that the datapath can find."""
    tb = TB(dut, 2)
    await tb.start()
    ack = tb.packet(0x11)
    write = tb.packet(0x07, 64)
    good = encode(ack)
    other_mac = replace(ack, dest_mac=MAC ^ 1)
    other_ip = replace(ack, dest_ip=IP ^ 1)
    wrong_checksum = bytearray(good)
    wrong_checksum[25] ^= 1
    icrc_bit = bytearray(good)
    icrc_bit[-1] ^= 0x80
    # The length stays right, so one octet of the payload now counts as padding.
    padded_middle = bytearray(encode(write))
    padded_middle[43] |= 0x10
    padded_nothing = bytearray(encode(tb.packet(0x04, 0)))
    padded_nothing[43] |= 0x30
    with_options = bytearray(encode(ack, first=0x46))
    with_options[25] ^= 1
    with_options[-1] ^= 1
    with_options_and_wrong_sums = bytes(with_options)
    # An ICRC that is right where the IP length puts it, but that is inside the base transport header.
    inside_header = bytearray(encode(ack, length=40))
    inside_header[50:54] = icrc(bytes(inside_header[14:50]))
    body = encode(ack)[34:-4]
    cases: list[tuple[int | None, bytes, bool]] = [
        (None, good, False),
        (31, good, True),
        (30, bytes(icrc_bit), False),
        (30, bytes(inside_header), False),
        (0, encode(other_mac), False),
        (2, encode(ack, first=0x65), False),
        (9, bytes(wrong_checksum), False),
        (3, encode(ack, first=0x46), False),
        (3, with_options_and_wrong_sums, False),
        (5, encode(ack, fragment=0x0000), False),
        (5, encode(ack, fragment=0x6000), False),
        (6, encode(ack, fragment=0x4001), False),
        (8, encode(other_ip), False),
        (10, sealed(encode(write, length=20 + 8 + 12 + 64 + 4 - 2, udp_length=8 + 12 + 64 + 4 - 2)), False),
        (12, encode(ack, udp_length=32), False),
        (13, encode(ack, tver=1), False),
        (17, encode(tb.packet(0x15)), False),
        (17, encode(tb.packet(0x31)), False),
        (10, encode(replace(tb.packet(0x14, 4), payload=b"")), False),
        (10, sealed(bytes(padded_nothing)), False),
        (18, sealed(bytes(padded_middle)), False),
        (22, encode(replace(ack, immediate=0x40000000)), False),
        (22, encode(replace(ack, immediate=0x9F000000)), False),
        (22, encode(replace(ack, payload=bytes(4))), False),
        (FOREIGN, good[:12] + b"\x86\xdd" + good[14:], False),
        (FOREIGN, sealed(good[:14] + ipv4(ack, body + bytes(4), protocol=6) + body + bytes(4)), False),
        (FOREIGN, good[:36] + b"\x12\xb8" + good[38:], False),
        (FOREIGN, good[:41], False),
        (FOREIGN, bytes([0xFF] * 6) + good[6:12] + b"\x08\x06" + bytes(46), False),
    ]
    for number, (cause, frame, bad_fcs) in enumerate(cases):
        (event,) = await tb.check([(frame, bad_fcs)])
        assert event.cause == cause, f"case {number}: {event}"


@cocotb.test()
async def order_of_checks(dut):
    """A frame that is wrong everywhere, then repaired in the order of the checks."""
    tb = TB(dut, 3)
    await tb.start()
    wrong = Packet(opcode=0x1F, dest_mac=MAC ^ 2, dest_ip=IP ^ 2, payload=bytes(4))
    right_mac = replace(wrong, dest_mac=MAC)
    right_ip = replace(right_mac, dest_ip=IP)
    right_opcode = replace(right_ip, opcode=0x13)
    bad = {"udp_length": 60, "tver": 3}
    all_wrong = encode(wrong, first=0x55, fragment=0x2001, **bad)
    steps = [
        (31, all_wrong[:-1] + b"\0", True),
        (30, all_wrong[:-1] + bytes([all_wrong[-1] ^ 1]), False),
        (0, all_wrong, False),
        (2, encode(right_mac, first=0x55, fragment=0x2001, **bad), False),
        (5, encode(right_mac, fragment=0x2001, **bad), False),
        (6, encode(right_mac, fragment=0x4001, **bad), False),
        (8, encode(right_mac, **bad), False),
        (12, encode(right_ip, **bad), False),
        (13, encode(right_ip, tver=3), False),
        (17, encode(right_ip), False),
        (10, encode(right_opcode), False),
    ]
    events = await tb.check([(frame, bad_fcs) for _, frame, bad_fcs in steps])
    assert [event.cause for event in events] == [cause for cause, _, _ in steps]


@cocotb.test()
async def one_beat_frames(dut):
    """An acknowledge every cycle: no event is lost, mixed up or late."""
    tb = TB(dut, 4)
    await tb.start()
    frames = [encode(tb.packet(0x11)) for _ in range(30 if thin() else 300)]
    events = await tb.check([(frame, tb.random.random() < 0.1) for frame in frames])
    assert sum(event.is_ack for event in events) > len(frames) // 2


@cocotb.test()
async def lengths_and_padding(dut):
    """Every payload length to 200 and long ones, with Ethernet padding behind: the packet's length counts."""
    tb = TB(dut, 5)
    await tb.start()
    lengths = [*range(0, 201, 9 if thin() else 1), 1024, *(() if thin() else (4095, 4096, 8192, 9000))]
    frames = []
    for length in lengths:
        opcode = tb.random.choice((0x04, 0x08, 0x0A, 0x0B, 0x2A))
        padding = tb.random.choice((0, 0, 1, 2, 4, 60, 64, 128, tb.random.randrange(200)))
        frames.append((encode(tb.packet(opcode, length)) + tb.random.randbytes(padding), False))
    events = await tb.check(frames)
    assert all(event.kind == "packet" for event in events)


@cocotb.test()
async def truncated(dut):
    """A packet cut at every length is dropped, and the next one is not."""
    tb = TB(dut, 6)
    await tb.start()
    whole = encode(tb.packet(0x0A, 150))
    frames = []
    for length in range(1, len(whole), 17 if thin() else 1):
        frames += [(whole[:length], False), (encode(tb.packet(0x11)), False)]
    events = await tb.check(frames)
    assert all(event.kind == "drop" for event in events[::2])
    assert all(event.is_ack for event in events[1::2])


@cocotb.test()
async def odd_lengths(dut):
    """An ICRC at any lane is found; lengths that are no multiple of four are then named as such."""
    tb = TB(dut, 8)
    await tb.start()
    frames = []
    for length in range(44, 44 + 68, 7 if thin() else 1):
        octets = bytearray(encode(tb.packet(0x04, 100)))
        octets[16:18] = length.to_bytes(2, "big")
        octets[38:40] = (length - 20).to_bytes(2, "big")
        octets[43] &= 0xCF
        frames.append((sealed(bytes(octets)), False))
    events = await tb.check(frames)
    lengths = [int.from_bytes(frame[16:18], "big") for frame, _ in frames]
    assert [event.cause for event in events] == [10 if length % 4 else None for length in lengths]


@cocotb.test()
async def stale_lanes(dut):
    """Octets that a cut frame lacks do not count, even if the lanes behind its end still hold them."""
    tb = TB(dut, 9)
    await tb.start()
    for length in (62, 60, 58, 57, 50, 42):
        frame = encode(tb.packet(0x11))
        tb.stale = frame[length:]
        (event,) = await tb.check([(frame[:length], False)])
        assert event.kind == ("packet" if length == len(frame) else "drop")


@cocotb.test()
async def hostile(dut):
    """Bits flipped, lengths made up, pieces cut and added, right and wrong ICRC; good frames between still count."""
    tb = TB(dut, 7)
    await tb.start()
    draw = tb.random
    for gap_rate in (0.0,) if thin() else (0.0, 0.3, 0.0):
        tb.gap = lambda rate=gap_rate: draw.randrange(1, 4) if draw.random() < rate else 0
        frames = []
        for _ in range(30 if thin() else 1500):
            frame = bytearray(encode(tb.packet()))
            kind = draw.randrange(8)
            if kind == 1:
                for _ in range(draw.randrange(1, 4)):
                    frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)
            elif kind == 2:
                # Any header octet, sealed again: behind the ICRC the later checks must hold.
                frame[draw.randrange(min(58, len(frame)))] = draw.getrandbits(8)
                frame = bytearray(sealed(bytes(frame)))
            elif kind == 3:
                frame[16:18] = draw.choice((draw.randrange(40, 80), draw.getrandbits(16), 0, 65535)).to_bytes(2, "big")
                frame = bytearray(sealed(bytes(frame)))
            elif kind == 4:
                frame = frame[: draw.randrange(1, len(frame))]
            elif kind == 5:
                frame += draw.randbytes(draw.randrange(1, 150))
            elif kind == 6:
                frame = bytearray(draw.randbytes(draw.randrange(1, 400)))
            frames.append((bytes(frame), draw.random() < 0.03))
        events = await tb.check(frames)
        kinds = {event.kind for event in events}
        assert kinds >= ({"packet", "drop"} if thin() else {"packet", "cnp", "drop"})


@cocotb.test()
async def every_opcode(dut):
    """All fields of all opcodes and lengths, headers with random content, some marked by congestion."""
    tb = TB(dut, 10)
    await tb.start()
    tb.take = 0.6
    frames = []
    for opcode in range(256):
        for length in (0, 1, 4, 9, 10, 64, 500)[:: 3 if thin() else 1]:
            frames.append((encode(tb.packet(opcode, length)), False))
    # In pieces that fit, so that nothing is lost.
    for start in range(0, len(frames), 100):
        await tb.check(frames[start : start + 100])


@cocotb.test()
async def no_room(dut):
    """Nobody takes anything for a while: what finds no room is lost whole and said so, and all others are whole."""
    tb = TB(dut, 11)
    await tb.start()
    lost = 0
    for take in (0.0, 0.02, 0.1):
        for lengths in ((0, 0, 1), (4096,), (0, 1, 64, 300, 4000)):
            tb.take = take
            count = 300 if max(lengths) < 10 else 20
            frames = [
                (encode(tb.packet(0x04, tb.random.choice(lengths))), tb.random.random() < 0.1) for _ in range(count)
            ]

            async def later(tb: TB = tb) -> None:
                for _ in range(1500):
                    await RisingEdge(tb.dut.clk)
                tb.take = 1.0

            release = cocotb.start_soon(later())
            events = await tb.check(frames, lossy=True)
            await release
            lost += sum(event.cause == NO_ROOM for event in events)
            assert any(event.kind == "packet" for event in events)
    assert lost


@cocotb.test()
async def room_for_all_tickets(dut):
    """As many minimum-size packets back to back as there are tickets: none is lost, the next one is."""
    tb = TB(dut, 12)
    await tb.start()
    tb.take = 0.0
    tickets = int(dut.TICKETS.value)
    frames = [(encode(tb.packet(0x11)), False) for _ in range(tickets + 1)]

    async def later() -> None:
        for _ in range(tickets + 30):
            await RisingEdge(dut.clk)
        tb.take = 1.0

    cocotb.start_soon(later())
    events = await tb.check(frames, lossy=True)
    assert [event.cause for event in events] == [None] * tickets + [NO_ROOM]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_receive(simulator):
    sweep = "thin" if simulator == "icarus" else "full"
    parameters = {"BEATS": 256, "TICKETS": 128}
    run_module("ernic/ernic_receive", __name__, simulator, parameters=parameters, environment={"SWEEP": sweep})
