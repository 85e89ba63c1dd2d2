"""The whole engine and what shares its port: pause, rates, service levels, congestion, other frames."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest

from host.control.registers import register_map
from tests.hdl.ernic.bench import LOCAL_IP, LOCAL_MAC, RING_BYTES, Connection, Queue, works
from tests.hdl.ernic.test_ernic import EngineBench
from tests.hdl.ernic.test_ernic_pause import pfc
from tests.hdl.ernic.test_ernic_port import BROADCAST, ethernet
from tests.hdl.ernic_datapath.reference import Packet, encode
from tests.hdl.lib.frames import FrameSink, FrameSource
from tests.hdl.lib.reg_bus import RegBusMaster
from tests.hdl.module_bench import SIMULATORS, run_module

CNP = 0x81
CNP_CLASS = 0xC0
OPCODE_AT = 42
CONGESTION = 3
# DSCP 26, and its priority by default.
TRAFFIC_CLASS = 26 << 2
PRIORITY = 3
QUANTUM = 33 / 20
OVERHEAD = 24
ENABLE_ROCE = 1
INT_CNP = 1 << 8


class TrafficBench(EngineBench):
    """Frames that are no data packets are collected apart; the cycle in which each data frame ends is kept."""

    def __init__(self, dut: Any, **options: Any) -> None:
        super().__init__(dut, **options)
        self.traffic = RegBusMaster(dut, dut.clk, prefix="s_traffic")
        self.host_out = FrameSource(dut, "s_axis_host", self.random)
        self.host_in = FrameSink(dut, "m_axis_host", self.random)
        self.others: list[bytes] = []
        self.ends: list[tuple[int, int, int]] = []
        """(cycle, queue pair, octets) of each data frame."""
        # The stream from the MAC is idle again after a frame.
        self._acks_sent = 1

    async def start(self, **options: Any) -> None:
        await super().start(**options)
        cocotb.start_soon(self.host_out.run())
        cocotb.start_soon(self.host_in.run())

    async def share(self, name: str, value: int) -> None:
        await self.traffic.write(register_map()["TRAFFIC"][name].offset, value)

    async def shared(self, name: str) -> int:
        return await self.traffic.read(register_map()["TRAFFIC"][name].offset)

    def arrives(self, frame: bytes) -> None:
        self._receiving.append(frame)

    def _frame_out(self, frame: bytes) -> None:
        if frame[12:14] != b"\x08\x00" or frame[OPCODE_AT] == CNP:
            self.others.append(frame)
            return
        super()._frame_out(frame)
        self.ends.append((self.cycle, self.order[-1], len(frame)))

    def ended(self, begin: int, end: int) -> int:
        """Data frames that ended in these cycles."""
        return sum(begin <= cycle < end for cycle, _, _ in self.ends)


async def stream(bench: TrafficBench, number: int, lengths: list[int], **connection: Any) -> Queue:
    queue = await bench.connect(number, Connection(traffic_class=TRAFFIC_CLASS, **connection))
    queue.store(works(lengths, bench.random))
    return queue


@cocotb.test()
async def a_pause_is_honoured_within_a_packet(dut):
    bench = TrafficBench(dut)
    await bench.start()
    await bench.write("PAUSE_CONF", ENABLE_ROCE)
    queue = await stream(bench, 2, [4096] * 10, pmtu=1024)
    await queue.write("SQPI", queue.posted)
    await bench.until(lambda: len(bench.frames) == 5)
    # Another priority's pause changes nothing.
    others = [priority for priority in range(8) if priority != PRIORITY]
    bench.arrives(pfc(dict.fromkeys(others, 60000)))
    await bench.until(lambda: len(bench.frames) == 12)
    bench.arrives(pfc(dict.fromkeys(others, 0)))
    await bench.clocks(6)
    before = await bench.shared("PAUSED_CLOCKS")
    assert before > 7 * 17
    quanta = 600
    bench.arrives(pfc({PRIORITY: quanta}))
    asked = bench.cycle
    clocks = int(quanta * QUANTUM)
    await bench.clocks(clocks + 200)
    # What the datapath had begun, and the packet behind it at most.
    assert bench.ended(asked + 4, asked + clocks) <= 3
    assert bench.ended(asked + 80, asked + clocks) == 0
    assert bench.ended(asked + clocks, asked + clocks + 200) > 0
    assert abs(await bench.shared("PAUSED_CLOCKS") - before - clocks) <= 3
    assert await bench.shared("PAUSE_FRAMES_IN") == 3
    await bench.done(queue)
    # Not enabled: not heeded.
    await bench.write("PAUSE_CONF", 0)
    queue = await stream(bench, 2, [4096] * 2, pmtu=1024)
    bench.arrives(pfc({PRIORITY: 60000}))
    await bench.clocks(10)
    await queue.write("SQPI", queue.posted)
    await bench.done(queue)


@cocotb.test()
async def rates_are_kept(dut):
    """Wire bytes a clock of one queue pair, then of the port; a third queue pair has no limit of its own."""
    bench = TrafficBench(dut)
    await bench.start()

    def rate(number: int | None, begin: int) -> float:
        ends = [(cycle, octets) for cycle, qp, octets in bench.ends if number in (None, qp) and cycle >= begin]
        octets = sum(max(octets, 60) + OVERHEAD for _, octets in ends[1:])
        return octets / (ends[-1][0] - ends[0][0])

    limited = await stream(bench, 2, [4096] * 12, pmtu=1024)
    await limited.write("SHAPER_RATE", 4 << 26)
    await limited.write("SHAPER_BURST", 2000)
    free = await stream(bench, 3, [4096] * 12, pmtu=1024)
    begin = bench.cycle
    await limited.write("SQPI", limited.posted)
    await free.write("SQPI", free.posted)
    await bench.done(limited, free)
    # The burst is gone with the second packet.
    skip = [cycle for cycle, qp, _ in bench.ends if qp == 2][2]
    assert abs(rate(2, skip) / 4 - 1) < 0.02
    assert rate(3, begin) > 12
    await limited.write("SHAPER_RATE", 0)
    await bench.share("PORT_RATE", 5 << 26)
    await bench.share("PORT_BURST", 3000)
    queues = [await stream(bench, number, [4096] * 8, pmtu=1024) for number in (2, 3)]
    begin = bench.cycle
    for queue in queues:
        await queue.write("SHAPER_RATE", 0)
        await queue.write("SQPI", queue.posted)
    await bench.done(*queues)
    skip = [cycle for cycle, _, _ in bench.ends if cycle >= begin][4]
    assert abs(rate(None, skip) / 5 - 1) < 0.02


@cocotb.test()
async def control_goes_before_data_before_log(dut):
    bench = TrafficBench(dut)
    await bench.start()
    queues = {}
    for number, level in ((2, 3), (3, 1), (4, 2)):
        queues[level] = await stream(bench, number, [4096] * 6 if level > 1 else [1024] * 3, pmtu=1024)
        await queues[level].write("QPEXT", level)
    # The port is slow, so that all of them wait.
    bench.take_beats = 0.3
    await queues[3].write("SQPI", queues[3].posted)
    await bench.until(lambda: len(bench.frames) == 4)
    await queues[2].write("SQPI", queues[2].posted)
    await bench.until(lambda: bench.order.count(4) == 4)
    await queues[1].write("SQPI", queues[1].posted)
    rung = len(bench.order)
    await bench.until(lambda: bench.order.count(3) == 3)
    # What was launched before comes first: a packet in the datapath, and one that was taken while the doorbell rang.
    assert len(bench.order) - rung <= 3 + 4, bench.order[rung:]
    log_while_data = bench.order[bench.order.index(4) : len(bench.order) - 1 - bench.order[::-1].index(4)].count(2)
    assert log_while_data <= 3, bench.order
    await bench.done(*queues.values())
    assert await bench.shared("STARVED_LOG") > 500
    assert await bench.shared("STARVED_LOG_LONGEST") > 500
    assert 0 < await bench.shared("STARVED_IMAGE") < await bench.shared("STARVED_LOG")
    await bench.share("STARVED_CLEAR", 0)
    for name in ("STARVED_LOG", "STARVED_LOG_LONGEST", "STARVED_IMAGE", "STARVED_IMAGE_LONGEST"):
        assert await bench.shared(name) == 0


@cocotb.test()
async def congestion_is_answered(dut):
    bench = TrafficBench(dut)
    await bench.start()
    await bench.write("INTEN", INT_CNP)
    await bench.share("CNP_INTERVAL", 1000)
    queue = await stream(bench, 3, [100], pmtu=1024)
    await queue.write("SQPI", 1)
    await bench.done(queue)
    connection = queue.connection
    assert dut.irq.value == 0

    def acknowledgement(traffic_class: int) -> bytes:
        return encode(
            Packet(
                opcode=0x11,
                psn=connection.psn,
                dest_qpn=3,
                immediate=0x1F << 24,
                dest_mac=LOCAL_MAC,
                source_mac=connection.remote_mac,
                dest_ip=LOCAL_IP,
                source_ip=connection.remote_ip,
                traffic_class=traffic_class,
            )
        )

    for mark in (0, 1, 2, CONGESTION, CONGESTION):
        bench.arrives(acknowledgement(TRAFFIC_CLASS | mark))
        await bench.clocks(150)
        assert len(bench.others) == (mark == CONGESTION)
    expected = Packet(
        opcode=CNP,
        psn=0,
        dest_qpn=connection.remote_qpn,
        migreq=True,
        becn=True,
        pkey=connection.pkey,
        dest_mac=connection.remote_mac,
        source_mac=LOCAL_MAC,
        dest_ip=connection.remote_ip,
        source_ip=LOCAL_IP,
        source_port=0xC000,
        traffic_class=CNP_CLASS,
        ttl=connection.ttl,
    )
    assert bench.others == [encode(expected)]
    assert await bench.shared("CE_PACKETS") == 2
    assert await bench.read("OUTCNPPKTCNT") == 1
    assert await bench.read("CNPSCHDSTS") == 1 << 2
    assert dut.irq.value == 1
    assert await bench.read("INTSTS") == INT_CNP
    await bench.clocks(1000)
    assert bench.others == [encode(expected)] * 2
    assert await bench.read("CNPSCHDSTS") == 0
    await bench.write("INTSTS", INT_CNP)


@cocotb.test()
async def the_processing_system_shares_the_port(dut):
    bench = TrafficBench(dut)
    await bench.start()
    queue = await stream(bench, 2, [4096] * 6, pmtu=1024)
    mine = [ethernet(0x0806, bench.random.randbytes(28), BROADCAST) for _ in range(5)]
    bench.host_out.queue.extend((frame, False) for frame in mine)
    await queue.write("SQPI", queue.posted)
    for _ in range(3):
        await bench.clocks(30)
        bench.arrives(ethernet(0x0806, bench.random.randbytes(28), BROADCAST))
    await bench.done(queue)
    assert bench.others == mine
    assert len(bench.host_in.frames) == 3
    assert await bench.shared("HOST_FRAMES_OUT") == 5
    assert await bench.shared("HOST_FRAMES_IN") == 3


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_traffic(simulator):
    run_module("ernic/ernic", __name__, simulator, parameters={"RING_BYTES": RING_BYTES, "OUTSTANDING": 32})
