"""Control half of the engine: packets, doorbells, acknowledgements, retries, errors, completions, ring space."""

from __future__ import annotations

import itertools

import cocotb
import pytest

from tests.hdl.ernic.bench import MEMORY_BASE, RING_BYTES, Connection, ControlBench, works
from tests.hdl.ernic.model import ACK, NAK_SEQUENCE, RNR, Work, distance, psn_after
from tests.hdl.module_bench import SIMULATORS, run_module


@cocotb.test()
async def packets_of_messages(dut):
    """Lengths around multiples of each PMTU, all kinds; the responder checks every field."""
    bench = ControlBench(dut)
    await bench.start()
    for pmtu in (256, 512, 1024, 2048, 4096):
        queue = await bench.connect(2, Connection(pmtu=pmtu, psn=0xFFFFFC))
        lengths = [
            0,
            1,
            63,
            64,
            65,
            pmtu - 1,
            pmtu,
            pmtu + 1,
            2 * pmtu,
            3 * pmtu + 5,
            17 * pmtu if pmtu < 1024 else 4 * pmtu,
        ]
        await queue.post(works(lengths, bench.random))
        await bench.done(queue)
        assert len(queue.commands) == queue.total_packets()
        expected = [psn_after(0xFFFFFC, n) for n in range(queue.total_packets())]
        assert [command.psn for command in queue.commands] == expected


@cocotb.test()
async def acknowledge_requests(dut):
    """In each message's last packet, and in every n-th of a queue pair without one."""
    bench = ControlBench(dut)
    await bench.start(ack_interval=4)
    queue = await bench.connect(2, Connection(pmtu=256))
    await queue.post(works([256 * 10, 256 * 3, 1], bench.random))
    await bench.done(queue)
    asked = [command.ack_request for command in queue.commands]
    assert asked == [False, False, False, True] * 2 + [False, True] + [False, False, True] + [True]
    await bench.write("ACKREQ_INTERVAL", 0)
    await queue.post(works([256 * 20], bench.random, start=4))
    await bench.done(queue)
    assert [command.ack_request for command in queue.commands[14:]] == [False] * 19 + [True]


@cocotb.test()
async def doorbells_modulo_depth(dut):
    """Batches, many laps of a small queue, the index modulo its depth; a repeated index posts nothing."""
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(3, Connection(pmtu=256, depth=16))
    number = 1
    # A whole lap would look like nothing: with this habit a driver leaves one slot free.
    for batch in (1, 3, 8, 15, 7, 5, 1, 2, 12):
        await queue.post(works([64 + number] * batch, bench.random, start=number))
        number += batch
        await bench.done(queue)
        await queue.write("SQPI", queue.posted % 16)
        await bench.clocks(100)
        assert len(queue.commands) == number - 1
    assert await bench.read("DOORBELLS") == 9


@cocotb.test()
async def doorbells_one_to_depth(dut):
    """The index runs from 1 to the depth and then starts at 1; head and index in memory follow the same habit."""
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, depth=16))
    index = 0
    for number in range(1, 40):
        queue.store(works([number * 5], bench.random, start=number))
        index = index % 16 + 1
        await queue.write("SQPI", index)
        if number % 5 == 0 or index == 16:
            await bench.done(queue)
            assert await queue.read("CQHEAD") == index
            assert queue.index_in_memory() == index
    # The whole queue at once, from empty and from the start of a connection.
    queue = await bench.connect(2, Connection(pmtu=256, depth=16))
    queue.store(works([100] * 16, bench.random))
    await queue.write("SQPI", 16)
    await bench.done(queue)
    assert await queue.read("CQHEAD") == 16


@cocotb.test()
async def doorbell_beyond_the_queue_is_refused(dut):
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, depth=16))
    queue.answers = False
    await queue.post(works([10] * 12, bench.random))
    await queue.write("SQPI", 7)  # eleven more in four free slots
    assert await queue.read("SQPI") == 12
    await bench.settle()
    assert len(queue.commands) == 12
    assert await queue.field("STATQP", "SQ_FULL") == 0
    await queue.post(works([10] * 4, bench.random, start=13))
    await bench.settle()
    assert await queue.field("STATQP", "SQ_FULL") == 1
    assert await queue.field("STATQP", "SQ_EMPTY") == 1
    assert await queue.field("STATQP", "OUTSTANDING_EMPTY") == 0
    queue.answer(15)
    await bench.until(lambda: len(queue.completions()) == 16)


@cocotb.test()
async def doorbell_of_a_disabled_queue_pair_is_ignored(dut):
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2)
    await queue.write("QPCONF", 0)
    await queue.write("SQPI", 3)
    assert await queue.read("SQPI") == 0
    await queue.connect(queue.connection)
    await bench.clocks(200)
    assert not queue.commands
    assert not bench.memory.reads


@cocotb.test()
async def nak_at_every_position(dut):
    """All is sent, then a NAK names one packet: exactly what begins there is sent again, then everything completes."""
    bench = ControlBench(dut)
    await bench.start()
    lengths = [256 * 3 + 7, 256, 5, 256 * 4]
    total = 4 + 1 + 1 + 4
    for position in range(total):
        queue = await bench.connect(2, Connection(pmtu=256, psn=0xFFFFFB, retry=1))
        queue.answers = False
        await queue.post(works(lengths, bench.random))
        await bench.settle(60)
        assert len(queue.commands) == total
        queue.answer(psn_after(0xFFFFFB, position), NAK_SEQUENCE)
        queue.answers = True
        for command in queue.commands[:position]:
            queue.responder.receive(command)
        await bench.done(queue)
        assert [c.psn for c in queue.commands[total:]] == [psn_after(0xFFFFFB, n) for n in range(position, total)]
        first, again = queue.commands[position:total], queue.commands[total:]
        for sent, resent in zip(first, again, strict=True):
            assert (sent.opcode, sent.local_address, sent.payload_bytes) == (
                resent.opcode,
                resent.local_address,
                resent.payload_bytes,
            )
        assert await queue.field("STATQP", "SYNDROME") == NAK_SEQUENCE
        assert await queue.field("STATQP", "RETRIED") == 1
        assert await queue.field("STATQP", "RETRY") == 0
    assert await bench.read("RETRANSMITTED") == total * (total + 1) // 2
    assert await bench.read("RETRYCNTSTS") == total
    assert await bench.read("INNAKPKTCNT") == total


@cocotb.test()
async def lost_packet_in_a_stream(dut):
    """Each packet of a stream is lost once: the NAK comes while later ones are still being sent."""
    bench = ControlBench(dut, latency=40)
    await bench.start(ack_interval=3)
    bench.answer_delay = 25
    for position in range(0, 24, 2):
        queue = await bench.connect(2, Connection(pmtu=512, psn=100, timeout=8))
        lost = []
        queue.lose_command = lambda c, p=position, seen=lost: c.psn == 100 + p and not seen and (seen.append(1) or True)
        await queue.post(works([512 * 6, 512 * 2 + 3, 1, 512 * 9], bench.random))
        await bench.done(queue)
        assert bool(lost) == (position < queue.total_packets())


@cocotb.test()
async def lost_acknowledgement(dut):
    """The time runs out, not before it should; the oldest packet that is not acknowledged is where sending resumes."""
    bench = ControlBench(dut)
    await bench.start(tick_width=4)
    timeout = 5
    queue = await bench.connect(2, Connection(pmtu=256, psn=7, timeout=timeout, retry=3))
    queue.lose_answer = lambda _: True
    await queue.post(works([256 * 4], bench.random))
    await bench.until(lambda: len(queue.commands) == 5)
    waited = queue.commands[4].cycle - queue.commands[0].cycle
    ticks = 16 << timeout
    assert ticks <= waited <= ticks + 3 * 16 + bench.memory.latency + 20, waited
    # Half of it is acknowledged: that restarts the time, and only the rest is sent again.
    await bench.until(lambda: len(queue.commands) == 8)
    queue.answer(8)
    at = bench.cycle
    await bench.until(lambda: len(queue.commands) == 9)
    assert queue.commands[8].psn == 9
    assert queue.commands[8].cycle - at >= ticks
    assert await queue.field("STATQP", "RETRY") == 1
    queue.lose_answer = lambda _: False
    await bench.done(queue)
    assert await queue.field("STATQP", "RETRY") == 0
    assert await bench.read("TIMEOUTS") == 2
    # No time-out when all is acknowledged.
    count = len(queue.commands)
    await bench.clocks(2 * ticks)
    assert len(queue.commands) == count


@cocotb.test()
async def times_hold_at_every_phase(dut):
    """Wherever in a tick the time starts: no time-out and no end of a wait comes early, and none without need."""
    bench = ControlBench(dut, latency=2)
    await bench.start(tick_width=7)
    bench.answer_delay = 2
    for phase in range(0, 128, 18):
        queue = await bench.connect(2, Connection(pmtu=256, timeout=1))
        await bench.clocks(phase)
        queue.answers = False
        await queue.post(works([100], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 2)
        assert queue.commands[1].cycle - queue.commands[0].cycle >= 2 * 128
    await bench.write("XRNICADCONF", 4 << 16)
    queue = await bench.connect(2, Connection(pmtu=256, timeout=3))
    timeouts = await bench.read("TIMEOUTS")
    for phase in range(32):
        # The deadline of the message before has long passed.
        await queue.post(works([100], bench.random, start=phase + 1))
        await bench.until(lambda n=phase: len(queue.completions()) == n + 1)
        await bench.clocks(300 - bench.cycle % 16 + phase % 16)
    assert await bench.read("TIMEOUTS") == timeouts
    queue = await bench.connect(2, Connection(pmtu=256, rnr_retry=7))
    bench.answer_delay = 70
    for phase in range(32):
        queue.responder.refuse = lambda _: RNR | 1
        count = len(queue.commands)
        await queue.post(works([100], bench.random, start=phase + 1))
        await bench.until(lambda n=count: len(queue.commands) == n + 1)
        queue.responder.refuse = lambda _: None
        await bench.until(lambda n=phase: len(queue.completions()) == n + 1)
        assert queue.commands[count + 1].cycle - queue.commands[count].cycle >= bench.answer_delay + 3 * 16
        await bench.clocks(64 - bench.cycle % 16 + phase % 16)


@cocotb.test()
async def progress_restarts_the_time(dut):
    """A long message, acknowledged bit by bit, takes longer than the time-out without a retry."""
    bench = ControlBench(dut)
    await bench.start(tick_width=4, ack_interval=1)
    queue = await bench.connect(2, Connection(pmtu=256, timeout=3))
    queue.answers = False
    await queue.post(works([256 * 12], bench.random))
    await bench.until(lambda: len(queue.commands) == 12)
    bench.answer_delay = 5
    for psn in range(12):
        await bench.clocks(60)
        queue.answer(psn)
    await bench.until(lambda: len(queue.completions()) == 1)
    assert await bench.read("TIMEOUTS") == 0
    assert len(queue.commands) == 12


@cocotb.test()
async def foreign_and_stale_acknowledgements(dut):
    """Outside the window, from somebody else, malformed: nothing moves."""
    bench = ControlBench(dut)
    await bench.start()
    last = await bench.connect(4, Connection(pmtu=256))
    last.answers = False
    await last.post(works([10], bench.random))
    queue = await bench.connect(2, Connection(pmtu=256, psn=0xFFFFFE))
    queue.answers = False
    await queue.post(works([256 * 4, 100], bench.random))
    await bench.settle(60)
    queue.answer(0xFFFFFE)
    await bench.settle(60)
    for psn, syndrome in (
        (0xFFFFFE, ACK),
        (0xFFFFFD, ACK),
        (0x800000, ACK),
        (3, ACK),
        (0x400000, ACK),
        (0xFFFFFE, NAK_SEQUENCE),
        (3, NAK_SEQUENCE),
        (0xFFFFFE, RNR | 1),
        (4, 0x61),
        (0, 0x40),
        (0, 0x80 | ACK),
        (0, 0x64),
    ):
        queue.answer(psn, syndrome, pkey=queue.connection.pkey)
    for changes in (
        {"source_ip": 0x0A000003},
        {"source_mac": 0x020000000003},
        {"pkey": 0xFFFE},
        {"qpn": 1},
        {"qpn": 3},
        {"qpn": 5},
        {"qpn": 0},
        {"qpn": 0x10002},
    ):
        queue.answer(0, ACK, **changes)
    await bench.settle()
    assert await queue.read("STATRESPSN") == 0xFFFFFF
    assert len(queue.commands) == 5
    assert not queue.completions()
    assert not last.completions()
    assert await bench.read("ACKS_IGNORED") == 20
    assert await queue.field("STATQP", "FATAL") == 0
    queue.answer(2, ACK, pkey=0x7FFF)  # limited member of the same partition
    queue.acknowledged(2, ACK)
    await bench.until(lambda: len(queue.completions()) == 2)
    await bench.settle(60)
    queue.check_freed()


@cocotb.test()
async def receiver_not_ready(dut):
    """The wait is at least as long as asked for, whatever comes in between; then sending resumes there."""
    bench = ControlBench(dut)
    await bench.start(tick_width=4)
    for code, ticks in ((1, 3), (5, 15), (9, 59)):
        queue = await bench.connect(2, Connection(pmtu=256, psn=50, timeout=2, retry=7))
        queue.answers = False
        await queue.post(works([256 * 2, 256 * 3], bench.random))
        await bench.until(lambda q=queue: len(q.commands) >= 5)
        bench.answer_delay = 5
        queue.answer(53, RNR | code)
        queue.answer(53, NAK_SEQUENCE)
        queue.answer(53, RNR | code)
        at = bench.cycle
        await bench.clocks(30)
        count = len(queue.commands)
        await bench.until(lambda q=queue, n=count: len(q.commands) > n)
        waited = queue.commands[count].cycle - at
        assert ticks * 16 <= waited <= (ticks + 4) * 16 + 60, (code, waited)
        assert queue.commands[count].psn == 53
        assert await queue.field("STATQP", "RNR_RETRY") == 1
        for command in queue.commands[:3]:
            queue.responder.receive(command)
        queue.answers = True
        await bench.done(queue)
        assert await queue.field("STATQP", "RNR_RETRY") == 0
    assert await bench.read("RNR_WAITS") == 3


@cocotb.test()
async def nothing_is_sent_during_the_wait(dut):
    """The RNR NAK comes in the middle of a stream: what was prepared leaves, then silence, then the rest from there."""
    bench = ControlBench(dut)
    await bench.start(tick_width=4)
    bench.answer_delay = 5
    queue = await bench.connect(2, Connection(pmtu=256))
    queue.responder.refuse = lambda psn: RNR | 9 if psn == 3 else None
    bench.take_commands = 0.1
    await queue.post(works([256 * 40], bench.random))
    await bench.until(lambda: len(queue.commands) == 4)
    await bench.clocks(20)
    queue.responder.refuse = lambda _: None
    count = len(queue.commands)
    await bench.clocks(59 * 16 - 40)
    assert len(queue.commands) <= count + 2
    bench.take_commands = 1.0
    await bench.done(queue)
    assert len(queue.commands) <= 40 + 6
    assert await bench.read("TIMEOUTS") == 0


@cocotb.test()
async def receiver_stays_not_ready(dut):
    """RNR retries are counted; 7 means for ever."""
    bench = ControlBench(dut)
    await bench.start(tick_width=3)
    bench.answer_delay = 5
    for limit in (0, 2, 7):
        queue = await bench.connect(2, Connection(pmtu=256, rnr_retry=limit))
        queue.responder.refuse = lambda _: RNR | 1
        await queue.post(works([100], bench.random))
        if limit == 7:
            await bench.until(lambda q=queue: len(q.commands) == 12)
            queue.responder.refuse = lambda _: None
            await bench.done(queue)
        else:
            await bench.until(lambda q=queue: len(q.completions()) == 1)
            assert len(queue.commands) == limit + 1
            assert queue.completions() == [(1, 0, 0x09)]
            assert await bench.read("LAST_FATAL") == 2 << 8 | 0x09


@cocotb.test()
async def fatal_errors_complete_everything(dut):
    """Retries used up, or refused by the remote end: all entries complete with an error; recovery as in PG332."""
    bench = ControlBench(dut)
    await bench.start(tick_width=3)
    await bench.write("IPKTERRQBA", (MEMORY_BASE + 0x3E000) & 0xFFFFFFFF)
    await bench.write("IPKTERRQBAMSB", MEMORY_BASE >> 32)
    await bench.write("IPKTERRQSZ", 4)
    await bench.write("INTEN", 1 << 7)
    bench.answer_delay = 5
    causes = ((0x61, 0x0A), (0x62, 0x0A), (0x63, 0x0A), (None, 0x06), (NAK_SEQUENCE, 0x06))
    for records, (syndrome, code) in enumerate(causes):
        queue = await bench.connect(2, Connection(pmtu=256, psn=10, timeout=3, retry=2, interrupt=True))
        if syndrome is None:
            queue.lose_answer = lambda answer: answer[0] >= 12
        else:
            queue.responder.refuse = lambda psn, s=syndrome: s if psn == 13 else None
        retries = await bench.read("RETRYCNTSTS")
        # The first is acknowledged, the second fails in its middle, more than the engine can have in flight follow.
        await queue.post(works([256 * 2, 256 * 3] + [50] * 50, bench.random))
        await bench.until(lambda q=queue: len(q.completions()) == 52)
        await bench.settle(60)
        assert await bench.read("RETRYCNTSTS") - retries == (2 if code == 0x06 else 0)
        identities = [(work.identifier, work.opcode) for work in queue.works]
        assert [entry[:2] for entry in queue.completions()] == identities
        assert [entry[2] for entry in queue.completions()] == [0, code] + [0x80 | code] * 50
        assert await queue.read("STATQP") & 0x601 == 0x601
        assert await queue.read("CQHEAD") == await queue.read("SQPI")
        assert bench.dut.irq.value == 1
        assert await bench.read("INTSTS") & 0xF0 == 1 << 7 | 1 << 4
        await bench.write("INTSTS", 0x1FF)
        assert bench.dut.irq.value == 0
        record = bench.memory.read(MEMORY_BASE + 0x3E000 + records % 4 * 8, 8)
        assert record == bytes([code, 0, 2, 0, 0, 0, 0, 0])
        assert await bench.read("IPKTERRQWPTR") == (records + 1) % 4
        assert await bench.read("RESPHNDSTS") >> 16 & 1 == 1
        # What was acknowledged before the error is freed, and nothing else.
        queue.check_freed()
        # Later entries complete with the error, too.
        await queue.post(works([7], bench.random, start=53))
        await bench.until(lambda q=queue: len(q.completions()) == 53)
        assert queue.completions()[52] == (53, 0, 0x80 | code)
        # Recovery (PG332): disable, override, pointers to zero, override off; then connect() as for a new connection.
        await queue.write("QPCONF", 1 << 6)
        await bench.write("XRNICADCONF", 3 << 16 | 1)
        for name in ("SQPI", "CQHEAD", "STATCURSQPTR", "SQPSN", "LSTRQREQ", "STATQP"):
            await queue.write(name, 0)
        assert await queue.read("CQHEAD") == 0
        await bench.write("XRNICADCONF", 3 << 16)
        await queue.connect(Connection(**(queue.connection.__dict__ | {"psn": 0x5000})), disable=False)
        await queue.post(works([256 * 5, 3], bench.random))
        await bench.done(queue)


@cocotb.test()
async def error_while_a_message_starts(dut):
    """The error comes while there is no room for the next packet: it completes with an error all the same."""
    bench = ControlBench(dut)
    await bench.start()
    bench.answer_delay = 1
    queue = await bench.connect(2, Connection(pmtu=256))
    queue.answers = False
    await queue.post(works([10, 20], bench.random))
    await bench.until(lambda: len(queue.commands) == 1)
    bench.take_commands = 0.0
    await bench.clocks(100)
    assert len(queue.commands) == 1
    queue.answer(0, 0x62)
    await bench.until(lambda: len(queue.completions()) == 2)
    assert queue.completions() == [(1, 0, 0x0A), (2, 0, 0x8A)]


@cocotb.test()
async def error_meets_a_start(dut):
    """A message is started at any moment before, while and after the error of the one before it becomes known."""
    bench = ControlBench(dut, latency=0)
    await bench.start()
    for delay in range(1, 36):
        queue = await bench.connect(2, Connection(pmtu=256))
        queue.answers = False
        await queue.post(works([10], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 1)
        bench.answer_delay = delay
        queue.answer(0, 0x62)
        await queue.post(works([20], bench.random, start=2))
        await bench.until(lambda q=queue: len(q.completions()) == 2, 300)
        assert queue.completions() == [(1, 0, 0x0A), (2, 0, 0x8A)]


@cocotb.test()
async def retries_without_end(dut):
    """XRNICADCONF.NO_FATAL: used-up retries do not stop a queue pair."""
    bench = ControlBench(dut)
    await bench.start()
    await bench.write("XRNICADCONF", 3 << 16 | 1 << 2)
    queue = await bench.connect(2, Connection(pmtu=256, timeout=2, retry=0))
    queue.lose_answer = lambda _: True
    await queue.post(works([10], bench.random))
    await bench.until(lambda: len(queue.commands) == 12)
    queue.lose_answer = lambda _: False
    await bench.done(queue)


@cocotb.test()
async def entries_that_cannot_be_executed(dut):
    """Unknown opcode, too long, memory error, management queue pair: what was posted before still completes well."""
    bench = ControlBench(dut)
    await bench.start()
    await bench.write("INTEN", 1 << 5)
    good = works([256 * 3, 20], bench.random)
    for bad in (Work(3, 0, 16, opcode=0x0D), Work(3, 0, 8388609), Work(3, 0, 0xFFFFFFFF), Work(3, 0, 16, opcode=0x04)):
        queue = await bench.connect(4, Connection(pmtu=256))
        await queue.post([*good, bad, Work(4, 0, 10)])
        await bench.until(lambda q=queue: len(q.completions()) == 4)
        assert [entry[2] for entry in queue.completions()] == [0, 0, 0x05, 0x85]
        assert queue.responder.executed == 2
        assert bench.dut.irq.value == 1
        assert await bench.read("INTSTS") & 0x20
        await bench.write("INTSTS", 0x20)
    queue = await bench.connect(2, Connection(pmtu=256))
    bench.memory.bad_pages.add(queue.send_queue // 4096)
    await queue.post(works([10], bench.random))
    await bench.until(lambda: len(queue.completions()) == 1)
    assert queue.completions()[0][2] == 0x05
    assert await bench.read("BUS_ERRORS") == 1
    bench.memory.bad_pages.clear()
    queue = await bench.connect(1, Connection(pmtu=256))
    await queue.post(works([10], bench.random))
    await bench.until(lambda: len(queue.completions()) == 1)
    assert not queue.commands


@cocotb.test()
async def queue_pairs_share(dut):
    """Packets of queue pairs with work alternate; each completes in its own order."""
    bench = ControlBench(dut, latency=60, stall=0.3)
    await bench.start()
    bench.take_commands = 0.2
    bench.take_releases = 0.5
    queues = [
        await bench.connect(number, Connection(pmtu=pmtu, psn=number * 1000))
        for number, pmtu in ((2, 256), (3, 512), (4, 1024))
    ]
    for queue in queues:
        await queue.post(works([queue.connection.pmtu * 12, 5, queue.connection.pmtu * 20], bench.random))
    await bench.done(*queues)
    share = bench.order[6:90]
    for number in (2, 3, 4):
        assert abs(share.count(number) - len(share) // 3) <= 2, (number, share)
    # One of them stands still: the others do not notice.
    queues[0].answers = False
    for queue in queues:
        await queue.post(works([queue.connection.pmtu * 3] * 4, bench.random, start=4))
    await bench.done(*queues[1:])


@cocotb.test()
async def stream_without_bubbles(dut):
    """The datapath is fed every four cycles, across messages and with memory far away."""
    bench = ControlBench(dut, latency=60)
    await bench.start()
    bench.answer_delay = 100
    queue = await bench.connect(2, Connection(pmtu=256, depth=256))
    for lengths in ([256 * 40] * 3, [128] * 120):
        count = len(queue.commands)
        await queue.post(works(lengths, bench.random, start=len(queue.works) + 1))
        await bench.done(queue)
        cycles = [command.cycle for command in queue.commands[count:]]
        # In flight at most OUTSTANDING = 32 messages: the second stream stops there until the first is acknowledged.
        gaps = [later - earlier for earlier, later in itertools.pairwise(cycles[:30])]
        assert max(gaps) <= 4, gaps
    assert await bench.read("ACKS_LOST") == 0


@cocotb.test()
async def doorbell_to_command(dut):
    """Register access to packet command, with a memory that answers at once."""
    bench = ControlBench(dut, latency=0)
    await bench.start()
    queue = await bench.connect(2)
    queue.store(works([4096], bench.random))
    rung = bench.cycle
    await queue.write("SQPI", 1)
    await bench.until(lambda: bool(queue.commands))
    dut._log.info("doorbell to command: %d clocks", queue.commands[0].cycle - rung)
    assert queue.commands[0].cycle - rung <= 18


@cocotb.test()
async def flood_of_acknowledgements(dut):
    """Acknowledgements faster than they are processed: some are merged, the last is never lost."""
    bench = ControlBench(dut)
    await bench.start()
    bench.answer_delay = 1
    bench.take_releases = 0.1
    queue = await bench.connect(2, Connection(pmtu=256))
    queue.answers = False
    await queue.post(works([256 * 60] + [32] * 30, bench.random))
    await bench.until(lambda: len(queue.commands) == 90)
    for psn in range(90):
        queue.answer(psn)
    await bench.until(lambda: len(queue.completions()) == 31)
    await bench.settle(60)
    queue.check_freed()
    assert len(queue.commands) == 90
    assert await queue.read("CQHEAD") == 31


@cocotb.test()
async def completions_wait_for_memory(dut):
    """Head, index in memory and interrupt come only after memory has taken the entry."""
    bench = ControlBench(dut, latency=50)
    await bench.start()
    await bench.write("INTEN", 1 << 4)
    queue = await bench.connect(2, Connection(pmtu=256, interrupt=True))
    bench.memory.answer_writes = False
    await queue.post(works([10] * 3, bench.random))
    await bench.until(lambda: len(queue.completions()) == 3)
    await bench.clocks(100)
    assert await queue.read("CQHEAD") == 0
    assert bench.dut.irq.value == 0
    bench.memory.answer_writes = True
    await bench.until(lambda: bench.dut.irq.value == 1)
    assert queue.index_in_memory() > 0
    await bench.done(queue)
    assert await bench.read("CQINTSTS") == 1 << 1
    await bench.write("CQINTSTS", 1 << 1)
    assert await bench.read("CQINTSTS") == 0
    # Without entries in memory the head still moves, and without CQDBADD there is no index.
    queue = await bench.connect(2, Connection(pmtu=256, write_completions=False, index_to_memory=False))
    writes = len(bench.memory.writes)
    await queue.post(works([10] * 3, bench.random))
    await bench.settle()
    assert await queue.read("CQHEAD") == 3
    assert len(bench.memory.writes) == writes


@cocotb.test()
async def reconnect_inherits_nothing(dut):
    """Disabled while sending, retrying, completing: the next connection starts from its own settings."""
    bench = ControlBench(dut, latency=30, stall=0.2)
    await bench.start(tick_width=3)
    other = await bench.connect(3, Connection(pmtu=256))
    for lap in range(16):
        queue = await bench.connect(2, Connection(pmtu=256, psn=0x1000 * lap, timeout=2, interrupt=bool(lap & 1)))
        if lap & 2:
            queue.lose_command = lambda c: c.psn % 3 == 1
        bench.take_commands = (1.0, 0.1)[lap >> 2 & 1]
        await queue.post(works([256 * 9, 30, 256 * 4, 256 * 2], bench.random))
        await other.post(works([300], bench.random, start=lap + 1))
        await bench.clocks(bench.random.randrange(10, 200))
        await queue.write("QPCONF", 0)
        for name in ("SQPI", "CQHEAD", "STATCURSQPTR", "SQPSN", "STATSSN", "STATRESPSN", "STATWQE"):
            assert await queue.read(name) == 0, name
        assert await queue.read("STATQP") == 0x600
        writes = len(bench.memory.writes)
        # Commands of the old connection that the datapath had already been offered, and answers to them, run out.
        await bench.settle(80)
        late = [address for address, _ in bench.memory.writes[writes:]]
        assert not [address for address in late if queue.completion_queue <= address <= queue.index_address]
    bench.take_commands = 1.0
    queue = await bench.connect(2, Connection(pmtu=256, psn=0xABCDEF))
    await queue.post(works([256 * 9, 30], bench.random))
    await bench.done(queue, other)


@cocotb.test()
async def disable_while_completing(dut):
    """At any moment of a completion: when the registers answer again, nothing more of the connection reaches memory."""
    bench = ControlBench(dut, latency=12)
    await bench.start()
    bench.answer_delay = 1
    for delay in range(0, 70, 2):
        queue = await bench.connect(2, Connection(pmtu=256))
        await queue.post(works([10, 10], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 2)
        await bench.clocks(delay)
        await queue.write("QPCONF", 0)
        assert await queue.read("CQHEAD") == 0
        writes = len(bench.memory.writes)
        await bench.clocks(60)
        assert len(bench.memory.writes) == writes


@cocotb.test()
async def disable_while_the_line_stands_still(dut):
    """Registers answer although the datapath takes nothing, and the next connection is clean."""
    bench = ControlBench(dut)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256))
    bench.take_commands = 0.0
    await queue.post(works([256 * 9], bench.random))
    await bench.clocks(100)
    begin = bench.cycle
    await queue.connect(Connection(pmtu=256, psn=0x777, remote_qpn=0x112))
    assert bench.cycle - begin < 300
    # Packets on their way to the datapath are told to be thrown away.
    assert bench.purged == [1]
    bench.take_commands = 1.0
    await bench.clocks(100)
    assert not queue.commands
    await queue.post(works([256 * 3], bench.random))
    await bench.done(queue)


@cocotb.test()
async def send_queue_at_half_words(dut):
    """PG332 aligns queues to 32 bytes only; entries then straddle two bus words and, at times, a 4 KiB boundary."""
    bench = ControlBench(dut, latency=10, stall=0.3)
    await bench.start()
    queue = bench.queues[1]
    queue.send_queue += 4096 - 5 * 64 + 32
    queue.completion_queue += 32
    await bench.connect(2, Connection(pmtu=256, depth=32))
    number = 1
    for batch in (20, 31, 9, 16):
        await queue.post(works([17 * n for n in range(batch)], bench.random, start=number))
        number += batch
        await bench.done(queue)


@cocotb.test()
async def random_losses(dut):
    """Packets and answers lost at random on two queue pairs, random memory: everything arrives once and in order."""
    bench = ControlBench(dut, latency=25, stall=0.2, seed=7)
    await bench.start(tick_width=3, ack_interval=5)
    bench.take_commands = 0.4
    bench.take_releases = 0.4
    queues = [await bench.connect(n, Connection(pmtu=256, psn=0xFFFF00 + n, timeout=6, depth=16)) for n in (2, 4)]
    for queue in queues:
        queue.lose_command = lambda _: bench.random.random() < 0.03
        queue.lose_answer = lambda _: bench.random.random() < 0.1
    number = 1
    for batch in (5, 15, 10, 15):
        for queue in queues:
            lengths = [bench.random.choice((0, 5, 256, 257, 700, 3000, 256 * 20)) for _ in range(batch)]
            await queue.post(works(lengths, bench.random, start=number))
        number += batch
        await bench.done(*queues)
    assert await bench.read("RETRANSMITTED") > 0


@cocotb.test()
async def disabled_engine_sends_and_takes_nothing(dut):
    bench = ControlBench(dut)
    await bench.start()
    await bench.write("XRNICCONF", 0)
    queue = await bench.connect(2)
    await queue.post(works([10], bench.random))
    await bench.clocks(200)
    assert not queue.commands
    await bench.write("XRNICCONF", 1)
    queue.answers = False
    await bench.until(lambda: len(queue.commands) == 1)
    await bench.write("XRNICCONF", 0)
    bench.answer_delay = 1
    queue.answer(0)
    await bench.settle()
    assert not queue.completions()
    await bench.write("XRNICCONF", 1)
    queue.answer(0)
    await bench.until(lambda: len(queue.completions()) == 1)


@cocotb.test()
async def late_acknowledgement_overtakes_a_retry(dut):
    """What is acknowledged while it waits to be sent again is skipped: its bytes in the ring may be gone."""
    bench = ControlBench(dut)
    await bench.start()
    bench.answer_delay = 5
    queue = await bench.connect(2, Connection(pmtu=256, psn=0xFFFFF0))
    queue.answers = False
    await queue.post(works([256 * 12, 256 * 2, 5, 256 * 12], bench.random))
    await bench.until(lambda: len(queue.commands) == 27)
    bench.take_commands = 0.05
    queue.answer(0xFFFFF0, NAK_SEQUENCE)
    await bench.until(lambda: len(queue.commands) == 29)
    queue.answer(psn_after(0xFFFFF0, 4))
    await bench.clocks(20)
    count = len(queue.commands)
    await bench.until(lambda: len(queue.commands) == count + 4)
    # Two packets were on their way already: one offered, one prepared.
    assert all(distance(c.psn, 0xFFFFF0) >= 5 for c in queue.commands[count + 2 :])
    queue.answer(psn_after(0xFFFFF0, 20))
    await bench.clocks(20)
    count = len(queue.commands)
    bench.take_commands = 1.0
    await bench.settle()
    again = [distance(c.psn, 0xFFFFF0) for c in queue.commands[count:]]
    assert [psn for psn in again[2:] if psn < 21] == []
    assert again[-6:] == list(range(21, 27))
    queue.answer(psn_after(0xFFFFF0, 26))
    await bench.until(lambda: len(queue.completions()) == 4)


SMALL_LIMITS = ["lost_packet_in_a_stream", "fatal_errors_complete_everything", "queue_pairs_share", "random_losses"]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_control(simulator):
    run_module("ernic/ernic_control", __name__, simulator, parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32})


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_control_with_small_limits(simulator):
    """Few messages and packets in flight, little prefetch, queue pairs not a power of two."""
    run_module(
        "ernic/ernic_control",
        __name__,
        simulator,
        parameters={
            "RING_BYTES": RING_BYTES,
            "OUTSTANDING": 2,
            "PACKETS_IN_FLIGHT": 5,
            "WQE_BUFFER": 8,
            "ACK_QUEUE": 2,
            "NUM_QP": 5,
        },
        testcase=",".join(SMALL_LIMITS),
    )
