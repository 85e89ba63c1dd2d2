"""The converters of a run: for each stretch of time in one mode, transmitters with samples on their time line."""

from __future__ import annotations

from dataclasses import dataclass

from host.control.modes import LANES_A_LINK, Mode
from sim.adc import AdcTransmitter, LinkConfig
from sim.adc.sources import ShotSource, TickStream, make_shots
from sim.scenario.model import Scenario
from sim.session.lane_faults import LaneFaults, LaneWiring


def mode_shots(scenario: Scenario, mode: Mode) -> ShotSource:
    """Return the samples of a scenario's shots if all of them were taken in ``mode``."""
    acquisition = scenario.acquisition
    shape = acquisition.shape_of(mode)
    return make_shots(
        acquisition.source,
        acquisition.shots,
        shape.samples,
        shape.channels,
        mode.sample_rate_hz,
        scenario.seed,
        mode=mode.identifier,
        first_sample_s=first_sample_s(scenario, mode),
    )


def first_sample_s(scenario: Scenario, mode: Mode) -> float:
    """Time of a window's first sample after the pulse, as far as it shows in an image."""
    return scenario.acquisition.laser_delay_ns * 1e-9 if mode.one_way else 0.0


@dataclass(frozen=True)
class Epoch:
    """Transmitters from their reset on. Their beat 0 is the player's beat ``first_beat``."""

    mode: Mode
    config: LinkConfig
    transmitter: AdcTransmitter
    stream: TickStream
    first_beat: int


class Converters:
    """Makes epochs; the samples of a mode are made once."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.faults = LaneFaults(scenario.jesd204b.faults)
        jesd204b = scenario.jesd204b
        lanes = scenario.links * LANES_A_LINK
        inverted, corrected = frozenset(jesd204b.inverted_lanes), frozenset(jesd204b.inverted_for_software)
        self.wiring = LaneWiring(jesd204b.wired(lanes), inverted, corrected)
        self._sources = {mode: mode_shots(scenario, mode) for mode in scenario.acquisition.modes}

    def epoch(self, mode: Mode, first_beat: int) -> Epoch:
        """Reset all converters to ``mode``."""
        scenario = self._scenario
        config = LinkConfig(
            links=scenario.links,
            octets_per_frame=mode.octets_per_frame,
            frames_per_multiframe=scenario.jesd204b.k,
            scrambling=scenario.jesd204b.scrambling,
            subclass=scenario.jesd204b.subclass,
            devices_count=True,
        )
        stream = TickStream(self._sources[mode], seed=scenario.seed)
        transmitter = self.faults.transmitter(
            config,
            stream,
            seed=scenario.seed,
            lane_skew_octets=scenario.jesd204b.lane_skew_octets,
            wiring=self.wiring,
            first_beat=first_beat,
        )
        return Epoch(mode, config, transmitter, stream, first_beat)
