"""The link as a function of frame, simulated time and seed: delays, and the faults that a scenario asks for.

A :class:`Link` knows no simulator and no socket. Its answers depend on the frames and times that it was given, in
their order and direction by direction, and on the seed; never on wall time or on when it was asked.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum

from sim.link.roce import BTH_END, ICRC_BYTES, Glimpse, glimpse, payload_offset

FS_PER_NS = 1_000_000
FS_PER_US = 1_000_000_000
PREAMBLE_BYTES = 8
FCS_BYTES = 4
GAP_BYTES = 12
MIN_FRAME_BYTES = 60
REORDER_HOLD_FS = 10 * FS_PER_US
"""Longest time that a reordered frame waits for the one that is to overtake it."""


class Direction(StrEnum):
    """``tx`` runs from the device under test to the peer, ``rx`` back."""

    TX = "tx"
    RX = "rx"


class Action(StrEnum):
    """What a fault does to its frame.

    ``delay`` lets later frames overtake; ``stall`` stops the whole direction for that long, and keeps the order.
    ``corrupt`` flips one bit of the payload or the ICRC. ``truncate`` takes octets off the end, at most all but one
    behind the headers. ``reorder`` lets the next frame of the direction pass first.
    """

    DROP = "drop"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    CORRUPT = "corrupt"
    TRUNCATE = "truncate"
    DELAY = "delay"
    STALL = "stall"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. Selects RoCEv2 frames of ``direction`` by PSN or by probability; exactly one of the two is given.

    By PSN it acts once, on the ``occurrence``-th frame with that absolute BTH PSN (1: the first, so that a
    retransmission passes; 0: on every one). By probability it draws once for each frame, from a generator of its own.
    """

    action: Action
    direction: Direction = Direction.TX
    psn: int | None = None
    probability: float | None = None
    occurrence: int = 1
    seed: int | None = None
    """Seed of the fault's own draws; None derives one from the link's seed and the fault's place in the list."""
    delay_ns: int = 5_000
    """Length of ``delay`` and ``stall``, nanoseconds."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "action", Action(self.action))
        object.__setattr__(self, "direction", Direction(self.direction))
        if (self.psn is None) == (self.probability is None):
            raise ValueError(f"{self.action} fault: give exactly one of psn and probability")
        if self.probability is not None and not 0.0 < self.probability <= 1.0:
            raise ValueError(f"{self.action} fault: probability {self.probability} is not in (0, 1]")
        if self.occurrence < 0 or self.delay_ns < 0:
            raise ValueError(f"{self.action} fault: occurrence and delay_ns must not be negative")


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Times in femtoseconds, the resolution of the simulation; rate in Gb/s."""

    tx_delay_fs: int = 500 * FS_PER_NS
    rx_delay_fs: int = 500 * FS_PER_NS
    rate_gbps: float = 100.0
    faults: tuple[Fault, ...] = ()

    def delay_fs(self, direction: Direction) -> int:
        """Propagation time of one direction."""
        return self.tx_delay_fs if direction == Direction.TX else self.rx_delay_fs


@dataclass(frozen=True, slots=True)
class Delivery:
    """A frame at the far end of the link, at ``time_fs``, and the faults that it met on the way."""

    time_fs: int
    frame: bytes
    faults: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault that was injected, for the report."""

    action: Action
    direction: Direction
    time_fs: int
    """Departure of the frame."""
    opcode: int
    destination_qp: int
    psn: int
    fault: int
    """Index in the settings' list."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Held:
    frame: bytes
    departure_fs: int
    faults: tuple[Action, ...]


@dataclass(slots=True)
class _Effect:
    """What the faults make of one frame."""

    frame: bytes
    faults: list[Action] = field(default_factory=list)
    copies: int = 1
    delay_fs: int = 0
    hold: bool = False
    dropped: bool = False


class _Lane:
    """State of one direction."""

    def __init__(self) -> None:
        self.held: _Held | None = None
        self.not_before_fs = 0
        self.injections: list[Injection] = []


class _Selector:
    """Counts and draws of one fault."""

    def __init__(self, fault: Fault, index: int, seed: int) -> None:
        self.fault = fault
        self.index = index
        self._seen = 0
        # Text seeds are hashed by the generator itself, the same way in every process.
        self._random = random.Random(f"link {seed} {index}" if fault.seed is None else f"fault {fault.seed}")

    def selects(self, seen: Glimpse) -> bool:
        if self.fault.probability is not None:
            return self._random.random() < self.fault.probability
        if seen.psn != self.fault.psn:
            return False
        self._seen += 1
        return self.fault.occurrence in (0, self._seen)

    def corrupt(self, frame: bytes, seen: Glimpse) -> tuple[bytes, str]:
        """Flip one bit of payload or ICRC; return the frame and where the bit is."""
        end = int.from_bytes(frame[16:18], "big") + 14
        start = min(payload_offset(seen.opcode), end - ICRC_BYTES)
        bit = self._random.randrange(8 * max(start, BTH_END), 8 * min(end, len(frame)))
        changed = bytearray(frame)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed), f"bit {bit % 8} of octet {bit // 8}"

    def truncate(self, frame: bytes, seen: Glimpse) -> tuple[bytes, str]:
        """Take octets off the end, so that the headers' lengths promise more than there is."""
        end = int.from_bytes(frame[16:18], "big") + 14
        least = min(payload_offset(seen.opcode), end - ICRC_BYTES) + 1
        left = self._random.randrange(least, max(least + 1, min(end, len(frame))))
        return frame[:left], f"{left} of {len(frame)} octets are left"


def line_time_fs(frame_bytes: int, rate_gbps: float) -> int:
    """Return how long ``frame_bytes`` (without FCS) occupy the line, with preamble, padding, FCS and gap."""
    octets = max(frame_bytes, MIN_FRAME_BYTES) + PREAMBLE_BYTES + FCS_BYTES + GAP_BYTES
    return round(octets * 8 * FS_PER_NS / rate_gbps)


class Link:
    """Both directions of the cable.

    Departures of one direction must be given in order of time. Frames that are not RoCEv2 pass without faults. The
    copy of a duplicated frame arrives right behind the frame, at the same time.

    A reordered frame is held until the next frame of its direction leaves, and then arrives right behind it. If none
    leaves within :data:`REORDER_HOLD_FS`, it goes on alone at the end of that time. Since only the times decide,
    :meth:`flush` changes nothing but how early the caller learns of the latter case.
    """

    def __init__(self, settings: LinkSettings, seed: int) -> None:
        self.settings = settings
        self._lanes = {direction: _Lane() for direction in Direction}
        self._selectors = {
            direction: [
                _Selector(fault, index, seed)
                for index, fault in enumerate(settings.faults)
                if fault.direction == direction
            ]
            for direction in Direction
        }

    @property
    def injections(self) -> list[Injection]:
        """All faults so far in order of simulated time, both directions."""
        return sorted(
            (injection for lane in self._lanes.values() for injection in lane.injections),
            key=lambda injection: (injection.time_fs, injection.direction),
        )

    def injected_count(self, direction: Direction) -> int:
        """Number of faults so far in one direction."""
        return len(self._lanes[direction].injections)

    def injected(self, direction: Direction, start: int = 0) -> list[Injection]:
        """Faults of one direction from the ``start``-th on."""
        return self._lanes[direction].injections[start:]

    def carry(self, frame: bytes, departure_fs: int, direction: Direction) -> list[Delivery]:
        """Send ``frame``, whose last octet leaves at ``departure_fs``; return the arrivals at the far end, in order."""
        if not self._selectors[direction]:
            return [Delivery(departure_fs + self.settings.delay_fs(direction), frame)]
        lane = self._lanes[direction]
        released = self.flush(departure_fs - 1, direction)
        seen = glimpse(frame)
        effect = _Effect(frame) if seen is None else self._inject(frame, seen, departure_fs, direction)
        faults = tuple(effect.faults)
        if effect.dropped:
            return released
        copies = effect.copies
        if effect.hold and lane.held is None:
            lane.held = _Held(effect.frame, departure_fs, faults)
            copies -= 1  # the copy of a frame that is both duplicated and reordered is what overtakes it
        deliveries = [
            self._deliver(effect.frame, departure_fs + effect.delay_fs, direction, faults) for _ in range(copies)
        ]
        overtaken = lane.held
        if copies and overtaken is not None:
            lane.held = None
            behind_fs = deliveries[-1].time_fs - self.settings.delay_fs(direction)
            deliveries.append(self._deliver(overtaken.frame, behind_fs, direction, overtaken.faults))
        return released + deliveries

    def _inject(self, frame: bytes, seen: Glimpse, departure_fs: int, direction: Direction) -> _Effect:
        """Apply the faults that select the frame, in the order of the settings; nothing comes after a drop."""
        effect, lane = _Effect(frame), self._lanes[direction]
        for selector in self._selectors[direction]:
            if not selector.selects(seen):
                continue
            action, detail = selector.fault.action, ""
            duration_fs = selector.fault.delay_ns * FS_PER_NS
            effect.faults.append(action)
            if action is Action.DROP:
                effect.dropped = True
            elif action is Action.DUPLICATE:
                effect.copies += 1
            elif action is Action.REORDER:
                effect.hold = True
            elif action is Action.CORRUPT:
                effect.frame, detail = selector.corrupt(effect.frame, seen)
            elif action is Action.TRUNCATE:
                effect.frame, detail = selector.truncate(effect.frame, seen)
            elif action is Action.DELAY:
                effect.delay_fs += duration_fs
                detail = f"{selector.fault.delay_ns} ns"
            else:
                stall_end_fs = departure_fs + self.settings.delay_fs(direction) + duration_fs
                lane.not_before_fs = max(lane.not_before_fs, stall_end_fs)
                detail = f"{selector.fault.delay_ns} ns"
            where = (seen.opcode, seen.destination_qp, seen.psn)
            lane.injections.append(Injection(action, direction, departure_fs, *where, selector.index, detail))
            if effect.dropped:
                break
        return effect

    def flush(self, known_until_fs: int, direction: Direction) -> list[Delivery]:
        """Return the held frame of ``direction`` if no frame can still overtake it.

        ``known_until_fs`` promises that every departure up to that time has been carried.
        """
        lane = self._lanes[direction]
        held = lane.held
        if held is None or held.departure_fs + REORDER_HOLD_FS > known_until_fs:
            return []
        lane.held = None
        return [self._deliver(held.frame, held.departure_fs + REORDER_HOLD_FS, direction, held.faults)]

    def flush_due_fs(self, direction: Direction) -> int | None:
        """Return the ``known_until_fs`` at which :meth:`flush` will release the held frame; None without one."""
        held = self._lanes[direction].held
        return None if held is None else held.departure_fs + REORDER_HOLD_FS

    def _deliver(self, frame: bytes, departure_fs: int, direction: Direction, faults: tuple[Action, ...]) -> Delivery:
        lane = self._lanes[direction]
        time_fs = departure_fs + self.settings.delay_fs(direction)
        if time_fs < lane.not_before_fs:
            # Behind a stall frames leave one after the other, as they would from a switch's queue.
            time_fs = lane.not_before_fs
            lane.not_before_fs += line_time_fs(len(frame), self.settings.rate_gbps)
        return Delivery(time_fs, frame, faults)
