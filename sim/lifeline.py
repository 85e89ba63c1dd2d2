"""Ties a process to the one that started it: however that ends, nothing of this one is left."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

OWNER = "ECHOBENCH_OWNER"
"""Environment variable with the number of the process that started this one."""
_PR_SET_PDEATHSIG = 1


def owned() -> dict[str, str]:
    """Return the environment, beside the rest, of a process that is to be tied to this one."""
    return {OWNER: str(os.getpid())}


def tie() -> None:
    """End this process when the one that started it ends; at once if that has happened already.

    To be called by a process whose starter gave it :func:`owned`; without that, only from now on.
    """
    _follow(signal.SIGKILL)


def tie_group() -> None:
    """Likewise, with all that this process, the leader of its group, has started in the group.

    What it starts from now on is its own: it may call :func:`tie`.
    """

    def end(*_: Any) -> None:
        os.killpg(os.getpgid(0), signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    _follow(signal.SIGTERM)
    os.environ.update(owned())


def _follow(end: signal.Signals) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, end)
    owner = os.environ.get(OWNER)
    if owner is not None and os.getppid() != int(owner):  # it went before it could be followed
        os.kill(os.getpid(), end)
