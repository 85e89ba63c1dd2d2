"""What to do when a queue pair has gone fatal: log, reset both ends, post again what had not arrived (PG332's flow).

Nothing is lost by it: bytes stay in the ring until they are acknowledged, and only what was not is posted again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from host.control.block_pump import BlockPump
from host.control.engine import Engine, QueuePair, QueueSettings
from host.control.front_end import FrontEnd
from host.control.work_queue import Completion, WorkRequest

_POLLS = 1000
_AT_REST = 1 << 9 | 1 << 10
_DOORBELL_CHECK = 1 << 16


class RecoveryFailed(RuntimeError):
    """A queue pair did not come to rest; the text says what it waits for."""


async def come_to_rest(engine: Engine, queue_pair: QueuePair) -> None:
    """Wait until nothing of the queue pair is under way: both bits of STATQP, all entries complete.

    Raise :class:`RecoveryFailed` if that does not happen.
    """
    for _ in range(_POLLS):
        state = await queue_pair.status()
        at_rest = state["STATQP"] & _AT_REST == _AT_REST and state["CQHEAD"] == state["SQPI"]
        if at_rest and await engine.read("RESPHNDSTS") & _DOORBELL_CHECK:
            return
    raise RecoveryFailed(f"queue pair {queue_pair.number} does not come to rest: {state}")


@dataclass(frozen=True)
class Recovery:
    """One queue pair brought back; times are those of the clock that :class:`Recoverer` was given."""

    queue_pair: int
    error: int
    reason: str
    first_psn: int
    """Agreed anew; never one of the connection before."""
    reposted: int
    """Work requests that were posted again."""
    began: int
    ended: int


class Recoverer:
    """Brings a queue pair back.

    ``agree(queue_pair, psn)`` is awaited to reset the other end, which must expect ``psn`` first; it returns how many
    frames have arrived there. ``choose_psn(before)`` gives the new one. Bytes of a message that was under way are known
    by the ring's free position, so the ring must be this queue pair's alone.
    """

    def __init__(
        self,
        front_end: FrontEnd,
        engine: Engine,
        settings: QueueSettings,
        ring_bytes: int,
        *,
        agree: Callable[[int, int], Awaitable[int]],
        choose_psn: Callable[[int], int],
        now: Callable[[], int],
    ) -> None:
        self._front_end = front_end
        self._engine = engine
        self._settings = settings
        self._ring_bytes = ring_bytes
        self._agree = agree
        self._choose_psn = choose_psn
        self._now = now
        self.recoveries: list[Recovery] = []

    async def recover(self, queue_pair: QueuePair, pump: BlockPump, failed: Completion) -> None:
        """Bring ``queue_pair`` back, whose entry ``failed``; the pump hands out again what has not arrived."""
        began = self._now()
        await queue_pair.under_recovery()
        await come_to_rest(self._engine, queue_pair)
        await queue_pair.completions()
        free = await self._front_end.read("RING", "FREE_POSITION")
        await queue_pair.disable()
        psn = self._choose_psn(self._settings.start_psn)
        arrived = await self._agree(queue_pair.number, psn)
        self._settings = replace(self._settings, start_psn=psn)
        await queue_pair.connect(self._settings)

        def acknowledged(request: WorkRequest) -> int:
            done = (free - request.local_address) % self._ring_bytes
            return done if done < request.length else 0

        count = pump.start_over(acknowledged, arrived)
        self.recoveries.append(Recovery(queue_pair.number, failed.error, failed.reason, psn, count, began, self._now()))
