"""The streaming loop of the control software: interrupt, blocks, doorbell, completions, until told to stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from host.control.block_pump import Block, BlockPump
from host.control.engine import Engine, QueuePair
from host.control.front_end import FrontEnd
from host.control.platform import Interrupt, Platform
from host.control.recovery import Recoverer
from host.control.work_queue import Completion


class QueuePairFailed(RuntimeError):
    """A queue pair went to its error state; the text names the work request and the engine's state."""


@dataclass
class StreamStatistics:
    """What the loop has done so far."""

    interrupts: int = 0
    blocks: int = 0
    doorbells: int = 0
    work_requests: int = 0
    completions: int = 0
    frames_posted: int = 0
    frames_completed: int = 0
    failed: list[Completion] = field(default_factory=list)


async def raise_failure(queue_pair: QueuePair, statistics: StreamStatistics, completions: list[Completion]) -> None:
    """Raise :class:`QueuePairFailed` if one of ``completions`` is of a work request that failed."""
    bad = [completion for completion in completions if completion.error]
    if bad:
        statistics.failed += bad
        state = ", ".join(f"{name}=0x{value:x}" for name, value in (await queue_pair.status()).items())
        raise QueuePairFailed(
            f"queue pair {queue_pair.number}: work request {bad[0].identifier} failed: {bad[0].reason} "
            f"(error 0x{bad[0].error:02x}; {state})"
        )


class Stream:
    """Move blocks from the ring to the receiver over one or more queue pairs; a frame stays on one of them.

    ``slot_credit(queue_pair, total)`` is awaited when every receive slot is taken; it returns the number of slots
    released since the start once that is at least ``total``. Without a ``recoverer`` a queue pair
    that fails ends it all.
    """

    def __init__(
        self,
        platform: Platform,
        front_end: FrontEnd,
        engine: Engine,
        lanes: list[tuple[QueuePair, BlockPump]],
        slot_credit: Callable[[int, int], Awaitable[int]],
        recoverer: Recoverer | None = None,
    ) -> None:
        self._platform = platform
        self._front_end = front_end
        self._engine = engine
        self.lanes = lanes
        self._slot_credit = slot_credit
        self._recoverer = recoverer
        self._lane = 0
        self._draining = False
        self._completions_interrupt = False
        self.statistics = StreamStatistics()
        self.posts: list[tuple[int, int]] = []
        """For each doorbell so far: queue pair number, and its work requests."""
        self.completion_log: list[tuple[int, bool]] = []
        """For each completion so far: queue pair number, and whether its work request ended a frame."""

    @property
    def queue_pairs(self) -> list[QueuePair]:
        """The queue pairs that are posted to."""
        return [queue_pair for queue_pair, _ in self.lanes]

    @property
    def frames_arrived(self) -> list[int]:
        """Frames that have arrived, for each queue pair."""
        return [pump.frames_completed for _, pump in self.lanes]

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is outstanding."""
        return all(pump.waiting == 0 and pump.outstanding == 0 for _, pump in self.lanes)

    async def step(self) -> None:
        """Wait for an interrupt and serve it."""
        stuck = any(pump.waiting for _, pump in self.lanes)
        lines = {Interrupt.RING}
        if stuck or self._draining or self._recoverer:
            lines.add(Interrupt.ENGINE)
        raised = await self._platform.wait_interrupt(frozenset(lines))
        await self._platform.wake_up()
        if Interrupt.RING in raised:
            self.statistics.interrupts += 1
            self._distribute(await self._front_end.take_blocks())
        if Interrupt.ENGINE in raised:
            await self._engine.acknowledge_interrupts()
        await self.serve()

    async def drain(self) -> None:
        """Finish what is in the ring; completions raise the interrupt from now on."""
        self._draining = True
        await self._engine.completion_interrupt(True)
        self._distribute(await self._front_end.take_blocks())
        await self.serve()
        while not self.idle:
            await self.step()

    async def serve(self) -> None:
        """Collect completions and post all that can be posted."""
        for queue_pair, pump in self.lanes:
            await self._collect(queue_pair, pump)
            await self._post(queue_pair, pump)
            # What waited for a slot goes out with it, not with the next interrupt. A slot whose frame is still on its
            # way is not waited for here: its completion comes first.
            while pump.awaits_host:
                await self._front_end.host_stalled(True)
                pump.release(await self._slot_credit(queue_pair.number, pump.slots_needed))
                await self._front_end.host_stalled(False)
                await self._post(queue_pair, pump)
        stuck = any(pump.waiting for _, pump in self.lanes)
        if stuck != self._completions_interrupt and not self._draining:
            self._completions_interrupt = stuck
            await self._engine.completion_interrupt(stuck)

    async def _post(self, queue_pair: QueuePair, pump: BlockPump) -> None:
        while requests := pump.next_batch():
            await queue_pair.post(requests)
            self.posts.append((queue_pair.number, len(requests)))
            self.statistics.doorbells += 1
            self.statistics.work_requests += len(requests)
            self.statistics.frames_posted += sum(request.ends_frame for request in requests)

    async def _collect(self, queue_pair: QueuePair, pump: BlockPump) -> None:
        completions = await queue_pair.completions()
        bad = [completion for completion in completions if completion.error]
        endings = pump.complete(len(completions) - len(bad)) + [False] * len(bad)
        self.completion_log += [(queue_pair.number, ends) for ends in endings]
        self.statistics.completions += len(completions)
        self.statistics.frames_completed += sum(endings)
        if bad and self._recoverer is not None:
            self.statistics.failed += bad
            await self._recoverer.recover(queue_pair, pump, bad[0])
            return
        await raise_failure(queue_pair, self.statistics, completions)

    def _distribute(self, blocks: list[Block]) -> None:
        self.statistics.blocks += len(blocks)
        for block in blocks:
            self.lanes[self._lane][1].add([block])
            if block.last:
                self._lane = (self._lane + 1) % len(self.lanes)
