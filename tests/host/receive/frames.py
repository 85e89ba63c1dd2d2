"""Good frames to break, and a stand-in for a connected queue pair."""

from __future__ import annotations

import numpy as np

from host.frame_layout import FrameShape, immediate
from host.receive.arrival import Arrival
from host.receive.pool import MemoryPool
from tests.sim.peers.hand_made import ultrasound_frame

SHAPE = FrameShape(samples=5, channels=6)  # 60 bytes of samples: there is padding
SEQUENCE = 0x12_3456_789A


def samples(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, (SHAPE.samples, SHAPE.channels), np.int16)


def frame(sequence: int = SEQUENCE, *, link_errors: int = 0, seed: int = 1) -> np.ndarray:
    """Return a slot of memory with a good frame at its start."""
    data = ultrasound_frame(sequence, samples(seed).tobytes(), SHAPE.channels, link_errors=link_errors)
    assert len(data) == SHAPE.frame_bytes
    memory = np.full(4096, 0xA5, np.uint8)
    memory[: len(data)] = np.frombuffer(data, np.uint8)
    return memory


class Arrivals:
    """Offers what a connection offers the receiver: completions, without a device."""

    def __init__(self, pool: MemoryPool, *, unreliable: bool = False) -> None:
        self._pool = pool
        self.unreliable = unreliable
        self._waiting: list[Arrival] = []
        self.failure: str | None = None
        self.reposted = 0
        self.polls = 0

    def write(self, slot: int, sequence: int, memory: np.ndarray) -> None:
        """Do what the device does: put bytes into memory, complete."""
        np.frombuffer(self._pool.slot(slot), np.uint8)[: len(memory)] = memory
        self._waiting.append(Arrival(immediate(slot, sequence), SHAPE.frame_bytes))

    def poll(self) -> list[Arrival]:
        self.polls += 1
        waiting, self._waiting = self._waiting, []
        return waiting

    def check(self) -> None:
        """Nothing fails by itself here."""

    def released(self, total: int) -> None:
        """WRITEs find free slots by themselves."""

    def finish(self) -> list[Arrival]:
        return []

    def repost(self) -> None:
        self.reposted += 1
