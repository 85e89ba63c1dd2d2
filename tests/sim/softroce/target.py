"""The far end of the cases, in the receiver's place on the peer's machine: memory with a pattern, queue pairs, answers.

A parent keeps the control channel and forks the process that owns all verbs objects, so that this one can be killed
and another started. Each request is a JSON object with a ``do``, each gets one answer; ``error`` in it says what
failed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import platform
import signal
import socket
import sys
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE
from pyverbs.mr import MR

from host.exchange import ExchangeClosed, SocketStream
from host.receive.connection import COMPLETION_DEPTH, RECEIVE_DEPTH, Connection
from host.receive.control_stream import listen, wait_for_control, write_status
from host.receive.device import Device
from host.receive.pool import MemoryPool
from sim.programs.messages import Lines
from tests.sim.softroce.memory import GUARD_BYTES, OPEN_BYTES, POOL_BYTES, Offer

PATTERN_SEED = 0xCA11A21
LIMIT_SECONDS = 30.0


class Target:
    """All verbs objects of one process."""

    def __init__(self, device: str, ip: str) -> None:
        self._device = Device(device, ip)
        self._pool = MemoryPool(1, POOL_BYTES)
        self._memory = self._pool.array(0)
        self._pattern = np.random.default_rng(PATTERN_SEED).integers(0, 256, POOL_BYTES, np.uint8)
        self._memory[:] = self._pattern
        writes, reads = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ
        base = self._pool.address + GUARD_BYTES
        read_only = base + OPEN_BYTES + GUARD_BYTES
        self._open = MR(self._device.domain, OPEN_BYTES, writes, address=base)
        self._read_only = MR(self._device.domain, GUARD_BYTES, reads, address=read_only)
        self.offer = Offer(base, OPEN_BYTES, self._open.rkey, read_only, self._read_only.rkey)
        self._connection: Connection | None = None
        self._before = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for."""
        what = request.pop("do")
        found: dict[str, Any] = getattr(self, f"_{what}")(**request)
        return found

    def _connect(self, transport: str, **settings: Any) -> dict[str, Any]:
        """Make a queue pair and connect it, ``settings`` are those of :meth:`Connection.connect`."""
        self._connection = Connection(self._device, transport, RECEIVE_DEPTH, COMPLETION_DEPTH)
        self._connection.connect(**settings)
        self._before = self._device.counters()["rcvd_pkts"]
        return {"qpn": self._connection.qpn}

    def _reset(self, psn: int, receives: int) -> dict[str, Any]:
        assert self._connection is not None
        self._connection.reset(psn, receives)
        return {}

    def _grant(self, receives: int) -> dict[str, Any]:
        assert self._connection is not None
        self._connection.grant(receives)
        return {}

    def _report(self, packets: int) -> dict[str, Any]:
        """Wait until the device has taken ``packets`` since the connection; tell what has arrived since last time."""
        assert self._connection is not None
        deadline = time.monotonic() + LIMIT_SECONDS
        while (taken := self._device.counters()["rcvd_pkts"] - self._before) < packets and time.monotonic() < deadline:
            time.sleep(0.002)
        arrivals = self._connection.poll()
        for _ in arrivals:
            self._connection.repost()
        return {
            "packets": taken,
            "arrivals": [[arrival.immediate, arrival.length] for arrival in arrivals],
            "in_error": self._connection.in_error_state(),
        }

    def _inspect(self, written: list[tuple[int, int, int]]) -> dict[str, Any]:
        """Compare all memory: ``written`` are offset, length and CRC-32; all else must be as it was. It is again after.

        The offsets count from where memory is open to writes.
        """
        wrong = []
        for index, (offset, length, crc) in enumerate(written):
            place = slice(GUARD_BYTES + offset, GUARD_BYTES + offset + length)
            if zlib.crc32(self._memory[place]) != crc:
                wrong.append(index)
            self._memory[place] = self._pattern[place]
        touched = np.flatnonzero(self._memory != self._pattern)
        self._memory[touched] = self._pattern[touched]
        return {"wrong": wrong, "touched": [int(offset) - GUARD_BYTES for offset in touched[:8]]}

    def _close(self) -> dict[str, Any]:
        assert self._connection is not None
        self._connection.close()
        self._connection = None
        return {}


class Family:
    """The parent: starts the process that owns the verbs objects, passes requests on, kills it."""

    def __init__(self, device: str, ip: str) -> None:
        self._device, self._ip = device, ip
        self._child = 0
        self._lines: Lines | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for, here or there."""
        if request["do"] == "start":
            return self._start()
        if request["do"] == "kill":
            return self.kill()
        assert self._lines is not None
        answer = None
        with contextlib.suppress(ExchangeClosed):
            self._lines.send(request)
            answer = self._lines.receive(2 * LIMIT_SECONDS)
        return {"error": f"the target's process does not answer: {self.kill()}"} if answer is None else answer

    def _start(self) -> dict[str, Any]:
        here, there = socket.socketpair()
        self._child = os.fork()
        if self._child == 0:
            here.close()
            os._exit(_serve(Lines(SocketStream(there)), self._device, self._ip))
        there.close()
        self._lines = Lines(SocketStream(here))
        return self._lines.receive(2 * LIMIT_SECONDS) or {"error": "the target did not start"}

    def kill(self) -> dict[str, Any]:
        """End the process without a word to it; tell how it ended."""
        if not self._child:
            return {"ended": None}
        os.kill(self._child, signal.SIGKILL)
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return {"ended": os.waitstatus_to_exitcode(status)}


def _serve(lines: Lines, device: str, ip: str) -> int:
    """Be the process that owns the verbs objects."""
    faulthandler.enable()  # verbs objects that are used when they are closed end the interpreter
    target = Target(device, ip)
    lines.send(asdict(target.offer))
    while (request := lines.receive(3600.0)) is not None:
        try:
            answer = target.answer(request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        lines.send(answer)
    return 0


def main() -> int:
    """Say that all is ready, wait for the simulator, serve it until it goes away."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.softroce.target", description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--ip", required=True)
    parser.add_argument("--pmtu", type=int, required=True)
    parser.add_argument("--control", required=True, help="port:NAME of a virtio serial port, or unix:PATH to listen on")
    parser.add_argument("--status", type=Path, required=True)
    options = parser.parse_args()
    device = Device(options.device, options.ip)
    device.check_path_mtu(options.pmtu)
    port = device.port
    device.close()
    listener = listen(options.control)
    status = {"kernel": platform.release(), "device": options.device, "ip": port.ip, "mac": port.mac, "gid": port.gid}
    write_status(options.status, {**status, "pmtu": options.pmtu, "huge_pages": False})
    lines = Lines(wait_for_control(listener))
    family = Family(options.device, options.ip)
    while (request := lines.receive(3600.0)) is not None:
        lines.send(family.answer(request))
    family.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
