"""A process of ours with a private directory for its sockets, both gone when this process is."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sim.peers.lifecycle import PeerError
from sim.sources import ROOT

_PREFIX = "echobench-peer-"
_LOCK = "lock"
_LONGEST_SOCKET_PATH = 107
_LONGEST_SOCKET_NAME = 16
_YOUNG_SECONDS = 60.0
_STOP_LIMIT_SECONDS = 8.0
_KILLED = 128
"""What a supervisor adds to the signal that ended its command."""


class PrivateDirectory:
    """A directory with a short path, locked while anybody uses it; leftovers of killed runs are removed on the way."""

    def __init__(self) -> None:
        base = _base()
        _remove_stale(base)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        self.lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go of the lock and remove the directory."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1
            shutil.rmtree(self.path, ignore_errors=True)


class GuardedProcess:
    """A command under ``sim.peers.supervise``.

    It ends, and its directory goes, when it is stopped or when this process ends, however that ends.
    """

    def __init__(self, directory: PrivateDirectory) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the supervisor, which lives as long as the command."""
        if self._process is None:
            raise RuntimeError("the process was not started")
        return self._process.pid

    def start(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        at_end: Sequence[Sequence[str]] = (),
    ) -> None:
        """Start the command; what it and its supervisor say is appended to ``log``."""
        supervisor = [sys.executable, "-S", "-m", "sim.peers.supervise", "--owner", str(os.getpid())]
        supervisor += ["--directory", str(self._directory.path), "--lock", str(self._directory.lock)]
        for cleanup in at_end:
            supervisor += ["--at-end", json.dumps(list(cleanup))]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*supervisor, "--", *command],
                cwd=ROOT,
                env=dict(os.environ if environment is None else environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # a Ctrl-C is the owner's to handle
                pass_fds=(self._directory.lock,),
            )

    def alive(self) -> bool:
        """Tell whether the command still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Return the command's exit code once it has ended."""
        return None if self._process is None else self._process.poll()

    def ending(self, within_seconds: float = 0.0) -> str | None:
        """Say in words how the command ended; None if it still runs ``within_seconds`` from now."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(within_seconds)
        code = self.exit_code
        if code is None:
            return None
        number = -code if code < 0 else code - _KILLED if code > _KILLED else 0
        try:
            return f"was killed by {signal.Signals(number).name}"
        except ValueError:
            return f"ended with exit code {code}"

    def stop(self) -> None:
        """End the command and remove its directory; may be called again."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()  # the command dies with its supervisor
                self._process.wait()
        self._directory.close()


def _base() -> Path:
    for candidate in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if candidate and os.access(candidate, os.W_OK):
            longest = len(candidate) + 1 + len(_PREFIX) + 8 + 1 + _LONGEST_SOCKET_NAME
            if longest <= _LONGEST_SOCKET_PATH:
                return Path(candidate)
    raise PeerError(
        f"no writable directory with a path short enough for sockets ({_LONGEST_SOCKET_PATH} characters in all)",
        "set TMPDIR to a directory with a short path",
    )


def _remove_stale(base: Path) -> None:
    for directory in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if directory.stat().st_uid == os.getuid() and not _in_use(directory):
                shutil.rmtree(directory, ignore_errors=True)


def _in_use(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - directory.stat().st_mtime < _YOUNG_SECONDS  # perhaps about to be locked
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
