"""Read the events that ``probe.v`` records."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """What a line of the probe file tells; in brackets its value."""

    DOORBELL = "doorbell"
    """A send doorbell was rung, by register or by hardware (register address << 32 | data)."""
    TX_FIRST = "tx_first"
    """The first beat of a frame left for the MAC (number of the frame, from 0)."""
    TX_LAST = "tx_last"
    """The last beat of a frame left for the MAC (number of the frame)."""
    RX_FIRST = "rx_first"
    """The first beat of a frame came from the MAC (number of the frame)."""
    FRAME_COMMITTED = "frame_committed"
    """The last word of an acquisition frame was written to the ring (number of the frame)."""
    RING_USED = "ring_used"
    """Bytes in use in the ring, sampled at intervals and written when changed (bytes)."""
    IRQ_RING = "irq_ring"
    """The ring's interrupt changed (new level)."""
    IRQ_ERNIC = "irq_ernic"
    """The engine's interrupt changed (new level)."""
    MEMORY_WRITE = "memory_write"
    """A write burst to the processing system's memory ended: a completion or an index (its address)."""


@dataclass(frozen=True, slots=True)
class ProbeEvent:
    """One event, at the core edge number ``cycle``."""

    cycle: int
    kind: Kind
    value: int

    @property
    def doorbell(self) -> tuple[int, int]:
        """Register address and data of a doorbell."""
        return self.value >> 32, self.value & 0xFFFFFFFF


def read_probe(path: Path, kinds: Container[str] = frozenset(Kind)) -> list[ProbeEvent]:
    """Return the events of a probe file that are of ``kinds``, in the order of time.

    Most tell of packets; whoever needs only the others should say so. Raise ``FileNotFoundError`` if the file was not
    written, ``ValueError`` naming the line if one is malformed.
    """
    with path.open() as lines:
        if next(lines, "") != "cycle,kind,value\n":
            raise ValueError(f"{path} is not a probe file")
        events = []
        for number, line in enumerate(lines, start=2):
            try:
                cycle, kind, value = line.split(",")
                event = ProbeEvent(int(cycle), Kind(kind), int(value))
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {line.rstrip()!r} is not an event") from error
            if kind in kinds:
                events.append(event)
        return events
