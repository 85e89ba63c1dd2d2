"""Programs one after the other against the engine, inside the simulator. A cocotb test module.

The cable is not in lockstep: when a program sends is its own affair, so frames are handed over as they come, and runs
differ in simulated time.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from host.control.cm.active import Accepted, ActiveConnection, Refused, Silent
from host.control.cm.manager import ConnectionManager
from host.control.cm.messages import NOBODY_LISTENS, Request
from host.control.engine import Engine, Identity, QueueMemory, QueuePair, QueueSettings
from host.control.memory_region import Access, MemoryRegion, register
from host.control.receive_queue import DATAGRAM_HEADER_BYTES, ReceiveQueue
from host.control.work_queue import ENTRY_DATA_BYTES, Opcode, WorkRequest
from host.programs import perftest, pingpong, rping
from host.programs.channel import ChannelError
from host.programs.end import End
from sim.bench.bench import Bench
from sim.lifeline import tie
from sim.link.link import Direction
from sim.link.pcap import Capture
from sim.peers.lifecycle import ControlAddress, WireAddress, open_wire
from sim.programs.catalogue import PROGRAMS, Program
from sim.programs.peer import RemoteProgram, open_relay
from sim.session.platform import SimulatedPlatform

VARIABLE = "ECHOBENCH_PROGRAMS"
"""Environment variable that names the plan's file."""
OUTCOMES, PROGRESS, FAILURE = "outcomes.json", "progress.jsonl", "failure.txt"
NUMBER = 2
SQ_DEPTH, RQ_DEPTH = 64, 16
PATH_MTU = 4096
ACKNOWLEDGE_EVERY = 8
QUEUES, MANAGEMENT, ELEMENTS, INDEX, PAYLOAD = 0x0, 0x8_0000, 0x10_0000, 0x18_0000, 0x20_0000
"""Places in the processing system's memory."""
ELEMENT_BYTES = 32768
POLL_CYCLES = 300
IDLE_WALL_SECONDS = 0.002
LIMIT_POLLS = 20_000
PEEKS = 200
END_SECONDS = 30.0
DOMAIN = 7
GUID = 0x02EB_00FF_FE00_0001
"""Of the engine, towards the communication manager."""
CM_TIME_OUT_US, CM_PAUSE_US, CM_ATTEMPTS = 20_000.0, 50.0, 100
PAGE_BYTES = 4096
_TIME_OUT_CODE, _RETRIES = 12, 7


@dataclass(frozen=True)
class Outcome:
    """What became of a program."""

    name: str
    exit_code: int | None
    data_right: bool
    messages: int
    simulated_us: float
    problem: str
    output: str

    @property
    def passed(self) -> bool:
        """It ended well, and every octet was right."""
        return self.exit_code == 0 and self.data_right and not self.problem


class ProgramFailed(RuntimeError):
    """The engine or the program did not do what was due."""


class _Cable:
    """Frames to the peer at once, frames from it as they come; in no relation to simulated time."""

    def __init__(self, bench: Bench, wire: Any, capture: Capture) -> None:
        self._bench = bench
        self._wire = wire
        self._capture = capture

    async def transmit(self) -> None:
        while True:
            await self._bench.mac.frame()
            for frame in self._bench.mac.take():
                self._capture.record(Direction.TX, frame.data, self._bench.clocks.time_of(frame.last_cycle))
                self._wire.send(frame.data)

    async def deliver(self) -> None:
        while True:
            await self._bench.clocks.wait_cycles(POLL_CYCLES)
            while (frame := self._wire.receive(IDLE_WALL_SECONDS)) is not None:
                now = self._bench.clocks.now
                self._capture.record(Direction.RX, frame, self._bench.clocks.time_of(now))
                self._bench.mac.inject(frame, now + 1)


class _Conversation:
    """One program and one queue pair of the engine."""

    def __init__(self, session: ProgramSession, program: Program, remote: RemoteProgram) -> None:
        self._session = session
        self._bench = session.bench
        self._program = program
        self._remote = remote
        random = np.random.default_rng((session.seed, *program.name.encode()))
        self._data = random.integers(0, 256, program.message_bytes * program.messages, np.uint8).reshape(
            program.messages, program.message_bytes
        )
        self._data[:, ::PAGE_BYTES] = 0  # what -c of the pingpong programs asks for
        if program.conversation == "rping":  # it sends back a text, with the zero that ends it
            self._data = self._data % 26 + ord("a")
            self._data[:, -1] = 0
        self._psn = int(random.integers(0, 1 << 24))
        base = self._bench.memory.base
        memory, _ = QueueMemory.place(base + QUEUES, SQ_DEPTH)
        self._receives = ReceiveQueue(
            session.platform,
            NUMBER,
            buffers=base + ELEMENTS,
            depth=RQ_DEPTH,
            element_bytes=ELEMENT_BYTES,
            index=base + INDEX,
        )
        self._pair = QueuePair(session.platform, NUMBER, memory, self._receives)
        self._payload = base + PAYLOAD

    async def hold(self) -> None:
        """Play the client of the program."""
        await {"write": self._write, "pingpong": self._pingpong, "rping": self._rping}[self._program.conversation]()

    async def _write(self) -> None:
        program = self._program
        client = perftest.PerftestClient(self._remote, PATH_MTU)
        local = End(NUMBER, self._psn, self._session.ip)
        other = client.open(local)
        await self._connect(other)
        for number, message in enumerate(self._data):
            await self._send(message, Opcode.WRITE, other.address, other.remote_key)
            await self._session.until(
                lambda message=message: self._remote.peek(other.address, len(message)) == message.tobytes(),
                f"WRITE {number + 1} in the program's memory",
                # A completion of RC is the program's word that all is there; of UC, only that all has left.
                polls=1 if program.transport == "RC" else PEEKS,
            )
        client.close(local, perftest.Figures(program.message_bytes, program.messages))

    async def _pingpong(self) -> None:
        other = pingpong.introduce(self._remote, End(NUMBER, self._psn, self._session.ip))
        await self._connect(other)
        skip = DATAGRAM_HEADER_BYTES if self._program.transport == "UD" else 0
        for number, message in enumerate(self._data):
            await self._send(message, Opcode.SEND)
            await self._session.until(lambda: self._receives.waiting, f"the program's answer {number + 1}")
            if await self._receives.take(len(message), skip=skip) != message.tobytes():
                raise ProgramFailed(f"answer {number + 1} of the program is not what was sent")

    async def _rping(self) -> None:
        """Connect by the communication manager, let it read each message from one place and write it to another."""
        session, size = self._session, self._program.message_bytes
        manager = ConnectionManager(session.platform, self._bench.memory.base + MANAGEMENT)
        peer = Identity(session.peer_mac, session.peer_ip)
        await manager.start(peer)
        request = Request(
            communication_id=self._psn | 1 << 24,
            transaction=self._psn,
            guid=GUID,
            qpn=NUMBER,
            receive_psn=self._psn,
            ip=session.ip,
            remote_ip=peer.ip,
            port=rping.PORT,
            pmtu=PATH_MTU,
        )
        connection, accepted = await self._established(manager, request)
        source, sink = self._payload + 2 * PAGE_BYTES, self._payload + 4 * PAGE_BYTES
        regions = [
            MemoryRegion(0, 0x5A, source, size, Access.READ, DOMAIN, source),
            MemoryRegion(1, 0xA5, sink, size, Access.WRITE, DOMAIN, sink),
        ]
        for region in regions:
            await register(session.platform, region)
        await self._connect(End(accepted.qpn, self._psn, peer.ip), start_psn=accepted.start_psn)
        for number, message in enumerate(self._data):
            self._bench.memory.write(source, message.tobytes())
            for region in regions:
                told = rping.buffer_message(region.virtual, region.remote_key, size)
                await self._send(np.frombuffer(told, np.uint8), Opcode.SEND)
                await session.until(lambda: self._receives.waiting, f"word {number + 1} that the program is done")
                await self._receives.take(rping.MESSAGE_OCTETS)
            if self._bench.memory.read(sink, size) != message.tobytes():
                raise ProgramFailed(f"message {number + 1} did not come back as the program had read it")
        await manager.leave(connection, CM_TIME_OUT_US)

    async def _established(self, manager: ConnectionManager, request: Request) -> tuple[ActiveConnection, Accepted]:
        """Connect to a program that may need a moment before it listens."""
        for _ in range(CM_ATTEMPTS):
            try:
                return await manager.establish(request, CM_TIME_OUT_US)
            except Refused as refusal:
                if refusal.reason != NOBODY_LISTENS:
                    raise
            request = replace(request, transaction=request.transaction + 2)
            await self._session.platform.pause(CM_PAUSE_US)
        raise ProgramFailed(f"nobody listens at port {request.port}, asked {CM_ATTEMPTS} times")

    async def _connect(self, other: End, start_psn: int | None = None) -> None:
        """Make the queue pair ready; ``start_psn`` is what it begins with, unless it chose that itself."""
        await self._pair.connect(
            QueueSettings(
                pmtu=PATH_MTU,
                sq_depth=SQ_DEPTH,
                start_psn=self._psn if start_psn is None else start_psn,
                remote=Identity(self._session.peer_mac, other.ip),
                remote_qpn=other.qpn,
                timeout=_TIME_OUT_CODE,
                retry_count=_RETRIES,
                transport=self._program.transport,
                receive_psn=other.psn,
                queue_key=pingpong.QUEUE_KEY if self._program.transport == "UD" else 0,
                protection_domain=DOMAIN,
            )
        )

    async def _send(self, message: np.ndarray, opcode: Opcode, address: int = 0, key: int = 0) -> None:
        data = message.tobytes()
        self._bench.memory.write(self._payload, data)
        inline = data if opcode is Opcode.SEND and len(data) <= ENTRY_DATA_BYTES else b""
        await self._pair.post([WorkRequest(1, opcode, self._payload, len(data), address, key, inline=inline)])
        for _ in range(LIMIT_POLLS):
            if completions := await self._pair.completions():
                if completions[0].error:
                    raise ProgramFailed(f"the engine's work request failed: {completions[0].reason}")
                return
            await self._bench.clocks.wait_cycles(POLL_CYCLES)
        raise ProgramFailed(f"the engine waits for the completion of a {opcode.name}: {await self._pair.status()}")


class ProgramSession:
    """Bench, cable and relay; one program after the other."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._directory = Path(plan["directory"])
        self.seed: int = plan["seed"]
        self.bench = Bench(dut)
        self.platform = SimulatedPlatform(self.bench, 0)
        self.ip = IPv4Address(plan["fpga_ip"])
        peer = Identity.parse(plan["peer_mac"], plan["peer_ip"])
        self.peer_mac, self.peer_ip = peer.mac, peer.ip

    async def run(self) -> list[Outcome]:
        """Bring the engine up and run all programs of the plan."""
        await self.bench.reset()
        local = Identity.parse(self._plan["fpga_mac"], self._plan["fpga_ip"])
        await Engine(self.platform).start(local, NUMBER, ACKNOWLEDGE_EVERY)
        remote = open_relay(ControlAddress(**self._plan["control"]))
        with (
            contextlib.closing(remote),
            open_wire(WireAddress(**self._plan["wire"])) as wire,
            Capture(self._directory / "link.pcapng") as capture,
        ):
            cable = _Cable(self.bench, wire, capture)
            tasks = [cocotb.start_soon(cable.transmit()), cocotb.start_soon(cable.deliver())]
            found = []
            for name in self._plan["programs"]:
                outcome = await self._one(PROGRAMS[name], remote)
                with (self._directory / PROGRESS).open("a") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
                found.append(outcome)
            for task in tasks:
                task.cancel()
        self.bench.mac.check()
        return found

    async def _one(self, program: Program, remote: RemoteProgram) -> Outcome:
        started = self.bench.clocks.now
        places = {"{device}": self._plan["device"], "{ip}": self._plan["peer_ip"]}
        command = [places.get(word, word) for word in program.command]
        problem, right = "", False
        if remote.start(command, program.port):
            try:
                await _Conversation(self, program, remote).hold()
                right = True
            except (ProgramFailed, ChannelError, Refused, Silent) as error:
                problem = str(error)
        else:
            problem = "it does not listen"
        ending = remote.end(END_SECONDS if right else 0.0)
        elapsed_fs = self.bench.clocks.time_of(self.bench.clocks.now) - self.bench.clocks.time_of(started)
        return Outcome(program.name, ending.code, right, program.messages, elapsed_fs * 1e-9, problem, ending.output)

    async def until(self, happened: Callable[[], bool], what: str, polls: int = LIMIT_POLLS) -> None:
        """Wait with a limit, and say for what."""
        for _ in range(polls):
            if happened():
                return
            await self.bench.clocks.wait_cycles(POLL_CYCLES)
        raise ProgramFailed(f"the engine waits for {what}")


@cocotb.test()
async def programs(dut: Any) -> None:
    """Run the plan; its outcomes are in ``outcomes.json``, or the reason why there are none in ``failure.txt``."""
    tie()
    plan = json.loads(Path(os.environ[VARIABLE]).read_text())
    directory = Path(plan["directory"])
    try:
        outcomes = await ProgramSession(dut, plan).run()
    except Exception as error:
        (directory / FAILURE).write_text(f"{type(error).__name__}: {error}")
        raise
    (directory / OUTCOMES).write_text(json.dumps([asdict(outcome) for outcome in outcomes]))
