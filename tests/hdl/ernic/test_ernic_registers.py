"""Every register of the engine, driven by the register map: reset value, writable bits, read-only, holes."""

from __future__ import annotations

import os

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from host.control.registers import Block, Register, register_map
from tests.hdl.ernic.bench import MAPS, RING_BYTES, Connection, ControlBench, EngineBus
from tests.hdl.ernic.model import Work
from tests.hdl.module_bench import SIMULATORS, run_module

# Registers whose write does something else than store, tested by what they do.
DOORBELLS = {"SQPI"}
PATTERNS = (0xFFFFFFFF, 0x5A5A5A5A, 0xA5A5A5A5, 0x00000000)
ABSENT_IN_QP1 = {"QPADVCONF", "SQPSN", "LSTRQREQ", "STATSSN", "STATMSN", "STATRESPSN"}
RESET_LIMIT = 600


def instances(block: Block, queue_pairs: int) -> range:
    """Instances worth a look: the first ones and the last."""
    if block.name == "ERNIC_MR":
        return range(0, 256, 85)
    return range(queue_pairs)


def absent(register: Register, index: int) -> bool:
    return register.block == "ERNIC_QP" and index == 0 and register.name in ABSENT_IN_QP1


async def check_reset_values(bench: ControlBench, queue_pairs: int) -> None:
    for name in ("ERNIC", "ERNIC_QP", "ERNIC_MR"):
        block = register_map()[name]
        for register in block.registers:
            for index in instances(block, queue_pairs) if block.count > 1 else range(register.count):
                value = await bench.bus.read(register.address(index))
                assert value == register.reset, f"{name}.{register.name}[{index}]: {value:#x} after reset"


@cocotb.test()
async def every_register(dut):
    queue_pairs = int(os.environ["QUEUE_PAIRS"])
    bench = ControlBench(dut, queues=2)
    await bench.start()
    await bench.clocks(3)
    dut.rst.value = 1
    await bench.clocks(2)
    dut.rst.value = 0
    begin = bench.cycle
    await check_reset_values(bench, 2)
    assert bench.cycle - begin > 256
    everything = [
        (register, index)
        for name, last in (("ERNIC", 0), ("ERNIC_QP", queue_pairs - 1), ("ERNIC_MR", 255))
        for register in register_map()[name].registers
        for index in ((0, 1, last) if register_map()[name].count > 1 else range(register.count))
    ]
    for register, index in everything:
        await check_register(bench, register, index)
    for register, index in everything:
        if register.access == "RW" and register.name not in DOORBELLS:
            await bench.bus.write(register.address(index), 0xFFFFFFFF)
    # A second reset undoes all of it, in every queue pair.
    dut.rst.value = 1
    await bench.clocks(2)
    dut.rst.value = 0
    await check_reset_values(bench, min(queue_pairs, 4))


async def check_register(bench: ControlBench, register: Register, index: int) -> None:
    bus, address, label = bench.bus, register.address(index), f"{register.block}.{register.name}[{index}]"
    if register.block == "ERNIC_QP" and register.name in DOORBELLS:
        return
    for pattern in PATTERNS:
        await bus.write(address, pattern)
        value = await bus.read(address)
        if register.name == "STATQP":
            writable = register["SYNDROME"].mask | register["RETRY"].mask | register["RNR_RETRY"].mask
            expected = register.reset | pattern & writable
        elif register.access != "RW" or absent(register, index):
            expected = register.reset
        else:
            expected = pattern & register.mask
        assert value == expected, f"{label}: wrote {pattern:#010x}, read {value:#010x}, expected {expected:#010x}"


@cocotb.test()
async def neighbours_are_left_alone(dut):
    """A different value in each register of two queue pairs: none shines through to another."""
    bench = ControlBench(dut, queues=2)
    await bench.start()
    block = register_map()["ERNIC_QP"]
    written = {}
    for index in (1, 2):
        for register in block.registers:
            if register.access == "RW" and register.name not in DOORBELLS | {"QPCONF"}:
                value = (0x01010101 * (register.offset // 4 + 1) + index * 0x10203040) & register.mask
                await bench.bus.write(register.address(index), value)
                written[register.address(index)] = value
    for address, value in written.items():
        assert await bench.bus.read(address) == value, hex(address)


@cocotb.test()
async def holes_read_zero(dut):
    """Addresses that PG332 does not list, and queue pairs that were not built: read 0, writes are without effect."""
    queue_pairs = int(os.environ["QUEUE_PAIRS"])
    bench = ControlBench(dut, queues=2)
    await bench.start()
    taken = {
        register.address(index)
        for name in ("ERNIC", "ERNIC_QP", "ERNIC_MR")
        for register in register_map()[name].registers
        for index in range(register.count)
        if name != "ERNIC_QP" or index < queue_pairs
    }
    addresses = [
        *range(0x20000, 0x20300, 4),
        *range(0x20200 + (queue_pairs - 1) * 0x100, 0x20200 + (queue_pairs + 1) * 0x100, 4),
        *range(0xFF00, 0x10000, 4),
        0x10000,
        0x1FFFC,
        0x3FF00,
        0x3FFFC,
    ]
    for address in addresses:
        if address in taken:
            continue
        await bench.bus.write(address, 0xFFFFFFFF)
        assert await bench.bus.read(address) == 0, hex(address)


@cocotb.test()
async def interrupts_are_cleared_by_ones(dut):
    bench = ControlBench(dut, queues=2)
    await bench.start()
    await bench.write("INTEN", 1)
    for cause, raised in ((1, 0), (0, 0), (12, 1), (30, 1)):
        dut.drop_cause.value = cause
        dut.drop_valid.value = 1
        dut.packet_in.value = 1
        await RisingEdge(dut.clk)
        dut.drop_valid.value = 0
        dut.packet_in.value = 0
        await bench.clocks(2)
        assert dut.irq.value == raised
        assert await bench.read("INTSTS") == raised
        await bench.write("INTSTS", 0x1FE)
        assert await bench.read("INTSTS") == raised
        await bench.write("INTEN", 0)
        assert dut.irq.value == 0
        await bench.write("INTEN", 1)
        await bench.write("INTSTS", 1)
        assert dut.irq.value == 0
    assert await bench.read("INALLDRPPKTCNT") == 4 << 16 | 4
    assert await bench.read("ININVDUPCNT") == 2


@cocotb.test()
async def counters_and_last_packets(dut):
    bench = ControlBench(dut, queues=2)
    await bench.start()
    dut.other_opcode.value = 0x64
    dut.other_qpn.value = 1
    dut.other_valid.value = 1
    dut.frame_out.value = 1
    await RisingEdge(dut.clk)
    dut.other_valid.value = 0
    await bench.clocks(2)
    dut.frame_out.value = 0
    assert await bench.read("LSTINPKT") == 1 << 8 | 0x64
    assert await bench.read("FRAMES_OUT") == 3
    queue = await bench.connect(2, Connection(pmtu=256, psn=0x123456))
    await queue.post([Work(1, 0, 600), Work(2, 0, 5)])
    await bench.done(queue)
    assert await bench.read("OUTIOPKTCNT") == 4 << 16
    assert await bench.read("INAMPKTCNT") == 2
    assert await bench.read("LSTOUTPKT") == 0x3459 << 16 | 2 << 8 | 0x0A
    assert await bench.read("LSTINPKT") == 0x3459 << 16 | 2 << 8 | 0x11
    assert await bench.read("QPMSTS") == 2 << 16 | 2
    assert await queue.read("SQPSN") == 0x12345A
    assert await queue.read("STATRESPSN") == 0x12345A
    assert await queue.read("STATSSN") == 2
    assert await queue.read("STATWQE") == 2
    assert await queue.read("STATCURSQPTR") == 2
    # Once used, the next PSN belongs to the engine.
    await queue.write("SQPSN", 1)
    assert await queue.read("SQPSN") == 0x12345A


@cocotb.test()
async def positions_can_be_overridden(dut):
    """With XRNICADCONF.OVERRIDE software sets the pointers of a disabled queue pair, and sending goes on from there."""
    bench = ControlBench(dut, queues=2)
    await bench.start()
    queue = await bench.connect(2, Connection(pmtu=256, depth=16, psn=77))
    await queue.write("CQHEAD", 3)
    assert await queue.read("CQHEAD") == 0
    await queue.write("QPCONF", 0)
    await queue.write("STATCURSQPTR", 3)
    assert await queue.read("STATCURSQPTR") == 0
    await bench.write("XRNICADCONF", 4 << 16 | 1)
    for name in ("SQPI", "CQHEAD", "STATCURSQPTR"):
        await queue.write(name, 5)
        assert await queue.read(name) == 5
    await queue.write("SQPSN", 77)
    await bench.write("XRNICADCONF", 4 << 16)
    assert not queue.commands
    await queue.write("QPCONF", 1 << 5 | 1 << 4 | 1)
    queue.posted = 5
    queue.store([Work(9, 128, 300)])
    await queue.write("SQPI", 6)
    await bench.until(lambda: len(bench.memory.writes) == 2)
    await bench.settle()
    assert bench.memory.writes[0] == (queue.completion_queue + 5 * 4, bytes([9, 0, 0, 0]))
    assert await queue.read("CQHEAD") == 6


@cocotb.test()
async def addresses_of_another_map_are_holes(dut):
    """A driver of the other version finds nothing, and disturbs nothing."""
    bench = ControlBench(dut, queues=2)
    await bench.start()
    ours = bench.bus.places
    (other,) = (places for places in MAPS.values() if places is not ours)
    for block, register in (
        ("ERNIC", "XRNICCONF"),
        ("ERNIC", "IPV4XADD"),
        ("ERNIC_QP", "QPCONF"),
        ("ERNIC_QP", "QKEY"),
    ):
        address = register_map()[block][register].address(0)
        before = await bench.bus.read(address)
        await super(EngineBus, bench.bus).access(other.place(address), 0xFFFFFFFF)
        assert await super(EngineBus, bench.bus).access(other.place(address), None) == 0
        assert await bench.bus.read(address) == before


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(("queue_pairs", "version"), [(5, "v3"), (255, "v3"), (5, "v4")])
def test_ernic_registers(simulator, queue_pairs, version):
    places = MAPS[version]
    run_module(
        "ernic/ernic_control",
        __name__,
        simulator,
        parameters={
            "RING_BYTES": RING_BYTES,
            "OUTSTANDING": 32,
            "NUM_QP": queue_pairs,
            "GLOBAL_BASE": places.global_base,
            "QP_BASE": places.queue_pair_base,
        },
        environment={"QUEUE_PAIRS": str(queue_pairs), "ADDRESS_MAP": version},
    )
