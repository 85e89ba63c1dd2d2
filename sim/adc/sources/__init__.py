"""Where samples come from: phantom, test patterns, recordings; and their place on the converter's time line."""

from __future__ import annotations

from pathlib import Path

from host.frame_layout import MODE_PHOTOACOUSTIC, MODE_ULTRASOUND
from host.imaging import Path as SoundPath
from sim.adc.sources.base import ShotSource, SourceError
from sim.adc.sources.patterns import Constant, Prbs, Ramp, Square, Unique
from sim.adc.sources.phantom import Phantom, default_probe
from sim.adc.sources.recorded import Recorded
from sim.adc.sources.stream import TickStream

_PATTERNS: dict[str, type[Ramp | Unique | Constant | Square]] = {
    "ramp": Ramp,
    "unique": Unique,
    "constant": Constant,
    "square": Square,
}
KINDS = ("phantom", "ramp", "unique", "prbs", "constant", "square")

__all__ = ["KINDS", "ShotSource", "SourceError", "TickStream", "default_probe", "make_shots"]


def make_shots(
    kind: str,
    shots: int,
    samples: int,
    channels: int,
    sample_rate_hz: float,
    seed: int,
    *,
    mode: int = MODE_ULTRASOUND,
    first_sample_s: float = 0.0,
) -> ShotSource:
    """Return the source that a scenario's ``acquisition.source`` names: one of :data:`KINDS`, or a file.

    ``mode`` (as in the frame header) chooses between the plane-wave and the photoacoustic phantom, which is seen from
    ``first_sample_s`` after its pulse on; the other sources do not depend on them. Raises
    :class:`SourceError` if there is no such source or it cannot give this shape.
    """
    if kind == "phantom":
        path = {MODE_ULTRASOUND: SoundPath.PLANE_WAVE, MODE_PHOTOACOUSTIC: SoundPath.ONE_WAY}[mode]
        return Phantom(
            shots,
            samples,
            channels,
            sample_rate_hz=sample_rate_hz,
            seed=seed,
            path=path,
            first_sample_s=first_sample_s,
        )
    if kind in _PATTERNS:
        return _PATTERNS[kind](shots, samples, channels)
    if kind == "prbs":
        return Prbs(shots, samples, channels, seed)
    if Path(kind).suffix not in (".npy", ".h5", ".hdf5"):
        raise SourceError(f"source {kind!r} is neither one of {', '.join(KINDS)} nor a path to a .npy or .h5 file")
    return Recorded(Path(kind), shots, samples, channels)
