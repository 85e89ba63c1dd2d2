"""Why there is no frame: what the machine's counters say about where the stream is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_PACKETS = ("rcvd_pkts", "rx_write_requests")
_GAPS = ("out_of_seq_request", "out_of_sequence")
_NOT_READY = ("send_rnr_err", "rnr_nak_sent", "out_of_buffer")


@dataclass(frozen=True)
class Evidence:
    """Counters of one moment.

    ``hardware`` are those of the RDMA port, as the kernel names them; software and hardware devices differ in names.
    """

    active: bool
    """The RDMA port is in its active state."""
    network_frames: int
    """Ethernet frames that the network device has taken since it came up."""
    hardware: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Occupancy:
    """Where the receiver's slots are: given out to the application, of all."""

    held: int
    slots: int


def explain(before: Evidence, now: Evidence, occupancy: Occupancy, device: str, netdev: str) -> str:
    """Return one sentence: which stage is empty and what to look at, from what has changed since ``before``."""
    if occupancy.slots and occupancy.held >= occupancy.slots:
        return (
            f"all {occupancy.slots} slots hold frames that the application has not released, so the sender has no "
            "credit: release() each frame, or use it in a 'with' block"
        )
    if not now.active:
        return f"the port of {device} is not active: is {netdev} up, and its other end there?"
    if now.network_frames == before.network_frames:
        return (
            f"not one frame has come to {netdev}: the sender is silent (no trigger, acquisition off, no credit seen) "
            "or the cable is"
        )
    return _explain_packets(before, now, device, netdev)


def _explain_packets(before: Evidence, now: Evidence, device: str, netdev: str) -> str:
    frames = now.network_frames - before.network_frames
    packets = _moved(_PACKETS, before, now)
    if packets == 0:
        return (
            f"{frames} frames have come to {netdev}, and {device} took none as an RDMA packet of its own: wrong "
            "address, a firewall on UDP 4791, a bad ICRC, or a queue pair that does not exist"
        )
    counted = f"{frames} frames" if packets is None else f"{packets} RDMA packets"
    gaps = _moved(_GAPS, before, now)
    if gaps:
        return f"{counted} have come and {gaps} were out of sequence: packets are lost on the way, and not sent again"
    if _moved(_NOT_READY, before, now):
        return f"{counted} have come and found no receive posted"
    return f"{counted} have come, and no frame was completed: the WRITE with immediate that ends one is missing"


def _moved(names: tuple[str, ...], before: Evidence, now: Evidence) -> int | None:
    """Return by how much the first of the counters that this device has went up; ``None`` if it has none."""
    for name in names:
        if name in now.hardware:
            return now.hardware[name] - before.hardware.get(name, 0)
    return None
