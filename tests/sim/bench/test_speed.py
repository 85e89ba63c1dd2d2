"""What the bench costs: core cycles a CPU second with clocks alone, and with frames both ways through the MAC port.

The figures go to ``build/tests/bench-speed-<variant>.json``. Only a floor is asserted, far below what an idle machine
does, that catches Python waking once a clock.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer

from sim.bench.clocks import Clocks
from sim.bench.design import Body, design
from sim.bench.mac_port import MacPort
from sim.build import compile_design, run_tests
from tests.sim.bench.variants import HDL, RUNS

OCTETS = 4154
IN_FLIGHT = 8
CORE_PERIOD_FS = 3_103_030
LINK_PERIOD_FS = 3_125_000
TOP_PUBLIC = ("rst", "clk", "link_clk", "misbehave", "busy")


def scale(count):
    return count // 100 if os.environ["EB_SIMULATOR"] == "icarus" else count


@cocotb.test()
async def speed(dut):
    """Measure this build."""
    figures = {}
    dut.rst.value = 0
    cycles = scale(300_000)
    if os.environ["EB_CLOCKS"] == "cocotb":
        cocotb.start_soon(Clock(dut.clk, CORE_PERIOD_FS, unit="step").start())
        cocotb.start_soon(Clock(dut.link_clk, LINK_PERIOD_FS, unit="step").start())
        await Timer(10, "ns")
        begin = time.process_time()
        await Timer(cycles * CORE_PERIOD_FS, "step")
        figures["clocks_only_cycles_per_second"] = cycles / (time.process_time() - begin)
    else:
        await Timer(10, "ns")
        clocks = Clocks(dut.clocks)
        begin = time.process_time()
        await clocks.wait_cycles(cycles)
        figures["clocks_only_cycles_per_second"] = cycles / (time.process_time() - begin)
        figures |= await loop_back(dut, clocks, scale(3000))
    Path(os.environ["EB_FIGURES"]).write_text(json.dumps(figures, indent=1))


async def loop_back(dut, clocks, count):
    mac = MacPort(dut.mac, clocks)
    await clocks.wait_cycles(10)
    frame = os.urandom(OCTETS)
    first, begin = clocks.now, time.process_time()
    for _ in range(IN_FLIGHT):
        mac.inject(frame, 0)
    sent, received = IN_FLIGHT, 0
    while received < count:
        await mac.frame()
        for one in mac.take():
            assert one.data == frame
            received += 1
            if sent < count:
                mac.inject(frame, 0)
                sent += 1
    seconds = time.process_time() - begin
    mac.check()
    return {
        "loop_back_cycles_per_second": (clocks.now - first) / seconds,
        "loop_back_megabytes_per_second": count * OCTETS / seconds / 1e6,
    }


@pytest.mark.parametrize(
    ("simulator", "body", "clocks", "floor"),
    [
        pytest.param("verilator", Body.DPI, "hdl", 200e3, id="verilator-dpi"),
        pytest.param("verilator", Body.DPI, "cocotb", 50e3, id="verilator-dpi-cocotb_clocks"),
        pytest.param("verilator", Body.VPI, "hdl", 20e3, id="verilator-vpi"),
        pytest.param("icarus", Body.VPI, "hdl", 500, id="icarus-vpi", marks=pytest.mark.icarus),
    ],
)
def test_speed(simulator, body, clocks, floor):
    defines = {"EB_COCOTB_CLOCK": "1"} if clocks == "cocotb" else {}
    compiled = compile_design(design(HDL / "mac_loopback.f", body, top_public=TOP_PUBLIC, defines=defines), simulator)
    figures = RUNS / f"bench-speed-{simulator}-{body}-{clocks}.json"
    folder = RUNS / f"bench-speed-{simulator}-{body}-{clocks}-{os.getpid()}"
    folder.mkdir(parents=True)
    environment = {"EB_SIMULATOR": simulator, "EB_CLOCKS": clocks, "EB_FIGURES": str(figures)}
    run_tests(compiled, __name__, folder, seed=1, environment=environment)
    measured = json.loads(figures.read_text())
    print(measured)
    assert min(value for name, value in measured.items() if name.endswith("cycles_per_second")) > floor
