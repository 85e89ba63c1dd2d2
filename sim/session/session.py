"""One run inside the simulator: bring-up, connection, shots, streaming, and an account of it all in one JSON file.

A cocotb test module; the runner starts it with the plan's file named in the environment.
"""

from __future__ import annotations

import json
import os
import random
import time
import warnings
from collections.abc import Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from host.control.block_pump import BlockPump, Datagrams, RemoteSlots
from host.control.engine import Engine, Identity, QueueMemory, QueuePair, QueueSettings
from host.control.front_end import AcquisitionSettings, FrontEnd, LinkSettings, RingSettings, Source, Wiring
from host.control.link_watch import LinkWatch, causes_of, status_of
from host.control.mode_switch import switch_mode
from host.control.modes import FRACTION, LANES_A_LINK, Mode
from host.control.posted_stream import PostedStream
from host.control.poster import CHIP, Poster
from host.control.recovery import Recoverer
from host.control.registers import register_map
from host.control.stream import Stream
from host.exchange import QUEUE_KEY, VERSION, Connect, Hello, SenderQueuePair, Summary
from sim.bench.bench import Bench
from sim.bench.recording import Recording
from sim.lifeline import tie
from sim.link import link as cable_model
from sim.link.checker import ProtocolChecker
from sim.link.lockstep import Lockstep
from sim.link.pcap import Capture
from sim.link.responder import Endpoint, Region, Responder
from sim.link.responder import QueuePair as PeerQueuePair
from sim.link.roce import Transport, ipv4, mac
from sim.peers.lifecycle import ControlAddress, WireAddress, open_control, open_wire
from sim.run.failure import Failure
from sim.run.packet_log import PacketLog
from sim.run.plan import VARIABLE, Plan
from sim.scenario.model import RING_BYTES, QueueFault
from sim.session.cable import Cable
from sim.session.errors import SessionFailed
from sim.session.monitor import SessionMonitor
from sim.session.platform import SimulatedPlatform
from sim.session.queue_faults import REFUSED, FaultyQueuePair, QueueFaults
from sim.session.receivers import ModelReceiver, Receiver, RemoteReceiver
from sim.session.shots import Schedule, ShotPlayer
from sim.session.stopwatch import Stopwatch
from sim.session.watchdog import Watchdog

FIRST_DATA_QUEUE_PAIR = 2
LINK_UP_LIMIT_US = 200
LINK_POLL_NS = 500
WINDOW_MARGIN_SAMPLES = 2
MODE_POLL_NS = 1_000
CHUNKS_AHEAD = 2
"""Chunks that must begin until one that is made from now on plays: one is waiting already."""
TAIL_NS = 2_000
PROGRESS_SECONDS = 0.25
RECEIVER_LIMIT_SECONDS = 180.0
LOST_AFTER_SECONDS = 15.0
"""Wall time after which a frame that has been on an unreliable connection counts as lost."""
PSN_STEP = 1 << 20
"""A new connection begins at least so far ahead of the packet number that the one before began with."""
LEAVING_NS = 2_000
"""From the completion of a packet that nobody acknowledges to its last octet on the wire."""


@dataclass(frozen=True)
class Switch:
    """One change of mode, ids as in the header.

    Core cycles of its first register write, of the first sample in the new mode, and of when triggers were accepted.
    """

    before: int
    after: int
    started: int
    first_sample: int
    ready: int


class SimulatedConverters:
    """Converters and link clock of the bench, for one change to ``mode``."""

    def __init__(self, session: Session, mode: Mode) -> None:
        self._session = session
        self._mode = mode
        self.first_sample_cycle = 0

    async def change(self, mode: Mode) -> None:
        """Lanes fall silent, the clock changes, and some time later the lanes begin anew."""
        session = self._session
        session.shots.silence()
        await session.shots.chunks_begun(CHUNKS_AHEAD)
        session.bench.clocks.set_link_frequency(mode.link_clock_hz)
        await Timer(max(1, round(session.scenario.acquisition.retune_us * 1000)), "ns")
        session.shots.reset(mode)
        await session.shots.chunks_begun(CHUNKS_AHEAD)

    async def aligned(self) -> AcquisitionSettings:
        """The latency of the links is measured; echoes are placed by it from now on."""
        session = self._session
        schedule = await session.schedule()
        self.first_sample_cycle = session.bench.release_cycle()
        session.shots.arm(schedule)
        await session.shots.chunks_begun(CHUNKS_AHEAD)
        return session.acquisition_settings(self._mode, schedule)


class Session:
    """The parts of a run and their order."""

    def __init__(self, dut: Any, plan: Plan) -> None:
        scenario = plan.scenario
        self.plan = plan
        self.scenario = scenario
        self.stopwatch = Stopwatch()
        self.bench = Bench(dut)
        self.recording = Recording(self.bench, plan.recording_path) if plan.record else None
        self.platform = SimulatedPlatform(self.bench, scenario.host.software_delay_ns)
        self.front_end = FrontEnd(self.platform)
        self.link_watch = LinkWatch(
            self.platform,
            self.front_end,
            status_of(scenario.jesd204b.interrupts),
            lambda: self.bench.clocks.now,
        )
        self.engine = Engine(self.platform)
        self.receiver = self._receiver()
        self.shots = ShotPlayer(self.bench, scenario, self.stopwatch)
        self.capture = Capture(plan.directory / "link.pcapng")
        self.packets = PacketLog(plan.packets_path)
        self.monitor = SessionMonitor(self)
        self.lockstep: Lockstep | None = None
        self.cable: Cable | None = None
        self.stream: Stream | PostedStream | None = None
        self.watchdog: Watchdog | None = None
        self._tasks: list[cocotb.task.Task[Any]] = []
        self._wall: dict[str, float] = {}
        self._started_cycle = 0
        self._finished_cycle = 0
        self._finishing = False
        self._stalled = False
        self.switches: list[Switch] = []
        self.recoverer: Recoverer | None = None
        self._faults = QueueFaults(scenario.rdma.faults, 0, self._fault_applied)
        self._psns = random.Random(f"psn {scenario.seed}")
        self.failure: Exception | None = None

    def _receiver(self) -> Receiver:
        plan, scenario = self.plan, self.scenario
        if plan.peer_kind == "model":
            return ModelReceiver(
                scenario.host.slots,
                plan.slot_bytes,
                scenario.rdma.qps,
                scenario.rdma.pmtu,
                plan.capture_path,
                Transport(scenario.rdma.transport),
            )
        exchange = open_control(ControlAddress(**plan.control))
        wire = open_wire(WireAddress(**plan.wire), plan.wall_guard_seconds)
        lost_after = None if scenario.rdma.transport == "RC" else LOST_AFTER_SECONDS
        return RemoteReceiver(exchange, wire, RECEIVER_LIMIT_SECONDS, lost_after)

    async def run(self) -> None:
        """Bring up, stream, drain, and leave the result."""
        scenario = self.scenario
        mode = scenario.acquisition.mode_of(0)
        await self.bench.reset()
        self.bench.clocks.set_link_frequency(mode.link_clock_hz)
        self.bench.mac.set_rate(scenario.link.rate_gbps)
        self._start(self.shots.play())
        capabilities = await self.front_end.identify()
        await self.front_end.configure_wiring(self._wiring())
        self._start(self.link_watch.serve())
        await self.front_end.configure_link(self._link_settings(mode))
        await self._connect()
        await self.front_end.configure_ring(
            RingSettings(
                block_bytes=scenario.rdma.block_bytes,
                irq_threshold=scenario.rdma.interrupt_threshold,
                irq_timeout_ns=scenario.rdma.interrupt_timeout_ns,
            ),
            capabilities,
        )
        if isinstance(self.stream, PostedStream):
            await self.stream.begin()
        await self._link_comes_up()
        schedule = await self.schedule()
        await self.front_end.configure_acquisition(self.acquisition_settings(mode, schedule))
        await self.front_end.accept_triggers(self._source(mode), generate=self._generated)
        self.shots.arm(schedule)
        self._follow_generator(mode, 0)
        await self._acquire()
        if self.recording is not None:
            self.recording.close()
        summary = self.receiver.finish()
        await self._store(summary)

    def _wiring(self) -> Wiring:
        jesd204b = self.scenario.jesd204b
        return Wiring(
            lane_map=jesd204b.wired_for_software(self.scenario.links * LANES_A_LINK),
            inverted=frozenset(jesd204b.inverted_for_software),
            devices_count=True,
        )

    def _link_settings(self, mode: Mode) -> LinkSettings:
        jesd204b = self.scenario.jesd204b
        return LinkSettings(
            links=self.scenario.links,
            frames_per_multiframe=jesd204b.k,
            octets_per_frame=mode.octets_per_frame,
            scrambling=jesd204b.scrambling,
            subclass=jesd204b.subclass,
            error_report=jesd204b.error_report,
        )

    def acquisition_settings(self, mode: Mode, schedule: Schedule) -> AcquisitionSettings:
        """What the front end is told for ``mode``."""
        acquisition = self.scenario.acquisition
        return AcquisitionSettings(
            mode=mode,
            samples=acquisition.samples,
            channels=acquisition.shape_of(mode).channels,
            window_delay=schedule.window_delay,
            configuration=mode.identifier,
            prf_hz=acquisition.prf_hz if self._generated else 0.0,
            laser_period_ns=1e9 / acquisition.prf_hz if mode.one_way else 0.0,
        )

    def _source(self, mode: Mode) -> Source:
        if mode.one_way:
            return Source.LASER
        return Source.GENERATOR if self._generated else Source.TRIGGER

    @property
    def _generated(self) -> bool:
        return self.scenario.acquisition.trigger == "generator"

    def _follow_generator(self, mode: Mode, first_shot: int) -> None:
        if self._generated:
            self.shots.follow_generator(self.bench.generator_beat(), self._period_beats(mode), first_shot)

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> cocotb.task.Task[None]:
        task = cocotb.start_soon(self._watched(coroutine))
        self._tasks.append(task)
        return task

    async def _watched(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Remember what ends a task: cocotb ends the whole test then, and what the test sees is only its own end."""
        try:
            await coroutine
        except Exception as error:
            self.failure = self.failure or error
            raise

    async def _connect(self) -> None:
        """Exchange queue pairs with the receiver, program the engine, join the two by the cable."""
        rdma = self.scenario.rdma
        with self.stopwatch.waiting_for_peer():
            hello = self.receiver.hello()
        local = Identity.parse(self.plan.fpga_mac, self.plan.fpga_ip)
        remote = Identity.parse(hello.mac, hello.ip)
        await self.engine.start(local, FIRST_DATA_QUEUE_PAIR - 1 + rdma.qps, rdma.acknowledge_every)
        address, lanes, by_hardware = self.bench.memory.base, [], rdma.posting == "hardware"
        datagrams = Datagrams(rdma.pmtu, RING_BYTES) if rdma.transport == "UD" else None
        for index, remote_pair in enumerate(hello.queue_pairs):
            memory, address = QueueMemory.place(address, rdma.sq_depth, CHIP if by_hardware else None)
            queue_pair = self._queue_pair(FIRST_DATA_QUEUE_PAIR + index, memory)
            settings = QueueSettings(
                pmtu=rdma.pmtu,
                sq_depth=rdma.sq_depth,
                start_psn=rdma.start_psn,
                remote=remote,
                remote_qpn=remote_pair.qpn,
                timeout=rdma.retry_timeout,
                retry_count=rdma.retry_count,
                rnr_retry=rdma.rnr_retry,
                level=rdma.level,
                transport=rdma.transport,
                write_each=rdma.write_each,
                queue_key=QUEUE_KEY,
                hardware_doorbell=by_hardware,
            )
            await queue_pair.connect(settings)
            slots = RemoteSlots(remote_pair.address, hello.rkey, hello.slot_bytes, remote_pair.slots)
            lanes.append((queue_pair, BlockPump(slots, sq_depth=rdma.sq_depth, batch=rdma.batch, datagrams=datagrams)))
        pairs = tuple(SenderQueuePair(queue_pair.number, rdma.start_psn) for queue_pair, _ in lanes)
        largest = self.scenario.acquisition.largest_frame
        message = Connect(
            VERSION,
            self.plan.fpga_ip,
            self.plan.fpga_mac,
            rdma.pmtu,
            pairs,
            rdma.transport,
            largest,
            recovers=bool(rdma.faults),
            receives=self._faults.receives(),
        )
        with self.stopwatch.waiting_for_peer():
            self.receiver.connect(message)
        self.lockstep = self._make_lockstep(hello)
        self.cable = Cable(
            self.bench,
            self.lockstep,
            self.receiver.wire(),
            self.packets,
            self.plan.wall_guard_seconds,
            self.stopwatch,
        )
        self._start(self.cable.transmit())
        self._start(self.cable.deliver())
        if rdma.faults:
            self._faults.scratch = address
            await self.engine.completion_interrupt(False)
            self.recoverer = Recoverer(
                self.front_end,
                self.engine,
                settings,
                RING_BYTES,
                agree=self._agree,
                choose_psn=lambda before: before + PSN_STEP + self._psns.randrange(PSN_STEP) & 0xFFFFFF,
                now=lambda: self.bench.clocks.now,
            )
        if by_hardware:
            # There is one queue pair then, and so these are its slots.
            self.stream = PostedStream(
                self.platform,
                self.front_end,
                self.engine,
                lanes[0][0],
                Poster(self.platform),
                slots,
                self._slot_credit,
            )
        else:
            self.stream = Stream(self.platform, self.front_end, self.engine, lanes, self._slot_credit, self.recoverer)

    def _queue_pair(self, number: int, memory: QueueMemory) -> QueuePair:
        if self.scenario.rdma.faults:
            return FaultyQueuePair(self.platform, number, memory, self._faults)
        return QueuePair(self.platform, number, memory)

    def _fault_applied(self, fault: QueueFault) -> None:
        assert self.lockstep is not None
        self.lockstep.unplugged = fault.kind == "silence"
        self.lockstep.checker.refusals_due += fault.kind in REFUSED

    async def _agree(self, queue_pair: int, psn: int) -> int:
        """Reset the other end when all that was under way has arrived, and its answers too."""
        assert self.lockstep is not None
        link, pair = self.scenario.link, queue_pair - FIRST_DATA_QUEUE_PAIR
        await Timer(LEAVING_NS + 2 * self.scenario.longest_journey_ns + link.turnaround_ns, "ns")
        self.lockstep.unplugged = False
        receives = self._faults.receives()
        self.lockstep.restart(self._peer_qpns[pair], psn, receives or None)
        with self.stopwatch.waiting_for_peer():
            return self.receiver.reset(pair, psn, receives)

    def _make_lockstep(self, hello: Hello) -> Lockstep:
        rdma, link = self.scenario.rdma, self.scenario.link
        device = Endpoint(mac(self.plan.fpga_mac), ipv4(self.plan.fpga_ip))
        peer = Endpoint(mac(hello.mac), ipv4(hello.ip))
        pairs = [
            PeerQueuePair(
                peer_qpn=pair.qpn,
                device_qpn=FIRST_DATA_QUEUE_PAIR + index,
                device=device,
                peer=peer,
                first_psn=rdma.start_psn,
                pmtu=rdma.pmtu,
                transport=Transport(rdma.transport),
                queue_key=QUEUE_KEY,
            )
            for index, pair in enumerate(hello.queue_pairs)
        ]
        self._peer_qpns = [pair.qpn for pair in hello.queue_pairs]
        first = min(pair.address for pair in hello.queue_pairs)
        length = sum(pair.slots for pair in hello.queue_pairs) * hello.slot_bytes
        checker = ProtocolChecker(
            Responder(pairs, [Region(hello.rkey, first, length)], self._faults.receives() or None)
        )
        settings = cable_model.LinkSettings(
            tx_delay_fs=link.delay_ns * cable_model.FS_PER_NS,
            rx_delay_fs=link.delay_ns * cable_model.FS_PER_NS,
            rate_gbps=link.rate_gbps,
            faults=tuple(
                cable_model.Fault(
                    action=cable_model.Action(fault.action),
                    direction=cable_model.Direction(fault.direction),
                    psn=fault.psn,
                    probability=fault.probability,
                    occurrence=fault.occurrence,
                    seed=fault.seed,
                    delay_ns=fault.delay_ns,
                )
                for fault in link.faults
            ),
        )
        model = cable_model.Link(settings, self.scenario.seed)
        return Lockstep(model, checker, link.turnaround_ns * cable_model.FS_PER_NS, self.capture)

    async def _slot_credit(self, queue_pair: int, total: int) -> int:
        host, pair = self.scenario.host, queue_pair - FIRST_DATA_QUEUE_PAIR
        if host.stall_frame is not None and not self._stalled and self._frame_of(pair, total) >= host.stall_frame:
            self._stalled = True
            await Timer(max(1, round(host.stall_us * 1000)), "ns")
        await self._arrived()
        with self.stopwatch.waiting_for_peer():
            return self.receiver.credit(pair, total)

    async def _arrived(self) -> None:
        """Completions of an unreliable connection tell that packets have left: wait until they are there."""
        if self.scenario.rdma.transport != "RC":
            await Timer(LEAVING_NS + self.scenario.longest_journey_ns, "ns")

    async def _all_settled(self, stream: Stream | PostedStream) -> None:
        """Nothing acknowledges what an unreliable connection carries: let the receiver take in all that arrives."""
        if self.scenario.rdma.transport == "RC":
            return
        await self._arrived()
        for index, arrived in enumerate(stream.frames_arrived):
            with self.stopwatch.waiting_for_peer():
                self.receiver.credit(index, arrived)

    def _frame_of(self, pair: int, total: int) -> int:
        """The frame, of all pairs, that waits for release number ``total`` of a pair."""
        return (total - 1 + self.scenario.host.slots) * self.scenario.rdma.qps + pair

    async def _link_comes_up(self) -> None:
        limit = int(get_sim_time("ns")) + LINK_UP_LIMIT_US * 1000
        while not await self.front_end.link_up():
            if int(get_sim_time("ns")) > limit:
                raise SessionFailed(await self._explain_link())
            await Timer(LINK_POLL_NS, "ns")

    async def schedule(self) -> Schedule:
        """Find how far the receiver's ticks lag the converters', and where the window begins.

        Links that have fallen again are waited for.
        """
        epoch = self.shots.epoch
        mode = epoch.mode
        while (release := self.bench.latest_release) is None or release < epoch.first_beat:
            await self.shots.chunks_begun(1)
        # The converters are ahead: their latest start may be one that the receiver has not seen yet.
        start = next(
            start for start in reversed(epoch.transmitter.bring_ups) if epoch.first_beat + start.first_beat < release
        )
        lag_beats = release - epoch.first_beat - start.first_beat
        lag = lag_beats * FRACTION // mode.clocks_a_sample
        if mode.one_way:
            delay = lag + mode.parts(self.scenario.acquisition.laser_delay_ns)
        else:
            delay = (-(-lag // FRACTION) + WINDOW_MARGIN_SAMPLES) * FRACTION
        return Schedule(release - start.first_tick * mode.clocks_a_sample, delay, lag)

    async def _explain_link(self) -> str:
        up = await self.front_end.read("JESD204B", "LINK_UP")
        sync_n = await self.front_end.read("JESD204B", "SYNC_N")
        status = await self.front_end.read("JESD204B", "STATUS")
        return (
            f"the JESD204B link did not come up within {LINK_UP_LIMIT_US} us of simulated time: the receiver waits for "
            f"the converters (links up 0x{up:x}, SYNC~ 0x{sync_n:x}, SYSREF seen: {bool(status & 2)})"
        )

    async def _change_modes(self) -> None:
        """Whenever the next shot is of another mode than the present one, switch as soon as the window is over."""
        acquisition = self.scenario.acquisition
        triggers, mode = acquisition.triggers, acquisition.mode_of(0)
        while True:
            given = await self.front_end.read("ACQUISITION", "TRIGGERS")
            if given >= len(triggers):
                return
            shot = triggers[given].shot
            wanted = acquisition.mode_of(shot)
            if wanted is mode or not await self.front_end.window_closed():
                await Timer(MODE_POLL_NS, "ns")
                continue
            started = self.bench.clocks.now
            converters = SimulatedConverters(self, wanted)
            await switch_mode(
                self.front_end,
                converters,
                wanted,
                self._link_settings(wanted),
                self._source(wanted),
                generate=self._generated,
            )
            self._follow_generator(wanted, shot)
            sample = converters.first_sample_cycle
            self.switches.append(Switch(mode.identifier, wanted.identifier, started, sample, self.bench.clocks.now))
            mode = wanted

    def _period_beats(self, mode: Mode) -> int:
        return round(mode.link_clock_hz / self.scenario.acquisition.prf_hz)

    async def _acquire(self) -> None:
        """Fire all shots, stream their frames, drain what is left."""
        assert self.stream is not None and self.cable is not None and self.lockstep is not None
        self.stopwatch.restart()
        self._started_cycle = self.bench.clocks.now
        self.watchdog = Watchdog(self, self.scenario)
        self._start(self.watchdog.watch())
        if len(self.scenario.acquisition.modes) > 1:
            self._start(self._change_modes())
        await self._start(self._stream_all(self.stream))
        self._finished_cycle = self.bench.clocks.now
        self._wall = {
            "seconds": self.stopwatch.total,
            "python": self.stopwatch.python,
            "peer": self.stopwatch.peer,
            "cycles": self._finished_cycle - self._started_cycle,
        }

    async def _stream_all(self, stream: Stream | PostedStream) -> None:
        served = self._start(self._serve(stream))
        await self._last_window_closed()
        self._finishing = True
        self.platform.interrupt_wait()
        await served
        await stream.drain()
        await self._all_settled(stream)

    async def _serve(self, stream: Stream | PostedStream) -> None:
        while not self._finishing:
            await stream.step()
            self.receiver.poll()

    async def _last_window_closed(self) -> None:
        """Return when the front end has taken all triggers and no window is open."""
        acquisition = self.scenario.acquisition
        wanted = len(acquisition.triggers)
        window_ns = acquisition.samples * max(mode.sample_ns for mode in acquisition.modes)
        period_ns = 1e9 / self.scenario.acquisition.prf_hz
        while not self.shots.all_triggered:
            await Timer(max(1, round(period_ns / 8)), "ns")
        await self.shots.chunks_begun(CHUNKS_AHEAD + 1)
        if self._generated:
            await self.front_end.accept_triggers(self._source(acquisition.mode_of(acquisition.shots - 1)))
        await Timer(round(window_ns) + TAIL_NS, "ns")
        await self.front_end.stop_triggers()
        triggers = await self.front_end.read("ACQUISITION", "TRIGGERS")
        if triggers != wanted:
            raise SessionFailed(f"{wanted} triggers were given and the front end counts {triggers}")
        frames = await self.front_end.read("ACQUISITION", "FRAMES")
        while True:
            settled = await self._admitted() + await self._refused()
            if settled >= frames:
                return
            await Timer(TAIL_NS, "ns")

    def _chunk_ns(self) -> float:
        return self.bench.lanes.chunk_beats / self.bench.link_clock_hz * 1e9

    async def _admitted(self) -> int:
        return await self.front_end.read("RING", "FRAMES_ADMITTED")

    async def _refused(self) -> int:
        causes = ("RING_FULL", "DISABLED", "DESCRIPTORS_FULL", "HOST_STALLED")
        return sum([await self.front_end.read("RING", f"DROPPED_{cause}") for cause in causes])

    def close(self) -> None:
        """Leave on disk what has arrived, however the session ended."""
        self.capture.close()
        self.packets.close()
        self.receiver.close()
        self.monitor.end()

    async def _store(self, summary: Summary) -> None:
        """Leave the session's account for the runner."""
        assert self.stream is not None and self.cable is not None and self.lockstep is not None
        self.capture.close()
        self.packets.close()
        self.bench.check()
        counters = {
            block: {
                register.name: await self.front_end.read(block, register.name)
                for register in register_map()[block].registers
                if register.count == 1 and register.access in ("RO", "RW")
            }
            for block in ("JESD204B", "ACQUISITION", "RING", "ERNIC")
        }
        lanes = self.scenario.links * self.shots.epoch.config.lanes_per_link
        link = counters["JESD204B"]
        misaligned = register_map()["JESD204B"]["STATUS"]["SYSREF_MISALIGNED"].get(link["STATUS"])
        counters["JESD204B"] = {**link, "SYSREF_MISALIGNED": misaligned, **await self.front_end.lane_counters(lanes)}
        await self.link_watch.collect()
        result = {
            "shots": [asdict(shot) for shot in self.shots.as_counted()],
            "lane_faults": self.shots.lane_faults(),
            "received": [asdict(frame) for frame in self.receiver.frames],
            "summary": asdict(summary),
            "statistics": asdict(self.stream.statistics),
            "doorbells": self.stream.posts,
            "counters": counters,
            "link_events": [asdict(event) for event in self.link_watch.events],
            "link_causes": dict(self.link_watch.counts),
            "link_interrupts": causes_of(self.link_watch.mask),
            "error_reports": self.bench.error_reports,
            "started_cycle": self._started_cycle,
            "finished_cycle": self._finished_cycle,
            "core_clock_hz": 1 / self.bench.clocks.core_period_s,
            "link_clock_hz": self.bench.link_clock_hz,
            "completion_queues": [(pair.number, pair.completion_range) for pair in self.stream.queue_pairs],
            "destinations": [(pair.number, pair.remote_qpn) for pair in self.stream.queue_pairs],
            "recoveries": [asdict(entry) for entry in self.recoverer.recoveries] if self.recoverer else [],
            "switches": [asdict(switch) for switch in self.switches],
            "completions": self.stream.completion_log,
            "injections": [
                {**asdict(injection), "action": str(injection.action), "direction": str(injection.direction)}
                for injection in self.lockstep.link.injections
            ],
            "violations": [str(violation) for violation in self.lockstep.checker.violations],
            "discrepancies": [asdict(entry) for entry in self.lockstep.discrepancies],
            "replies": dict(self.lockstep.replies),
            "other_frames": self.lockstep.other_frames,
            "frames_out": self.cable.frames_out,
            "frames_in": self.cable.frames_in,
            "wall": self._wall,
        }
        self.monitor.end(counters)
        partial = self.plan.result_path.with_suffix(".partial")
        partial.write_text(json.dumps(result))
        partial.rename(self.plan.result_path)


async def report_progress(session: Session) -> None:
    """Append a line to the progress file from time to time (wall time), for whoever watches."""
    last = 0.0
    with session.plan.progress_path.open("a", buffering=1) as file:
        while True:
            await Timer(2, "us")
            now = time.perf_counter()
            if now - last < PROGRESS_SECONDS:
                continue
            last = now
            stream = session.stream
            entry = {
                "time_us": int(get_sim_time("ns")) / 1000,
                "cycle": session.bench.clocks.now,
                "shots": len(session.shots.shots),
                "frames": stream.statistics.frames_completed if stream else 0,
                "packets": session.cable.frames_out if session.cable else 0,
            }
            file.write(json.dumps(entry) + "\n")


@cocotb.test()
async def stream(dut: Any) -> None:
    """Run the plan that the environment names."""
    tie()
    plan = Plan.load(Path(os.environ[VARIABLE]))
    await Timer(1, "step")  # the bench's memories exist from the first instant on, not before it
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.")
    session: Session | None = None
    try:
        session = Session(dut, plan)
        cocotb.start_soon(report_progress(session))
        cocotb.start_soon(session.monitor.watch())
        await session.run()
    except BaseException as error:
        cause = (session.failure if session else None) or error
        Failure.of(cause, int(get_sim_time("ns"))).store(plan.failure_path)
        raise
    finally:
        if session is not None:
            session.close()
