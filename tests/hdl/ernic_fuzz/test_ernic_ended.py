"""The whole engine: memory refuses the data of a READ; a queue pair that its peer has ended sends nothing more."""

from __future__ import annotations

import random
from dataclasses import replace

import cocotb
import pytest

from tests.hdl.ernic.model import READ, SEND, WRITE, Work
from tests.hdl.ernic_datapath.reference import encode
from tests.hdl.ernic_fuzz.bench import FuzzBench
from tests.hdl.ernic_fuzz.build import VARIANTS, run
from tests.hdl.ernic_fuzz.world import BASE, DEPTH, GOOD, PAYLOADS, SENDING, SIZE, World

BEYOND = BASE + SIZE + 0x1000
"""Memory answers with an error here, and the bench notes it."""
ADDRESS_ERROR = 1 << 4
SEND_MIDDLE = 0x01
NAK_INVALID, OUT_OF_SEQUENCE = 0x61, 0x01
UNWRITTEN, FLUSHED = 0x06, 0x80


async def completions(bench: FuzzBench, number: int, count: int) -> list[int]:
    """Errors of the first ``count`` completions of a queue pair."""
    assert await bench.read_qp("CQHEAD", number) % DEPTH == count % DEPTH
    return [entry[3] for entry in bench.completion_entries(number, count)]


@cocotb.test()
async def memory_refuses_data_of_a_read(dut):
    """At any place among the messages; another queue pair's READs at the same time are none the worse."""
    bench = FuzzBench(dut)
    for place in range(4):
        world = World(random.Random(place))
        bench.sent = []
        await bench.start(world)
        good = [Work(n + 1, 0x64000 + BASE + n * 1024, 300, opcode=READ) for n in range(4)]
        bad = list(good)
        bad[place] = Work(place + 1, BEYOND, 300, opcode=READ)
        mixed = [Work(5, 64, 100, opcode=WRITE), Work(6, PAYLOADS, 100, opcode=SEND)]
        world.senders[SENDING].write = lambda *_: None
        await bench.post(world, GOOD, good)
        await bench.post(world, SENDING, bad + mixed)
        frames = []
        while world.answer(SENDING) or world.answer(GOOD):
            for number in (SENDING, GOOD):
                if answer := world.answer(number):
                    octets = encode(answer)
                    world.receive(octets)
                    frames.append((octets, False, 2))
        await bench.play(frames)
        assert await completions(bench, GOOD, 4) == [0] * 4
        expected = [0] * place + [UNWRITTEN] + [FLUSHED | UNWRITTEN] * (5 - place)
        assert await completions(bench, SENDING, 6) == expected
        assert await bench.read_qp("STATQP", SENDING) & 0x601 == 0x601
        assert await bench.read_qp("STATQP", GOOD) & 1 == 0
        assert await bench.read("LAST_FATAL") == SENDING << 8 | UNWRITTEN
        assert await bench.read("IPKTERRQWPTR") == 1
        assert await bench.read("BUS_ERRORS") == 1
        assert int(dut.memory.errors.value) == ADDRESS_ERROR
        dut.memory.errors.value = 0
        bench.mac.check()


@cocotb.test()
async def ended_in_a_stream(dut):
    """The peer asks for what may not be while packets leave: the answer is the last packet."""
    bench = FuzzBench(dut)
    for seed, address in ((1, 0), (2, PAYLOADS), (3, 0), (4, PAYLOADS)):
        world = World(random.Random(seed))
        bench.sent = []
        await bench.start(world)
        pmtu = world.qps[SENDING].pmtu
        works = [Work(n + 1, address, 40 * pmtu if address == 0 else 24 * pmtu, opcode=WRITE) for n in range(3)]
        request = encode(world.peer(SENDING, SEND_MIDDLE, bytes(pmtu)))
        world.post(SENDING, works)
        world.receive(request)
        assert world.fatals == [(SENDING, OUT_OF_SEQUENCE)]
        bench.write_entries(world, SENDING, works)
        bench.mac.inject(request, bench.clocks.now + 100 + 20 * seed)
        await bench.write("ERNIC_QP", "SQPI", len(works), SENDING - 1)
        await bench.until_quiet(lambda: True)
        kinds = [frame[42] for frame in bench.sent]
        assert kinds.count(0x11) == 1
        at = kinds.index(0x11)
        assert bench.sent[at][54] == NAK_INVALID
        assert at > 2, "nothing was under way"
        behind = kinds[at + 1 :]
        assert not behind, f"{len(behind)} packets behind the end"
        for frame in bench.sent[:at]:
            psn = int.from_bytes(frame[51:54], "big")
            packet = world.expected[SENDING, psn]
            assert frame in (encode(packet), encode(replace(packet, ack_request=True)))
        assert await completions(bench, SENDING, 3) == [FLUSHED | OUT_OF_SEQUENCE] * 3
        assert await bench.read_qp("STATQP", SENDING) & 0x601 == 0x601
        assert await bench.read("IPKTERRQWPTR") == 1
        bench.mac.check()
        bench.memory.check()


@pytest.mark.parametrize(("simulator", "body"), VARIANTS)
def test_ernic_ended(simulator, body):
    run(simulator, body, __name__)
