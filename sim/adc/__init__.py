"""Model of the converters (AFEs): samples to JESD204B lanes at the level of the FPGA fabric, precomputed with numpy.

Knows no simulator. :class:`AdcTransmitter` turns a sample source into :class:`Beats`, one row a link clock.
"""

from sim.adc.beats import Beats
from sim.adc.config import LinkConfig
from sim.adc.faults import BitError, Burst, Character, Fault, LaneDrop, OctetError, Restart, Slip
from sim.adc.sample_source import SampleSource
from sim.adc.transmitter import AdcTransmitter, BringUp

__all__ = [
    "AdcTransmitter",
    "Beats",
    "BitError",
    "BringUp",
    "Burst",
    "Character",
    "Fault",
    "LaneDrop",
    "LinkConfig",
    "OctetError",
    "Restart",
    "SampleSource",
    "Slip",
]
