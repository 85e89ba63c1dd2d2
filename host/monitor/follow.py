"""Snapshots out of a file that somebody is writing, or will write."""

from __future__ import annotations

import io
import os
from pathlib import Path

from host.monitor.snapshot import FILE, Snapshot, SnapshotError

LOOK_SECONDS = 0.1


def file_of(path: Path) -> Path:
    """Return the file that is meant: that of a run, if ``path`` is a run's folder or has no suffix."""
    return path if path.suffix and not path.is_dir() else path / FILE


class Follower:
    """Reads what has been added since it last looked; takes a file that was replaced for what it is. Never waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedReader | None = None
        self._rest = b""
        self.refused = ""
        """Why the last line that was refused was."""

    def look(self) -> list[Snapshot]:
        """Return the snapshots that are new, in order; none if there is no file."""
        found = self._read()
        if self._replaced():
            self.close()
            try:
                self._file = self._path.open("rb")
            except OSError:
                return found
            found += self._read()
        return found

    def _replaced(self) -> bool:
        if self._file is None:
            return True
        try:
            there, here = self._path.stat(), os.fstat(self._file.fileno())
        except OSError:
            return True
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)

    def _read(self) -> list[Snapshot]:
        if self._file is None:
            return []
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        found = []
        for line in lines:
            try:
                found.append(Snapshot.parse(line.decode(errors="replace")))
            except SnapshotError as error:
                self.refused = str(error)
        return found

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._rest = None, b""
