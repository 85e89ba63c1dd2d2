"""Python's side of ``fuzz_bench.v``: programs the engine as a world has it, plays a case, compares everything."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from typing import Any

from cocotb.triggers import ValueChange, with_timeout

from host.control.registers import register_map
from sim.bench.clocks import Clocks
from sim.bench.mac_port import MacPort
from sim.bench.memory import ProcessorMemory
from tests.hdl.ernic.model import Work
from tests.hdl.ernic_datapath.reference import encode
from tests.hdl.ernic_fuzz import world as places
from tests.hdl.ernic_fuzz.world import World
from tests.hdl.ernic_respond.model import RC, UD, Response, explained

PMTU_CODES = {256: 0, 512: 1, 1024: 2, 2048: 3, 4096: 4}
ACCESS_NS = 2000
"""An access that takes longer hangs."""
QUIET_CLOCKS = 400
LIMIT_CLOCKS = 60_000
TICK_WIDTH = 1
NO_FATAL, OVERRIDE = 1 << 2, 1
CNP = 0x81


class FuzzBench:
    """The design, its MAC and memory."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.clocks = Clocks(dut.clocks)
        self.mac = MacPort(dut.mac, self.clocks)
        self.memory = ProcessorMemory(dut.memory)
        self._asked = 0
        self._done = ValueChange(dut.bus_done)

    # ------------------------------------------------------------ registers

    async def _access(self, address: int, value: int | None) -> int:
        dut = self.dut
        dut.bus_addr.value = address
        dut.bus_write.value = int(value is not None)
        dut.bus_wdata.value = value or 0
        self._asked ^= 1
        dut.bus_asked.value = self._asked
        await with_timeout(self._done, ACCESS_NS, "ns")
        return int(dut.bus_rdata.value)

    async def write(self, block: str, name: str, value: int, index: int = 0) -> None:
        await self._access(register_map()[block][name].address(index), value)

    async def read(self, name: str) -> int:
        return await self._access(register_map()["ERNIC"][name].address(), None)

    async def read_qp(self, name: str, number: int) -> int:
        return await self._access(register_map()["ERNIC_QP"][name].address(number - 1), None)

    # ------------------------------------------------------------ programming

    async def start(self, world: World) -> None:
        """Reset everything and program the queue pairs."""
        dut = self.dut
        dut.rst.value = 1
        await self.clocks.wait_cycles(4)
        self.mac.take()
        self.memory.write(places.BASE, world.first_memory)
        self._asked = int(dut.bus_asked.value)
        dut.rst.value = 0
        await self.clocks.wait_cycles(300)
        for name, value in {
            "MACXADDLSB": places.LOCAL_MAC & 0xFFFFFFFF,
            "MACXADDMSB": places.LOCAL_MAC >> 32,
            "IPV4XADD": places.LOCAL_IP,
            "IPKTERRQBA": places.RECORDS & 0xFFFFFFFF,
            "IPKTERRQBAMSB": places.RECORDS >> 32,
            "IPKTERRQSZ": places.RECORD_COUNT,
            "XRNICADCONF": TICK_WIDTH << 16 | NO_FATAL,
            "XRNICCONF": places.SOURCE_PORT << 16 | len(world.qps) << 8 | 1,
        }.items():
            await self.write("ERNIC", name, value)
        for index, region in world.model.regions.items():
            for name, value in {
                "PDPDNUM": region.domain,
                "VIRTADDRLSB": region.virtual & 0xFFFFFFFF,
                "VIRTADDRMSB": region.virtual >> 32,
                "BUFBASEADDRLSB": region.buffer & 0xFFFFFFFF,
                "BUFBASEADDRMSB": region.buffer >> 32,
                "BUFRKEY": region.key,
                "WRRDBUFLEN": region.length,
                "ACCESSDESC": region.access.value,
            }.items():
                await self.write("ERNIC_MR", name, value, index)
        for number in world.qps:
            await self.connect(world, number)

    async def connect(self, world: World, number: int) -> None:
        qp, sender = world.qps[number], world.senders[number]
        index = number - 1
        addresses = {
            "RQBA": qp.rq_base,
            "SQBA": places.SEND_QUEUES + index * 0x400,
            "CQBA": places.COMPLETIONS + index * 0x40,
            "RQWPTRDBADD": qp.doorbell,
            "CQDBADD": places.INDICES + index * 64,
        }
        values = {name: address & 0xFFFFFFFF for name, address in addresses.items()}
        values |= {f"{name}MSB": address >> 32 for name, address in addresses.items()}
        values |= {
            "QDEPTH": qp.depth << 16 | places.DEPTH,
            "MACDESADDLSB": qp.remote_mac & 0xFFFFFFFF,
            "MACDESADDMSB": qp.remote_mac >> 32,
            "IPDESADDR1": qp.remote_ip,
            "DESTQPCONF": qp.remote_qpn,
            "SQPSN": sender.psn,
            "LSTRQREQ": qp.last_opcode << 24 | qp.last_psn,
            "QPADVCONF": qp.pkey << 16 | places.TTL << 8 | places.TRAFFIC_CLASS,
            "TIMEOUTCONF": qp.rnr_code << 16 | 7 << 11 | 7 << 8,
            "PD": qp.domain,
            "QPEXT": 16 << 8 | qp.transport << 4 | 2,
            "QKEY": qp.qkey,
            "QPCONF": qp.element // 256 << 16 | PMTU_CODES[qp.pmtu] << 8 | 1 << 5 | 1 << 4 | 1,
        }
        for name, value in values.items():
            await self.write("ERNIC_QP", name, value, index)

    # ------------------------------------------------------------ playing

    async def post(self, world: World, number: int, works: list[Work]) -> None:
        """Post entries, wait until all that is to leave has left."""
        first = len(world.senders[number].messages)
        packets = world.post(number, works)
        self.write_entries(world, number, works, first)
        before = len(self.sent)
        await self.write("ERNIC_QP", "SQPI", (first + len(works)) % places.DEPTH, number - 1)
        await self.until_quiet(lambda: len(self.sent) - before >= packets)

    def write_entries(self, world: World, number: int, works: list[Work], first: int = 0) -> None:
        """Put entries into a send queue, from number ``first`` on."""
        for at, work in enumerate(works, first):
            address = places.SEND_QUEUES + (number - 1) * 0x400 + at % places.DEPTH * 64
            self.memory.write(address, work.pack())
            world.model.memory[address - places.BASE : address - places.BASE + 64] = work.pack()

    def completion_entries(self, number: int, count: int) -> list[bytes]:
        """The first completion entries of a queue pair, four octets each."""
        entries = self.memory.read(places.COMPLETIONS + (number - 1) * 0x40, 4 * count)
        return [entries[at : at + 4] for at in range(0, 4 * count, 4)]

    async def consume(self, world: World) -> None:
        for number, index in world.consume().items():
            await self.write("ERNIC_QP", "RQCI", index, number - 1)

    async def play(self, frames: list[tuple[bytes, bool, int]]) -> None:
        """Give the engine these frames, each so many clocks behind the end of the one before."""
        at = self.clocks.now + 4
        for octets, bad, gap in frames:
            self.mac.inject(octets, at, bad_fcs=bad)
            at += -(-len(octets) // 64) + gap
        await self.clocks.wait_cycle(at)
        await self.until_quiet(lambda: True)

    async def until_quiet(self, condition: Any) -> None:
        """Wait until it holds and nothing has come from the engine for a while; fail if that does not happen."""
        begin = self.clocks.now
        while True:
            seen = (len(self.sent), int(self.dut.memory.events.value))
            await self.clocks.wait_cycles(QUIET_CLOCKS)
            self.sent += [frame.data for frame in self.mac.take()]
            if condition() and seen == (len(self.sent), int(self.dut.memory.events.value)):
                return
            assert self.clocks.now - begin < LIMIT_CLOCKS, "the engine hangs, or does not come to rest"

    sent: list[bytes]
    """Frames of the engine in this case."""

    # ------------------------------------------------------------ comparison

    async def check(self, world: World) -> None:
        """Everything that can be seen from outside is as the world says."""
        self.mac.check()
        self.memory.check()
        self._check_sent(world)
        await self._check_counters(world)
        await self._check_queue_pairs(world)
        await self._check_memory(world)

    def _check_sent(self, world: World) -> None:
        """Frames: those that are to be sent, answers, notifications; every octet of them."""
        self.answers: Counter[str] = Counter()
        got: dict[int, list[Response]] = {number: [] for number in world.qps}
        by_peer = {qp.remote_qpn: qp for qp in world.qps.values()}
        for frame in self.sent:
            opcode = frame[42]
            psn = int.from_bytes(frame[51:54], "big")
            number = int.from_bytes(frame[47:50], "big")
            qp = by_peer[number]
            if opcode == CNP:
                self.answers["cnp"] += 1
            elif 0x0D <= opcode <= 0x11:
                expected = [response for response in world.model.responses if response.qp == qp.number]
                reads = [response for response in expected if response.is_read]
                done = sum(response.is_read for response in got[qp.number])
                if opcode == 0x11:
                    word = int.from_bytes(frame[54:58], "big")
                    response = Response(qp.number, opcode, psn, word >> 24, word & 0xFFFFFF)
                    kind = "nak" if response.syndrome >> 5 == 3 else "rnr" if response.syndrome >> 5 == 1 else "ack"
                    self.answers[kind] += 1
                else:
                    assert done < len(reads), f"READ response that nobody asked for: {frame.hex()}"
                    response = reads[done]
                    self.answers["read"] += 1
                got[qp.number].append(response)
                start = response.address - places.BASE
                data = world.first_memory[start : start + response.bytes] if response.is_read else b""
                packet = world.outgoing(
                    qp,
                    opcode=response.opcode,
                    psn=response.psn,
                    payload=data,
                    immediate=response.syndrome << 24 | response.msn,
                )
                assert frame == encode(packet), f"{frame.hex()} instead of {response}"
            else:
                packet = world.expected[qp.number, psn]
                same = replace(packet, ack_request=bool(frame[50] >> 7))
                assert frame == encode(same), f"queue pair {qp.number}, PSN {psn:#x}: {frame.hex()}"
        for number, responses in got.items():
            expected = [response for response in world.model.responses if response.qp == number]
            explained(expected, [(response, len(expected)) for response in responses])

    async def _check_counters(self, world: World) -> None:
        counts, model, answers = world.counts, world.model, self.answers
        wanted = {
            "INALLDRPPKTCNT": counts.drops << 16 | counts.frames,
            "ININVDUPCNT": model.duplicates << 16 | counts.invalid + model.refused,
            "INSRRPKTCNT": counts.read_responses << 16 | model.sends,
            "INAMPKTCNT": model.datagrams << 16 | counts.acks,
            "INNAKPKTCNT": counts.naks,
            "INCNPPKTCNT": counts.notifications,
            "ACKS_IGNORED": counts.ignored,
            "ACKS_LOST": 0,
            "FRAMES_LOST": 0,
            "BUS_ERRORS": 0,
            "TIMEOUTS": 0,
            "FRAMES_OUT": len(self.sent),
            "OUTAMPKTCNT": answers["ack"],
            "OUTNAKPKTCNT": answers["nak"],
            "OUTRDRSPPKTCNT": answers["read"],
            "OUTCNPPKTCNT": answers["cnp"],
            "IPKTERRQWPTR": len(world.fatals),
        }
        found = {name: await self.read(name) for name in wanted}
        assert found == wanted, {name: (found[name], wanted[name]) for name in wanted if found[name] != wanted[name]}
        assert await self.read("OUTRNRPKTSTS") >> 16 == answers["rnr"]
        assert answers["cnp"] <= counts.marked
        assert int(self.dut.host_frames.value) == counts.host, "frames for the processing system"
        total = 0
        for kind, data, number, index in model.notices:
            notice = index << 48 | number << 40 | kind << 32 | data
            total = (total << 1 | total >> 63) & (1 << 64) - 1 ^ notice
        assert int(self.dut.notices.value) == len(model.notices)
        assert int(self.dut.notice_sum.value) == total, "notices"

    async def _check_queue_pairs(self, world: World) -> None:
        ended = {number for number in world.qps if await self.read_qp("STATQP", number) & 1}
        assert ended == {number for number, _ in world.fatals}, f"ended {ended}, not {world.fatals}"
        for number, qp in world.qps.items():
            sender = world.senders[number]
            assert await self.read_qp("CQHEAD", number) % places.DEPTH == len(sender.completions) % places.DEPTH
            assert await self.read_qp("STATRQPIDB", number) % qp.depth == qp.taken % qp.depth
            if qp.transport != UD:
                assert await self.read_qp("STATMSN", number) == qp.msn & 0xFFFFFF, f"STATMSN of {number}"
            if qp.transport == RC:
                assert await self.read_qp("LSTRQREQ", number) == qp.last_opcode << 24 | qp.last_psn
            if sender.fatal is None and sender.connected:
                assert await self.read_qp("STATRESPSN", number) == sender.psn

    async def _check_memory(self, world: World) -> None:
        """The whole memory, octet by octet; and no more was written than had to be."""
        memory = world.model.memory

        def put(address: int, data: bytes) -> None:
            memory[address - places.BASE : address - places.BASE + len(data)] = data

        for number, qp in world.qps.items():
            completions = world.senders[number].completions
            for at, (identifier, opcode, error) in enumerate(completions):
                entry = struct.pack("<HBB", identifier, opcode, error)
                put(places.COMPLETIONS + (number - 1) * 0x40 + at % places.DEPTH * 4, entry)
            if completions:
                put(places.INDICES + (number - 1) * 64, struct.pack("<I", await self.read_qp("CQHEAD", number)))
            if qp.taken:
                put(qp.doorbell, struct.pack("<I", await self.read_qp("STATRQPIDB", number)))
        records = self.memory.read(places.RECORDS, 8 * len(world.fatals))
        found = Counter(struct.unpack_from("<HHI", records, at) for at in range(0, len(records), 8))
        assert found == Counter((code, number, 0) for number, code in world.fatals), "records of errors"
        put(places.RECORDS, records)
        content = self.memory.read(places.BASE, places.SIZE)
        if content != memory:
            first = next(at for at, (a, b) in enumerate(zip(content, memory, strict=True)) if a != b)
            raise AssertionError(f"memory differs from {places.BASE + first:#x} on")
        assert int(self.dut.data_octets.value) == world.model.octets, "octets written more than once, or besides"
