"""The programs that can be run, and what the engine does with each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GID_INDEX = "{gid_index}"
"""Stands for the index of the port's IPv4 GID."""


@dataclass(frozen=True)
class Program:
    """A server from a Debian package, started in the peer's machine. The engine is its client."""

    name: str
    command: tuple[str, ...]
    conversation: Literal["write", "pingpong", "rping"]
    transport: Literal["RC", "UC", "UD"]
    package: str
    message_bytes: int
    messages: int
    port: int | None = 18515
    """TCP port that tells that it listens; ``None``: it listens at the communication manager, and has none."""


def _perftest(transport: Literal["RC", "UC"], size: int, count: int) -> Program:
    command = ("ib_write_bw", "-d", "{device}", "-x", GID_INDEX, "-F", "-m", "4096", "-s", str(size), "-n", str(count))
    return Program(
        f"ib_write_bw_{transport.lower()}", (*command, "-c", transport), "write", transport, "perftest", size, count
    )


def _pingpong(transport: Literal["RC", "UC", "UD"], size: int, count: int) -> Program:
    name = f"ibv_{transport.lower()}_pingpong"
    path_mtu = () if transport == "UD" else ("-m", "4096")
    command = (name, "-d", "{device}", "-g", GID_INDEX, *path_mtu, "-s", str(size), "-n", str(count), "-c")
    return Program(name, command, "pingpong", transport, "ibverbs-utils", size, count)


PROGRAMS = {
    program.name: program
    for program in (
        _perftest("RC", 65536, 20),
        _perftest("UC", 65536, 20),
        _pingpong("RC", 16384, 10),
        _pingpong("UC", 16384, 10),
        _pingpong("UD", 2048, 10),
        Program("rping", ("rping", "-s", "-v", "-a", "{ip}"), "rping", "RC", "rdmacm-utils", 64, 10, None),
    )
}
