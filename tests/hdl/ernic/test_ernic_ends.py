"""Control half of the engine: queue pairs that end otherwise than by what they sent, and nobody else with them.

Memory refuses the data of a READ; the responder cannot accept what the peer asks for. Both are like any other fatal
error: everything posted completes, in order, and the next connection knows nothing of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb
import pytest

from tests.hdl.ernic.bench import MEMORY_BASE, RING_BYTES, Connection, ControlBench, Queue, works
from tests.hdl.ernic.model import READ, RNR, SEND, WRITE, Command
from tests.hdl.ernic.test_ernic_transports import messages
from tests.hdl.ernic_datapath.verdict import Ticket
from tests.hdl.module_bench import SIMULATORS, run_module

RECORDS = MEMORY_BASE + 0x44000
RECORD_COUNT = 16
UNWRITTEN = 0x06
REFUSED = 0x0A
FLUSHED = 0x80
INT_FATAL = 1 << 7
WRITE_ONLY, SEND_ONLY, COMPARE_AND_SWAP = 0x0A, 0x04, 0x13
ENDS = ((WRITE_ONLY, 0x62, 0x15), (COMPARE_AND_SWAP, 0x61, 0x04))
"""Requests that nobody may make here, the answer, and the fatal code."""


async def start(dut: Any, **options: Any) -> ControlBench:
    bench = ControlBench(dut, **options)
    await bench.start(tick_width=3)
    await bench.write("IPKTERRQBA", RECORDS & 0xFFFFFFFF)
    await bench.write("IPKTERRQBAMSB", RECORDS >> 32)
    await bench.write("IPKTERRQSZ", RECORD_COUNT)
    await bench.write("INTEN", INT_FATAL)
    bench.answer_delay = 5
    return bench


def request(queue: Queue, opcode: int, *, psn: int = 1, **changes: int) -> Ticket:
    """A request of the peer of one packet, in order if it is the first of the connection."""
    connection = queue.connection
    ticket = Ticket(
        opcode=opcode,
        solicited=0,
        ack_request=1,
        qpn=queue.number,
        psn=psn,
        pkey=connection.pkey,
        source_ip=connection.remote_ip,
        source_mac=connection.remote_mac,
        remote_address=0x1000,
        key=0x7700,
        length=64,
        word=0,
        payload_bytes=64,
        words=4,
        stored=1,
    )
    return replace(ticket, **changes)


async def ended(bench: ControlBench, queue: Queue, code: int) -> None:
    """Everything says so, and says it once: status, interrupt, newest error, queue of errors."""
    assert await queue.read("STATQP") & 0x601 == 0x601
    assert await queue.read("CQHEAD") == await queue.read("SQPI")
    assert await bench.read("LAST_FATAL") == queue.number << 8 | code
    assert await bench.read("INTSTS") & INT_FATAL
    assert bench.dut.irq.value == 1
    await bench.write("INTSTS", 0x1FF)
    assert bench.dut.irq.value == 0
    pointer = await bench.read("IPKTERRQWPTR")
    place = RECORDS + (pointer - 1) % RECORD_COUNT * 8
    assert bench.memory.read(place, 8) == bytes([code, 0, queue.number, 0, 0, 0, 0, 0])
    bench.memory.write(place, bytes(8))
    others = bench.memory.read(RECORDS, RECORD_COUNT * 8)
    assert others == bytes(RECORD_COUNT * 8), "more than one record"


async def usable(bench: ControlBench, queue: Queue) -> None:
    """The next connection works."""
    queue = await bench.connect(queue.number, replace(queue.connection, psn=0x777, timeout=0))
    await queue.post(messages((WRITE, READ, SEND), [300, 600, 20], bench.random))
    await bench.done(queue)


@cocotb.test()
async def memory_refuses_data_of_a_read(dut):
    """Whichever response it is and however late memory says so: that READ fails, what is before it does not."""
    bench = await start(dut)
    kinds, lengths = (WRITE, READ, READ, SEND, WRITE), [10, 600, 700, 20, 30]
    for delay in (1, 40, 1000):
        for victim in range(6):
            bench.write_delay = delay
            queue = await bench.connect(2, Connection(pmtu=256, timeout=5))
            taken = []

            def refuse(_, response, victim=victim, taken=taken) -> bool:
                taken.append(response)
                return len(taken) == victim + 1

            bench.refuse_data = refuse
            errors = await bench.read("BUS_ERRORS")
            await queue.post(messages(kinds, lengths, bench.random))
            await bench.until(lambda q=queue: len(q.completions()) == 5, what=f"response {victim} after {delay}")
            await bench.settle(60 + delay)
            failed = 1 if victim < 3 else 2
            expected = [0] * failed + [UNWRITTEN] + [FLUSHED | UNWRITTEN] * (4 - failed)
            assert [entry[2] for entry in queue.completions()] == expected, (victim, delay)
            assert [entry[0] for entry in queue.completions()] == [1, 2, 3, 4, 5]
            await ended(bench, queue, UNWRITTEN)
            assert await bench.read("BUS_ERRORS") - errors == 1
    bench.refuse_data = lambda *_: False
    bench.write_delay = 20
    await usable(bench, queue)


@cocotb.test()
async def refused_data_hit_no_other_read(dut):
    """READs of three queue pairs at once, all with data under way: only that of the refused data fails."""
    bench = await start(dut, seed=5)
    bench.take_decisions = 0.6
    for turn in range(12):
        bench.write_delay = 60 + 20 * turn
        queues = [await bench.connect(n, Connection(pmtu=256, timeout=6)) for n in (2, 3, 4)]
        loser = queues[turn % 3]
        posted = {queue.number: messages((READ,), [256 * 3, 200, 512, 256 * 4], bench.random) for queue in queues}
        place = turn % 4
        lost = posted[loser.number][place].local_address
        bench.refuse_data = lambda q, response, loser=loser, lost=lost: q is loser and response.address == lost
        for queue in queues:
            await queue.post(posted[queue.number])
        await bench.done(*(queue for queue in queues if queue is not loser))
        assert len(loser.completions()) == 4
        expected = [0] * place + [UNWRITTEN] + [FLUSHED | UNWRITTEN] * (3 - place)
        assert [entry[2] for entry in loser.completions()] == expected
        await ended(bench, loser, UNWRITTEN)


@cocotb.test()
async def refused_data_meet_another_error(dut):
    """The queue pair is fatal already when memory refuses data of an earlier READ: that READ fails all the same."""
    bench = await start(dut)
    bench.write_delay = 600
    queue = await bench.connect(2, Connection(pmtu=256))
    bench.refuse_data = lambda *_: True
    queue.responder.refuse = lambda psn: 0x62 if psn == 2 else None
    await queue.post(messages((READ, SEND, WRITE), [500, 30, 30], bench.random))
    await bench.until(lambda: len(queue.completions()) == 3)
    await bench.settle()
    assert [entry[2] for entry in queue.completions()] == [UNWRITTEN, REFUSED, FLUSHED | REFUSED]
    await ended(bench, queue, REFUSED)


@cocotb.test()
async def refused_data_of_an_earlier_connection(dut):
    """A queue pair is off when its data are written, and what memory says of them is not the next connection's."""
    bench = await start(dut)
    for delay in (30, 200, 700):
        bench.write_delay = delay
        queue = await bench.connect(2, Connection(pmtu=256))
        bench.refuse_data = lambda *_: True
        # The READ is still open, so that nothing else waits for its data.
        queue.lose_response = lambda response: response.last
        await queue.post(messages((READ,), [1000], bench.random))
        await bench.until(lambda q=queue: len(q.accepted) == 3)
        await queue.write("QPCONF", 0)
        assert await queue.read("CQHEAD") == 0
        assert not bench._writing, "off, and data of its READs are still on their way to memory"
        bench.refuse_data = lambda *_: False
        bench.write_delay = 20
        await usable(bench, queue)
    assert await bench.read("LAST_FATAL") == 0


def hostile(bench: ControlBench, queue: Queue, opcode: int) -> None:
    bench.requests.append(request(queue, opcode))


async def idle(bench: ControlBench, _: Queue) -> None:
    bench.answer_delay = 5


async def in_flight(bench: ControlBench, queue: Queue) -> None:
    queue.answers = False
    await queue.post(works([256 * 3] * 5, bench.random))
    await bench.until(lambda: len(queue.commands) == 15)


async def sending(bench: ControlBench, queue: Queue) -> None:
    bench.take_commands = 0.05
    await queue.post(works([256 * 30] * 2, bench.random))
    await bench.until(lambda: len(queue.commands) == 4)


async def no_room(bench: ControlBench, queue: Queue) -> None:
    bench.take_commands = 0.0
    await queue.post(works([256 * 30, 40], bench.random))
    await bench.clocks(60)


async def not_ready(bench: ControlBench, queue: Queue) -> None:
    queue.responder.refuse = lambda _: RNR | 9
    await queue.post(works([100] * 3, bench.random))
    await bench.until(lambda: len(queue.commands) == 3)
    await bench.clocks(60)


async def retrying(bench: ControlBench, queue: Queue) -> None:
    queue.lose_command = lambda _: True
    await queue.post(works([256 * 2] * 3, bench.random))
    await bench.until(lambda: len(queue.commands) > 8)


async def reading(bench: ControlBench, queue: Queue) -> None:
    bench.answer_delay = 600
    await queue.post(messages((READ,), [900] * 3, bench.random))
    await bench.until(lambda: len(queue.commands) == 3)


SITUATIONS = (idle, in_flight, sending, no_room, not_ready, retrying, reading)
"""What the requester side of a queue pair may be about."""


@cocotb.test()
async def ended_by_a_request(dut):
    """Whatever the requester side is about: everything completes as flushed, and nothing is sent any more."""
    bench = await start(dut)

    for turn, situation in enumerate(SITUATIONS):
        opcode, syndrome, code = ENDS[turn % 2]
        other = await bench.connect(3, Connection(pmtu=256))
        queue = await bench.connect(2, Connection(pmtu=256, timeout=3))
        await situation(bench, queue)
        bench.responses.clear()
        hostile(bench, queue, opcode)
        await bench.until(lambda: bench.responses, what=situation.__name__)
        assert [(r["opcode"], r["psn"], r["immediate"] >> 24) for r in bench.responses] == [(0x11, 1, syndrome)]
        await bench.until(lambda q=queue: len(q.completions()) == len(q.works))
        sent = len(queue.commands)
        bench.take_commands = 1.0
        await bench.clocks(700)
        bench.answer_delay = 5
        assert len(queue.commands) == sent, f"{situation.__name__}: packets after the end"
        await ended(bench, queue, code)
        # What is posted later completes in the same way, and what is asked for later is refused.
        await queue.post(works([256, 10], bench.random, start=len(queue.works) + 1))
        hostile(bench, queue, opcode)
        await bench.until(lambda q=queue: len(q.completions()) == len(q.works))
        assert [entry[2] for entry in queue.completions()] == [FLUSHED | code] * len(queue.works)
        await bench.settle()
        assert bench.dut.irq.value == 0
        assert await bench.read("INTSTS") & INT_FATAL == 0, "ended twice"
        await other.post(works([1000], bench.random))
        await bench.done(other)
        await usable(bench, queue)


@cocotb.test()
async def ended_by_memory(dut):
    """Memory refuses the data of a SEND: operational error to the peer, flush here."""
    bench = await start(dut)
    bench.refuse_requests = True
    for transport, opcode in ((0, SEND_ONLY), (1, 0x20 | SEND_ONLY)):
        queue = await bench.connect(2, Connection(pmtu=256, transport=transport))
        queue.answers = False
        bench.leave_delay = 10**6
        await queue.write("QPCONF", await queue.read("QPCONF") | 1 << 16)
        await queue.post(works([300, 40], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 3)
        bench.responses.clear()
        bench.requests.append(request(queue, opcode, words=0))
        await bench.until(lambda q=queue: len(q.completions()) == 2)
        assert [entry[2] for entry in queue.completions()] == [FLUSHED | 0x06] * 2
        await bench.settle()
        await ended(bench, queue, 0x06)
        assert [r["immediate"] >> 24 for r in bench.responses] == ([0x63] if transport == 0 else [])
        bench._leaving.clear()


@cocotb.test()
async def ended_while_the_requester_fails(dut):
    """The peer refuses what was sent at any moment about the end by its request: one error, one record, no more."""
    bench = await start(dut, latency=2)
    codes = set()
    for offset in range(-4, 40):
        queue = await bench.connect(2, Connection(pmtu=256))
        queue.answers = False
        await queue.post(works([10, 600, 20], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 5)
        bench.answer_delay = offset + 4
        queue.answer(0, 0x62)
        await bench.clocks(4)
        hostile(bench, queue, WRITE_ONLY)
        await bench.until(lambda q=queue: len(q.completions()) == 3, 600)
        await bench.settle(60)
        code = queue.completions()[0][2]
        codes.add(code)
        assert code in (REFUSED, FLUSHED | 0x15)
        assert [entry[2] for entry in queue.completions()[1:]] == [FLUSHED | code] * 2
        await ended(bench, queue, code & 0x1F)
    assert codes == {REFUSED, FLUSHED | 0x15}, "both came first in turn"


@cocotb.test()
async def ended_while_it_is_disabled(dut):
    """The request comes at any moment about the switching off: the next connection is clean."""
    bench = await start(dut, latency=2)
    for offset in range(40):
        queue = await bench.connect(2, Connection(pmtu=256))
        queue.answers = False
        await queue.post(works([10, 600], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 4)

        async def later(queue=queue, offset=offset) -> None:
            await bench.clocks(offset)
            hostile(bench, queue, WRITE_ONLY)

        task = cocotb.start_soon(later())
        await queue.write("QPCONF", 0)
        await task
        await usable(bench, queue)
        await bench.write("INTSTS", 0x1FF)


@cocotb.test()
async def packet_in_hand_is_not_sent(dut):
    """From the cycle on in which packets of an ended queue pair are thrown away, none of it is made any more."""
    bench = await start(dut, latency=2)
    for delay in range(30):
        queue = await bench.connect(2, Connection(pmtu=256))
        queue.answers = False
        thrown: list[int] = []

        async def watch(thrown=thrown) -> None:
            while not thrown:
                await bench.clocks(1)
                if dut.flush_valid.value:
                    assert dut.flush_qp.value == 1
                    thrown.append(bench.cycle)

        task = cocotb.start_soon(watch())
        await queue.post(works([256 * 60], bench.random))
        await bench.until(lambda q=queue: len(q.commands) == 3)
        await bench.clocks(delay)
        hostile(bench, queue, WRITE_ONLY)
        await task
        await bench.clocks(40)
        late: list[Command] = [command for command in queue.commands if command.cycle >= thrown[0]]
        assert not late, (delay, thrown, late)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_ends(simulator):
    run_module("ernic/ernic_control", __name__, simulator, parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32})
