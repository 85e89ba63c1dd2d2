"""Control half of the engine: SEND and READ, unreliable connections, datagrams, payload in memory or in the entry."""

from __future__ import annotations

import random
from dataclasses import replace

import cocotb
import pytest

from tests.hdl.ernic.bench import MEMORY_BASE, RING_BYTES, Connection, ControlBench, Response, works
from tests.hdl.ernic.model import (
    INLINE_LENGTH,
    NAK_SEQUENCE,
    READ,
    SEND,
    SEND_IMMEDIATE,
    SEND_INVALIDATE,
    UC,
    UD,
    WRITE,
    WRITE_IMMEDIATE,
    Work,
    distance,
)
from tests.hdl.module_bench import SIMULATORS, run_module

BUFFERS = MEMORY_BASE + 0x100000
"""Where payload in memory is; commands only name it."""


def messages(
    kinds: tuple[int, ...], lengths: list[int], rng: random.Random, *, start: int = 1, in_ring: float = 0.5
) -> list[Work]:
    """One message a length, kinds in turn; payload in ring, memory or (short SENDs) the entry; READs go to memory."""
    found = []
    for index, (length, work) in enumerate(zip(lengths, works(lengths, rng, start=start), strict=True)):
        kind = kinds[index % len(kinds)]
        address = work.local_address
        if kind == READ or rng.random() >= in_ring:
            address = BUFFERS + rng.randrange(1 << 40)
        inline = rng.randbytes(length) if length <= INLINE_LENGTH else b""
        found.append(replace(work, opcode=kind, local_address=address, inline=inline))
    return found


def lengths_around(pmtu: int) -> list[int]:
    return [0, 1, INLINE_LENGTH, INLINE_LENGTH + 1, pmtu - 1, pmtu, pmtu + 1, 3 * pmtu, 3 * pmtu + 5]


@cocotb.test()
async def sends(dut):
    """SEND, with an immediate, with a key to invalidate: every opcode at every length, each PMTU."""
    bench = ControlBench(dut)
    await bench.start()
    kinds = (SEND, SEND_IMMEDIATE, SEND_INVALIDATE, WRITE, WRITE_IMMEDIATE)
    seen = set()
    for pmtu in (256, 512, 1024, 2048, 4096):
        for turn in range(len(kinds)):
            queue = await bench.connect(2, Connection(pmtu=pmtu, psn=0xFFFFFA))
            await queue.post(messages(kinds[turn:] + kinds[:turn], lengths_around(pmtu), bench.random))
            await bench.done(queue)
            seen |= {command.opcode for command in queue.commands}
    assert seen == {*range(0x0C), 0x16, 0x17}


@cocotb.test()
async def reads(dut):
    """Data of each response go to their place; the completion waits for all of them to be in memory."""
    bench = ControlBench(dut)
    await bench.start()
    for pmtu in (256, 1024, 4096):
        queue = await bench.connect(2, Connection(pmtu=pmtu, psn=0xFFFFFA))
        posted = messages((READ,), lengths_around(pmtu), bench.random)
        await queue.post(posted)
        await bench.done(queue)
        assert len(queue.commands) == len(posted)
        octets = {at for r in queue.accepted for at in range(r.address, r.address + r.length)}
        wanted = {at for w in posted for at in range(w.local_address, w.local_address + w.length)}
        assert octets == wanted


@cocotb.test()
async def completion_of_a_read_waits_for_its_data(dut):
    bench = ControlBench(dut)
    await bench.start()
    bench.write_delay = 1000
    queue = await bench.connect(2, Connection(pmtu=256))
    await queue.post(messages((READ, WRITE), [700, 10], bench.random))
    await bench.until(lambda: len(queue.accepted) == 3)
    await bench.clocks(500)
    assert not queue.completions()
    assert bench.written == 0
    await bench.done(queue)


@cocotb.test()
async def reads_in_flight_are_limited(dut):
    """Never more than QPEXT says; what comes behind waits, other queue pairs do not."""
    bench = ControlBench(dut)
    await bench.start()
    for limit in (1, 3):
        queue = await bench.connect(2, Connection(pmtu=256, reads=limit))
        other = await bench.connect(3, Connection(pmtu=256))
        queue.lose_response = lambda _: True
        await queue.post(messages((READ,), [100] * 5, bench.random))
        await other.post(works([10] * 5, bench.random))
        await bench.done(other)
        assert len(queue.commands) == limit
        await queue.connect(queue.connection)
        await queue.post(messages((READ, SEND), [100] * 10, bench.random))
        await bench.done(queue)
    # 0 counts as 1.
    queue = await bench.connect(2, Connection(pmtu=256, reads=0))
    await queue.post(messages((READ,), [100] * 3, bench.random))
    await bench.done(queue)


@cocotb.test()
async def lost_response(dut):
    """Any response of a READ is lost once: what comes after says so, and the rest is asked for again, from there on."""
    bench = ControlBench(dut)
    await bench.start()
    posted = [WRITE, READ, SEND, READ, WRITE]
    spans = [1, 4, 1, 3, 1]
    for victim in (1, 2, 3, 4, 6, 7, 8):
        queue = await bench.connect(2, Connection(pmtu=256, psn=0xFFFFFC))
        lost: list[Response] = []

        def lose(response: Response, lost=lost, victim=victim) -> bool:
            if not lost and distance(response.psn, 0xFFFFFC) == victim:
                lost.append(response)
                return True
            return False

        queue.lose_response = lose
        await queue.post(messages(tuple(posted), [256 * span - 9 for span in spans], bench.random))
        await bench.done(queue)
        assert len(lost) == 1
        assert await bench.read("TIMEOUTS") == 0, "what comes behind says that the response is lost"
        again = [command for command in queue.commands if command.opcode == 0x0C][2:]
        assert any(distance(command.psn, 0xFFFFFC) == victim for command in again), again


@cocotb.test()
async def last_response_lost(dut):
    """Nothing comes behind: the time runs out, and only what is missing is asked for."""
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, timeout=6))
    dropped: list[int] = []
    queue.lose_response = lambda response: response.last and not dropped and not dropped.append(response.psn)
    await queue.post(messages((READ,), [1000], bench.random))
    await bench.done(queue)
    assert await bench.read("TIMEOUTS") >= 1
    assert [(c.psn, c.dma_length) for c in queue.commands] == [(0, 1000), (3, 1000 - 768)]


@cocotb.test()
async def late_and_double_responses(dut):
    """Responses that were asked for twice are taken once."""
    bench = ControlBench(dut)
    await bench.start()
    bench.answer_delay = 300
    queue = await bench.connect(2, Connection(pmtu=256, timeout=3))
    await queue.post(messages((READ, WRITE), [256 * 5, 10], bench.random))
    await bench.done(queue)
    assert len(queue.commands) > 2, "the time ran out while responses were under way"
    assert len({r.psn for r in queue.accepted}) == len(queue.accepted) == 5


@cocotb.test()
async def wrong_responses_are_fatal(dut):
    """A response of the wrong length, or one that says last too early or too late, ends the connection: code 1B."""
    bench = ControlBench(dut)
    await bench.start()
    for number, changes in enumerate(({"bytes": 255}, {"bytes": 257}, {"is_last": 1}, {"bytes": 0})):
        queue = await bench.connect(2, Connection(pmtu=256))
        sent = bench.send_ack
        bench.send_ack = lambda fields, sent=sent, changes=changes: sent(fields | changes)
        await queue.post(messages((READ,), [600], bench.random, start=number + 1))
        await bench.until(queue.completions)
        bench.send_ack = sent
        assert queue.completions() == [(number + 1, READ, 0x1B)]
        await bench.settle()
        assert not queue.accepted


@cocotb.test()
async def response_to_a_write_is_fatal(dut):
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256))
    queue.answers = False
    posted = works([100, 100], bench.random)
    await queue.post(posted)
    await bench.until(lambda: len(queue.commands) == 2)
    bench.respond(queue, replace(posted[1], local_address=BUFFERS), 0, 1)
    queue.acked_packets = 1
    await bench.until(lambda: len(queue.completions()) == 2)
    # The first was acknowledged by what was answered to the second.
    assert queue.completions() == [(1, 0, 0), (2, 0, 0x1B)]


@cocotb.test()
async def read_into_the_ring_is_refused(dut):
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256))
    await queue.post([Work(7, 64, 100, opcode=READ)])
    await bench.until(queue.completions)
    assert queue.completions() == [(7, READ, 0x05)]
    assert not queue.commands


@cocotb.test()
async def unreliable_connection(dut):
    """Nothing asks for an answer, nothing is sent twice; messages complete and free the ring when they have left."""
    bench = ControlBench(dut)
    await bench.start()
    for pmtu in (256, 1024, 4096):
        for each in (False, True):
            queue = await bench.connect(
                2, Connection(pmtu=pmtu, psn=0xFFFFFA, transport=UC, timeout=1, write_each=each)
            )
            kinds = (SEND, WRITE, SEND_IMMEDIATE, WRITE_IMMEDIATE)
            await queue.post(messages(kinds, lengths_around(pmtu) * 2, bench.random))
            await bench.done(queue)
            expected = set(range(0x20, 0x2C)) - (set(range(0x26, 0x2A)) if each else set())
            assert {command.opcode for command in queue.commands} <= expected
    assert await bench.read("TIMEOUTS") == 0


@cocotb.test()
async def acknowledgements_mean_nothing_to_an_unreliable_connection(dut):
    bench = ControlBench(dut)
    await bench.start()
    bench.leave_delay = 2000
    queue = await bench.connect(2, Connection(pmtu=256, transport=UC))
    await queue.post(works([256 * 4], bench.random))
    await bench.until(lambda: len(queue.commands) == 4)
    queue.answer(3, source_ip=queue.connection.remote_ip)
    queue.answer(1, NAK_SEQUENCE, source_ip=queue.connection.remote_ip)
    await bench.clocks(500)
    assert not queue.completions()
    assert await bench.read("ACKS_IGNORED") == 2
    await bench.done(queue)
    assert len(queue.commands) == 4


@cocotb.test()
async def late_report_of_an_earlier_connection(dut):
    """A packet that leaves when its queue pair has been switched off and on again completes nothing."""
    bench = ControlBench(dut)
    await bench.start()
    bench.leave_delay = 1500
    queue = await bench.connect(2, Connection(pmtu=256, transport=UC))
    await queue.post(works([10], bench.random))
    await bench.until(lambda: len(queue.commands) == 1)
    await bench.connect(2, queue.connection)
    bench.leave_delay = 4000
    await queue.post(works([10], bench.random, start=2))
    acked = queue.acked_packets
    await bench.clocks(2000)
    queue.acked_packets = acked
    assert not queue.completions()
    await bench.done(queue)


@cocotb.test()
async def datagrams(dut):
    """One packet a message, with its DETH; management datagrams from queue pair 1 too."""
    bench = ControlBench(dut)
    await bench.start()
    for number, qkey in ((3, 0x11223344), (1, 0x80010000)):
        connection = Connection(pmtu=1024, transport=UD, qkey=qkey)
        if number == 1:
            connection = replace(connection, traffic_class=0, ttl=64, psn=0)
        queue = await bench.connect(number, connection)
        await queue.post(messages((SEND, SEND_IMMEDIATE), [0, 1, 16, 17, 256, 1023, 1024, 1024], bench.random))
        await bench.done(queue)
        assert [command.opcode for command in queue.commands] == [0x64, 0x65] * 4


@cocotb.test()
async def what_a_transport_does_not_carry(dut):
    """The entry completes with code 05; nothing of it is sent."""
    bench = ControlBench(dut)
    await bench.start()
    memory = BUFFERS + 64
    refused = [
        (UC, Work(1, memory, 100, opcode=READ)),
        (UC, Work(1, memory, 100, opcode=SEND_INVALIDATE)),
        (UD, Work(1, memory, 100, opcode=READ)),
        (UD, Work(1, memory, 100, opcode=WRITE)),
        (UD, Work(1, memory, 100, opcode=WRITE_IMMEDIATE)),
        (UD, Work(1, memory, 100, opcode=SEND_INVALIDATE)),
        (UD, Work(1, memory, 257, opcode=SEND)),
    ]
    for transport, work in refused:
        queue = await bench.connect(2, Connection(pmtu=256, transport=transport))
        await queue.post([work])
        await bench.until(queue.completions, what=f"{transport} {work}")
        assert queue.completions() == [(1, work.opcode, 0x05)]
        assert not queue.commands


@cocotb.test()
async def payload_that_memory_does_not_give(dut):
    """The packet is thrown away behind the requester; its queue pair fails with code 05, everything completes."""
    bench = ControlBench(dut)
    await bench.start()
    for transport in (0, UC):
        queue = await bench.connect(2, Connection(pmtu=256, transport=transport))
        queue.answers = False
        bench.leave_delay = 10**6
        await queue.post(messages((SEND,), [100, 200], bench.random, in_ring=0.0))
        await bench.until(lambda q=queue: len(q.commands) == 2)
        dut.failed_qp.value = 1
        dut.failed_valid.value = 1
        await bench.clocks(1)
        dut.failed_valid.value = 0
        await bench.until(lambda q=queue: len(q.completions()) == 2)
        assert queue.completions() == [(1, SEND, 0x05), (2, SEND, 0x85)]
        bench._leaving.clear()


@cocotb.test()
async def levels(dut):
    """A packet goes to its queue pair's level; 0 counts as 2 (checked with every command)."""
    bench = ControlBench(dut)
    await bench.start()
    bench.take_commands = 0.5
    queues = [await bench.connect(2 + n, Connection(pmtu=256, level=level)) for n, level in enumerate((0, 1, 3))]
    for queue in queues:
        await queue.post(messages((WRITE, SEND), [700] * 6, bench.random))
    await bench.done(*queues)


@cocotb.test()
async def random_mix(dut):
    """All kinds on all transports at once; commands, responses, answers lost: all arrives once, in order."""
    bench = ControlBench(dut, seed=3, latency=25, stall=0.2)
    await bench.start()
    bench.take_commands = 0.7
    bench.take_decisions = 0.5
    rng = bench.random
    reliable = await bench.connect(2, Connection(pmtu=256, psn=0xFFFFF0, timeout=8))
    unreliable = await bench.connect(3, Connection(pmtu=512, transport=UC))
    datagram = await bench.connect(4, Connection(pmtu=1024, transport=UD))
    reliable.lose_command = lambda _: rng.random() < 0.03
    reliable.lose_response = lambda _: rng.random() < 0.03
    reliable.lose_answer = lambda _: rng.random() < 0.03
    for turn in range(4):
        start = turn * 10 + 1
        long = [rng.choice((rng.randrange(40), rng.randrange(3000))) for _ in range(10)]
        everything = (WRITE, SEND, READ, WRITE_IMMEDIATE, SEND_IMMEDIATE, READ, SEND_INVALIDATE)
        await reliable.post(messages(everything, long, rng, start=start))
        await unreliable.post(messages((SEND, WRITE_IMMEDIATE), long, rng, start=start))
        await datagram.post(messages((SEND, SEND_IMMEDIATE), [n % 1025 for n in long], rng, start=start))
        await bench.done(reliable, unreliable, datagram, limit=200000)


TAIL_UNIT = 128
"""Clocks in which TAIL_LOSS counts."""


@cocotb.test()
async def lost_tail(dut):
    """The last packet or its answer is lost, nothing comes behind it: sent again after the short time, uncounted."""
    bench = ControlBench(dut)
    await bench.start()
    for lose in ("command", "answer", "response"):
        queue = await bench.connect(2, Connection(pmtu=256, retry=0, tail_loss=4))
        lost: list[int] = []

        def once(_, lost=lost) -> bool:
            lost.append(bench.cycle)
            return len(lost) == 1

        kinds = (READ,) if lose == "response" else (WRITE,)
        setattr(queue, f"lose_{lose}", once)
        await queue.post(messages(kinds, [100], bench.random))
        probes = await bench.read("TAIL_PROBES")
        await bench.done(queue)
        assert len(queue.commands) == 2
        waited = queue.commands[1].cycle - queue.commands[0].cycle
        assert 4 * TAIL_UNIT <= waited <= 6 * TAIL_UNIT, waited
        assert await bench.read("TAIL_PROBES") == probes + 1
        assert await queue.field("STATQP", "RETRY") == 0
    assert await bench.read("TIMEOUTS") == 0


@cocotb.test()
async def tail_is_probed_once(dut):
    """Nobody is sent the same for ever; after progress, and in a new connection, the short time counts again."""
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, tail_loss=2))
    queue.lose_command = lambda _: True
    await queue.post(works([256 * 3], bench.random))
    await bench.clocks(20 * TAIL_UNIT)
    assert [command.psn for command in queue.commands] == [0, 1, 2] * 2
    queue.answer(0)
    await bench.clocks(20 * TAIL_UNIT)
    assert [command.psn for command in queue.commands] == [0, 1, 2] * 2 + [1, 2]
    queue = await bench.connect(2, queue.connection)
    queue.lose_command = lambda _: True
    await queue.post(works([10], bench.random))
    await bench.clocks(20 * TAIL_UNIT)
    assert len(queue.commands) == 2
    # An unreliable connection has no tail to lose, and 0 stands for never.
    for connection in (Connection(pmtu=256), Connection(pmtu=256, transport=UC, tail_loss=2)):
        queue = await bench.connect(2, connection)
        queue.lose_command = lambda _, reliable=connection.transport != UC: reliable
        bench.leave_delay = 10 * TAIL_UNIT
        await queue.post(works([10], bench.random))
        await bench.clocks(20 * TAIL_UNIT)
        assert len(queue.commands) == 1


@cocotb.test()
async def tail_time_starts_with_the_last_packet(dut):
    """While packets leave, slowly, or answers come, the short time starts anew."""
    bench = ControlBench(dut)
    await bench.start()
    bench.take_commands = 0.005
    queue = await bench.connect(2, Connection(pmtu=256, tail_loss=16))
    bench.answer_delay = 10 * TAIL_UNIT
    await queue.post(works([256 * 20], bench.random))
    await bench.done(queue)
    assert len(queue.commands) == 20
    assert await bench.read("TAIL_PROBES") == 0


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_transports(simulator):
    run_module("ernic/ernic_control", __name__, simulator, parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32})
