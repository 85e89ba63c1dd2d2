"""Echoes of a phantom: speckle, two cysts, a bright inclusion and wires under a plane wave, or vessels under a laser.

Each scatterer adds an impulse, at its time of flight, to each channel; one convolution with the pulse makes echoes of
them all. The tissue is the same in every shot; the noise is drawn anew for each, so that no two shots are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from host.imaging import Path, Probe
from sim.adc.sources.base import ShotSource

SPECKLE_PER_MM2 = 12.0
BANDWIDTH = 0.6
"""Two-way bandwidth at -6 dB, as a part of the centre frequency."""
PEAK = 24000
"""Largest echo in LSB: close to full scale, with room for noise."""
NOISE_SHIFT = 3
"""Noise is a sum of two random octets, shifted right by this: about 13 LSB rms."""
_AT_ONCE = 1024


@dataclass(frozen=True)
class Scatterers:
    """Positions in metres (``x`` lateral, ``z`` depth) and amplitudes, float32 ``[scatterer]`` each."""

    x: NDArray[np.float32]
    z: NDArray[np.float32]
    amplitude: NDArray[np.float32]


def default_probe(channels: int) -> Probe:
    """Return the array that the phantom is seen with: 0.2 mm pitch, and at 5 MHz no grating lobe in the image."""
    return Probe(elements=channels, pitch_m=0.2e-3, centre_frequency_hz=5.0e6)


def tissue(width_m: float, depth_m: float, seed: int) -> Scatterers:
    """Return speckle with two cysts (no echo), an inclusion (+10 dB), and wires in a column and a row."""
    random = np.random.default_rng((seed, 1))
    margin = 0.05 * width_m
    count = int(np.clip(SPECKLE_PER_MM2 * (width_m + 2 * margin) * depth_m * 1e6, 200, 40_000))
    x = random.uniform(-width_m / 2 - margin, width_m / 2 + margin, count)
    z = random.uniform(0.03 * depth_m, 1.02 * depth_m, count)
    amplitude = random.normal(0.0, 1.0, count)
    size = min(width_m, depth_m)
    for cx, cz, radius, gain in ((-0.24, 0.42, 0.12, 0.0), (-0.24, 0.80, 0.07, 0.0), (0.24, 0.60, 0.13, 3.2)):
        inside = np.hypot(x - cx * width_m, z - cz * depth_m) < radius * size
        amplitude[inside] *= gain
    wire_z = np.concatenate([np.arange(0.1, 0.96, 0.1), np.full(7, 0.25)]) * depth_m
    wire_x = np.concatenate([np.zeros(9), np.array([-0.42, -0.3, -0.18, 0.12, 0.24, 0.36, 0.44])]) * width_m
    wires = np.full(wire_x.size, 45.0)
    parts = ((x, wire_x), (z, wire_z), (amplitude, wires))
    return Scatterers(*(np.concatenate(pair).astype(np.float32) for pair in parts))


def vessels(width_m: float, depth_m: float, seed: int) -> Scatterers:
    """Return absorbers inside two winding vessels and a round one, for a laser pulse.

    They are scattered and uneven like blood cells: a smooth vessel would be heard only where it runs along the array.
    """
    random = np.random.default_rng((seed, 2))
    each = 1200
    along = random.uniform(-0.5, 0.5, (2, each))
    centre = np.array([[0.32], [0.68]]) + np.array([[0.07], [0.10]]) * np.sin(
        np.array([[4.0], [3.0]]) * np.pi * along + random.uniform(0, 2 * np.pi, (2, 1))
    )
    across = random.uniform(-1, 1, (2, each)) * np.array([[0.008], [0.014]])
    angle, radius = random.uniform(0, 2 * np.pi, each), 0.035 * np.sqrt(random.uniform(0, 1, each))
    size = min(width_m, depth_m)
    x = np.concatenate([(along * width_m).ravel(), 0.26 * width_m + radius * size * np.cos(angle)])
    z = np.concatenate([((centre + across) * depth_m).ravel(), 0.5 * depth_m + radius * size * np.sin(angle)])
    amplitude = random.exponential(1.0, x.size)
    return Scatterers(x.astype(np.float32), z.astype(np.float32), amplitude.astype(np.float32))


def _impulses(
    scatterers: Scatterers, probe: Probe, path: Path, samples: int, sample_rate_hz: float, first_sample_s: float
) -> NDArray[np.float64]:
    """Return ``[samples, channels]`` with an impulse, spread over two samples, for each scatterer in each channel."""
    channels = probe.elements
    elements = probe.element_x_m.astype(np.float32)
    channel = np.arange(channels, dtype=np.int32)
    per_metre = np.float32(sample_rate_hz / probe.sound_speed_m_s)
    sharpness = np.float32(0.9 * probe.pitch_m / probe.wavelength_m)
    total = np.zeros((samples + 1) * channels)
    for start in range(0, scatterers.x.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        x, z, amplitude = (array[part, None] for array in (scatterers.x, scatterers.z, scatterers.amplitude))
        sideways = elements - x
        distance = np.sqrt(sideways * sideways + z * z)
        # An element is a strip 0.9 pitch wide in a soft baffle; the wave is a cylinder's, levelled by gain over time.
        strength = amplitude * np.sinc(sharpness * sideways / distance) * (z / distance) * np.sqrt(z / distance)
        position = (distance + z if path is Path.PLANE_WAVE else distance) * per_metre
        position -= np.float32(first_sample_s * sample_rate_hz)
        index = np.floor(position).astype(np.int32)
        fraction = position - index
        seen = (index >= 0) & (index < samples)
        where = (index * channels + channel)[seen]
        strength, fraction = strength[seen], fraction[seen]
        total += np.bincount(where, strength * (1 - fraction), total.size)
        total += np.bincount(where + channels, strength * fraction, total.size)
    return total.reshape(samples + 1, channels)[:samples]


def _pulse(probe: Probe, path: Path, sample_rate_hz: float) -> NDArray[np.float64]:
    """Return the pulse, of odd length and centred.

    A Gaussian burst, or a small hot sphere's N through the same band.
    """
    spread = np.sqrt(2 * np.log(2)) / (np.pi * BANDWIDTH * probe.centre_frequency_hz)
    half = int(np.ceil(4 * spread * sample_rate_hz))
    time = np.arange(-half, half + 1) / sample_rate_hz
    window = np.exp(-0.5 * (time / spread) ** 2)
    burst = window * np.cos(2 * np.pi * probe.centre_frequency_hz * time)
    if path is Path.PLANE_WAVE:
        return burst
    radius_s = 0.25 / probe.centre_frequency_hz
    sphere = np.where(np.abs(time) < radius_s, -time, 0.0)
    return np.convolve(sphere, burst, mode="same")


class Phantom(ShotSource):
    """The echoes, scaled to :data:`PEAK`, plus each shot's own noise.

    A function of shape, rate, path, time of the first sample after the pulse, and seed alone.
    """

    def __init__(
        self,
        shots: int,
        samples: int,
        channels: int,
        *,
        sample_rate_hz: float,
        seed: int,
        path: Path = Path.PLANE_WAVE,
        first_sample_s: float = 0.0,
    ) -> None:
        super().__init__(shots, samples, channels)
        self._seed = seed
        probe = default_probe(channels)
        depth = probe.sound_speed_m_s * samples / sample_rate_hz / (2 if path is Path.PLANE_WAVE else 1)
        make = tissue if path is Path.PLANE_WAVE else vessels
        scatterers = make(channels * probe.pitch_m, depth, seed)
        impulses = _impulses(scatterers, probe, path, samples, sample_rate_hz, first_sample_s)
        pulse = _pulse(probe, path, sample_rate_hz)
        length = fft.next_fast_len(samples + pulse.size - 1, real=True)
        spectrum = fft.rfft(impulses.astype(np.float32), length, axis=0)
        spectrum *= fft.rfft(pulse.astype(np.float32), length)[:, None]
        echoes = fft.irfft(spectrum, length, axis=0)[pulse.size // 2 :][:samples]
        scale = PEAK / max(1e-30, float(np.abs(echoes).max()))
        self._echoes = np.rint(echoes * scale).astype(np.int16)

    def _make(self, index: int) -> NDArray[np.int16]:
        octets = np.random.Generator(np.random.SFC64((self._seed, 3, index))).bytes(2 * self._echoes.size)
        pairs = np.frombuffer(octets, np.int8).reshape(2, *self._echoes.shape)
        noise = pairs[0].astype(np.int16)
        noise += pairs[1]
        noise >>= NOISE_SHIFT
        noise += self._echoes
        return noise
