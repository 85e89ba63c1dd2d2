"""The pulse that knows nothing of the clock: when it comes, how long it lasts."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.simtime import get_sim_time
from cocotb.triggers import First, RisingEdge, Timer

from sim.bench.design import HERE, design
from sim.build import compile_design, run_tests
from tests.sim.bench.variants import RUNS, VARIANTS

HALF_FS = 2_000_000  # 250 MHz


@cocotb.test()
async def comes_and_lasts(dut):
    await Timer(1, "step")
    dut.link_half_fs.value = HALF_FS
    for delay in (0, 1, 7, 16, 31):
        dut.delay.value = delay
        await Timer(5 * HALF_FS, "fs")
        start = get_sim_time("fs")
        dut.start.value = 1
        rising = RisingEdge(dut.pulse)
        assert await First(rising, Timer(3 * HALF_FS, "fs")) is rising
        assert get_sim_time("fs") - start == delay * 2 * HALF_FS // 32
        dut.start.value = 0
        await Timer(4 * HALF_FS - 1, "fs")
        assert dut.pulse.value == 1
        await Timer(2, "fs")
        assert dut.pulse.value == 0


@pytest.mark.parametrize(("simulator", "body"), VARIANTS[1:])
def test_bench_pulse(simulator, body):
    compiled = compile_design(design(HERE / "bench_pulse.v", body), simulator)
    run_tests(compiled, __name__, RUNS / f"bench_pulse-{simulator}", seed=1)
