"""Change the mode while running: converters, link clock and links come down and up again; the ring goes on draining.

What takes the time is outside of this program: converters and clock need it to change their rate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from host.control.front_end import AcquisitionSettings, FrontEnd, LinkSettings, Source
from host.control.modes import Mode

PATIENCE = 20_000
"""Times that a state is read before it counts as one that does not come: milliseconds of bus accesses."""


class Converters(Protocol):
    """What programs converters and clocks: of a board, or of a testbench."""

    async def change(self, mode: Mode) -> None:
        """Bring converters and link clock to ``mode``; return when the clock is steady and the converters run."""
        ...

    async def aligned(self) -> AcquisitionSettings:
        """Return the settings of the mode, whose window delay contains the latency of the links that are now up."""
        ...


class SwitchFailed(RuntimeError):
    """The new mode did not come up; the text names the state that was waited for."""


async def switch_mode(
    front_end: FrontEnd,
    converters: Converters,
    mode: Mode,
    link: LinkSettings,
    source: Source,
    *,
    generate: bool = False,
) -> None:
    """Switch to ``mode``. Triggers that come meanwhile are counted as held; frames of the old mode go their way.

    The generator of shots stands still meanwhile; ``generate`` starts it anew.
    """
    await front_end.hold_triggers(source)
    await _until(front_end.window_closed, "the open window to end")
    await front_end.disable_link()
    await converters.change(mode)
    await front_end.configure_link(link)
    await _until(front_end.link_up, f"the links to come up for {mode.name}")
    await front_end.configure_acquisition(await converters.aligned())
    await front_end.accept_triggers(source, generate=generate)


async def _until(state: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(PATIENCE):
        if await state():
            return
    raise SwitchFailed(f"change of mode: waited in vain for {what}")
