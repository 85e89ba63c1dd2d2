"""Runs in the receiver's place on the peer: starts programs one after the other, and carries their TCP port.

From the simulator: ``{"run": [command, ...], "port": 18515}`` (``null``: it has none), then ``{"data": hex}`` for the
port, ``{"peek": [address, octets]}`` for the program's memory, and ``{"end": seconds}``: wait so long for the program
to end, then end it. To the simulator: ``{"started": id}`` when the port answers (0: it does not), ``{"data": hex}``,
``{"peeked": hex}``, ``{"exit": code, "output": text}``.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from host.receive.control_stream import listen, wait_for_control, write_status
from host.receive.device import Device, DeviceError
from sim.programs.messages import Lines

START_SECONDS = 60.0


class Program:
    """A program that listens on a TCP port, and the connection to it; or one that says when it listens otherwise."""

    def __init__(self, command: list[str], port: int | None) -> None:
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
        # By way of `env`, which tells of a program that cannot be started as programs do: by exit code and message.
        self._process = subprocess.Popen(
            ["/usr/bin/env", *command], stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT
        )
        self.connection: socket.socket | None = None
        deadline = time.monotonic() + START_SECONDS
        while (
            port is not None
            and self.connection is None
            and self._process.poll() is None
            and time.monotonic() < deadline
        ):
            try:
                self.connection = socket.create_connection(("127.0.0.1", port), 1.0)
            except OSError:
                time.sleep(0.05)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """It runs."""
        return self._process.poll() is None

    def send(self, data: bytes) -> None:
        """Write to its connection, if it still has one."""
        if self.connection is not None:
            with contextlib.suppress(ConnectionError):
                self.connection.sendall(data)

    def receive(self) -> bytes:
        """Return what it has written; nothing at its end, after which it has no connection."""
        assert self.connection is not None
        try:
            data = self.connection.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.connection.close()
            self.connection = None
        return data

    def peek(self, address: int, count: int) -> bytes:
        """Return octets of its memory; nothing if they are not there."""
        try:
            with Path(f"/proc/{self.pid}/mem").open("rb", buffering=0) as memory:
                memory.seek(address)
                return memory.read(count)
        except OSError:
            return b""

    def end(self, seconds: float) -> dict[str, Any]:
        """Wait for its end, or bring it about; return exit code and output."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.seek(0)
        text = self._output.read().decode(errors="replace")
        self._output.close()
        return {"exit": self._process.returncode, "output": text}


def relay(lines: Lines, gid_index: int) -> None:
    """Serve until the simulator goes away."""
    program: Program | None = None
    while not lines.closed:
        watched = [lines.fileno()]
        if program is not None and program.connection is not None:
            watched.append(program.connection.fileno())
        ready, _, _ = select.select(watched, [], [], 1.0)
        for message in lines.take():
            if "run" in message:
                command = [gid_index_in(word, gid_index) for word in message["run"]]
                program = Program(command, message["port"])
                started = program.connection is not None or (message["port"] is None and program.alive)
                lines.send({"started": program.pid if started else 0})
            elif program is None:
                continue
            elif "data" in message:
                program.send(bytes.fromhex(message["data"]))
            elif "peek" in message:
                lines.send({"peeked": program.peek(*message["peek"]).hex()})
            elif "end" in message:
                lines.send(program.end(message["end"]))
                program = None
        if program is not None and program.connection is not None and program.connection.fileno() in ready:
            lines.send({"data": program.receive().hex()})
    if program is not None:
        program.end(0.0)


def gid_index_in(word: str, index: int) -> str:
    """Fill in the index of the port's IPv4 GID."""
    return word.replace("{gid_index}", str(index))


def main() -> int:
    """Say that all is ready, wait for the simulator, relay."""
    parser = argparse.ArgumentParser(prog="python -m sim.programs.relay", description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--ip", required=True)
    parser.add_argument("--pmtu", type=int, required=True)
    parser.add_argument("--control", required=True, help="port:NAME of a virtio serial port, or unix:PATH to listen on")
    parser.add_argument("--status", type=Path, required=True)
    options = parser.parse_args()
    try:
        device = Device(options.device, options.ip)
        device.check_path_mtu(options.pmtu)
    except DeviceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    port = device.port
    device.close()
    status = {
        "kernel": platform.release(),
        "device": options.device,
        "ip": port.ip,
        "mac": port.mac,
        "gid": port.gid,
        "pmtu": options.pmtu,
        "huge_pages": False,
    }
    listener = listen(options.control)
    write_status(options.status, status)
    stream = wait_for_control(listener)
    relay(Lines(stream), port.gid_index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
