"""What became of the frames: counted by the receiver, from what it sees and from what the headers say."""

from __future__ import annotations

from dataclasses import dataclass

_IMMEDIATE_BITS = 20


@dataclass(frozen=True)
class Statistics:
    """Of one receiver since it was opened, or of one front end since it connected; frames unless it says otherwise."""

    frames: int = 0
    """Arrived, flagged ones included."""
    flagged: int = 0
    """Arrived with something wrong."""
    skipped: int = 0
    """Arrived and were replaced by newer ones before the application took them (policy ``latest``)."""
    dropped: int = 0
    """Never sent: the front end says so in the headers of later frames."""
    lost: int = 0
    """Missing in the sequence, and not among those dropped."""
    bytes: int = 0
    """Of all frames that arrived with a valid header."""

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.frames + other.frames,
            self.flagged + other.flagged,
            self.skipped + other.skipped,
            self.dropped + other.dropped,
            self.lost + other.lost,
            self.bytes + other.bytes,
        )


class SequenceAccount:
    """Gaps in the sequence numbers of one connection, in whatever order frames come on its queue pairs."""

    def __init__(self) -> None:
        self._first = 0
        self._highest = 0
        self._count = 0
        self._dropped = 0

    def take(self, sequence: int, dropped_before: int) -> None:
        """Note a frame with a valid header."""
        if self._count == 0:
            self._first = self._highest = sequence
        else:
            self._dropped += dropped_before if sequence > self._first else 0
        self._first = min(self._first, sequence)
        self._highest = max(self._highest, sequence)
        self._count += 1

    def take_low_bits(self, low: int) -> None:
        """Note a frame of which only the low bits of the sequence number are known, near the highest so far."""
        half = 1 << _IMMEDIATE_BITS - 1
        ahead = (low - self._highest + half) % (1 << _IMMEDIATE_BITS) - half
        self.take(max(0, self._highest + ahead) if self._count else low, 0)

    @property
    def dropped(self) -> int:
        """Frames that were never sent, as the headers say."""
        return self._dropped

    @property
    def lost(self) -> int:
        """Frames that are missing and were sent, as far as the headers that came can tell."""
        span = self._highest - self._first + 1 if self._count else 0
        return max(0, span - self._count - self._dropped)
