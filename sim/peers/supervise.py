"""Keeps a process no longer than its owner: ends it and cleans up when the owner ends, however it ends.

``python -S -m sim.peers.supervise --owner PID --directory DIR [--lock FD] [--at-end COMMAND]... -- COMMAND...``: run
COMMAND as a process group of its own; when it ends, when the owner ends, or on SIGTERM, end the group, run each
``--at-end`` command (a JSON list), remove DIR, and exit with the command's code. The command dies with this process
too, even if this one is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_GRACE_SECONDS = 2.0
EXIT_OWNER_GONE = 90


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


_LIBC = ctypes.CDLL(None)  # loaded before any fork


def supervise(owner: int, command: list[str]) -> int:
    """Run ``command`` until it or the owner ends, or a signal comes.

    Return its exit code, 128 + signal if it was killed.
    """
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the wake-up descriptor tells
    try:
        owner_descriptor = os.pidfd_open(owner)
    except ProcessLookupError:
        return EXIT_OWNER_GONE
    if os.getppid() != owner:
        return EXIT_OWNER_GONE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent, process_group=0) as child:  # noqa: PLW1509
        child_descriptor = os.pidfd_open(child.pid)
        poller = select.poll()
        for descriptor in (owner_descriptor, child_descriptor, wake_read):
            poller.register(descriptor, select.POLLIN)
        poller.poll()
        by_itself = child.poll() is not None
        _end(child)
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if by_itself and code:
            print(f"{Path(command[0]).name} ended with exit code {code}", file=sys.stderr, flush=True)
        return code


def _end(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_SECONDS)


def main() -> int:
    """Parse the command line, supervise, clean up."""
    parser = argparse.ArgumentParser(prog="python -m sim.peers.supervise", description=__doc__)
    parser.add_argument("--owner", type=int, required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--lock", type=int, help="descriptor of a lock to hold; held by being open")
    parser.add_argument("--at-end", action="append", default=[], type=json.loads)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    try:
        return supervise(arguments.owner, arguments.command)
    finally:
        for command in arguments.at_end:
            subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        shutil.rmtree(arguments.directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
