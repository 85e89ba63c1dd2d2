"""Which processors the receiver runs on, and so in which memory its pool lies (the node of who touches it first)."""

from __future__ import annotations

import os
from pathlib import Path

_SYSFS = Path("/sys")


def cpus_of(wish: str, device: str, sysfs: Path = _SYSFS) -> frozenset[int]:
    """Return the processors that ``wish`` names: a list as ``"0-3,8"``, or ``"device"``, those of the device's node.

    Raise ``ValueError`` if it is neither. A device without a node (a software one has none) names all processors.
    """
    if wish != "device":
        return _parse(wish)
    node = _text(sysfs / "class/infiniband" / device / "device/numa_node")
    if node is None or int(node) < 0:
        return frozenset(range(os.cpu_count() or 1))
    return _parse(_text(sysfs / "devices/system/node" / f"node{node}" / "cpulist") or "")


def run_on(cpus: frozenset[int]) -> None:
    """Keep this process on ``cpus``; raise ``ValueError`` if the machine has none of them for it."""
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        allowed = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise ValueError(
            f"affinity: processors {', '.join(map(str, sorted(cpus)))} cannot be had ({error}); allowed {allowed}"
        ) from error


def _parse(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        ends = [int(end) if end.isdecimal() else -1 for end in part.split("-")]
        if -1 in ends or len(ends) > 2 or ends != sorted(ends):
            raise ValueError(f"affinity = {text!r}: a list of processors such as 0-3,8, or 'device'")
        found.update(range(ends[0], ends[-1] + 1))
    return frozenset(found)


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
