"""Samples from a file: ``.npy``, or ``.h5`` as any tool or this project's recorder writes it. Read a shot at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from sim.adc.sources.base import ShotSource, SourceError

_WANTED = "int16 of shape [shot, sample, channel]"


class Recorded(ShotSource):
    """The first ``shots`` shots of ``path``. Raises :class:`SourceError` if it cannot be read or does not fit."""

    def __init__(self, path: Path, shots: int, samples: int, channels: int) -> None:
        super().__init__(shots, samples, channels)
        self._file: h5py.File | None = None
        if not path.is_file():
            raise SourceError(f"source file {path} does not exist")
        try:
            self._data = self._open(path)
            self._check(path)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path) -> Any:
        if path.suffix == ".npy":
            try:
                return np.load(path, mmap_mode="r", allow_pickle=False)
            except (ValueError, OSError) as error:
                raise SourceError(f"source file {path} is no .npy array without pickles: {error}") from error
        if path.suffix not in (".h5", ".hdf5"):
            raise SourceError(f"source file {path}: the suffix must be .npy, .h5 or .hdf5")
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise SourceError(f"source file {path} is no HDF5 file: {error}") from error
        found: list[h5py.Dataset] = []
        self._file.visititems(lambda _, item: found.append(item) if isinstance(item, h5py.Dataset) else None)
        named = [item for item in found if item.name.rsplit("/", 1)[-1] == "raw_data"] or found
        if len(named) != 1:
            names = ", ".join(sorted(item.name for item in named)) or "none"
            raise SourceError(f"source file {path} must hold one dataset, or one called raw_data; it holds {names}")
        return named[0]

    def _check(self, path: Path) -> None:
        shape, dtype = self._data.shape, self._data.dtype
        if dtype.kind != "i" or dtype.itemsize != 2:
            raise SourceError(f"source file {path} holds {dtype}; it must be {_WANTED}")
        # Our own recordings are [frame, transmit, sample, channel, component], with one transmit and one component.
        self._recording = len(shape) == 5 and shape[1] == 1 and shape[4] == 1
        if self._recording:
            shape = (shape[0], shape[2], shape[3])
        if len(shape) != 3:
            raise SourceError(f"source file {path} has shape {shape}; it must be {_WANTED}")
        if shape[1:] != (self.samples, self.channels):
            raise SourceError(
                f"source file {path} has {shape[1]} samples x {shape[2]} channels a shot; "
                f"the scenario asks for {self.samples} x {self.channels}"
            )
        if shape[0] < self.shots:
            raise SourceError(f"source file {path} holds {shape[0]} shots; the scenario asks for {self.shots}")

    def _make(self, index: int) -> NDArray[np.int16]:
        data = self._data[index, 0, :, :, 0] if self._recording else self._data[index]
        return np.array(data, dtype=np.int16, order="C")

    def close(self) -> None:
        """Close the file."""
        self._data = None
        if self._file is not None:
            self._file.close()
            self._file = None
