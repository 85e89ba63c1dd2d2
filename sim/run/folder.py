"""The folder that a run writes into: one run at a time, cleared of an earlier run, and of nothing else."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from sim.run.narrator import shown

LOCK = ".echobench-run"
"""Lock, and mark of a folder that belongs to runs."""


class FolderRefused(RuntimeError):
    """The folder cannot be used; the text says why and what to do."""


@contextlib.contextmanager
def claim(directory: Path, home: Path) -> Iterator[None]:
    """Hold ``directory`` for one run, made if need be, and emptied if an earlier run made it.

    Raises :class:`FolderRefused` if another run holds it, if it cannot be written, or if it has files and neither lies
    in ``home`` nor carries the mark of an earlier run: those files are somebody's.
    """
    lock = FileLock(directory / LOCK, timeout=0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        ours = directory.is_relative_to(home) or (directory / LOCK).exists()
        if not ours and any(directory.iterdir()):
            raise FolderRefused(
                f"{shown(directory)} holds files that no run made, and a run would remove them; "
                "name another folder with --output"
            )
        lock.acquire()
        _clear(directory)
    except Timeout as error:
        raise FolderRefused(
            f"another run is at work in {shown(directory)}; "
            "wait for it, or give this one a folder of its own with --output"
        ) from error
    except OSError as error:
        raise FolderRefused(f"cannot use {shown(directory)} for a run: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def _clear(directory: Path) -> None:
    for path in directory.iterdir():
        if path.name == LOCK:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
