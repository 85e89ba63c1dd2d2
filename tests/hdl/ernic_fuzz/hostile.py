"""Frames that a hostile or broken network may bring, each made from what would be right at the moment; seeded."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.ernic_fuzz.world import GOOD, HEADERS, KEY, READ_REGION, SENDING, VIRTUAL, World

Frame = tuple[bytes, bool]
"""Octets without FCS, and whether the FCS is bad."""
VICTIMS = (1, 2, 4, 5, SENDING)
LONGEST = 8192
LONGEST_WAIT = 14
"""Largest code of a forged RNR NAK; what comes after waits for it."""
PAUSE_ADDRESS = bytes.fromhex("0180c2000001")


def packet(world: World, number: int | None = None) -> Packet:
    """A request that is right for one of the queue pairs that may be hurt."""
    return world.request(world.rng.choice(VICTIMS) if number is None else number)


def flipped(world: World, rng: random.Random) -> Frame:
    """Octets changed on the way, the ICRC with them or not."""
    frame = bytearray(encode(packet(world, rng.choice((*VICTIMS, GOOD)))))
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(frame)) if rng.random() < 0.5 else rng.randrange(min(len(frame), 74))
        frame[at] ^= 1 << rng.randrange(8)
    return bytes(frame), False


def truncated(world: World, rng: random.Random) -> Frame:
    frame = encode(packet(world, rng.choice((*VICTIMS, GOOD))))
    end = rng.choice((rng.randrange(1, 64), rng.randrange(1, len(frame)), len(frame) - rng.randrange(1, 5)))
    return frame[: min(end, len(frame) - 1)], False


def extended(world: World, rng: random.Random) -> Frame:
    """Octets behind the packet's end, as short frames have them, or many."""
    return encode(packet(world)) + rng.randbytes(rng.choice((1, 4, 46, 64, rng.randrange(1, 1500)))), False


def wrong_headers(world: World, rng: random.Random) -> Frame:
    """One field of IP, UDP or BTH is wrong, the ICRC right all the same."""
    good = packet(world)
    size = len(encode(good)) - 14
    changes: dict[str, int] = rng.choice(
        (
            {"tver": rng.randrange(1, 16)},
            {"pad": rng.randrange(8)},
            {"udp_length": rng.choice((0, 8, size - 20 + rng.choice((-4, -1, 1, 4)), rng.getrandbits(16)))},
            {"length": rng.choice((0, 20, 43, 44, size + rng.choice((-8, -4, -1, 1, 4)), rng.getrandbits(16)))},
            {"first": rng.choice((0x46, 0x4F, 0x44, 0x65, 0x55, 0x05, rng.getrandbits(8)))},
            {"fragment": rng.choice((0x2000, 0x6000, 0x0001, 0x4001, 0x0000, 0x8000, rng.getrandbits(16)))},
            {"protocol": rng.choice((6, 1, 0, 255))},
        )
    )
    return encode(good, **changes), False


def wrong_sender(world: World, rng: random.Random) -> Frame:
    """Right in everything, but from or for somebody else."""
    good = packet(world, rng.choice((*VICTIMS, GOOD)))
    changes: dict[str, object] = rng.choice(
        (
            {"source_ip": rng.getrandbits(32)},
            {"source_mac": rng.getrandbits(48)},
            {"dest_ip": rng.choice((0xFFFFFFFF, rng.getrandbits(32)))},
            {"dest_mac": rng.choice(((1 << 48) - 1, rng.getrandbits(48)))},
            {"pkey": rng.choice((0x0000, 0x7FFE, rng.getrandbits(16)))},
            {"dest_qpn": rng.choice((0, 7, 8, 0xFFFFFF, 1 << 16 | good.dest_qpn, rng.getrandbits(24)))},
            {"qkey": rng.getrandbits(32), "opcode": 0x64},
        )
    )
    if changes.get("pkey", 0xFFFF) & 0x7FFF == good.pkey & 0x7FFF and "pkey" in changes:
        changes = {"pkey": good.pkey ^ 0x40}
    return encode(replace(good, **changes)), False


def wrong_opcode(world: World, rng: random.Random) -> Frame:
    """Another opcode at the right PSN: out of sequence, of another transport, or none at all."""
    opcode = rng.choice((rng.getrandbits(8), rng.randrange(0x18), 0x20 | rng.randrange(0x10), 0x60 | rng.randrange(8)))
    return encode(replace(packet(world), opcode=opcode)), False


def wrong_psn(world: World, rng: random.Random) -> Frame:
    """Repeated, stale, ahead, or a whole half of the circle away."""
    good = packet(world, rng.choice((*VICTIMS, 2, 2, SENDING)))
    by = rng.choice(
        (-1, -2, -rng.randrange(1, 64), 1, 2, rng.randrange(1, 64), 0x7FFFFF, -0x800000, rng.getrandbits(24))
    )
    return encode(replace(good, psn=good.psn + by & 0xFFFFFF)), False


def wrong_access(world: World, rng: random.Random) -> Frame:
    """WRITE or READ with a wrong key, region, range or length; ranges that wrap at 2^64."""
    number = rng.choice((2, 4, SENDING))
    qp = world.qps[number]
    high = 0x20 if number == 4 else 0
    length = rng.choice((1, 64, qp.pmtu, 0, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, rng.getrandbits(32)))
    room = world.model.regions[number].length
    address = rng.choice(
        (
            VIRTUAL,
            VIRTUAL - 1,
            VIRTUAL + room,
            VIRTUAL + room - length + rng.randrange(-1, 2),
            (1 << 64) - length,
            (1 << 64) - 1,
            (1 << 64) - rng.randrange(1, 5000),
            VIRTUAL - (1 << 63),
            rng.getrandbits(64),
        )
    )
    key = rng.choice(
        (
            number << 8 | KEY,
            number << 8 | KEY ^ 1 << rng.randrange(8),
            GOOD << 8 | KEY,
            READ_REGION + number << 8 | KEY,
            1 << 16 + rng.randrange(16) | number << 8 | KEY,
            rng.getrandbits(32),
        )
    )
    opcode = rng.choice((0x06, 0x0A, 0x0B, 0x0C)) | high
    payload = b"" if opcode & 0x1F == 0x0C else rng.randbytes(min(length, qp.pmtu))
    fields = {"remote_address": address & (1 << 64) - 1, "remote_key": key, "dma_length": length}
    return encode(world.peer(number, opcode, payload, ack_request=True, **fields)), False


def wrong_length(world: World, rng: random.Random) -> Frame:
    """The payload is not what opcode, PMTU or RETH say."""
    good = packet(world)
    count = rng.choice((0, 1, len(good.payload) + 1, len(good.payload) + 4, max(len(good.payload) - 1, 0), 4097, 8000))
    if rng.random() < 0.3:
        return encode(replace(good, dma_length=good.dma_length + rng.choice((-1, 1, 1000)) & 0xFFFFFFFF)), False
    return encode(replace(good, payload=rng.randbytes(count))), False


def forged_answer(world: World, rng: random.Random) -> Frame:
    """ACK or NAK: stale, future or in the window, of any syndrome, from the peer or not."""
    number = rng.choice((SENDING, SENDING, SENDING, 2, 4, 1))
    sender = world.senders[number]
    ahead = sender.next_psn - sender.psn & 0xFFFFFF
    psn = rng.choice(
        (sender.psn - 1, sender.psn, sender.next_psn - 1, sender.next_psn, sender.next_psn + 1, rng.getrandbits(24))
    )
    if ahead and rng.random() < 0.4:
        psn = sender.psn + rng.randrange(ahead)
    syndrome = rng.choice((0x00, 0x1F, 0x1F, 0x20 | rng.randrange(32), 0x60, 0x60, rng.getrandbits(8)))
    if syndrome >> 5 == 1:
        syndrome = 0x20 | rng.randint(1, LONGEST_WAIT)
    if rng.random() < 0.1:
        syndrome = rng.choice((0x61, 0x62, 0x63, 0x64, 0x7F))
    fields = {"psn": psn & 0xFFFFFF, "immediate": syndrome << 24 | rng.getrandbits(24)}
    answer = world.peer(number, 0x11, **fields)
    if rng.random() < 0.3:
        changes: tuple[dict[str, int], ...] = (
            {"source_ip": answer.source_ip ^ 1},
            {"source_mac": answer.source_mac ^ 1},
            {"pkey": answer.pkey ^ 2},
            {"dest_qpn": rng.choice((GOOD, 0, 7, 0xFFFFFF))},
        )
        answer = replace(answer, **rng.choice(changes))
    return encode(answer, pad=rng.choice((0, 0, 0, 0, 3))), False


def forged_response(world: World, rng: random.Random) -> Frame:
    """READ response to what was not asked for, of a wrong size or place, or out of turn."""
    number = rng.choice((SENDING, SENDING, 2, 5))
    sender = world.senders[number]
    due = world.answer(number)
    if due is None or due.opcode == 0x11 or rng.random() < 0.5:
        ahead = max(sender.next_psn - sender.psn & 0xFFFFFF, 1)
        psn = rng.choice((sender.psn + rng.randrange(ahead), sender.psn - 1, sender.next_psn, rng.getrandbits(24)))
        due = world.peer(number, 0x10, rng.randbytes(rng.choice((0, 1, sender.pmtu))), psn=psn & 0xFFFFFF)
        syndrome = rng.choice((0x1F, 0x00, 0x60, 0x20, 0x80, rng.getrandbits(8)))
        due = replace(due, opcode=rng.randrange(0x0D, 0x11), immediate=syndrome << 24)
    if rng.random() < 0.3:
        due = replace(due, payload=rng.randbytes(rng.choice((0, 1, len(due.payload) + 1, sender.pmtu))))
    if rng.random() < 0.2:
        due = replace(due, source_ip=due.source_ip ^ 1 << rng.randrange(32))
    return encode(due), False


def random_octets(world: World, rng: random.Random) -> Frame:
    """Nothing in it is meant, from the first, third or fifth header on."""
    head = encode(packet(world))[: rng.choice((0, 14, 34, 42, HEADERS))]
    body = rng.randbytes(rng.choice((1, rng.randrange(1, 64), rng.randrange(1, 300), rng.randrange(1, 4500))))
    return head + body, False


def random_body(world: World, rng: random.Random) -> Frame:
    """Random base transport header and extensions in a right datagram with a right ICRC."""
    frame = bytearray(encode(packet(world)))
    good = packet(world)
    wild = replace(
        good,
        opcode=rng.getrandbits(8) if rng.random() < 0.5 else good.opcode,
        psn=rng.getrandbits(24) if rng.random() < 0.3 else good.psn,
        remote_address=rng.getrandbits(64),
        remote_key=rng.getrandbits(32),
        dma_length=rng.getrandbits(32),
        immediate=rng.getrandbits(32),
        ack_request=bool(rng.getrandbits(1)),
        solicited=bool(rng.getrandbits(1)),
        migreq=bool(rng.getrandbits(1)),
        becn=bool(rng.getrandbits(1)),
        payload=rng.randbytes(rng.randrange(len(frame))),
    )
    return encode(wild), False


def bad_fcs(world: World, _: random.Random) -> Frame:
    return encode(packet(world)), True


def pause_alike(world: World, rng: random.Random) -> Frame:
    """MAC control frames, right ones too: pause is switched off here, so that nothing may come of them."""
    control = rng.choice((0x0001, 0x0101, 0x0000, rng.getrandbits(16))).to_bytes(2, "big")
    address = rng.choice((PAUSE_ADDRESS, PAUSE_ADDRESS, world.rng.randbytes(6)))
    kind = rng.choice((b"\x88\x08", b"\x88\x08", b"\x88\x09", b"\x08\x00"))
    frame = (address + rng.randbytes(6) + kind + control + rng.randbytes(18)).ljust(60, b"\0")
    return frame[: rng.choice((60, 60, 17, 30, 14))], rng.random() < 0.2


def foreign(world: World, rng: random.Random) -> Frame:
    """ARP, TCP, IPv6, VLAN, other UDP: for the processing system."""
    base = bytearray(encode(packet(world)))
    kind = rng.randrange(5)
    if kind == 0:
        base[12:14] = b"\x08\x06"
    elif kind == 1:
        base[12:14] = b"\x86\xdd"
    elif kind == 2:
        base[12:12] = b"\x81\x00" + rng.randbytes(2)
    elif kind == 3:
        base[36:38] = rng.randbytes(2)
    else:
        base[23] = 6
    return bytes(base), rng.random() < 0.1


def notification(world: World, rng: random.Random) -> Frame:
    """Congestion notifications, and packets with the mark of congestion."""
    if rng.random() < 0.5:
        return encode(
            world.peer(rng.choice(VICTIMS), 0x81, dest_qpn=rng.choice((0, 2, 6, 9, 0xFFFFFF)), becn=True)
        ), False
    return encode(replace(packet(world), traffic_class=rng.getrandbits(8) | 3)), False


HOSTILE: tuple[Callable[[World, random.Random], Frame], ...] = (
    flipped,
    truncated,
    extended,
    wrong_headers,
    wrong_sender,
    wrong_opcode,
    wrong_psn,
    wrong_psn,
    wrong_psn,
    wrong_access,
    wrong_length,
    forged_answer,
    forged_answer,
    forged_response,
    random_octets,
    random_body,
    bad_fcs,
    pause_alike,
    foreign,
    notification,
)


def good(world: World, rng: random.Random) -> Frame | None:
    """What a peer of any queue pair may well send at this moment, or None if there is nothing."""
    number = rng.choice((1, 2, GOOD, GOOD, GOOD, 4, 5, SENDING))
    if rng.random() < 0.3:
        answer = world.answer(number)
        return None if answer is None else (encode(answer), False)
    if world.qps[number].dead:
        return None
    return encode(world.request(number)), False


def frame(world: World, rng: random.Random, share: float) -> Frame:
    """The next frame, hostile with this probability."""
    while rng.random() >= share:
        found = good(world, rng)
        if found is not None:
            return found
    octets, bad = rng.choice(HOSTILE)(world, rng)
    return octets[:LONGEST], bad
