"""Channel data to pictures: probe geometry, delay and sum, envelope, B-mode, PNG."""

from host.imaging.beamform import Beamformed, Path, delay_and_sum
from host.imaging.bmode import BMode, bmode, envelope, log_compress
from host.imaging.probe import Probe

__all__ = ["BMode", "Beamformed", "Path", "Probe", "bmode", "delay_and_sum", "envelope", "log_compress"]
