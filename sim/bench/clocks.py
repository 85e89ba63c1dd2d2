"""Simulated time in core cycles."""

from __future__ import annotations

from typing import Any

from cocotb.simtime import get_sim_time
from cocotb.triggers import Timer

from sim.bench.vpi import number

FEMTOSECONDS = 10**15


class Clocks:
    """The clocks that ``bench_clocks.v`` makes.

    Core edge n (n from 0) is at ``(2 n + 1) * core_half_fs``. A *cycle* is the number of such an edge; hardware stamps
    events with the number of the edge that sampled them. The core clock never changes, so cycles and times convert
    without asking the simulator.
    """

    def __init__(self, handle: Any) -> None:
        """Take the handle of the ``bench_clocks`` instance."""
        self._link_half = handle.link_half_fs
        self._link_half_fs = number(handle.link_half_fs, int(handle.LINK_HALF_FS.value))
        self.core_half_fs = int(handle.CORE_HALF_FS.value)

    @property
    def core_period_s(self) -> float:
        """Seconds of one core cycle."""
        return 2 * self.core_half_fs / FEMTOSECONDS

    @property
    def link_hertz(self) -> float:
        """Frequency of the link clock, as last set."""
        return FEMTOSECONDS / 2 / self._link_half_fs

    @property
    def now(self) -> int:
        """Core edges passed, which is the number of the next one."""
        return (get_sim_time("step") // self.core_half_fs + 1) // 2

    def time_of(self, cycle: int) -> int:
        """Time of core edge ``cycle`` in fs."""
        return (2 * cycle + 1) * self.core_half_fs

    def cycle_at(self, time_fs: int) -> int:
        """The first core edge at or after ``time_fs``."""
        return max(0, -(-(time_fs - self.core_half_fs) // (2 * self.core_half_fs)))

    def cycles_of(self, duration_ns: float) -> int:
        """Core cycles in ``duration_ns``, rounded up."""
        return -(-round(duration_ns * 1e6) // (2 * self.core_half_fs))

    async def wait_cycle(self, cycle: int) -> None:
        """Return half a cycle after core edge ``cycle``, when all that it caused has settled.

        One timer, however far away; returns at once if that time has passed.
        """
        ahead = self.time_of(cycle) + self.core_half_fs - int(get_sim_time("step"))
        if ahead > 0:
            await Timer(ahead, "step")

    async def wait_cycles(self, count: int) -> None:
        """Wait for ``count`` further core edges."""
        await self.wait_cycle(self.now + count - 1)

    @staticmethod
    def link_half_of(hertz: float) -> int:
        """Half a period in fs, rounded. Raise ``ValueError`` unless positive."""
        if hertz <= 0:
            raise ValueError(f"link clock of {hertz} Hz")
        return round(FEMTOSECONDS / 2 / hertz)

    def set_link_frequency(self, hertz: float) -> None:
        """Change the link clock from its next edge on. Raise ``ValueError`` unless positive."""
        self._link_half_fs = self.link_half_of(hertz)
        self._link_half.value = self._link_half_fs
