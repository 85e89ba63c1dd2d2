"""The watch over the receive link's interrupt: what is noted, how often, and that nothing is noted twice or lost."""

from __future__ import annotations

import asyncio

import pytest

from host.control import link_watch
from host.control.front_end import FrontEnd
from host.control.link_watch import CAUSES, QUIET_US, LinkEvent, LinkWatch, causes_of, status_of
from host.control.platform import Interrupt
from host.control.registers import register_map
from host.frame_layout import LinkError

PAGE = register_map()["JESD204B"]
STATUS, ENABLE = PAGE["IRQ_STATUS"].address(), PAGE["IRQ_ENABLE"].address()
ALL = sum(CAUSES.values())


class Machine:
    """The two registers; ``script`` says what happens, and ends the watch when it is used up."""

    def __init__(self, script):
        self.registers = self
        self.script = list(script)
        self.status = 0
        self.enable = 0
        self.time = 0.0
        self.log = []

    async def read(self, address):
        assert address == STATUS
        return self.status

    async def write(self, address, value):
        if address == STATUS:
            self.status &= ~value
        else:
            assert address == ENABLE
            self.enable = value
            self.log.append(("enable", value))

    def happen(self):
        if not self.script:
            raise EOFError
        self.status |= self.script.pop(0)

    async def wait_interrupt(self, lines):
        assert lines == {Interrupt.LINK}
        while not self.status & self.enable:
            self.time += 1
            self.happen()
        return lines

    async def wake_up(self):
        self.time += 1

    async def pause(self, microseconds):
        self.log.append(("pause", microseconds))
        self.time += microseconds
        self.happen()


def watch(script, mask=ALL):
    machine = Machine(script)
    found = LinkWatch(machine, FrontEnd(machine), mask, lambda: machine.time)
    with pytest.raises(EOFError):
        asyncio.run(found.serve())
    return machine, found


def test_names_are_those_of_the_trailer_and_the_start():
    assert CAUSES["disparity"] == LinkError.DISPARITY and CAUSES["skewed"] == LinkError.SKEWED == 1 << 11
    assert CAUSES["came_up"] == PAGE["IRQ_STATUS"]["CAME_UP"].mask
    assert PAGE["IRQ_STATUS"]["ERRORS"].mask | CAUSES["came_up"] == ALL
    assert causes_of(LinkError.LINK_DOWN | LinkError.CGS_LOST) == ("cgs_lost", "link_down")
    assert status_of(["link_down", "cgs_lost", "link_down"]) == LinkError.LINK_DOWN | LinkError.CGS_LOST
    with pytest.raises(KeyError):
        status_of(["crossing_overflow"])


def test_events_have_all_that_happened_and_the_time():
    machine, found = watch([0, 1, 0, 0, 2 | 4])
    assert found.events == [
        LinkEvent(3.0, ("disparity",)),
        LinkEvent(3.0 + QUIET_US + 3, ("not_in_table", "unexpected_k")),
    ]
    assert found.counts == {"disparity": 1, "not_in_table": 1, "unexpected_k": 1}
    assert machine.status == 0


def test_what_lasts_is_noted_once_in_a_while():
    """A wrong configuration marks each word: the interrupt rests between, and what happens then is not lost."""
    machine, found = watch([LinkError.ILAS_MISMATCH] * 4)
    assert [event.causes for event in found.events] == [("ilas_mismatch",)] * 4
    gaps = [b.time - a.time for a, b in zip(found.events, found.events[1:], strict=False)]
    assert min(gaps) >= QUIET_US
    assert machine.log[:4] == [("enable", ALL), ("enable", 0), ("pause", QUIET_US), ("enable", ALL)]


def test_a_start_does_not_hide_what_follows():
    machine, found = watch([CAUSES["came_up"], 1])
    assert [(event.time, event.causes) for event in found.events] == [(2.0, ("came_up",)), (4.0, ("disparity",))]
    assert machine.log[-1] == ("pause", QUIET_US)


def test_masked_causes_are_neither_noted_nor_cleared():
    machine, found = watch([LinkError.DISPARITY, LinkError.DISPARITY | LinkError.LINK_DOWN], mask=LinkError.LINK_DOWN)
    assert [event.causes for event in found.events] == [("link_down",)]
    assert machine.status == LinkError.DISPARITY


def test_the_list_ends_and_the_count_goes_on(monkeypatch):
    monkeypatch.setattr(link_watch, "MOST_EVENTS", 3)
    _, found = watch([1] * 8)
    assert len(found.events) == 3 and found.counts == {"disparity": 8}


def test_collecting_beside_the_watch_notes_nothing_twice():
    machine = Machine([])
    machine.status = 1
    found = LinkWatch(machine, FrontEnd(machine), ALL, lambda: 0.0)
    original = machine.write

    async def slow(address, value):
        await asyncio.sleep(0)
        await original(address, value)

    machine.write = slow

    async def both():
        await asyncio.gather(found.collect(), found.collect())

    asyncio.run(both())
    assert found.counts == {"disparity": 1} and machine.status == 0
