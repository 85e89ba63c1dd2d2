"""ernic_port: who gets the wire, what the processing system sees, and that the engine's frames pay nothing for it."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from tests.hdl.lib.frames import BEAT, FrameSink, FrameSource, beats
from tests.hdl.module_bench import SIMULATORS, run_module

HOST_BEATS = 64
SEED = 8
LOCAL = bytes.fromhex("020000000001")
REMOTE = bytes.fromhex("020000000002")
BROADCAST = b"\xff" * 6


def ethernet(ethertype: int, payload: bytes, destination: bytes = LOCAL) -> bytes:
    return (destination + REMOTE + ethertype.to_bytes(2, "big") + payload).ljust(60, b"\0")


def ipv4(payload: bytes, *, protocol: int = 17, fragment: int = 0x4000, options: bytes = b"") -> bytes:
    length = 20 + len(options) + len(payload)
    header = bytes([0x45 + len(options) // 4, 0]) + length.to_bytes(2, "big") + b"\0\0" + fragment.to_bytes(2, "big")
    return header + bytes([64, protocol, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]) + options + payload


def udp(port: int, payload: bytes) -> bytes:
    return (
        (0xC000).to_bytes(2, "big")
        + port.to_bytes(2, "big")
        + (8 + len(payload)).to_bytes(2, "big")
        + b"\0\0"
        + payload
    )


def roce(payload: bytes) -> bytes:
    return ethernet(0x0800, ipv4(udp(4791, payload)))


def foreign(rng: random.Random) -> dict[str, bytes]:
    """One of each kind that is the processing system's."""
    payload = rng.randbytes(rng.randint(0, 1400))
    inside = udp(4791, payload)
    return {
        "ARP": ethernet(0x0806, rng.randbytes(28), BROADCAST),
        "TCP": ethernet(0x0800, ipv4(payload, protocol=6)),
        # A TCP port where UDP has its own.
        "TCP 4791": ethernet(0x0800, ipv4(inside, protocol=6)),
        "UDP": ethernet(0x0800, ipv4(udp(4790, payload))),
        "UDP, source port": ethernet(0x0800, ipv4(b"\x12\xb7" + udp(53, payload)[2:])),
        "first fragment": ethernet(0x0800, ipv4(inside, fragment=0x2000)),
        "later fragment": ethernet(0x0800, ipv4(inside, fragment=0x0010)),
        "last fragment": ethernet(0x0800, ipv4(inside, fragment=0x1F00)),
        "IP options": ethernet(0x0800, ipv4(inside, options=bytes(8))),
        "IPv6": ethernet(
            0x86DD, bytes([0x60, 0, 0, 0]) + len(inside).to_bytes(2, "big") + b"\x11\x40" + bytes(32) + inside
        ),
        "VLAN": ethernet(0x8100, b"\x60\x05\x08\x00" + ipv4(inside)),
    }


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(SEED)
        self.roce = FrameSource(dut, "s_axis_roce", self.rng)
        self.host = FrameSource(dut, "s_axis_host", self.rng)
        self.mac = FrameSource(dut, "s_axis_mac", self.rng)
        self.wire = FrameSink(dut, "m_axis_mac", self.rng)
        self.taken = FrameSink(dut, "m_axis_host", self.rng)
        self.counts = dict.fromkeys(("host_in", "host_in_dropped", "host_out", "host_out_dropped"), 0)
        dut.host_share.value = 15
        dut.host_paused.value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 3, unit="ns").start())

    async def start(self) -> None:
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        for task in (self.roce, self.host, self.mac, self.wire, self.taken):
            cocotb.start_soon(task.run())
        cocotb.start_soon(self._count())
        await ClockCycles(self.dut.clk, 2)

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            for name in self.counts:
                self.counts[name] += int(getattr(self.dut, name).value)

    async def quiet(self, clocks: int = 40) -> None:
        """Until nothing has happened for a while."""
        while True:
            before = (len(self.wire.frames), len(self.taken.frames), len(self.mac.queue), len(self.roce.queue))
            await ClockCycles(self.dut.clk, clocks)
            if before == (len(self.wire.frames), len(self.taken.frames), len(self.mac.queue), len(self.roce.queue)):
                return


@cocotb.test()
async def what_is_not_roce_goes_to_the_processing_system(dut):
    bench = Bench(dut)
    await bench.start()
    expected = []
    for _ in range(4):
        batch = [(frame, True) for frame in foreign(bench.rng).values()]
        batch += [(roce(bench.rng.randbytes(bench.rng.randint(12, 300))), False) for _ in range(6)]
        batch.append((ethernet(0x8808, b"\x01\x01" + bytes(18), bytes.fromhex("0180c2000001")), False))
        bench.rng.shuffle(batch)
        for frame, mine in batch:
            bad = bench.rng.random() < 0.15
            bench.mac.queue.append((frame, bad))
            if mine and not bad:
                expected.append(frame)
    await bench.quiet()
    assert bench.taken.frames == expected
    assert bench.counts == {"host_in": len(expected), "host_in_dropped": 0, "host_out": 0, "host_out_dropped": 0}


@cocotb.test()
async def a_slow_processing_system_loses_whole_frames(dut):
    bench = Bench(dut)
    bench.taken.rate = 0.1
    await bench.start()
    sent = [frame for _ in range(12) for frame in foreign(bench.rng).values()]
    bench.mac.queue.extend((frame, False) for frame in sent)
    await bench.quiet(400)
    left = iter(sent)
    assert all(frame in left for frame in bench.taken.frames)
    assert bench.counts["host_in"] == len(bench.taken.frames)
    assert bench.counts["host_in"] + bench.counts["host_in_dropped"] == len(sent)
    assert bench.counts["host_in_dropped"] > 10
    assert bench.counts["host_in"] > 10


@cocotb.test()
async def the_engine_pays_nothing_while_alone(dut):
    """Beats pass in the cycle in which they are offered, back to back: no clock of latency, no idle beat."""
    bench = Bench(dut)
    await bench.start()
    frames = [roce(bench.rng.randbytes(bench.rng.choice((12, 270, 1040, 4112)))) for _ in range(60)]
    bench.roce.queue.extend((frame, False) for frame in frames)
    await RisingEdge(dut.clk)
    for _ in range(sum(map(beats, frames)) + 4):
        await RisingEdge(dut.clk)
        assert dut.m_axis_mac_tvalid.value == dut.s_axis_roce_tvalid.value
        assert dut.s_axis_roce_tready.value == dut.m_axis_mac_tready.value
        if dut.m_axis_mac_tvalid.value == 1:
            assert dut.m_axis_mac_tdata.value == dut.s_axis_roce_tdata.value
            bench.wire.idle = 0 if not bench.wire.frames else bench.wire.idle
            assert not bench.wire.frames or bench.wire.idle == 0
    assert bench.wire.frames == frames
    assert bench.wire.gaps == 0


@cocotb.test()
async def both_share_the_wire(dut):
    """With both at full load: the processing system has its share, neither less nor much more, and no beat is idle."""
    bench = Bench(dut)
    await bench.start()
    for share, most in ((15, 1500), (3, 1500), (15, 90), (0, 700), (255, 1500)):
        dut.host_share.value = share
        bench.wire.frames.clear()
        # Large against small frames either way.
        engine = [roce(bench.rng.randbytes(bench.rng.choice((12, 270, 4112)))) for _ in range(250)]
        host = [
            ethernet(0x0800, ipv4(bench.rng.randbytes(bench.rng.randint(20, most)), protocol=6)) for _ in range(900)
        ]
        bench.host.queue.extend((frame, False) for frame in host)
        await ClockCycles(dut.clk, 80)
        bench.roce.queue.extend((frame, False) for frame in engine)
        while len(bench.roce.queue) > 245:
            await RisingEdge(dut.clk)
        begin = len(bench.wire.frames)
        bench.wire.idle = bench.wire.gaps = 0
        while len(bench.roce.queue) > 5:
            await RisingEdge(dut.clk)
        assert (bench.wire.idle, bench.wire.gaps) == (0, 0)
        window = bench.wire.frames[begin:]
        host_set = set(host)
        mine = sum(beats(frame) for frame in window if frame in host_set)
        total = sum(map(beats, window))
        wanted = 1 / (max(share, 1) + 1)
        cocotb.log.info("share %d: %.4f of the beats, guaranteed %.4f", share, mine / total, wanted)
        # One frame of either may be cut by the window.
        assert mine + 24 >= wanted * total
        assert mine <= wanted * total + 24 + 65
        await drained(bench, engine, host)


async def drained(bench: Bench, engine: list[bytes], host: list[bytes]) -> None:
    """Everything has left, each in its order."""
    while not (bench.roce.idle and bench.host.idle):
        await RisingEdge(bench.dut.clk)
    await bench.quiet(2 * HOST_BEATS)
    assert [frame for frame in bench.wire.frames if frame in set(engine)] == engine
    assert [frame for frame in bench.wire.frames if frame in set(host)] == host
    assert len(bench.wire.frames) == len(engine) + len(host)


@cocotb.test()
@cocotb.parametrize(("rates", [(0.15, 0.6, 1.0, 600), (0.3, 0.2, 0.8, 60)]))
async def a_slow_source_or_wire_changes_nothing(dut, rates):
    """The processing system dribbles, the MAC stalls: frames are whole, gaps are the engine's, offers are kept."""
    bench = Bench(dut)
    bench.host.rate, bench.wire.rate, bench.roce.rate, most = rates
    dut.host_share.value = 2
    await bench.start()
    engine = [roce(bench.rng.randbytes(bench.rng.randint(12, most))) for _ in range(120)]
    host = [ethernet(0x0800, ipv4(bench.rng.randbytes(bench.rng.randint(20, most)), protocol=6)) for _ in range(40)]
    bench.host.queue.extend((frame, False) for frame in host)
    bench.roce.queue.extend((frame, False) for frame in engine)
    await drained(bench, engine, host)
    assert bench.wire.gaps == 0 or bench.roce.rate < 1
    assert bench.counts["host_out"] == len(host)
    # One that does not fit into the buffer is dropped, and holds nothing up.
    bench.wire.frames.clear()
    bench.host.queue.append((bench.rng.randbytes(BEAT * (HOST_BEATS + 1)), False))
    bench.host.queue.append((host[0], False))
    await bench.quiet(1200)
    assert bench.wire.frames == [host[0]]
    assert bench.counts["host_out_dropped"] == 1


@cocotb.test()
async def a_paused_processing_system_starts_no_frame(dut):
    bench = Bench(dut)
    await bench.start()
    host = [ethernet(0x0800, ipv4(bytes([n]) * 1200, protocol=6)) for n in range(12)]
    bench.host.queue.extend((frame, False) for frame in host[:4])
    while not int(dut.m_axis_mac_tvalid.value):
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 3)
    dut.host_paused.value = 1
    await ClockCycles(dut.clk, 200)
    # The one on its way has come to its end.
    assert bench.wire.frames == host[:1]
    bench.roce.queue.append((roce(bytes(100)), False))
    await ClockCycles(dut.clk, 20)
    assert len(bench.wire.frames) == 2
    dut.host_paused.value = 0
    bench.host.queue.extend((frame, False) for frame in host[4:])
    await bench.quiet(200)
    assert [frame for frame in bench.wire.frames if frame in host] == host


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_port(simulator):
    run_module("ernic/ernic_port", __name__, simulator, parameters={"HOST_BEATS": HOST_BEATS})
