"""Code group synchronisation against the state machine as the standard has it, character by character."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from sim.adc import characters
from tests.hdl.module_bench import SIMULATORS, run_module

INIT, CHECK, DATA = range(3)


class Reference:
    """One lane's state (JESD204B 7.1); INIT is left at the end of a beat."""

    def __init__(self) -> None:
        self.state, self.run, self.invalid = INIT, 0, 0

    def beat(self, commas: list[bool], bad: list[bool]) -> bool:
        """Take four characters; return whether synchronisation was lost."""
        before = self.state
        if before == INIT:
            for comma, invalid in zip(commas, bad, strict=True):
                if self.run < 4:
                    self.run = self.run + 1 if comma and not invalid else 0
            if self.run == 4:
                self.state, self.run, self.invalid = CHECK, 0, 0
            return False
        for invalid in bad:
            if self.state == DATA and invalid:
                self.state, self.run, self.invalid = CHECK, 0, 1
            elif self.state == CHECK and invalid:
                self.run, self.invalid = 0, self.invalid + 1
                if self.invalid == 3:
                    self.state, self.run = INIT, 0
            elif self.state == CHECK:
                self.run += 1
                if self.run == 4:
                    self.state, self.run = DATA, 0
        return self.state == INIT


class TB:
    def __init__(self, dut) -> None:
        self.dut = dut
        self.reference = Reference()
        self.visits: set[tuple[int, int]] = set()

    async def reset(self) -> None:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
        dut.rst.value = 1
        dut.data.value, dut.charisk.value, dut.bad.value = 0, 0, 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0

    async def beat(self, commas: list[bool], bad: list[bool], restart: bool = False) -> None:
        """Send four characters and compare state and loss after them."""
        dut = self.dut
        octets = [characters.K if comma else random.choice([0x3C, 0xBD, 0x00]) for comma in commas]
        dut.data.value = int.from_bytes(bytes(octets), "little")
        dut.charisk.value = sum(comma << i for i, comma in enumerate(commas))
        dut.bad.value = sum(invalid << i for i, invalid in enumerate(bad))
        dut.rst.value = restart
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        before = self.reference.state
        if restart:
            self.reference, lost = Reference(), False
        else:
            lost = self.reference.beat(commas, bad)
        dut.charisk.value, dut.bad.value = 0, 0
        await RisingEdge(dut.clk)
        # The beat in between has four good data characters; it takes part like any other.
        assert (int(dut.state.value), int(dut.lost.value)) == (self.reference.state, int(lost))
        self.visits.add((before, self.reference.state))
        self.reference.beat([False] * 4, [False] * 4)


@cocotb.test()
async def follows_the_standard(dut):
    tb = TB(dut)
    await tb.reset()
    for _ in range(3000):
        share = random.choice([0, 0.1, 0.5, 0.9])
        commas = [random.random() < 0.8 for _ in range(4)]
        bad = [random.random() < share for _ in range(4)]
        await tb.beat(commas, bad, restart=random.random() < 0.02)
    assert {(INIT, CHECK), (DATA, CHECK), (DATA, INIT), (INIT, INIT), (DATA, DATA)} <= tb.visits


@cocotb.test()
async def streams_follow_the_standard(dut):
    """Without the quiet beats in between, so that counts run over beats."""
    tb = TB(dut)
    await tb.reset()
    reference, expected = Reference(), []
    visits = set()
    for number in range(4000):
        share = random.choice([0, 0.05, 0.2, 0.4])
        commas = [random.random() < 0.9 for _ in range(4)]
        bad = [random.random() < share for _ in range(4)]
        dut.data.value = int.from_bytes(bytes(characters.K if comma else 0x11 for comma in commas), "little")
        dut.charisk.value = sum(comma << i for i, comma in enumerate(commas))
        dut.bad.value = sum(invalid << i for i, invalid in enumerate(bad))
        await RisingEdge(dut.clk)
        if expected:
            assert (int(dut.state.value), int(dut.lost.value)) == expected[-1], number
        before = reference.state
        lost = reference.beat(commas, bad)
        visits.add((before, reference.state))
        expected.append((reference.state, int(lost)))
    assert len(visits) == 9 - 1, "all transitions but INIT to DATA"


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_cgs(simulator: str) -> None:
    run_module("jesd204b/jesd204b_cgs", __name__, simulator)
