"""What the simulator's process tells the tests about a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Outcome:
    """What became of a case, in one of its rounds."""

    name: str
    again: bool
    """In the second round of the power-up."""
    messages: list[list[int]] = field(default_factory=list)
    """Immediate and length of each message that is to arrive."""
    arrivals: list[list[int]] = field(default_factory=list)
    """Immediate and length of each that did, by the software device's completions."""
    errors: list[int] = field(default_factory=list)
    """Error code of each completion of the engine, 0 for success, in order."""
    wrong: list[int] = field(default_factory=list)
    """Places in memory whose octets are not what was written there, by number."""
    touched: list[int] = field(default_factory=list)
    """Offsets that nobody should have written and that have changed (the first of them)."""
    violations: list[str] = field(default_factory=list)
    """What the protocol checker says of the engine."""
    discrepancies: list[str] = field(default_factory=list)
    """Where the software device did something else than the specification, and lockstep was lost."""
    injected: list[str] = field(default_factory=list)
    retransmitted: int = 0
    replies: dict[str, int] = field(default_factory=dict)
    departures: list[list[int]] = field(default_factory=list)
    """Of each data packet: place in the order of PSNs, core cycle after the first one's."""
    notes: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    wall_seconds: float = 0.0

    @property
    def order(self) -> list[int]:
        """Places of the packets in the order of their departure."""
        return [place for place, _ in self.departures]

    @property
    def simulated(self) -> dict[str, Any]:
        """All that must be the same in both rounds."""
        return {
            "order": self.order,
            "retransmitted": self.retransmitted,
            "replies": self.replies,
            "injected": self.injected,
            "errors": self.errors,
            "arrivals": self.arrivals,
        }
