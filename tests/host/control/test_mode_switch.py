"""A change of mode, register by register: what comes before what, and what is said when a state does not come."""

from __future__ import annotations

import asyncio

import pytest

from host.control import mode_switch
from host.control.front_end import AcquisitionSettings, FrontEnd, LinkSettings, Source
from host.control.mode_switch import SwitchFailed, switch_mode
from host.control.modes import PHOTOACOUSTIC
from host.control.registers import register_map

LINK = LinkSettings(16, 32, PHOTOACOUSTIC.octets_per_frame, True, 1)
SETTINGS = AcquisitionSettings(PHOTOACOUSTIC, 2048, 128, 7 * 256 + 128, 2, laser_period_ns=1e6)
NAMES = {
    register.address(): (block, register.name) for block, page in register_map().items() for register in page.registers
}


class Machine:
    """Registers that remember what happened; the window closes and the link comes up after some reads."""

    def __init__(self, window=3, link=2):
        self.registers = self
        self.events = []
        self.left = {("ACQUISITION", "STATUS"): window, ("JESD204B", "STATUS"): link}

    async def write(self, address, value):
        self.events.append((*NAMES[address], value))

    async def read(self, address):
        name = NAMES[address]
        self.left[name] -= 1
        waiting = self.left[name] > 0
        if not waiting:
            self.events.append((*name, "reached"))
        return int(waiting) if name[0] == "ACQUISITION" else int(not waiting)

    # Converters.
    async def change(self, mode):
        self.events.append(("converters", mode.name))

    async def aligned(self):
        self.events.append(("aligned",))
        return SETTINGS


def switch(machine):
    asyncio.run(switch_mode(FrontEnd(machine), machine, PHOTOACOUSTIC, LINK, Source.LASER))
    return machine.events


def test_order_of_a_change():
    events = switch(Machine())
    control = register_map()["ACQUISITION"]["CTRL"]
    held = control["ENABLE"].put(1) | control["SOURCE"].put(Source.LASER) | control["HOLD"].put(1)
    assert events[:4] == [
        ("ACQUISITION", "CTRL", held),
        ("ACQUISITION", "STATUS", "reached"),
        ("JESD204B", "CTRL", 0),
        ("converters", "photoacoustic"),
    ]
    # All of the link's settings before it is enabled, all of acquisition's before triggers are accepted.
    enabled = events.index(("JESD204B", "STATUS", "reached"))
    assert events[enabled - 1][:2] == ("JESD204B", "CTRL")
    assert events[enabled - 1][2] & 1
    assert ("JESD204B", "OCTETS_PER_FRAME", 8) in events[4:enabled]
    assert events[enabled + 1] == ("aligned",)
    values = {event[1]: event[2] for event in events[enabled + 2 : -1]}
    assert values["MODE"] == 2
    assert values["CHANNELS"] == 128
    assert values["SAMPLE_RATE"] == 12500
    assert values["WINDOW_DELAY"] == 0x780
    assert values["TIME_INCREMENT"] == 4 << 24
    assert values["LASER_PERIOD"] == 250_000
    assert events[-1] == ("ACQUISITION", "CTRL", held & ~control["HOLD"].mask)


@pytest.mark.parametrize(
    ("stuck", "what"), [("window", "the open window to end"), ("link", "the links to come up for")]
)
def test_a_state_that_does_not_come_is_named(monkeypatch, stuck, what):
    monkeypatch.setattr(mode_switch, "PATIENCE", 50)
    machine = Machine(**{stuck: 1000})
    with pytest.raises(SwitchFailed, match=what):
        switch(machine)
    accepted = register_map()["ACQUISITION"]["CTRL"]["HOLD"].mask
    assert all(event[2] & accepted for event in machine.events if event[:2] == ("ACQUISITION", "CTRL"))
