"""The cases one after the other against the software device, inside the simulator. A cocotb test module.

Each case has connections of its own, each with a cable of its own, in lockstep. Payload is in the processing system's
memory; what the messages must have written is known here, and the target compares all of its memory after each case.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from host.control.engine import Engine, Identity, QueueMemory, QueuePair, QueueSettings
from host.control.recovery import come_to_rest
from host.control.work_queue import Opcode, WorkRequest
from sim.bench.bench import Bench
from sim.link.checker import ProtocolChecker
from sim.link.link import Action, Direction, Fault, Link, LinkSettings
from sim.link.lockstep import Lockstep
from sim.link.pcap import Capture
from sim.link.responder import Endpoint, Region, Responder
from sim.link.responder import QueuePair as PeerQueuePair
from sim.link.roce import Transport, ipv4, mac, psn_difference
from sim.peers.interface import Wire
from sim.peers.lifecycle import ControlAddress, WireAddress, open_wire
from sim.run.simulate import QUEUE_PAIRS
from sim.session.cable import Cable
from sim.session.platform import SimulatedPlatform
from sim.session.stopwatch import Stopwatch
from tests.sim.softroce.cases import (
    CASES,
    CYCLES,
    LOSS_MESSAGES,
    LOSS_PACKETS,
    PACKETS,
    PATH_MTU,
    TIME_OUT,
    Case,
)
from tests.sim.softroce.memory import Offer
from tests.sim.softroce.outcome import Outcome
from tests.sim.softroce.remote import RemoteTarget, TargetFailed

VARIABLE = "ECHOBENCH_SOFTROCE"
"""Environment variable that names the plan's file."""
OUTCOMES, FAILURE = "outcomes.jsonl", "failure.txt"
QUEUES, PAYLOAD, PAYLOAD_BYTES = 0x0, 0x10_0000, 0x10_0000
"""Places in the processing system's memory."""
SQ_DEPTH = 64
POLL_CYCLES = 300
LIMIT_POLLS = 20_000
QUIET_POLLS = 3
WALL_GUARD_SECONDS = 20.0
TURNAROUND_FS = 500_000_000
FULL_WINDOW = 32
"""Messages under way at most."""
FAR_KEY = 1 << 8


class CaseFailed(RuntimeError):
    """What was due did not happen."""


class _Departures(list):
    """Takes what the cable notes of each data packet."""


class Line:
    """A queue pair of the engine, one of the target, and the cable between them."""

    def __init__(self, session: Session, case: Case, peer_qpn: int, first_psn: int, receives: int | None) -> None:
        plan, bench = session.plan, session.bench
        self.peer_qpn, self.first_psn = peer_qpn, first_psn
        offer = session.offer
        pair = PeerQueuePair(
            peer_qpn=peer_qpn,
            device_qpn=session.pair.number,
            device=Endpoint(mac(plan["fpga_mac"]), ipv4(plan["fpga_ip"])),
            peer=Endpoint(mac(plan["peer_mac"]), ipv4(plan["peer_ip"])),
            first_psn=first_psn,
            pmtu=PATH_MTU,
            transport=Transport(case.transport),
            rnr_timer=case.rnr_timer,
        )
        regions = [
            Region(offer.key, offer.address, offer.length),
            Region(offer.read_only_key, offer.read_only_address, 1 << 16, remote_write=False),
        ]
        faults = [hit.fault(first_psn) for hit in case.hits]
        if case.loss:
            faults += [Fault(Action.DROP, direction, probability=case.loss) for direction in Direction]
        self.link = Link(LinkSettings(faults=tuple(faults)), session.seed)
        self.checker = ProtocolChecker(Responder([pair], regions, receives))
        self.lockstep = Lockstep(self.link, self.checker, TURNAROUND_FS, session.capture)
        self.departures = _Departures()
        self.cable = Cable(bench, self.lockstep, session.wire, self.departures, WALL_GUARD_SECONDS, session.stopwatch)
        self._tasks = [cocotb.start_soon(self.cable.transmit()), cocotb.start_soon(self.cable.deliver())]

    @property
    def shadow(self) -> Responder:
        """The prediction of what the target does."""
        return self.checker.responder

    def close(self, outcome: Outcome) -> None:
        """Stop it, and put down what it has seen."""
        for task in self._tasks:
            task.cancel()
        outcome.violations += [str(violation) for violation in self.checker.violations]
        outcome.discrepancies += [f"{entry.kind}: {entry.detail}" for entry in self.lockstep.discrepancies]
        outcome.injected += [f"{entry.action} {entry.direction}" for entry in self.link.injections]
        outcome.retransmitted += self.checker.retransmitted
        for kind, count in self.lockstep.replies.items():
            outcome.replies[kind] = outcome.replies.get(kind, 0) + count
        if self.departures:
            began = self.departures[0].first_cycle
            outcome.departures += [
                [psn_difference(packet.psn, self.first_psn), packet.first_cycle - began] for packet in self.departures
            ]


class Session:
    """Bench, target, and the state of the case that is on."""

    def __init__(self, dut: Any, plan: dict[str, Any], wire: Wire, capture: Capture, target: RemoteTarget) -> None:
        self.plan, self.wire, self.capture, self.target = plan, wire, capture, target
        self.seed: int = plan["seed"]
        self.bench = Bench(dut)
        self.platform = SimulatedPlatform(self.bench, 0)
        self.stopwatch = Stopwatch()
        self.engine = Engine(self.platform)
        self.offer: Offer
        self.pair: QueuePair
        self._peer = Identity.parse(plan["peer_mac"], plan["peer_ip"])
        self._settings: QueueSettings
        self._payload = np.random.default_rng(self.seed).integers(0, 256, PAYLOAD_BYTES, np.uint8).tobytes()

    async def start(self) -> None:
        """Bring engine and target up."""
        await self.bench.reset()
        local = Identity.parse(self.plan["fpga_mac"], self.plan["fpga_ip"])
        await self.engine.start(local, QUEUE_PAIRS, 8)
        self.bench.memory.write(self.bench.memory.base + PAYLOAD, self._payload)
        self._start_target()

    def _start_target(self) -> None:
        self.offer = Offer(**self.target.ask("start"))

    # One case

    async def play(self, case: Case, again: bool) -> Outcome:
        """Play a case; whatever fails is in the outcome."""
        began = time.monotonic()
        outcome = self._outcome = Outcome(case.name, again)
        self._case = case
        self._random = random.Random(f"{self.seed} {case.name}")  # the same in both rounds
        self._written: list[tuple[int, int, int]] = []
        self._number = 0
        self._line: Line | None = None
        place = list(CASES).index(case.name)
        memory, _ = QueueMemory.place(self.bench.memory.base + QUEUES, SQ_DEPTH)
        self.pair = QueuePair(self.platform, 2 + place % (QUEUE_PAIRS - 1), memory)
        await self.engine.write("ACKREQ_INTERVAL", case.acknowledge_every)
        try:
            await getattr(self, f"_play_{case.play}")()
        except (CaseFailed, TargetFailed) as error:
            outcome.failure = f"{error}; {await self.pair.status()}"
        if self._line is not None:
            try:
                await self._disconnect()
            except (CaseFailed, TargetFailed) as error:
                outcome.failure += f"; then {error}"
                self._drop_line()
        try:
            found = self.target.ask("inspect", written=self._written)
        except TargetFailed as error:
            raise CaseFailed(f"{case.name}: {outcome.failure}; then {error}") from error
        outcome.wrong, outcome.touched = found["wrong"], found["touched"]
        outcome.failure = outcome.failure or "; ".join(map(str, self.bench.errors()))
        outcome.wall_seconds = round(time.monotonic() - began, 2)
        return outcome

    @property
    def line(self) -> Line:
        """The connection that is open."""
        assert self._line is not None
        return self._line

    async def _connect(self, receives: int = 0) -> None:
        """Connect a new queue pair of the target with the engine's; with ``receives`` it gets so many and no more."""
        case = self._case
        drawn = self._random.randrange(1 << 24)
        first_psn = drawn if case.start_psn is None else case.start_psn
        found = self.target.ask(
            "connect",
            transport=case.transport,
            qpn=self.pair.number,
            psn=first_psn,
            ip=self.plan["fpga_ip"],
            pmtu=PATH_MTU,
            receives=receives,
            rnr_timer=case.rnr_timer,
        )
        self._line = Line(self, case, found["qpn"], first_psn, receives or None)
        self._settings = QueueSettings(
            pmtu=PATH_MTU,
            sq_depth=SQ_DEPTH,
            start_psn=first_psn,
            remote=Identity(self._peer.mac, IPv4Address(self.plan["peer_ip"])),
            remote_qpn=found["qpn"],
            timeout=TIME_OUT,
            retry_count=case.retry_count,
            rnr_retry=case.rnr_retry,
            transport=case.transport,
        )
        await self.pair.connect(self._settings)

    async def _disconnect(self) -> None:
        await self._quiet()
        self._report()
        await self.pair.disable()
        self.target.ask("close")
        self._drop_line()

    def _drop_line(self) -> None:
        self.line.close(self._outcome)
        self._line = None

    async def _reset(self, receives: int = 0) -> None:
        """Bring a queue pair back that has gone fatal, on both sides, with a new first PSN; PG332's flow."""
        await self.pair.under_recovery()
        await come_to_rest(self.engine, self.pair)
        await self._take()
        await self._renew(receives)

    async def _renew(self, receives: int = 0) -> None:
        """Disable the engine's queue pair, reset the target's, and connect them again from another first PSN."""
        await self.pair.disable()
        await self._quiet()
        psn = self._random.randrange(1 << 24)
        self.target.ask("reset", psn=psn, receives=receives)
        self.line.lockstep.restart(self.line.peer_qpn, psn, receives or None)
        self._settings = replace(self._settings, start_psn=psn)
        await self.pair.connect(self._settings)

    def _write(self, packets: int, *, offset: int | None = None, arrives: bool = True) -> WorkRequest:
        """Return a WRITE with immediate of ``packets`` packets, the last of any length, from anywhere to anywhere."""
        length = (packets - 1) * PATH_MTU + self._random.randint(1, PATH_MTU)
        source = self._random.randrange(PAYLOAD_BYTES - length)
        if offset is None:
            offset = self._free_place(length)
        self._number += 1
        immediate = self._random.randrange(1 << 32)
        if arrives:
            crc = zlib.crc32(self._payload[source : source + length])
            self._written.append((offset, length, crc))
            self._outcome.messages.append([immediate, length])
        return WorkRequest(
            self._number,
            Opcode.WRITE_IMMEDIATE,
            self.bench.memory.base + PAYLOAD + source,
            length,
            self.offer.address + offset,
            self.offer.key,
            immediate,
        )

    def _free_place(self, length: int) -> int:
        """Return an offset at which nothing else is written in this case, and at least an octet lies between."""
        while True:
            offset = self._random.randrange(self.offer.length - length)
            if all(offset + length < start or start + size < offset for start, size, _ in self._written):
                return offset

    async def _take(self) -> int:
        """Note what has completed at the engine; return how many requests have by now, in this case."""
        for completion in await self.pair.completions():
            self._outcome.errors.append(completion.error)
        return len(self._outcome.errors)

    async def _completed(self, count: int) -> None:
        await self._until_async(lambda: self._take_at_least(count), f"completion {count}")

    async def _take_at_least(self, count: int) -> bool:
        return await self._take() >= count

    async def _until_async(self, happened: Callable[[], Any], what: str) -> None:
        for _ in range(LIMIT_POLLS):
            if await happened():
                return
            await self.bench.clocks.wait_cycles(POLL_CYCLES)
        raise CaseFailed(f"waited in vain for {what}")

    async def _until(self, happened: Callable[[], bool], what: str, cycles: int = POLL_CYCLES) -> None:
        for _ in range(LIMIT_POLLS):
            if happened():
                return
            await self.bench.clocks.wait_cycles(cycles)
        raise CaseFailed(f"waited in vain for {what}")

    async def _quiet(self) -> None:
        """Let all that is under way arrive."""
        quiet = 0
        for _ in range(LIMIT_POLLS):
            before = len(self.line.departures)
            await self.bench.clocks.wait_cycles(POLL_CYCLES)
            idle = self.line.lockstep.next_fs() is None and len(self.line.departures) == before
            quiet = quiet + 1 if idle else 0
            if quiet == QUIET_POLLS:
                return
        raise CaseFailed("the engine goes on sending")

    def _report(self, packets: int = 0) -> dict[str, Any]:
        """Wait until the target's device has taken ``packets`` in all; note what has arrived since the last report."""
        report = self.target.ask("report", packets=packets)
        self._outcome.arrivals += report["arrivals"]
        return report

    # What is done in the cases

    async def _play_message(self) -> None:
        await self._connect()
        await self.pair.post([self._write(PACKETS)])
        await self._completed(1)

    async def _play_loss(self) -> None:
        await self._connect()
        offset, posted = 1, 0
        while posted < LOSS_MESSAGES:
            batch = []
            for _ in range(min(FULL_WINDOW, LOSS_MESSAGES - posted)):
                batch.append(self._write(LOSS_PACKETS, offset=offset))
                offset += batch[-1].length + 1
            await self.pair.post(batch)
            posted += len(batch)
            await self._completed(posted)
            self._report()  # which posts the receives that were taken anew

    async def _play_not_ready(self) -> None:
        """The second message finds no receive; some NAKs later there are receives. A third is right behind it."""
        await self._connect(receives=1)
        await self.pair.post([self._write(2)])
        await self._completed(1)
        await self._quiet()
        waiting = len(self.line.departures)
        await self.pair.post([self._write(2), self._write(1)])
        naks = self._case.rnr_naks
        await self._until(lambda: self.line.lockstep.replies["rnr"] >= naks, f"receiver-not-ready NAK {naks}")
        self.target.ask("grant", receives=2)
        self.line.shadow.post_receives(self.line.peer_qpn, 2)
        await self._completed(3)
        psn = self.line.departures[waiting + 1].psn  # of the packet with the immediate
        sent = [packet.last_cycle for packet in self.line.departures if packet.psn == psn]
        period_us = self.bench.clocks.core_period_s * 1e6
        self._outcome.notes["gaps_us"] = [(after - before) * period_us for before, after in pairwise(sent)]

    async def _play_not_ready_for_good(self) -> None:
        await self._connect(receives=1)
        await self.pair.post([self._write(2)])
        await self._completed(1)
        refused = self._write(1, arrives=False)
        await self.pair.post([refused])
        await self._completed(2)
        self._report()
        await self._after_recovery()

    async def _play_refused(self) -> None:
        """A message that must not be carried out, and two good ones behind it that are flushed."""
        await self._connect()
        wrong, offer = self._write(PACKETS, arrives=False), self.offer
        change: dict[str, int] = {
            "wrong-key": {"remote_key": offer.key ^ FAR_KEY},
            "past-end": {"remote_address": offer.address + offer.length - wrong.length + 1},
            "before-start": {"remote_address": offer.address - 1},
            "read-only": {"remote_address": offer.read_only_address, "remote_key": offer.read_only_key},
        }[self._case.what]
        wrong = replace(wrong, **change)
        self.line.checker.refusals_due = 1
        await self.pair.post([wrong, self._write(2, arrives=False), self._write(2, arrives=False)])
        await self._completed(3)
        await self._quiet()
        self._outcome.notes["in_error"] = self._report()["in_error"]
        await self._after_recovery()

    async def _after_recovery(self) -> None:
        """Both ends are reset; what was not carried out is not, and the next messages pass."""
        await self._reset()
        completed = await self._take()
        self._outcome.notes["fatal"] = completed
        await self.pair.post([self._write(PACKETS), self._write(1)])
        await self._completed(completed + 2)

    async def _play_killed(self) -> None:
        """The target's process is killed in the middle of a message, and another one started."""
        await self._connect()
        await self.pair.post([self._write(PACKETS)])
        await self._completed(1)
        self._report()
        await self._quiet()
        line, before = self.line, len(self.line.departures)
        await self.pair.post([self._write(PACKETS, arrives=False)])
        await self._until(lambda: len(line.departures) >= before + PACKETS // 2, "half of a message", cycles=8)
        # The cable is out for a moment, so that it is certain what the target has seen and answered when it ends.
        line.lockstep.unplugged = True
        await self._until(lambda: line.lockstep.awaited == 0, "the answers to what has arrived", cycles=8)
        self._outcome.notes["ended"] = self.target.ask("kill")["ended"]
        line.shadow.state(line.peer_qpn).dead = True
        line.lockstep.unplugged = False
        await self._completed(2)
        self._outcome.notes["fatal_after"] = len(line.departures) - before
        await self.pair.under_recovery()
        await come_to_rest(self.engine, self.pair)
        await self._quiet()
        await self.pair.disable()
        self._drop_line()
        self._written.clear()  # memory went with the process
        self._start_target()
        await self._connect()
        await self.pair.post([self._write(PACKETS)])
        await self._completed(3)

    async def _play_cycles(self) -> None:
        """Connect, send, close, many times; each time with another queue pair of the target."""
        seen = set()
        for number in range(CYCLES):
            await self._connect()
            seen.add(self.line.peer_qpn)
            await self.pair.post([self._write(2)])
            await self._completed(number + 1)
            await self._disconnect()
        self._outcome.notes["queue_pairs"] = len(seen)

    async def _play_unreliable(self) -> None:
        """A message loses a packet; a short and a long one follow; the target is reset; one more."""
        await self._connect()
        deaf = self._case.name != "unreliable-lost-first"
        place = self._case.hits[0].place
        damaged = self._write(4, arrives=False)
        if place:  # what came before the loss is in memory, nothing completes
            source = damaged.local_address - self.bench.memory.base - PAYLOAD
            length = place * PATH_MTU
            crc = zlib.crc32(self._payload[source : source + length])
            self._written.append((damaged.remote_address - self.offer.address, length, crc))
        await self.pair.post([damaged, self._write(1, arrives=not deaf), self._write(4, arrives=not deaf)])
        await self._completed(3)
        await self._quiet()
        report = self._report(packets=8)
        self._outcome.notes |= {"packets": report["packets"], "in_error": report["in_error"]}
        await self._renew()
        await self.pair.post([self._write(4)])
        await self._completed(4)
        await self._quiet()
        self._report(packets=12)


def _plan() -> tuple[dict[str, Any], Path]:
    plan = json.loads(Path(os.environ[VARIABLE]).read_text())
    return plan, Path(plan["directory"])


@contextlib.contextmanager
def _connected(plan: dict[str, Any], directory: Path) -> Iterator[tuple[Wire, Capture, RemoteTarget]]:
    target = RemoteTarget(ControlAddress(**plan["control"]))
    with (
        contextlib.closing(target),
        open_wire(WireAddress(**plan["wire"])) as wire,
        Capture(directory / "link.pcapng") as capture,
    ):
        yield wire, capture, target


@cocotb.test()
async def softroce(dut: Any) -> None:
    """Play all cases of the plan, then all of them again."""
    plan, directory = _plan()
    try:
        with _connected(plan, directory) as (wire, capture, target), (directory / OUTCOMES).open("w") as file:
            session = Session(dut, plan, wire, capture, target)
            await session.start()
            for again in (False, True):
                for name in plan["cases"]:
                    outcome = await session.play(CASES[name], again)
                    file.write(json.dumps(asdict(outcome)) + "\n")
                    file.flush()
    except Exception as error:
        (directory / FAILURE).write_text(f"{type(error).__name__}: {error}")
        raise
