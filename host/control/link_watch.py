"""The receive link's interrupt: what happened, and when, for logs and reports; no more often than a log can bear."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from host.control.front_end import FrontEnd
from host.control.platform import Interrupt, Platform
from host.frame_layout import LinkError

QUIET_US = 20.0
"""After an event the interrupt rests for so long: what lasts, as a wrong configuration does, would never let it go."""

MOST_EVENTS = 1000
"""That are kept one by one; further ones are only counted."""

_LOG = logging.getLogger("echobench.link")
_FIRST_OTHER = 12
CAUSES = {
    **{name.lower(): bit for name, bit in vars(LinkError).items() if name.isupper() and bit < 1 << _FIRST_OTHER},
    "came_up": 1 << _FIRST_OTHER,
}
"""Bits of ``IRQ_STATUS`` by name: those of the trailer's ``link_errors`` that the receiver raises, and the start."""


def causes_of(status: int) -> tuple[str, ...]:
    """Names of the bits that are set."""
    return tuple(name for name, bit in CAUSES.items() if status & bit)


def status_of(causes: Iterable[str]) -> int:
    """The bits of these names; raise ``KeyError`` for one that is none."""
    return sum(CAUSES[name] for name in set(causes))


@dataclass(frozen=True)
class LinkEvent:
    """All that happened since the event before, noticed at ``time`` of the clock that the watch was given."""

    time: float
    causes: tuple[str, ...]


class LinkWatch:
    """Serves the interrupt for as long as :meth:`serve` runs. ``mask``: bits of ``IRQ_STATUS`` that may raise it."""

    def __init__(self, platform: Platform, front_end: FrontEnd, mask: int, clock: Callable[[], float]) -> None:
        self._platform = platform
        self._front_end = front_end
        self._clock = clock
        self._seen = 0
        self.mask = mask
        self.events: list[LinkEvent] = []
        """The first of them."""
        self.counts: Counter[str] = Counter()
        """Events with each cause, all of them."""

    async def serve(self) -> None:
        """Note events until cancelled."""
        await self._front_end.acknowledge_link_events(self.mask)
        await self._front_end.enable_link_interrupt(self.mask)
        while True:
            await self._platform.wait_interrupt(frozenset({Interrupt.LINK}))
            await self._platform.wake_up()
            # A start is over when it is told; links that keep starting tell of their falls between.
            if await self.collect() & ~CAUSES["came_up"] == 0:
                continue
            await self._front_end.enable_link_interrupt(0)
            await self._platform.pause(QUIET_US)
            await self._front_end.enable_link_interrupt(self.mask)

    async def collect(self) -> int:
        """Note what has happened up to now, and return it. May be called beside :meth:`serve`."""
        status = await self._front_end.link_events() & self.mask & ~self._seen
        if not status:
            return 0
        self.counts.update(causes_of(status))
        if len(self.events) < MOST_EVENTS:
            self.events.append(LinkEvent(self._clock(), causes_of(status)))
        level = logging.INFO if status == CAUSES["came_up"] else logging.WARNING
        _LOG.log(level, "receive link: %s", ", ".join(causes_of(status)))
        # Until it is acknowledged, whoever reads sees it again.
        self._seen |= status
        await self._front_end.acknowledge_link_events(status)
        self._seen &= ~status
        return status
