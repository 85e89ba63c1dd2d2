"""Which counter of the front end counts frames that were dropped for which cause."""

from __future__ import annotations

from collections.abc import Mapping

_COUNTERS = {
    "ring_full": ("RING", "DROPPED_RING_FULL"),
    "descriptors_full": ("RING", "DROPPED_DESCRIPTORS_FULL"),
    "ring_disabled": ("RING", "DROPPED_DISABLED"),
    "trigger_too_early": ("ACQUISITION", "DROPPED_EARLY"),
    "link_down": ("ACQUISITION", "DROPPED_LINK_DOWN"),
    "mode_switch": ("ACQUISITION", "DROPPED_HELD"),
    "host_stalled": ("RING", "DROPPED_HOST_STALLED"),
}


def drops_by_cause(counters: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return frames for each cause, zeroes too, from the counters of each block of registers."""
    return {cause: counters[block][register] for cause, (block, register) in _COUNTERS.items()}
