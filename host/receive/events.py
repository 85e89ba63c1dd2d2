"""File descriptors of verbs events, so that waiting for them can be a poll that leaves the interpreter alone.

pyverbs before 57 neither shows these descriptors nor lets go of the interpreter while it waits. The kernel names them
in ``/proc/self/fd``; the one that appears while an object is made is that object's.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Iterator

_KIND = "anon_inode:[infinibandevent]"


def _event_descriptors() -> set[int]:
    found = set()
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names only
        with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
            if os.readlink(f"/proc/self/fd/{entry}") == _KIND:  # noqa: PTH115
                found.add(int(entry))
    return found


@contextlib.contextmanager
def new_event_descriptors() -> Iterator[list[int]]:
    """Yield a list; after the block it holds the event descriptors that were made in it (not thread-safe)."""
    before = _event_descriptors()
    found: list[int] = []
    yield found
    found.extend(sorted(_event_descriptors() - before))


class EventDescriptor:
    """A descriptor that becomes readable when an event waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poller = select.poll()
        self._poller.register(descriptor, select.POLLIN)

    def fileno(self) -> int:
        """Return the descriptor, to poll it together with others."""
        return self._descriptor

    def waiting(self) -> bool:
        """Tell whether fetching an event would return at once."""
        return bool(self._poller.poll(0))


def only(found: list[int], owner: str) -> EventDescriptor:
    """Return the one descriptor that ``owner`` brought; raise ``RuntimeError`` if the kernel names them otherwise."""
    if len(found) != 1:
        raise RuntimeError(f"the {owner} brought {len(found)} descriptors named {_KIND}, one was expected")
    return EventDescriptor(found[0])
