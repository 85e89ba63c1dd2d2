"""Write frames to HDF5 as they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from host.frame_layout import HIGH_WATER_UNIT, MODE_PHOTOACOUSTIC, MODE_ULTRASOUND
from host.imaging.probe import Probe
from host.storage.layout import LAYOUT, LAYOUT_VERSION, TABLE, raw_data_path, scan_path, split_timestamp

_TABLE_CHUNK = 256
_LABELS = {MODE_ULTRASOUND: "ultrasound", MODE_PHOTOACOUSTIC: "photoacoustic"}


@dataclass(frozen=True)
class _TrackKey:
    """Frames that agree in all of these share a track."""

    mode: int
    samples: int
    channels: int
    sample_rate: int


class FrameWriter:
    """``frames.h5`` under construction; a context manager.

    ``probe`` describes the array; a track with another number of channels gets the same array with that many
    elements. ``first_sample_s`` is the time of sample 0 after the transmit (or laser) event, by mode id, else zero.
    Memory holds no frame. With ``flush`` each frame is in the file when :meth:`append` returns, so that all of them
    can be read though the program be killed later; the capture log is what survives a kill at any instant.
    """

    def __init__(
        self,
        path: Path,
        probe: Probe,
        *,
        first_sample_s: Mapping[int, float] = MappingProxyType({}),
        description: str = "",
        flush: bool = True,
    ) -> None:
        self._probe = probe
        self._first_sample_s = first_sample_s
        self._flush = flush
        self._tracks: dict[_TrackKey, tuple[int, h5py.Dataset]] = {}
        self._file = h5py.File(path, "w")
        self._file.attrs["layout"] = LAYOUT
        self._file.attrs["layout_version"] = LAYOUT_VERSION
        self._file.attrs["probe_name"] = probe.name
        self._file.attrs["us_machine"] = "EchoBench"
        self._file.attrs["description"] = description
        group = self._file.create_group("probe")
        group["probe_geometry"] = _geometry(probe)
        for name, value in (("pitch", probe.pitch_m), ("center_frequency", probe.centre_frequency_hz)):
            group[name] = np.float32(value)
        self._table = self._file.create_dataset("frames", (0,), TABLE, maxshape=(None,), chunks=(_TABLE_CHUNK,))
        self._schedule = self._file.create_dataset(
            "track_schedule", (0,), np.int32, maxshape=(None,), chunks=(_TABLE_CHUNK,)
        )

    def __len__(self) -> int:
        return int(self._table.shape[0])

    def append(self, samples: NDArray[np.int16], header: Any, trailer: Any, *, crc_ok: bool) -> None:
        """Append one frame: ``samples`` ``[sample, channel]``, and records of :mod:`host.frame_layout`.

        ``trailer`` may be ``None`` if the frame has none that can be trusted. Raises ``ValueError`` if samples and
        header disagree in shape or the samples are not int16.
        """
        shape = (int(header["samples"]), int(header["channels"]))
        if samples.dtype != np.int16 or samples.shape != shape:
            raise ValueError(f"header says int16 {shape}, the samples are {samples.dtype} {samples.shape}")
        key = _TrackKey(int(header["mode"]), *shape, int(header["sample_rate"]))
        if key not in self._tracks:
            self._tracks[key] = self._add_track(key)
        track, data = self._tracks[key]
        index = data.shape[0]
        data.resize(index + 1, axis=0)
        data[index, 0, :, :, 0] = samples
        row = self._table.shape[0]
        for dataset, value in ((self._schedule, track), (self._table, _row(track, index, header, trailer, crc_ok))):
            dataset.resize(row + 1, axis=0)
            dataset[row] = value
        if self._flush:
            self._file.flush()

    def _add_track(self, key: _TrackKey) -> tuple[int, h5py.Dataset]:
        number = len(self._tracks)
        shape = (1, key.samples, key.channels, 1)
        data = self._file.create_dataset(
            raw_data_path(number), (0, *shape), np.int16, maxshape=(None, *shape), chunks=(1, *shape)
        )
        base = _LABELS.get(key.mode, f"mode {key.mode}")
        others = sum(other.mode == key.mode for other in self._tracks)
        self._file[f"tracks/track_{number}/label"] = base if others == 0 else f"{base} {others + 1}"
        scan = self._file.create_group(scan_path(number))
        first_sample_s = self._first_sample_s.get(key.mode, 0.0)
        for name, value in _scan(key, replace(self._probe, elements=key.channels), first_sample_s).items():
            scan[name] = np.asarray(value, np.float32)
        scan.attrs["mode"] = key.mode
        return number, data

    def close(self) -> None:
        """Finish the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _geometry(probe: Probe) -> NDArray[np.float32]:
    """Return element positions ``[element, (x, y, z)]`` in metres."""
    positions = np.zeros((probe.elements, 3), np.float32)
    positions[:, 0] = probe.element_x_m
    return positions


def _scan(key: _TrackKey, probe: Probe, first_sample_s: float) -> dict[str, Any]:
    """Return zea's scan parameters of one 0-degree plane wave, or of a laser pulse: no element transmits."""
    fired = 0.0 if key.mode == MODE_PHOTOACOUSTIC else 1.0
    return {
        "probe_geometry": _geometry(probe),
        "sampling_frequency": key.sample_rate * 10_000.0,
        "center_frequency": probe.centre_frequency_hz,
        "demodulation_frequency": probe.centre_frequency_hz,
        "sound_speed": probe.sound_speed_m_s,
        "initial_times": [first_sample_s],
        "t0_delays": np.zeros((1, key.channels)),
        "tx_apodizations": np.full((1, key.channels), fired),
        "focus_distances": [np.inf],
        "transmit_origins": np.zeros((1, 3)),
        "polar_angles": [0.0],
        "azimuth_angles": [0.0],
    }


def _row(track: int, index: int, header: Any, trailer: Any, crc_ok: bool) -> NDArray[np.void]:
    row = np.zeros((), TABLE)
    row["track"], row["index"], row["crc_ok"] = track, index, crc_ok
    for name in ("sequence", "shot", "mode", "configuration", "dropped_before", "flags"):
        row[name] = header[name]
    row["timestamp_s"], row["timestamp_ns"] = split_timestamp(int(header["timestamp"]))
    row["trigger_tick"], row["trigger_fraction"] = divmod(int(header["trigger"]), 256)
    row["ring_high_water_bytes"] = int(header["ring_high_water"]) * HIGH_WATER_UNIT
    if trailer is not None:
        row["end_timestamp_s"], row["end_timestamp_ns"] = split_timestamp(int(trailer["timestamp"]))
        row["link_errors"], row["error_lanes"] = trailer["link_errors"], trailer["error_lanes"]
    return row
