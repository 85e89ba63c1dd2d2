"""Read ``frames.h5`` back, a frame at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from host.imaging.probe import Probe
from host.storage.layout import LAYOUT, LAYOUT_VERSION, raw_data_path, scan_path


class FrameFileError(ValueError):
    """The file is not one of ours, or one of a layout that this version does not read."""


@dataclass(frozen=True)
class Track:
    """What the frames of one track have in common."""

    number: int
    label: str
    mode: int
    frames: int
    samples: int
    channels: int
    sample_rate_hz: float
    first_sample_s: float
    probe: Probe


class FrameFile:
    """An open ``frames.h5``; a context manager.

    ``table`` holds a row a frame in order of arrival (:data:`~host.storage.layout.TABLE`), ``tracks`` what groups of
    frames share. Raises ``OSError`` if the file cannot be opened, :class:`FrameFileError` if it is none of ours.
    """

    def __init__(self, path: Path) -> None:
        self._file = h5py.File(path, "r")
        try:
            found = (self._file.attrs.get("layout"), int(self._file.attrs.get("layout_version", 0)))
            if found != (LAYOUT, LAYOUT_VERSION):
                raise FrameFileError(f"{path}: layout {found[0]} {found[1]}; this reads {LAYOUT} {LAYOUT_VERSION}")
            self.table: NDArray[np.void] = self._file["frames"][()]
            self.tracks = tuple(self._track(number) for number in range(len(self._file.get("tracks", ()))))
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self.table)

    def samples(self, frame: int) -> NDArray[np.int16]:
        """Return frame number ``frame`` in order of arrival as int16 ``[sample, channel]``.

        Raise ``IndexError`` past the end.
        """
        row = self.table[frame]
        data: NDArray[np.int16] = self._file[raw_data_path(row["track"])][row["index"], 0, :, :, 0]
        return data

    def track_of(self, frame: int) -> Track:
        """Return the track that frame number ``frame`` belongs to."""
        return self.tracks[int(self.table[frame]["track"])]

    def _track(self, number: int) -> Track:
        data = self._file[raw_data_path(number)]
        scan = self._file[scan_path(number)]
        x = scan["probe_geometry"][:, 0].astype(np.float64)
        pitch = float(np.mean(np.diff(x))) if x.size > 1 else float(self._file["probe/pitch"][()])
        probe = Probe(
            elements=x.size,
            pitch_m=pitch,
            centre_frequency_hz=_scalar(scan, "center_frequency"),
            sound_speed_m_s=_scalar(scan, "sound_speed"),
            name=str(self._file.attrs["probe_name"]),
        )
        return Track(
            number=number,
            label=self._file[f"tracks/track_{number}/label"].asstr()[()],
            mode=int(scan.attrs["mode"]),
            frames=int(np.count_nonzero(self.table["track"] == number)),
            samples=data.shape[2],
            channels=data.shape[3],
            sample_rate_hz=_scalar(scan, "sampling_frequency"),
            first_sample_s=float(scan["initial_times"][0]),
            probe=probe,
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _scalar(group: Any, name: str) -> float:
    return float(group[name][()])
