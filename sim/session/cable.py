"""The cable between MAC and peer: departed frames out, replies in at their simulated time.

The only place where a running stream waits for the peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cocotb.triggers import Event, First, Timer
from cocotb.utils import get_sim_time

from host.frame_layout import split_datagram_immediate
from sim.bench.bench import Bench
from sim.link.link import Delivery
from sim.link.lockstep import Lockstep
from sim.link.roce import Opcode, glimpse, payload_offset
from sim.peers.interface import Wire
from sim.run.figures import DataPacket
from sim.run.packet_log import PacketLog
from sim.session.stopwatch import Stopwatch

MARGIN_CYCLES = 8
"""Core cycles before a reply's due time at which it is asked for, so that it can be injected on time."""
FEW_AWAITED = 4
_ICRC_OCTETS = 4
_ENDS_FRAME = frozenset(
    (Opcode.RC_WRITE_LAST_IMM, Opcode.RC_WRITE_ONLY_IMM, Opcode.UC_WRITE_LAST_IMM, Opcode.UC_WRITE_ONLY_IMM)
)


def _ends_frame(frame: bytes, opcode: int) -> bool:
    if opcode == Opcode.UD_SEND_ONLY_IMM:
        start = payload_offset(opcode)
        return split_datagram_immediate(int.from_bytes(frame[start - 4 : start], "big"))[2]
    return opcode in _ENDS_FRAME


class Cable:
    """Runs as two tasks, :meth:`transmit` and :meth:`deliver`."""

    def __init__(
        self,
        bench: Bench,
        lockstep: Lockstep,
        wire: Wire,
        packets: PacketLog,
        wall_guard_seconds: float,
        stopwatch: Stopwatch,
    ) -> None:
        self._bench = bench
        self._lockstep = lockstep
        self._wire = wire
        self._guard = wall_guard_seconds
        self._stopwatch = stopwatch
        self._earlier = Event()
        self._planned: int | None = None
        self._margin_fs = 2 * bench.clocks.core_half_fs * MARGIN_CYCLES
        self._packets = packets
        self.frames_out = 0
        self.frames_in = 0
        self.payload_octets: Counter[int] = Counter()
        """Octets of payload that have left, retransmissions included, for each destination queue pair."""

    async def transmit(self) -> None:
        """Take every frame that has left the MAC through the link to the peer."""
        while True:
            await self._bench.mac.frame()
            with self._stopwatch.in_python():
                for frame in self._bench.mac.take():
                    self.frames_out += 1
                    self._note(frame.data, frame.first_cycle, frame.last_cycle)
                    outgoing = self._lockstep.sent(frame.data, self._bench.clocks.time_of(frame.last_cycle))
                    self._send([entry.frame for entry in outgoing])
                self._relieve()
                due = self._lockstep.next_fs()
                if due is not None and (self._planned is None or due < self._planned):
                    self._earlier.set()

    async def deliver(self) -> None:
        """Hand every reply over at its time; if it has not come by then, wait, and simulated time with it."""
        while True:
            self._planned = self._lockstep.next_fs()
            self._earlier.clear()
            if self._planned is None:
                await self._earlier.wait()
                continue
            ahead = self._planned - self._margin_fs - int(get_sim_time("step"))
            if ahead > 0:
                await First(Timer(ahead, "step"), self._earlier.wait())
                if self._earlier.is_set():
                    continue
            with self._stopwatch.in_python():
                self._collect(self._planned)
            ahead = self._planned - int(get_sim_time("step"))
            if ahead > 0:
                await Timer(ahead, "step")
            with self._stopwatch.in_python():
                advance = self._lockstep.advance(int(get_sim_time("step")))
                self._send([entry.frame for entry in advance.outgoing])
                self._inject(advance.deliveries)

    def _collect(self, until_fs: int) -> None:
        while (expectation := self._lockstep.due(until_fs)) is not None:
            with self._stopwatch.waiting_for_peer():
                frame = self._wire.receive(self._guard)
            if frame is None:
                self._inject(self._lockstep.lost(expectation, until_fs))
            else:
                self._inject(self._lockstep.matched(frame, until_fs))

    def _relieve(self) -> None:
        """Take replies early when many are awaited: the peer's socket queue is short. They count at their time."""
        while self._lockstep.awaited > FEW_AWAITED and (frame := self._wire.receive(0)) is not None:
            self._inject(self._lockstep.matched(frame, int(get_sim_time("step"))))

    def _send(self, frames: Sequence[bytes]) -> None:
        if frames:
            with self._stopwatch.waiting_for_peer():
                for frame in frames:
                    self._wire.send(frame)

    def _inject(self, deliveries: Sequence[Delivery]) -> None:
        clocks = self._bench.clocks
        for delivery in deliveries:
            self.frames_in += 1
            self._bench.mac.inject(delivery.frame, clocks.cycle_at(delivery.time_fs))

    def _note(self, frame: bytes, first_cycle: int, last_cycle: int) -> None:
        seen = glimpse(frame)
        if seen is None:
            return
        pad = frame[43] >> 4 & 3
        payload = len(frame) - payload_offset(seen.opcode) - pad - _ICRC_OCTETS
        self.payload_octets[seen.destination_qp] += payload
        self._packets.append(
            DataPacket(
                first_cycle=first_cycle,
                last_cycle=last_cycle,
                frame_octets=len(frame),
                payload_octets=payload,
                queue_pair=seen.destination_qp,
                psn=seen.psn,
                ends_frame=_ends_frame(frame, seen.opcode),
            )
        )
