"""What a receiver is told, checked before anything is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from host.exchange import PATH_MTUS, TRANSPORTS
from host.receive.pool import PAGE_BYTES

MOST_SLOTS = 1 << 12
"""Slots that the immediate can name."""
DEFAULT_POOL_BYTES = 2 << 30

Policy = Literal["lossless", "latest"]
Completion = Literal["event", "poll"]


@dataclass(frozen=True)
class ReceiverSettings:
    """Of one receiver; raises ``ValueError`` that names the key and what is allowed."""

    device: str
    """RDMA device, such as ``rxe0`` or ``mlx5_0``."""
    controls: tuple[str, ...]
    """Where control software of each front end comes to: ``unix:PATH``, or ``port:NAME`` of a virtio serial port."""
    slots: int = 16
    """Receive slots of each queue pair."""
    slot_bytes: int | None = None
    """Bytes of a slot, a multiple of 4096; ``None`` shares out ``pool_bytes``."""
    pool_bytes: int | None = None
    """Bytes of all slots, where ``slot_bytes`` is not given; ``None``: 2 GiB, or half the memory if that is less."""
    queue_pairs: int = 1
    """Of each front end."""
    pmtu: int = 4096
    """Path MTU, bytes."""
    transport: str = "RC"
    ip: str | None = None
    """IPv4 address of the device to receive at; ``None`` is its first."""
    policy: Policy = "lossless"
    """``lossless``: every frame, the sender waits for slots. ``latest``: the newest, the sender never waits."""
    completion: Completion = "event"
    """``event`` sleeps until the device calls; ``poll`` looks all the time, for a moment's less latency and a core."""
    affinity: str = ""
    """Processors to run on: ``"0-3,8"``, or ``"device"`` for those near the device; empty: wherever."""
    persistent: bool = False
    """When control software goes away without a word, wait for it, or its successor, to come again."""
    timeout_seconds: float | None = 30.0
    """How long a loop over the receiver waits for a frame before it says what is missing; ``None`` is for ever."""

    def __post_init__(self) -> None:
        if not self.controls:
            raise ValueError("controls = (): at least one, such as 'unix:/run/receiver'")
        if len(set(self.controls)) != len(self.controls):
            raise ValueError(f"controls = {', '.join(self.controls)}: each front end needs its own")
        for control in self.controls:
            kind, _, where = control.partition(":")
            if kind not in ("unix", "port") or not where:
                raise ValueError(f"control = {control!r}: allowed unix:PATH, port:NAME")
        _between("slots", self.slots, 1, MOST_SLOTS)
        _between("queue_pairs", self.queue_pairs, 1, 256)
        if self.slot_bytes is not None and (self.slot_bytes < PAGE_BYTES or self.slot_bytes % PAGE_BYTES):
            raise ValueError(f"slot_bytes = {self.slot_bytes}: must be a multiple of {PAGE_BYTES}")
        if self.slot_bytes is not None and self.pool_bytes is not None:
            raise ValueError("pool_bytes says nothing where slot_bytes is given: leave one of them out")
        if self.pool_bytes is not None and self.pool_bytes < self.all_slots * PAGE_BYTES:
            raise ValueError(
                f"pool_bytes = {self.pool_bytes}: {self.all_slots} slots need {self.all_slots * PAGE_BYTES} at least"
            )
        for name, value, allowed in (
            ("pmtu", self.pmtu, PATH_MTUS),
            ("transport", self.transport, TRANSPORTS),
            ("policy", self.policy, ("lossless", "latest")),
            ("completion", self.completion, ("event", "poll")),
        ):
            if value not in allowed:
                raise ValueError(f"{name} = {value!r}: allowed {', '.join(map(str, allowed))}")
        if self.timeout_seconds is not None and self.timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds = {self.timeout_seconds}: must be above 0, or None for ever")

    @property
    def all_slots(self) -> int:
        """Slots of all queue pairs of all front ends."""
        return self.slots * self.queue_pairs * len(self.controls)

    def bytes_of_slot(self, available: int) -> int:
        """Return the bytes of one slot on a machine with ``available`` bytes of memory to be had."""
        if self.slot_bytes is not None:
            return self.slot_bytes
        whole = self.pool_bytes or min(DEFAULT_POOL_BYTES, available // 2)
        return max(PAGE_BYTES, whole // self.all_slots // PAGE_BYTES * PAGE_BYTES)


def _between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} = {value}: allowed {low} to {high}")
