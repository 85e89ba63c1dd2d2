"""Delay and sum for a linear array, with one image line under each element.

On that grid the path from a pixel to an element depends only on depth and on how many elements lie between them. So the
sum runs over that distance, and each step adds whole rows of the sample-major data to the image: no index arrays the
size of pixels times elements, and memory is read in the order in which it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from host.imaging.probe import Probe

SHORTEST_IMAGE_SAMPLES = 2
"""Interpolation takes two."""
POINTS_PER_CYCLE = 4
"""Depth points for each cycle of the beamformed signal: enough for an envelope at up to 100 % bandwidth."""


class Path(Enum):
    """What the sound travels before it reaches an element."""

    PLANE_WAVE = "plane wave"  # down with a 0-degree plane wave that leaves at time zero, back to the element
    ONE_WAY = (
        "one way"  # from the source to the element; a laser pulse at time zero is everywhere at once (photoacoustic)
    )


@dataclass(frozen=True)
class Beamformed:
    """Beamformed radio-frequency image, ``rf`` float32 ``[depth, lateral]``; axes in metres."""

    rf: NDArray[np.float32]
    depth_m: NDArray[np.float64]
    lateral_m: NDArray[np.float64]


def delay_and_sum(
    samples: NDArray[np.int16],
    probe: Probe,
    sample_rate_hz: float,
    *,
    path: Path = Path.PLANE_WAVE,
    first_sample_s: float = 0.0,
    f_number: float = 1.5,
) -> Beamformed:
    """Beamform ``samples`` (``[sample, channel]``) with dynamic focus and a Hann window over the aperture.

    ``first_sample_s`` is the time of sample 0 after the wave left the probe (or the laser fired). The aperture grows
    with depth to keep ``f_number`` = depth / aperture. Linear interpolation between samples. Raises ``ValueError`` if
    the data does not fit the probe.
    """
    if samples.ndim != 2 or samples.shape[1] != probe.elements:
        raise ValueError(f"samples must be [sample, {probe.elements} channels], not {samples.shape}")
    if samples.shape[0] < SHORTEST_IMAGE_SAMPLES:
        raise ValueError(f"at least {SHORTEST_IMAGE_SAMPLES} samples a channel are needed")
    count, channels = samples.shape
    ways = 2 if path is Path.PLANE_WAVE else 1
    speed = probe.sound_speed_m_s
    depth_step = probe.wavelength_m / (ways * POINTS_PER_CYCLE)
    deepest = speed * (first_sample_s + (count - 1) / sample_rate_hz) / ways
    depth = np.asarray(np.arange(max(2, int(deepest / depth_step) + 1)) * depth_step, dtype=np.float64)

    data = samples.astype(np.float32)
    data -= data.mean(axis=0)
    image = np.zeros((depth.size, channels), np.float32)
    weight_sum = np.zeros_like(image)
    half_aperture = np.maximum(depth / (2 * f_number), probe.pitch_m)
    for distance in range(channels):
        x = distance * probe.pitch_m
        first = int(np.searchsorted(half_aperture, x, side="right"))
        travelled = np.hypot(depth[first:], x) + (depth[first:] if ways == 2 else 0.0)
        position = (travelled / speed - first_sample_s) * sample_rate_hz
        low, high = np.searchsorted(position, (0.0, count - 1.0))
        if low >= high:
            if first >= depth.size:
                break
            continue
        rows = slice(first + int(low), first + int(high))
        position = position[low:high]
        index = position.astype(np.intp)
        fraction = (position - index).astype(np.float32)[:, None]
        weight = np.cos(0.5 * np.pi * x / half_aperture[rows]).astype(np.float32)[:, None] ** 2
        delayed = data[index]
        delayed += fraction * (data[index + 1] - delayed)
        delayed *= weight
        image[rows, : channels - distance] += delayed[:, distance:]
        weight_sum[rows, : channels - distance] += weight
        if distance:
            image[rows, distance:] += delayed[:, : channels - distance]
            weight_sum[rows, distance:] += weight
    np.divide(image, weight_sum, out=image, where=weight_sum > 0)
    return Beamformed(image, depth, probe.element_x_m)
