"""What is tried on the engine and the software device, one case after the other in one power-up; see README.md."""

from __future__ import annotations

from dataclasses import dataclass

from sim.link.link import Action, Direction, Fault
from sim.link.roce import PSN_MASK

PACKETS = 32
PATH_MTU = 256
ACKNOWLEDGE_EVERY = 8
TIME_OUT = 2
"""Code: 16 us, of which a round trip takes 1.5, and a frame that is held for reordering 10."""
LOSS = 1e-3
LOSS_MESSAGES, LOSS_PACKETS = 160, 64
CYCLES = 200
WRAPPING_PSN = 0xFFFFF0
SPREAD = (0, 1, 7, 16, 30, 31)
"""Places in the message at which a fault other than a loss is tried."""
RNR_CODES = {1: 10, 2: 20, 4: 40, 6: 80, 8: 160, 11: 480, 12: 640}
"""Timer codes of receiver-not-ready NAKs, and their microseconds."""


@dataclass(frozen=True)
class Hit:
    """A fault of the cable at the packet ``place`` of the message, or at its acknowledgement."""

    action: Action
    place: int
    direction: Direction = Direction.TX

    def fault(self, first_psn: int) -> Fault:
        """Return it for a message that starts at ``first_psn``."""
        return Fault(self.action, self.direction, psn=first_psn + self.place & PSN_MASK)


@dataclass(frozen=True)
class Case:
    """One case; ``play`` names what is done (a method of the session)."""

    name: str
    play: str = "message"
    hits: tuple[Hit, ...] = ()
    acknowledge_every: int = ACKNOWLEDGE_EVERY
    start_psn: int | None = None
    """None: drawn from the seed."""
    transport: str = "RC"
    loss: float = 0.0
    rnr_timer: int = 12
    rnr_retry: int = 7
    """7: without end."""
    rnr_naks: int = 2
    """So many NAKs later there are receives."""
    retry_count: int = 3
    what: str = ""
    """Of the kind ``play``, which."""


def _single(action: Action, places: tuple[int, ...] | range) -> list[Case]:
    name = action.value
    to_peer = [Case(f"{name}-data-{place}", hits=(Hit(action, place),)) for place in places]
    back = [
        # Each packet is acknowledged here, so that there is one acknowledgement for each of them.
        Case(f"{name}-acknowledgement-{place}", hits=(Hit(action, place, Direction.RX),), acknowledge_every=1)
        for place in places
    ]
    return to_peer + back


def _cases() -> list[Case]:
    cases = _single(Action.DROP, range(PACKETS))
    for action in (Action.DUPLICATE, Action.REORDER, Action.CORRUPT, Action.TRUNCATE):
        cases += _single(action, SPREAD)
    for place in SPREAD[:-1]:
        hits = Hit(Action.DROP, place), Hit(Action.DROP, place, Direction.RX)
        cases.append(Case(f"drop-data-and-its-nak-{place}", hits=hits))
    for place in (0, 16):  # the retransmission is lost as well
        hits = Hit(Action.DROP, place), Hit(Action.DROP, place)  # a fault does not count what one before it takes
        cases.append(Case(f"drop-data-twice-{place}", hits=hits))
    for place in (14, 15, 16, 17):  # on both sides of 0xFFFFFF -> 0
        cases.append(Case(f"wrap-drop-{place}", hits=(Hit(Action.DROP, place),), start_psn=WRAPPING_PSN))
    cases.append(Case("wrap", start_psn=WRAPPING_PSN))
    cases.append(Case("loss", "loss", loss=LOSS, start_psn=WRAPPING_PSN, acknowledge_every=1))
    cases += [Case(f"not-ready-{code}", "not_ready", rnr_timer=code) for code in RNR_CODES]
    cases.append(Case("not-ready-often", "not_ready", rnr_timer=1, rnr_naks=10))
    cases.append(Case("not-ready-for-good", "not_ready_for_good", rnr_timer=1, rnr_retry=2))
    cases += [
        Case(f"refused-{what}", "refused", what=what) for what in ("wrong-key", "past-end", "before-start", "read-only")
    ]
    cases.append(Case("killed", "killed"))
    cases.append(Case("cycles", "cycles"))
    cases.append(Case("unreliable-lost-first", "unreliable", (Hit(Action.DROP, 0),), transport="UC"))
    cases.append(Case("unreliable-lost-middle", "unreliable", (Hit(Action.DROP, 2),), transport="UC"))
    cases.append(Case("unreliable-lost-last", "unreliable", (Hit(Action.DROP, 3),), transport="UC"))
    return cases


CASES = {case.name: case for case in _cases()}
