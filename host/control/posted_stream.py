"""The streaming loop when hardware posts: no processor on the way of a block; software only gives credits back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from host.control.block_pump import RemoteSlots
from host.control.engine import Engine, QueuePair
from host.control.front_end import FrontEnd
from host.control.platform import Interrupt, Platform
from host.control.poster import Poster
from host.control.stream import StreamStatistics, raise_failure
from host.control.work_queue import Opcode


class PosterStopped(RuntimeError):
    """The poster met a block that it cannot post; the text says why."""


class PostedStream:
    """Follow what the poster posts to one queue pair: completions, slots, and the end.

    ``slot_credit(queue_pair, total)`` is awaited when ``total`` frames have arrived; it returns the number of slots
    released since the start once that is at least ``total``.
    """

    def __init__(
        self,
        platform: Platform,
        front_end: FrontEnd,
        engine: Engine,
        queue_pair: QueuePair,
        poster: Poster,
        slots: RemoteSlots,
        slot_credit: Callable[[int, int], Awaitable[int]],
    ) -> None:
        self._platform = platform
        self._front_end = front_end
        self._engine = engine
        self._queue_pair = queue_pair
        self._poster = poster
        self._slots = slots
        self._slot_credit = slot_credit
        self.statistics = StreamStatistics()
        self.posts: list[tuple[int, int]] = []
        """For each doorbell: queue pair number, and its work requests, one each; known after :meth:`drain`."""
        self.completion_log: list[tuple[int, bool]] = []
        """For each completion so far: queue pair number, and whether its work request ended a frame."""

    @property
    def queue_pairs(self) -> list[QueuePair]:
        """The one that is posted to."""
        return [self._queue_pair]

    @property
    def frames_arrived(self) -> list[int]:
        """Frames that have arrived, for each queue pair."""
        return [self.statistics.frames_completed]

    async def begin(self) -> None:
        """Let the poster take the blocks now on. The ring is configured and empty, the queue pair just connected."""
        pair = self._queue_pair
        await self._engine.completion_interrupt(True)
        await self._poster.start(self._slots, queue_pair=pair.number, send_queue=pair.send_queue, depth=pair.depth)

    async def step(self) -> None:
        """Wait for a completion and serve it."""
        raised = await self._platform.wait_interrupt(frozenset({Interrupt.ENGINE, Interrupt.RING}))
        await self._platform.wake_up()
        if Interrupt.ENGINE in raised:
            self.statistics.interrupts += 1
            await self._engine.acknowledge_interrupts()
        # Blocks wait for software only when the poster has stopped.
        if Interrupt.RING in raised and (reason := await self._poster.why_stopped()):
            raise PosterStopped(reason)
        await self.serve()

    async def serve(self) -> None:
        """Collect completions and give back what they free."""
        before = self.statistics.frames_completed
        completions = await self._queue_pair.completions()
        if not completions:
            return
        endings = [completion.opcode == Opcode.WRITE_IMMEDIATE for completion in completions]
        self.completion_log += [(self._queue_pair.number, ends) for ends in endings]
        self.statistics.completions += len(completions)
        self.statistics.frames_completed += sum(endings)
        await raise_failure(self._queue_pair, self.statistics, completions)
        await self._poster.completions_taken(self.statistics.completions)
        arrived = self.statistics.frames_completed
        if arrived > before:
            await self._poster.frames_arrived(arrived)
            # The receiver may be further than its acknowledgements, but how far is the wall clock's doing.
            released = await self._slot_credit(self._queue_pair.number, arrived)
            await self._poster.slots_released(min(released, arrived))

    async def drain(self) -> None:
        """Follow what is in the ring to its end."""
        while self.statistics.completions < await self._front_end.blocks_completed():
            await self.step()
        count = await self._poster.posted()
        self.posts = [(self._queue_pair.number, 1)] * count
        self.statistics.blocks = self.statistics.doorbells = self.statistics.work_requests = count
        self.statistics.frames_posted = await self._poster.frames_started()
