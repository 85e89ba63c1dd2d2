"""Responder behind the receive side: a far end sends requests; memory, answers, queues against the model."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import cocotb
import pytest

from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.ernic_respond.bench import HALF, KEY, VIRTUAL, Bench, Requester, datagram
from tests.hdl.ernic_respond.model import MANAGEMENT_QKEY, UC, UD, Access
from tests.hdl.module_bench import SIMULATORS, run_module


def thin() -> bool:
    return os.environ.get("SWEEP") == "thin"


async def bench(dut, seed: int) -> Bench:
    tb = Bench(dut, seed)
    await tb.start()
    return tb


async def check_freely(tb: Bench, number: int, packets: list[Packet | bytes]) -> None:
    """Send in pieces that the receive queue can take, and give back its elements between."""
    batch: list[Packet | bytes] = []
    for packet in packets:
        batch.append(packet)
        if len(batch) >= 12:
            await tb.check(batch)
            await tb.consume(number)
            batch = []
    await tb.check(batch)
    await tb.consume(number)


@cocotb.test()
async def sends_and_writes_of_one_packet(dut):
    """0 to 200 octets, every lane, all kinds of messages."""
    tb = await bench(dut, 1)
    far = await tb.reconnect(2, element=512, pmtu=1024)
    for length in range(0, 201, 7 if thin() else 1):
        data = tb.random.randbytes(length)
        packets = [
            *far.send(data, tb.random.choice(("", "immediate", "invalidate"))),
            *far.write(tb.random.randrange(1000), data),
            *far.write(length % 64, data, immediate=True),
        ]
        await tb.check(packets, exact=length < 4)
        await tb.consume(2)


@cocotb.test()
async def messages_of_many_packets(dut):
    """Lengths around multiples of each path MTU, as SEND, WRITE and READ."""
    tb = await bench(dut, 2)
    for pmtu in (256, 4096) if thin() else (256, 512, 1024, 2048, 4096):
        far = await tb.reconnect(2, pmtu=pmtu, element=4096 if pmtu < 2048 else 16384, depth=16 if pmtu < 2048 else 4)
        for multiple in (1, 2, 3):
            for extra in (0,) if thin() else (-4, -3, -2, -1, 0, 1, 2, 3, 4):
                length = multiple * pmtu + extra
                data = tb.random.randbytes(length)
                offset = tb.random.randrange(HALF - 100 - length)
                packets = [*far.write(offset, data), *far.read(offset + 1, length - 1)]
                if length <= tb.qps[2].element:
                    packets += far.send(data, tb.random.choice(("", "immediate", "invalidate")))
                packets += far.write(tb.random.randrange(64), data[::-1], immediate=True)
                await tb.check(packets)
                await tb.consume(2)


@cocotb.test()
async def sequence_numbers(dut):
    """Gaps, duplicates and the wrap: one NAK, silence, then on; duplicates are acknowledged with the newest PSN."""
    tb = await bench(dut, 3)
    far = await tb.reconnect(2, psn=0xFFFFFC, pmtu=256)
    first = far.write(0, tb.random.randbytes(256 * 6 + 1))
    answers = await tb.check([first[1], first[2], first[0], first[0], first[3], *first[1:4], *first], exact=True)
    assert [(r.syndrome, r.psn) for r in answers if r.is_nak] == [(0x60, 0xFFFFFC), (0x60, 0xFFFFFD)]
    assert answers[-1].psn == 2
    # Behind by half of the space is a duplicate, ahead by less is not.
    again = far.send(b"x" * 9)
    for distance, nak in ((0x7FFFFF, True), (0x800000, False), (0x800001, False), (0xFFFFFF, False)):
        (answer,) = await tb.check([replace(again[0], psn=again[0].psn + distance & 0xFFFFFF)], exact=True)
        assert answer.is_nak == nak
    await tb.check(again, exact=True)
    # A duplicate does not replace a NAK that waits, nor does it break the silence.
    more = far.write(5, tb.random.randbytes(256 * 3))
    tb.take_commands = 0.0
    # Two acknowledgements of another queue pair are before it at the port.
    others = [*tb.requesters[3].send(b"1"), *tb.requesters[3].send(b"2")]
    tb.queue.extend(encode(packet) for packet in others)
    await tb.clocks(100)
    tb.queue.extend(encode(packet) for packet in (more[1], first[-1], first[-1], more[2]))
    await tb.clocks(150)
    tb.take_commands = 1.0
    answers = await tb.check([])
    assert [(r.qp, r.syndrome) for r in answers] == [(3, 0x1F), (3, 0x1F), (2, 0x60)]
    await tb.check(more)
    # Behind a duplicate READ it is still due.
    data = far.read(0, 256 * 2)
    await tb.check(data)
    gap = far.send(b"abc")
    tb.take_commands = 0.0
    tb.queue.extend(encode(packet) for packet in (replace(gap[0], psn=far.psn + 3), data[0]))
    await tb.clocks(150)
    tb.take_commands = 1.0
    answers = await tb.check([])
    assert sorted(r.opcode for r in answers) == [0x0D, 0x0F, 0x11]


@cocotb.test()
async def reads(dut):
    """READ responses by length and alignment; again from any PSN; not beyond what was asked for before."""
    tb = await bench(dut, 4)
    far = await tb.reconnect(2, psn=0xFFFFF0, pmtu=256)
    for length in (
        [0, 1, 3, 4, 5, 255, 256, 257, 1000, 1024] if thin() else [*range(0, 20), *range(250, 262), 511, 512, 2000]
    ):
        await tb.check(far.read(tb.random.randrange(64), length), exact=True)
    (whole,) = far.read(100, 256 * 5 + 7)
    answers = await tb.check([whole], exact=True)
    assert [r.opcode for r in answers] == [0x0D, 0x0E, 0x0E, 0x0E, 0x0E, 0x0F]
    for skip in range(6):
        part = replace(
            whole,
            psn=whole.psn + skip & 0xFFFFFF,
            remote_address=whole.remote_address + 256 * skip,
            dma_length=whole.dma_length - 256 * skip,
        )
        assert len(await tb.check([part], exact=True)) == 6 - skip
    assert not await tb.check([replace(whole, psn=whole.psn + 1 & 0xFFFFFF)], exact=True)
    assert not await tb.check([replace(whole, remote_key=0)], exact=True)
    # Acknowledgements of later packets wait for the READ's responses.
    tb.take_commands = 0.3
    for _ in range(3 if thin() else 20):
        length = tb.random.randrange(3000)
        await tb.check([*far.write(0, b"first"), *far.read(3, length), *far.write(7, b"second"), *far.send(b"third")])
        await tb.consume(2)


@cocotb.test()
async def too_many_reads(dut):
    """The READ that finds no room is refused, and ends the queue pair; repeated READs are dropped instead."""
    tb = await bench(dut, 5)
    jobs = int(dut.READ_JOBS.value)
    far = await tb.reconnect(2, pmtu=256)
    tb.take_commands = 0.0
    requests = [packet for index in range(jobs) for packet in far.read(index, 600 + index)]
    tb.queue.extend(encode(packet) for packet in requests)
    await tb.clocks(300)
    (over,) = far.read(9, 9)
    tb.queue.append(encode(over))
    await tb.clocks(100)
    # The model does not know how fast answers leave.
    assert tb.model.responses.pop().msn == jobs + 1
    qp = tb.qps[2]
    qp.msn, qp.last_psn = qp.msn - 1, qp.last_psn - 1 & 0xFFFFFF
    tb.model._refuse(qp, 0x61, 0x10)
    tb.take_commands = 1.0
    answers = await tb.check([])
    assert [r.opcode for r in answers] == [0x0D, 0x0E, 0x0F] * jobs + [0x11]
    # Of another queue pair too, once there is room again, all is well.
    far = await tb.reconnect(2)
    await tb.check([packet for index in range(jobs) for packet in far.read(index, 1000)])
    tb.take_commands = 0.0
    first = [packet for index in range(jobs - 1) for packet in far.read(index, 600)]
    tb.queue.extend(encode(packet) for packet in (*first, first[0]))
    await tb.clocks(200)
    before = len(tb.model.responses)
    tb.queue.append(encode(first[1]))
    await tb.clocks(100)
    del tb.model.responses[before:]
    tb.take_commands = 1.0
    await tb.check([])


@cocotb.test()
async def receiver_not_ready(dut):
    """No element: RNR NAK with the configured code, nothing executed; the same packet later is."""
    tb = await bench(dut, 6)
    far = await tb.reconnect(2, depth=4, element=256, pmtu=256, rnr_code=21)
    await tb.check([packet for index in range(3) for packet in far.send(bytes([index] * 9))], exact=True)
    held = [*far.send(b"held", "immediate"), *far.write(1, b"not to be written yet")]
    answers = await tb.check([held[0], held[1], held[0], held[0]], exact=True)
    assert [r.syndrome for r in answers] == [0x20 | 21] * 3
    await tb.consume(2, 1)
    await tb.check(held, exact=True)
    # WRITE with immediate: asked for at its last packet, and only that is repeated.
    parts = far.write(9, tb.random.randbytes(600), immediate=True)
    answers = await tb.check(parts, exact=True)
    assert answers[-1].syndrome == 0x20 | 21
    await tb.consume(2, 1)
    await tb.check(parts[-1:], exact=True)
    alone = far.write(9, b"", immediate=True)
    await tb.check(alone, exact=True)
    await tb.consume(2)
    await tb.check(alone, exact=True)
    status = await tb.status(2)
    assert status["rq_index"] == tb.qps[2].taken % 4
    assert status["buffer"] << 8 == tb.qps[2].rq_base + (tb.qps[2].taken - 1) % 4 * 256
    # An index for more than there is, is not believed.
    await tb.consume(2)
    await tb.write("ERNIC_QP", 1, "RQCI", (tb.qps[2].consumed + 2) % 4)
    await tb.check([packet for _ in range(3) for packet in far.send(b"to the brim")], exact=True)
    (answer,) = await tb.check(far.send(b"too much"), exact=True)
    assert answer.syndrome == 0x20 | 21


@cocotb.test()
async def index_from_one_to_depth(dut):
    """Software that writes the depth instead of 0 gets it back."""
    tb = await bench(dut, 7)
    far = await tb.reconnect(2, depth=4, element=256, pmtu=256)
    for count in range(1, 10):
        await tb.check(far.send(b"m"))
        await tb.write("ERNIC_QP", 1, "RQCI", (count - 1) % 4 + 1)
        await tb.ready()
        tb.qps[2].consumed = count
        if count == 4:
            break
    for count in range(5, 14):
        tb.queue.extend(encode(packet) for packet in far.send(b"n"))
        await tb.settle()
        index = int.from_bytes(tb.indices.read(tb.qps[2].doorbell, 4), "little")
        assert index == (count - 1) % 4 + 1
        assert (await tb.status(2))["rq_index"] == index
        await tb.write("ERNIC_QP", 1, "RQCI", index)
        await tb.ready()


Bad = list[tuple[str, int, int, list[Packet]]]


def wrong_requests(tb: Bench, far: Requester) -> Bad:
    """(what, syndrome, fatal code, packets of which the last one is refused), each alone on a new connection."""
    data = tb.random.randbytes
    pmtu = far.qp.pmtu
    key = far.qp.number << 8 | KEY
    size = HALF - 100
    write, read, send = far.write, far.read, far.send

    def again(packets: list[Packet], *opcodes: int) -> list[Packet]:
        return [replace(packet, opcode=opcode) for packet, opcode in zip(packets, opcodes, strict=True)]

    three = 3 * pmtu
    return [
        ("MIDDLE without FIRST", 0x61, 0x01, again(send(data(pmtu)), 0x01)),
        ("LAST without FIRST", 0x61, 0x01, again(send(data(9)), 0x02)),
        ("WRITE MIDDLE without FIRST", 0x61, 0x11, again(write(0, data(pmtu)), 0x07)),
        ("WRITE LAST without FIRST", 0x61, 0x11, again(write(0, data(9)), 0x08)),
        ("ONLY in a SEND", 0x61, 0x01, [send(data(three))[0], far.packet(0x04, b"x", psn=far.psn - 2 & 0xFFFFFF)]),
        ("SEND in a WRITE", 0x61, 0x01, again(write(0, data(2 * pmtu)), 0x06, 0x02)),
        ("WRITE in a SEND", 0x61, 0x11, again(send(data(2 * pmtu)), 0x00, 0x08)),
        ("READ in a WRITE", 0x61, 0x11, [write(0, data(three))[0], *read(0, 4, psn=far.psn - 2 & 0xFFFFFF)]),
        ("ONLY too long", 0x61, 0x02, [far.packet(0x04, data(pmtu + 1))]),
        ("WRITE ONLY too long", 0x61, 0x12, [far.packet(0x0A, data(pmtu + 4), remote_key=key, dma_length=pmtu + 4)]),
        ("short FIRST", 0x61, 0x02, [far.packet(0x00, data(pmtu - 4))]),
        (
            "short MIDDLE",
            0x61,
            0x02,
            [*send(data(pmtu + 1))[:1], far.packet(0x01, data(4), psn=far.psn - 1 & 0xFFFFFF)],
        ),
        ("empty LAST", 0x61, 0x02, [*send(data(pmtu + 1))[:1], far.packet(0x02, b"", psn=far.psn - 1 & 0xFFFFFF)]),
        ("more than the element", 0x61, 0x02, send(data(far.qp.element + 1))),
        ("length in RETH too long", 0x61, 0x12, write(0, data(9), dma_length=10)),
        ("length in RETH too short", 0x61, 0x12, write(0, data(9), dma_length=8)),
        ("FIRST of a message of one packet", 0x61, 0x12, again(write(0, data(pmtu)), 0x06)),
        ("LAST too early", 0x61, 0x12, write(0, data(2 * pmtu), dma_length=three)),
        ("MIDDLE too late", 0x61, 0x12, again(write(0, data(2 * pmtu)), 0x06, 0x07)),
        ("LAST with too much", 0x61, 0x12, write(0, data(pmtu + 9), dma_length=pmtu + 8)),
        ("READ with payload", 0x61, 0x16, [replace(read(0, 4)[0], payload=b"data")]),
        ("READ of more than 2 GiB", 0x61, 0x16, read(0, (1 << 31) + 1, advance=1)),
        ("WRITE of more than 2 GiB", 0x61, 0x12, write(0, data(pmtu + 1), dma_length=(1 << 31) + 1)[:1]),
        ("atomic", 0x61, 0x04, [far.packet(0x13, data(28))]),
        ("wrong key", 0x62, 0x15, write(0, b"x", remote_key=key ^ 1)),
        ("another entry", 0x62, 0x15, write(0, b"x", remote_key=key ^ 0x100)),
        ("entry that does not exist", 0x62, 0x15, write(0, b"x", remote_key=key | 0x10000)),
        ("one octet too far", 0x62, 0x15, write(size - 8, b"123456789")),
        ("one octet before", 0x62, 0x15, write(-1, b"123456789")),
        ("whole message decides", 0x62, 0x15, write(size - pmtu - 8, data(pmtu + 9))[:1]),
        ("around the end of addresses", 0x62, 0x15, write(0, b"x", remote_address=(1 << 64) - 1)),
        ("far behind", 0x62, 0x15, write(0, b"x", remote_address=VIRTUAL + (1 << 48))),
        ("READ with the wrong key", 0x62, 0x15, read(0, 4, remote_key=key ^ 0x80)),
        ("READ too far", 0x62, 0x15, read(size - 3, 4)),
    ]


@cocotb.test()
async def wrong_requests_end_the_connection(dut):
    """Each error: its NAK and fatal code, nothing executed, silence; a new connection works."""
    tb = await bench(dut, 8)
    far = await tb.reconnect(2, pmtu=256, element=512)
    everything = wrong_requests(tb, far)
    for index, (what, syndrome, code, _) in list(enumerate(everything))[:: 5 if thin() else 1]:
        far = await tb.reconnect(2)
        base = far.psn
        packets = wrong_requests(tb, far)[index][3]
        shift = packets[0].psn - base
        packets = [replace(packet, psn=packet.psn - shift & 0xFFFFFF) for packet in packets]
        await tb.check(packets[:-1], exact=True)
        tb.queue.append(encode(packets[-1]))
        await tb.settle()
        assert tb.seen.fatals == [(2, code)], (what, tb.seen.fatals)
        (answer,) = await tb.check([])
        assert (answer.syndrome, answer.psn) == (syndrome, packets[-1].psn), what
        assert (await tb.status(2))["ended"] == 1
        assert not await tb.check([*far.send(b"too late"), packets[-1]], exact=True)
    far = await tb.reconnect(2)
    assert (await tb.status(2)) | {"buffer": 0} == {
        "request": 0x0A << 24 | far.psn - 1 & 0xFFFFFF,
        "msn": 0,
        "buffer": 0,
        "rq_index": 0,
        "ended": 0,
    }
    await tb.check([*far.send(b"good"), *far.write(HALF - 108, b"12345678"), *far.read(0, HALF - 100)], exact=True)


@cocotb.test()
async def access_of_regions(dut):
    """Read only, write only, neither; protection domain; an access to nothing needs no key."""
    tb = await bench(dut, 9)
    region = tb.model.regions[2]
    for access in Access:
        for domain in (region.domain, region.domain + 1):
            await tb.program_region(2, replace(region, access=access, domain=domain))
            for reads in (False, True):
                far = await tb.reconnect(2)
                nothing = far.read(0, 0, remote_key=0) if reads else far.write(0, b"", remote_key=0xFFFFFF00)
                request = far.read(5, 100) if reads else far.write(5, b"to be written")
                answers = await tb.check([*nothing, *request], exact=True)
                allowed = domain == region.domain and (access == Access.BOTH or access.value == (0 if reads else 1))
                assert (answers[-1].syndrome == 0x1F) == allowed


@cocotb.test()
async def strangers(dut):
    """Wrong addresses, partition, transport, queue pair: dropped without an answer, and counted."""
    tb = await bench(dut, 10)
    far = tb.requesters[2]
    (packet,) = far.send(b"hello")
    for change in (
        {"source_ip": 1},
        {"source_mac": 1},
        {"pkey": 0x7FFE},
        {"opcode": 0x24},
        {"opcode": 0x12, "payload": bytes(12)},
        {"dest_qpn": 0},
        {"dest_qpn": 5},
        {"dest_qpn": 0x000102},
        {"dest_qpn": 1},
    ):
        before = tb.model.refused
        assert not await tb.check([replace(packet, **change)])
        assert tb.model.refused == before + 1, change
    dut.qp_fatal.value = 0b0010
    tb.qps[2].dead = True
    assert not await tb.check([packet])
    dut.qp_fatal.value = 0
    tb.qps[2].dead = False
    await tb.check([packet], exact=True)
    # Acknowledgements and READ responses are not the responder's business.
    await tb.check([far.packet(0x11, advance=0), far.packet(0x10, b"data of a READ", advance=0), *far.send(b"more")])
    dut.engine_enabled.value = 0
    model, tb.model.packet = tb.model.packet, lambda *_: None
    await tb.check([*far.send(b"while disabled"), far.packet(0x10, b"and data", advance=0)])
    dut.engine_enabled.value = 1
    tb.model.packet = model
    (answer,) = await tb.check(far.send(b"a gap now"))
    assert answer.is_nak


@cocotb.test()
async def unreliable_connection(dut):
    """Never an answer; a message with a gap is dropped to its end; the next one is taken."""
    tb = await bench(dut, 11)
    far = await tb.reconnect(3, transport=UC, pmtu=256, element=1024)
    for missing in (None, 0, 1, 2, 3):
        for make in (far.send, lambda data: far.write(3, data), lambda data: far.write(4, data, immediate=True)):
            packets = [
                packet for index, packet in enumerate(make(tb.random.randbytes(256 * 3 + 5))) if index != missing
            ]
            assert not await tb.check([*packets, *make(b"next")])
            await tb.consume(3)
    first = far.send(tb.random.randbytes(600))
    assert not await tb.check(
        [first[0], *far.send(b"cuts in"), first[1], *far.write(0, b"x", remote_key=0), *first[:1]]
    )
    # Too long, or no element: dropped, and the connection lives on.
    await tb.check([*far.send(tb.random.randbytes(1025)), *far.send(b"good")])
    await tb.consume(3)
    await tb.check([packet for _ in range(17) for packet in far.send(b"until it is full")])
    await tb.consume(3)
    await tb.check([*far.send(b"again", "immediate"), *far.write(8, b"", immediate=True)])


@cocotb.test()
async def datagrams(dut):
    """UD and management: headers in front, queue key, length, lack of elements."""
    tb = await bench(dut, 12)
    await tb.reconnect(4, transport=UD, pmtu=1024, element=1024, qkey=0x12345678)
    await tb.reconnect(1, pmtu=256, element=512)
    packet = Packet(0x64, dest_mac=0x020000000001, dest_ip=0x0A000001, source_ip=0x0A0000FE, source_mac=0x02AABBCCDDEE)
    for number, qkey in ((4, 0x12345678), (1, MANAGEMENT_QKEY)):
        for length in [*range(0, 140, 20 if thin() else 3), 256, 257, 448, 449, 960, 961, 1024, 1028]:
            frames = []
            for immediate in (None, tb.random.getrandbits(32)):
                here = replace(packet, dest_qpn=number, psn=tb.random.getrandbits(24))
                frames.append(datagram(here, qkey, 0x123, tb.random.randbytes(length), immediate))
            frames.append(datagram(here, qkey ^ 1, 0x123, b"wrong queue key"))
            assert not await tb.check(frames)
            await tb.consume(number)
        here = replace(packet, dest_qpn=number)
        await tb.check([datagram(here, qkey, 1, b"until it is full") for _ in range(18)])
        await tb.consume(number)
    assert tb.model.datagrams > 10


@cocotb.test()
async def memory_refuses(dut):
    """SLVERR: NAK remote operational at that packet, fatal, and nothing behind it has an effect."""
    tb = await bench(dut, 13)
    far = await tb.reconnect(2, pmtu=256)
    page = (tb.model.regions[2].buffer + 5000) // 4096
    tb.data.bad_pages = {page}
    offset = page * 4096 - tb.model.regions[2].buffer
    await tb.check(far.write(offset - 100, b"a" * 100), exact=True)
    bad = far.write(offset - 100, b"b" * 101)
    tb.queue.extend(encode(packet) for packet in (*bad, *far.send(b"lost"), *far.read(0, 100), *far.write(0, b"c")))
    await tb.settle()
    (answer,) = tb.seen.responses
    assert (answer.syndrome, answer.psn) == (0x63, bad[0].psn)
    assert tb.seen.fatals == [(2, 0x06)]
    assert (await tb.status(2))["ended"] == 1
    assert int.from_bytes(tb.indices.read(tb.qps[2].doorbell, 4), "little") == 0
    # The model goes on from what has happened.
    tb.data.bad_pages = set()
    tb.seen.responses.clear()
    tb.seen.known.clear()
    tb.seen.fatals.clear()
    tb.model.responses.clear()
    tb.model.memory[:] = tb.data.data
    tb.model.written.clear()
    tb.model.fills.clear()
    tb.seen.events.update(send=tb.model.sends, refused=tb.model.refused)
    far = await tb.reconnect(2)
    await tb.check([*far.write(offset - 100, b"b" * 101), *far.send(b"not lost"), *far.read(0, 100)])


@cocotb.test()
async def memory_does_not_give(dut):
    """Data for a READ response that cannot be read: the queue pair ends, its responses too, others go on."""
    tb = await bench(dut, 20)
    far = await tb.reconnect(2, pmtu=256)
    tb.take_commands = 0.05
    tb.queue.extend(encode(packet) for packet in (*far.read(0, 256 * 30), *far.read(0, 10)))
    await tb.clocks(200)
    dut.unread_qp.value = 1
    dut.unread_valid.value = 1
    await tb.clocks(2)
    dut.unread_valid.value = 0
    await tb.clocks(100)
    assert (await tb.status(2))["ended"] == 1
    tb.take_commands = 1.0
    await tb.settle()
    assert tb.seen.fatals == [(2, 0x06)]
    assert len(tb.seen.responses) < 30
    tb.model.fatals.append((2, 0x06))
    tb.qps[2].dead = True
    for history in (tb.model.responses, tb.seen.responses, tb.seen.known):
        history.clear()
    assert not await tb.check(far.read(0, 10))
    assert len(await tb.check([*tb.requesters[3].read(0, 10), *tb.requesters[4].send(b"on")])) == 2
    far = await tb.reconnect(2)
    await tb.check([*far.read(0, 600), *far.send(b"works")])


@cocotb.test()
async def notices_without_a_reader(dut):
    """Software reads notices one by one; what does not fit is lost and counted."""
    tb = await bench(dut, 14)
    tb.take_notices = 0.0
    far = await tb.reconnect(2, depth=32, element=256, pmtu=256)
    packets = [packet for _ in range(18) for packet in far.send(b"", "immediate")]
    tb.queue.extend(encode(packet) for packet in packets)
    await tb.settle()
    assert tb.seen.events["notice_lost"] == 2
    for index in range(17):
        word = int(dut.notice_oldest.value)
        expected = 0 if index == 16 else (index + 1) << 48 | 2 << 40 | 2 << 32 | packets[index].immediate
        assert word == expected
        dut.notice_pop.value = 1
        await tb.clocks(1)
        dut.notice_pop.value = 0
        await tb.clocks(2)


@cocotb.test()
async def disabled_while_busy(dut):
    """Disabling ends a READ that is being answered; nothing of the old connection comes after it."""
    tb = await bench(dut, 15)
    far = await tb.reconnect(2, pmtu=256)
    for _ in range(3 if thin() else 12):
        tb.take_commands = 0.1
        requests = [*far.read(0, 256 * 200), *far.send(b"later"), *far.read(0, 5000)]
        tb.queue.extend(encode(packet) for packet in requests)
        await tb.clocks(tb.random.randrange(60, 400))
        far = await tb.reconnect(2)
        for history in (tb.model.responses, tb.seen.responses, tb.seen.known, tb.model.fills):
            history.clear()
        tb.seen.events.update(send=tb.model.sends, refused=tb.model.refused)
        tb.take_commands = 1.0
        await tb.settle()
        assert not tb.seen.responses
        tb.seen.events.update(send=tb.model.sends, refused=tb.model.refused)
        tb.model.memory[:] = tb.data.data
        tb.model.written.clear()
        await tb.check([*far.send(b"new"), *far.read(0, 600)])


@cocotb.test()
async def set_by_software(dut):
    """Message number, receive queue index and last request of a disabled queue pair are software's to set."""
    tb = await bench(dut, 16)
    far = await tb.reconnect(2, depth=8, element=256, pmtu=256)
    await tb.check([*far.send(b"one"), *far.send(b"two")])
    assert (await tb.status(2))["msn"] == 2
    await tb.write("ERNIC_QP", 1, "STATMSN", 77)
    assert (await tb.status(2))["msn"] == 2, "enabled"
    await tb.write("ERNIC_QP", 1, "QPCONF", 0)
    for name, value in (("STATMSN", 0xABCDE), ("STATRQPIDB", 5), ("LSTRQREQ", 0x04123456)):
        await tb.write("ERNIC_QP", 1, name, value)
    status = await tb.status(2)
    assert (status["msn"], status["rq_index"], status["request"]) == (0xABCDE, 5, 0x04123456)
    await tb.write("ERNIC_QP", 1, "QPCONF", 1 << 16 | 1)
    qp = tb.qps[2]
    qp.msn, qp.taken, qp.consumed, qp.last_psn, far.psn = 0xABCDE, 5, 5, 0x123456, 0x123457
    await tb.check([packet for _ in range(7) for packet in far.send(b"three")])


@cocotb.test()
async def traffic(dut):
    """Everything at once: losses, duplicates, back-pressure of bus and commands."""
    tb = await bench(dut, 17)
    draw = tb.random
    for _ in range(3 if thin() else 24):
        tb.data.stall, tb.data.latency = draw.choice(((0.0, 3), (0.3, 20), (0.7, 60), (0.0, 150)))
        tb.indices.stall, tb.indices.latency = tb.data.stall, draw.choice((1, 40))
        tb.take_commands = draw.choice((1.0, 0.3, 0.05))
        tb.take_notices = draw.choice((1.0, 0.5))
        tb.gap = draw.choice((0, 0, 3, 40))
        fars = [
            await tb.reconnect(2, pmtu=draw.choice((256, 1024)), element=2048, transport=0),
            await tb.reconnect(3, pmtu=draw.choice((256, 512)), element=2048, transport=draw.choice((0, UC))),
            await tb.reconnect(4, pmtu=4096, element=4096, transport=0),
        ]
        for _ in range(6):
            streams = [_some_messages(tb, far) for far in fars]
            frames = []
            while any(streams):
                stream = draw.choice([stream for stream in streams if stream])
                packet = stream.pop(0)
                if draw.random() > 0.03:
                    frames.append(packet)
                if draw.random() < 0.03:
                    frames.append(draw.choice(frames) if frames else packet)
            await tb.check(frames)
            for far in fars:
                if not far.qp.dead:
                    await tb.consume(far.qp.number)
                    far.psn = far.qp.last_psn + 1 & 0xFFFFFF
                    # An open message cannot go on, since its rest is forgotten here.
                    if far.qp.open or far.qp.dead:
                        await tb.reconnect(far.qp.number)


@cocotb.test()
async def overflow(dut):
    """More than the FIFO holds, tickets or beats: what is lost is lost whole, and comes again behind the NAK."""
    tb = await bench(dut, 19)
    far = await tb.reconnect(2, pmtu=256, element=256)
    for size, stall, latency in ((8, 0.0, 5), (256, 0.8, 400)):
        tb.data.stall, tb.data.latency = stall, latency
        packets = [
            packet
            for index in range(60 if thin() else 150)
            for packet in far.write(index * size, bytes([index]) * size)
        ]
        before, rounds = tb.lost, 0
        while packets:
            await tb.check(packets)
            done = far.qp.last_psn - packets[0].psn + 1 & 0xFFFFFF
            assert done > 0
            packets = packets[done:]
            rounds += 1
        assert tb.lost > before or thin()
        assert rounds > 1 or thin()


def _some_messages(tb: Bench, far: Requester) -> list[Packet]:
    draw = tb.random
    packets: list[Packet] = []
    reads = 0
    for _ in range(draw.randrange(1, 8)):
        length = draw.choice((0, 1, 9, 64, draw.randrange(600), draw.randrange(2000)))
        data = draw.randbytes(length)
        offset = draw.randrange(HALF - 100 - 2000)
        kind = draw.randrange(10)
        if kind == 0 and far.qp.transport == 0 and reads == 0:
            reads += 1
            packets += far.read(offset, length)
        elif kind < 5:
            packets += far.write(offset, data, immediate=draw.random() < 0.2)
        else:
            packets += far.send(data, draw.choice(("", "immediate", "invalidate") if far.qp.transport == 0 else ("",)))
    return packets


@cocotb.test()
async def small_packets_at_line_rate(dut):
    """A WRITE of 256-octet packets, one each nine clocks (100 Gb/s at 322 MHz): nothing is lost, no queue grows."""
    tb = await bench(dut, 18)
    far = await tb.reconnect(2, pmtu=256, element=4096)
    tb.data.latency = 60
    tb.gap = 4
    begin = tb.cycle_number
    packets = far.write(1, tb.random.randbytes(256 * (40 if thin() else 200)))
    await tb.check(packets)
    assert not tb.lost
    assert tb.cycle_number - begin < len(packets) * 9 + 300


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_respond(simulator):
    sweep = "thin" if simulator == "icarus" else "full"
    top = Path(__file__).with_name("respond_bench")
    run_module(str(top), __name__, simulator, environment={"SWEEP": sweep})
