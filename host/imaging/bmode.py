"""From channel data to a B-mode image in decibels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from host.imaging.beamform import Path, delay_and_sum
from host.imaging.probe import Probe


@dataclass(frozen=True)
class BMode:
    """Image ``db`` float32 ``[depth, lateral]``, 0 dB at its brightest pixel, clipped at ``-dynamic_range_db``.

    Axes in millimetres.
    """

    db: NDArray[np.float32]
    depth_mm: NDArray[np.float64]
    lateral_mm: NDArray[np.float64]
    dynamic_range_db: float
    path: Path


def envelope(rf: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the magnitude of the analytic signal along axis 0, same shape as ``rf``."""
    length = rf.shape[0]
    padded = fft.next_fast_len(length)
    spectrum = fft.fft(rf, padded, axis=0)
    spectrum[1 : (padded + 1) // 2] *= 2
    spectrum[padded // 2 + 1 :] = 0
    magnitude: NDArray[np.float32] = np.abs(fft.ifft(spectrum, axis=0, overwrite_x=True)[:length])
    return magnitude


def log_compress(magnitude: NDArray[np.float32], dynamic_range_db: float) -> NDArray[np.float32]:
    """Return decibels below the largest value, clipped at ``-dynamic_range_db``; zeros give the floor everywhere."""
    peak = float(magnitude.max(initial=0.0))
    if peak <= 0:
        return np.full(magnitude.shape, -dynamic_range_db, np.float32)
    with np.errstate(divide="ignore"):
        decibels = 20 * np.log10(magnitude / peak)
    clipped: NDArray[np.float32] = np.maximum(decibels, -dynamic_range_db).astype(np.float32, copy=False)
    return clipped


def bmode(
    samples: NDArray[np.int16],
    probe: Probe,
    sample_rate_hz: float,
    *,
    path: Path = Path.PLANE_WAVE,
    first_sample_s: float = 0.0,
    f_number: float = 1.5,
    dynamic_range_db: float = 60.0,
) -> BMode:
    """Make an image of one shot, ``samples`` int16 ``[sample, channel]``.

    The other parameters are those of :func:`~host.imaging.beamform.delay_and_sum`.
    """
    lines = delay_and_sum(samples, probe, sample_rate_hz, path=path, first_sample_s=first_sample_s, f_number=f_number)
    decibels = log_compress(envelope(lines.rf), dynamic_range_db)
    return BMode(decibels, lines.depth_m * 1e3, lines.lateral_m * 1e3, dynamic_range_db, path)
