"""The whole engine answers: request frames in, memory and answer frames out, and what the registers say about it."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from host.control.registers import register_map
from tests.hdl.ernic.bench import DOORBELL_PORTS
from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.ernic_datapath.verdict import judge
from tests.hdl.ernic_respond.axi import WORD, WriteMemory
from tests.hdl.ernic_respond.bench import HALF, HEADERS, KEY, LOCAL_IP, LOCAL_MAC, PMTUS, VIRTUAL, Requester, datagram
from tests.hdl.ernic_respond.model import MANAGEMENT_QKEY, Model, QueuePair, Region, Response
from tests.hdl.lib.reg_bus import RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

BASE = 0x12_3400_0000
SHARE = 1 << 17
INDICES = BASE + 3 * SHARE
READ_LATENCY = 12
TTL, TRAFFIC_CLASS = 61, 0x68


class Engine:
    """``ernic`` with memory, a MAC that takes a frame whole, and two queue pairs: management and a reliable one."""

    def __init__(self, dut, seed: int) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.bus = RegBusMaster(dut, dut.clk)
        self.memory = WriteMemory(dut, "m_axi", BASE, 4 * SHARE, seed=seed)
        self.memory.data[: 3 * SHARE] = self.random.randbytes(3 * SHARE)
        self.qps = {
            number: QueuePair(
                number,
                rq_base=BASE + number * SHARE,
                doorbell=INDICES + 64 * number,
                remote_qpn=0x110 + number,
                element=2048,
                pmtu=256,
            )
            for number in (1, 2)
        }
        region = Region(7, VIRTUAL, BASE + 2 * SHARE + HALF + 5, HALF - 100, KEY)
        self.model = Model({2: region}, self.qps, BASE, bytearray(self.memory.data))
        self.far = Requester(self.qps[2], self.random, 0xFFFFFD)
        self.frames: list[bytes] = []
        self._frame = b""
        self._beats: deque[tuple[bytes, bool]] = deque()
        self._reads: deque[tuple[int, int, bool]] = deque()
        self._reading = False
        self._now = 0

    async def start(self) -> None:
        dut = self.dut
        for name in (
            *("release_ready", "ring_read_data", "m_notice_ready", "m_axi_rvalid", "m_axi_rdata", "m_axi_rresp"),
            *("m_axi_rlast", "m_axi_bresp", "s_axis_mac_tvalid", "s_axis_mac_tuser", "s_axis_mac_tlast"),
            *DOORBELL_PORTS,
            *("s_entry_valid", "s_entry_qpn", "s_entry_number", "s_entry_row", "s_entry"),
        ):
            getattr(dut, name).value = 0
        dut.m_axis_mac_tready.value = dut.m_axi_arready.value = 1
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self._run())
        for name, value in {
            "MACXADDLSB": LOCAL_MAC & 0xFFFFFFFF,
            "MACXADDMSB": LOCAL_MAC >> 32,
            "IPV4XADD": LOCAL_IP,
            "XRNICCONF": 0xC000 << 16 | 2 << 8 | 1,
        }.items():
            await self.write("ERNIC", 0, name, value)
        region = self.model.regions[2]
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
            await self.write("ERNIC_MR", 2, name, value)
        for qp in self.qps.values():
            await self.connect(qp)

    async def connect(self, qp: QueuePair) -> None:
        qp.last_psn = self.far.psn - 1
        for name, value in {
            "QPADVCONF": qp.pkey << 16 | TTL << 8 | TRAFFIC_CLASS,
            "RQBA": qp.rq_base & 0xFFFFFFFF,
            "RQBAMSB": qp.rq_base >> 32,
            "RQWPTRDBADD": qp.doorbell & 0xFFFFFFFF,
            "RQWPTRDBADDMSB": qp.doorbell >> 32,
            "QDEPTH": qp.depth << 16 | 16,
            "LSTRQREQ": 0x0A << 24 | qp.last_psn,
            "DESTQPCONF": qp.remote_qpn,
            "TIMEOUTCONF": qp.rnr_code << 16,
            "MACDESADDLSB": qp.remote_mac & 0xFFFFFFFF,
            "MACDESADDMSB": qp.remote_mac >> 32,
            "IPDESADDR1": qp.remote_ip,
            "PD": qp.domain,
            "QPCONF": qp.element // 256 << 16 | PMTUS[qp.pmtu] << 8 | 1 << 4 | 1 << 2 | 1,
        }.items():
            await self.write("ERNIC_QP", qp.number - 1, name, value)

    async def write(self, block: str, index: int, name: str, value: int) -> None:
        await self.bus.write(register_map()[block][name].address(index), value)

    async def read(self, name: str, index: int = 0) -> int:
        return await self.bus.read(register_map()["ERNIC"][name].address(index))

    async def read_qp(self, number: int, name: str) -> int:
        return await self.bus.read(register_map()["ERNIC_QP"][name].address(number - 1))

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            self._now += 1
            self.memory.cycle()
            self._serve_reads()
            if dut.m_axis_mac_tvalid.value:
                octets = int(dut.m_axis_mac_tdata.value).to_bytes(WORD, "little")
                self._frame += octets[: int(dut.m_axis_mac_tkeep.value).bit_length()]
                if dut.m_axis_mac_tlast.value:
                    self.frames.append(self._frame)
                    self._frame = b""
            self._play()

    def _serve_reads(self) -> None:
        dut = self.dut
        if self._reading and dut.m_axi_rready.value:
            self._reading = False
            dut.m_axi_rvalid.value = 0
        if dut.m_axi_arvalid.value:
            address, beats = int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1
            for beat in range(beats):
                self._reads.append((self._now + READ_LATENCY, address + beat * WORD, beat == beats - 1))
        if not self._reading and self._reads and self._reads[0][0] <= self._now:
            _, address, last = self._reads.popleft()
            self._reading = True
            dut.m_axi_rvalid.value = 1
            dut.m_axi_rdata.value = int.from_bytes(self.memory.read(address, WORD), "little")
            dut.m_axi_rlast.value = last

    def _play(self) -> None:
        dut = self.dut
        dut.s_axis_mac_tvalid.value = bool(self._beats)
        if self._beats:
            piece, last = self._beats.popleft()
            dut.s_axis_mac_tdata.value = int.from_bytes(piece.ljust(WORD, b"\xa5"), "little")
            dut.s_axis_mac_tkeep.value = (1 << len(piece)) - 1
            dut.s_axis_mac_tlast.value = last

    def _frame_of(self, response: Response) -> bytes:
        qp = self.qps[response.qp]
        return encode(
            Packet(
                response.opcode,
                payload=bytes(self.model.memory[response.address - BASE :][: response.bytes])
                if response.bytes
                else b"",
                psn=response.psn,
                dest_qpn=qp.remote_qpn,
                migreq=True,
                pkey=qp.pkey,
                immediate=response.syndrome << 24 | response.msn,
                dest_mac=qp.remote_mac,
                source_mac=LOCAL_MAC,
                dest_ip=qp.remote_ip,
                source_ip=LOCAL_IP,
                traffic_class=TRAFFIC_CLASS,
                ttl=TTL,
            )
        )

    async def check(self, items: list[Packet | bytes]) -> list[Response]:
        """One frame after the other; answers, memory and index are the model's. Return the model's answers."""
        answers = []
        for item in items:
            frame = item if isinstance(item, bytes) else encode(item)
            ticket = judge(frame, bad_fcs=False, mac=LOCAL_MAC, ip=LOCAL_IP).ticket
            assert ticket is not None
            start = HEADERS + 4 * ticket.words
            self.model.packet(ticket, frame[start : start + ticket.payload_bytes], frame)
            pieces = [frame[at : at + WORD] for at in range(0, len(frame), WORD)]
            self._beats.extend((piece, index == len(pieces) - 1) for index, piece in enumerate(pieces))
            for _ in range(150 + 40 * len(self.model.responses)):
                await RisingEdge(self.dut.clk)
            assert self.frames == [self._frame_of(response) for response in self.model.responses]
            assert self.memory.data[: 3 * SHARE] == self.model.memory[: 3 * SHARE]
            for qp in self.qps.values():
                assert int.from_bytes(self.memory.read(qp.doorbell, 4), "little") == qp.taken % qp.depth
            answers += self.model.responses
            self.frames.clear()
            self.model.responses.clear()
        return answers


@cocotb.test()
async def requests_are_answered(dut):
    engine = Engine(dut, 1)
    await engine.start()
    far, qp = engine.far, engine.qps[2]
    data = engine.random.randbytes
    await engine.check(
        [
            *far.send(data(100)),
            *far.write(3, data(700)),
            *far.read(0, 1000),
            *far.send(data(300), "immediate"),
            *far.write(9, data(1), immediate=True),
            *far.read(5, 0),
        ]
    )
    assert await engine.read_qp(2, "STATMSN") == qp.msn == 6
    assert await engine.read_qp(2, "LSTRQREQ") == 0x0C << 24 | qp.last_psn
    assert await engine.read_qp(2, "STATRQPIDB") == 3
    buffer = await engine.read_qp(2, "STATRQBUFCA") | await engine.read_qp(2, "STATRQBUFCAMSB") << 32
    assert buffer == qp.rq_base + 2 * qp.element
    assert await engine.read("INTSTS") == 1 << 6
    assert await engine.read("RQINTSTS") == 2
    await engine.write("ERNIC", 0, "RQINTSTS", 2)
    assert await engine.read("RQINTSTS") == 0
    for kind, word, number, index in engine.model.notices:
        assert await engine.read("RQ_NOTICE") == index << 16 | number << 8 | kind
        assert await engine.read("RQ_NOTICE_DATA") == word
    assert await engine.read("RQ_NOTICE") == 0
    sends = engine.model.sends
    # Sequence, not ready, duplicate.
    (late,) = far.send(data(9))
    (early,) = far.send(data(8))
    await engine.check([early, late, early, late])
    await engine.check([packet for _ in range(10) for packet in far.send(b"until it is full")])
    (answer,) = await engine.check([far.send(b"refused")[0]])
    assert answer.syndrome == 0x20 | qp.rnr_code
    assert await engine.read("OUTRNRPKTSTS") == 1 << 16 | 2
    assert await engine.read("INTSTS") == 1 << 6 | 1 << 3
    assert await engine.read_qp(2, "STATQP") & 3 == 2
    assert await engine.read("ININVDUPCNT") == 1 << 16
    assert await engine.read("INSRRPKTCNT") == engine.model.sends > sends
    assert await engine.read("OUTRDRSPPKTCNT") == 5
    qp.consumed = qp.taken
    await engine.write("ERNIC_QP", 1, "RQCI", qp.consumed % qp.depth)
    far.psn = far.psn - 1 & 0xFFFFFF
    await engine.check(far.send(b"taken now"))
    # An access that is not allowed ends the queue pair; a new connection works.
    await engine.check(far.write(0, b"x", remote_key=0))
    assert await engine.read_qp(2, "STATQP") & 1
    assert await engine.read("LAST_FATAL") == 2 << 8 | 0x15
    assert await engine.read("OUTNAKPKTCNT") == 2
    assert await engine.read("INTSTS") & 1 << 7
    assert not await engine.check(far.send(b"too late"))
    await engine.write("ERNIC_QP", 1, "QPCONF", 0)
    qp.open, qp.silent, qp.dead, qp.msn, qp.taken, qp.consumed = "", False, False, 0, 0, 0
    engine.memory.write(qp.doorbell, bytes(4))
    engine.model.memory[:] = engine.memory.data
    await engine.connect(qp)
    assert await engine.read_qp(2, "STATQP") & 3 == 0
    await engine.check([*far.send(b"again"), *far.read(0, 256 * 3)])


@cocotb.test()
async def management_datagrams_are_taken(dut):
    engine = Engine(dut, 2)
    await engine.start()
    packet = Packet(0x64, dest_mac=LOCAL_MAC, dest_ip=LOCAL_IP, dest_qpn=1)
    data = engine.random.randbytes(256)
    assert not await engine.check([datagram(packet, MANAGEMENT_QKEY, 1, data), datagram(packet, 5, 1, data)])
    assert engine.model.datagrams == 1
    assert await engine.read("INAMPKTCNT") == 1 << 16
    assert await engine.read("INTSTS") == 1 << 6 | 1 << 1 | 1
    assert await engine.read("ININVDUPCNT") == 1


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_responses(simulator):
    run_module("ernic/ernic", __name__, simulator, parameters={"RING_BYTES": 65536, "OUTSTANDING": 32})
