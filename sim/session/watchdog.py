"""Notices that a run no longer moves, and says who waits for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cocotb.triggers import Timer

from sim.scenario.model import Scenario
from sim.session.errors import Stuck

if TYPE_CHECKING:
    from sim.session.session import Session

CHECK_US = 100
ACK_TIMEOUT_UNIT_US = 4.096


class Watchdog:
    """Watches packets and completions in simulated time."""

    def __init__(self, session: Session, scenario: Scenario) -> None:
        self._session = session
        rdma = scenario.rdma
        retries = ACK_TIMEOUT_UNIT_US * (1 << rdma.retry_timeout) * (rdma.retry_count + 1)
        period = 1e6 / scenario.acquisition.prf_hz
        self._limit_us = 2 * period + 2 * retries + 1000

    async def watch(self) -> None:
        """Raise :class:`Stuck` when nothing has moved for the limit."""
        seen, quiet_us = self._state(), 0.0
        while True:
            await Timer(CHECK_US, "us")
            state = self._state()
            quiet_us = 0.0 if state != seen else quiet_us + CHECK_US
            seen = state
            if quiet_us > self._limit_us:
                raise Stuck(await self._explain())

    def _state(self) -> tuple[int, ...]:
        session = self._session
        assert session.stream is not None and session.cable is not None
        statistics = session.stream.statistics
        return (
            session.cable.frames_out,
            session.cable.frames_in,
            statistics.blocks,
            statistics.completions,
            len(session.shots.shots),
        )

    async def _explain(self) -> str:
        session = self._session
        assert session.stream is not None and session.lockstep is not None
        front_end = session.front_end
        facts = [f"nothing has moved for {self._limit_us:.0f} us of simulated time"]
        if not await front_end.link_up():
            facts.append("the JESD204B link is down: acquisition waits for the converters")
        count, taken = await front_end.read("RING", "BLOCK_COUNT"), await front_end.read("RING", "BLOCK_ACK")
        if count != taken:
            facts.append(f"{count - taken} blocks wait in the ring for the control software")
        for queue_pair, pump in session.stream.lanes:
            if pump.waiting:
                why = "for a receive slot" if pump.starved_of_slots else "for room in the send queue"
                facts.append(f"queue pair {queue_pair.number}: {pump.waiting} blocks wait {why}")
            if pump.outstanding:
                state = ", ".join(f"{name}=0x{value:x}" for name, value in (await queue_pair.status()).items())
                facts.append(f"queue pair {queue_pair.number}: {pump.outstanding} WRITEs not acknowledged ({state})")
        if session.lockstep.awaited:
            facts.append(f"{session.lockstep.awaited} replies of the peer are awaited")
        if len(facts) == 1:
            facts.append("everything posted is complete: the acquisition waits for triggers")
        return "; ".join(facts)
