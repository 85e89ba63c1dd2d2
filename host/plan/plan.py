"""From settings to figures and a verdict: :func:`make_plan`."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from host.control.modes import LANES_A_LINK, MODES, Mode
from host.exchange import PATH_MTUS
from host.frame_layout import FrameShape
from host.plan import formulas

LANES = 32
"""Lanes of the front end as it is built; its 16 converters have two each."""
FASTEST_LANE_GBPS = 12.8
BLOCK_TABLE_ENTRIES = 256
ACKNOWLEDGE_EVERY_PACKETS = 16
"""Packets from one acknowledge request of the engine to the next; so much is freed at a time."""
MOST_SAMPLES = 65_535
_NS = 1e-9


class Settings(BaseModel):
    """What a front end is set to. Defaults are those of the published system and of the default scenario."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    mode: Annotated[Literal["ultrasound", "photoacoustic"], Field(description="one-way sound if photoacoustic")] = (
        "ultrasound"
    )
    samples: Annotated[int, Field(ge=1, le=MOST_SAMPLES, description="samples of a shot")] = 4096
    channels: Annotated[
        int | None, Field(ge=1, le=1024, description="channels; without it, what 32 lanes carry in this mode")
    ] = None
    sample_rate_hz: Annotated[
        float | None, Field(gt=0.0, le=1e9, description="samples a second and channel; without it, the mode's")
    ] = None
    prf_hz: Annotated[float, Field(gt=0.0, le=1e6, description="shots a second")] = 5000.0
    link_gbps: Annotated[float, Field(gt=0.0, le=1000.0, description="rate of the Ethernet link, Gb/s")] = 100.0
    goodput_gbps: Annotated[
        float | None,
        Field(gt=0.0, le=1000.0, description="bytes of frames that the link carries, Gb/s; without it, worked out"),
    ] = None
    transport: Annotated[Literal["RC", "UC", "UD"], Field(description="kind of connection")] = "RC"
    pmtu: Annotated[int, Field(description=f"path MTU: {', '.join(map(str, PATH_MTUS))}")] = 4096
    block_bytes: Annotated[int, Field(ge=4096, le=1 << 24, multiple_of=4096, description="bytes of a block")] = 262_144
    ring_bytes: Annotated[int, Field(ge=4096, le=1 << 32, description="bytes of the ring")] = 4 << 20
    interrupt_threshold: Annotated[int, Field(ge=1, le=128, description="blocks an interrupt")] = 8
    interrupt_timeout_ns: Annotated[
        float, Field(ge=0.0, le=1e6, description="longest wait of a block for its interrupt; 0: no limit")
    ] = 16_000.0
    response_ns: Annotated[
        float, Field(ge=0.0, le=1e9, description="from the interrupt to the first byte on the link")
    ] = 1_550.0
    round_trip_ns: Annotated[
        float, Field(ge=0.0, le=1e9, description="from a packet's end to its acknowledgement (RC)")
    ] = 1_500.0

    def model_post_init(self, _: object) -> None:
        """Refuse a path MTU that does not exist."""
        if self.pmtu not in PATH_MTUS:
            raise ValueError(f"pmtu = {self.pmtu}: must be one of {', '.join(map(str, PATH_MTUS))}")

    @property
    def kind(self) -> Mode:
        """The mode, with what follows from it."""
        return MODES[self.mode]

    @property
    def rate_hz(self) -> float:
        """Samples a second and channel."""
        return self.sample_rate_hz or float(self.kind.sample_rate_hz)

    @property
    def shape(self) -> FrameShape:
        """Samples and channels of a frame."""
        return FrameShape(self.samples, self.channels or self.kind.channels_a_link * LANES // LANES_A_LINK)


class Obstacle(BaseModel):
    """Why it cannot be kept up, and what would mend it."""

    model_config = ConfigDict(frozen=True)

    name: str
    why: str
    change: str


class Plan(BaseModel):
    """What follows from :class:`Settings`. Gb/s are 10^9 bits a second; times are microseconds."""

    model_config = ConfigDict(frozen=True)

    settings: Settings
    channels: int
    sample_rate_hz: float
    lane_rate_gbps: float
    lanes: int
    burst_gbps: float
    average_gbps: float
    depth_mm: float
    window_us: float
    period_us: float
    frame_bytes: int
    packets_per_frame: int
    wire_octets_per_frame: int
    goodput_gbps: float
    link_time_us: float
    link_use_percent: float
    ring_bytes_per_frame: int
    frames_in_ring: float
    """How many frames the ring holds; only whole ones are ever admitted."""
    ring_peak_cut_through_bytes: int
    """If each byte could leave at once: no design does better."""
    ring_peak_bytes: int
    """As this design drains it: interrupt, software, acknowledgements in portions."""
    ring_peak_store_and_forward_bytes: int
    """If sending began with the end of the frame."""
    longest_stall_us: float | None
    """Longest harmless stop of the link at the worst moment; ``None`` where it cannot be kept up anyway."""
    greatest_samples: int
    """Most samples a shot at this PRF, 0 if not even one."""
    greatest_prf_hz: float
    """Highest PRF with these samples, 0 if there is none."""
    sustainable: bool
    obstacles: tuple[Obstacle, ...]


class _Work:
    """The times and sizes that everything else is made of."""

    def __init__(self, settings: Settings) -> None:
        shape, datagrams = settings.shape, settings.transport == "UD"
        self.settings = settings
        self.burst = formulas.burst_rate(shape.channels, settings.rate_hz)
        self.frame_bytes = shape.frame_bytes
        self.ring_frame = formulas.ring_bytes_of(self.frame_bytes)
        self.wire = formulas.wire_octets_of(self.frame_bytes, settings.pmtu, settings.block_bytes, datagrams=datagrams)
        if settings.goodput_gbps is None:
            self.goodput = settings.link_gbps * 1e9 / 8 * self.frame_bytes / self.wire
        else:
            self.goodput = settings.goodput_gbps * 1e9 / 8
        self.window_s = shape.samples / settings.rate_hz
        self.link_s = self.frame_bytes / self.goodput
        reliable = settings.transport == "RC"
        self.round_trip_s = settings.round_trip_ns * _NS if reliable else 0.0
        self.portion = settings.pmtu * (ACKNOWLEDGE_EVERY_PACKETS if reliable else 1)
        self.start_s = formulas.service_start_s(
            self.window_s,
            self.burst,
            block_bytes=settings.block_bytes,
            threshold=settings.interrupt_threshold,
            timeout_s=settings.interrupt_timeout_ns * _NS,
            response_s=settings.response_ns * _NS,
        )
        self.lane_gbps = settings.rate_hz * settings.kind.octets_per_frame * 10 / 1e9
        self.lanes = -(-shape.channels // settings.kind.channels_a_link) * LANES_A_LINK

    @property
    def shortest_period_s(self) -> float:
        """The shortest time from shot to shot in which this can be kept up; infinite if there is none."""
        if self.ring_frame > self.settings.ring_bytes or self._blocks > BLOCK_TABLE_ENTRIES:
            return math.inf
        # What the ring cannot hold beside the next frame must be gone when that begins.
        beside = max(0, 2 * self.ring_frame - self.settings.ring_bytes)
        freed_s = self.start_s + self.round_trip_s + beside / self.goodput if beside else 0.0
        return max(self.window_s, self.link_s, freed_s)

    @property
    def _blocks(self) -> int:
        return -(-self.frame_bytes // self.settings.block_bytes)

    def obstacles(self) -> list[Obstacle]:
        """Return everything that stands against it."""
        settings = self.settings
        period_s = 1 / settings.prf_hz
        found = []
        if self.lane_gbps > FASTEST_LANE_GBPS * (1 + 1e-9):
            found.append(
                Obstacle(
                    name="lane_rate",
                    why=f"{settings.mode} at {settings.rate_hz / 1e6:g} MSPS needs {self.lane_gbps:.2f} Gb/s a lane, "
                    f"and a lane carries {FASTEST_LANE_GBPS}",
                    change="lower the sample rate"
                    + ("" if settings.kind.one_way else ", or take mode photoacoustic, with half the channels a lane"),
                )
            )
        if self.lanes > LANES:
            most = LANES // LANES_A_LINK * settings.kind.channels_a_link
            found.append(
                Obstacle(
                    name="lanes",
                    why=f"{settings.shape.channels} channels take {self.lanes} lanes, and there are {LANES}",
                    change=f"take at most {most} channels in mode {settings.mode}",
                )
            )
        if self.window_s > period_s:
            found.append(
                Obstacle(
                    name="window",
                    why=f"a window of {self.window_s * 1e6:.1f} us is longer than the {period_s * 1e6:.1f} us from "
                    "shot to shot",
                    change="fewer samples or a lower PRF",
                )
            )
        if self.link_s > period_s:
            found.append(
                Obstacle(
                    name="link",
                    why=f"a frame takes {self.link_s * 1e6:.1f} us of the link and the next comes after "
                    f"{period_s * 1e6:.1f} us",
                    change="fewer samples or channels, a lower PRF, or a faster link",
                )
            )
        found += self._ring_obstacles(period_s)
        return found

    def _ring_obstacles(self, period_s: float) -> list[Obstacle]:
        settings = self.settings
        if self.ring_frame > settings.ring_bytes:
            return [
                Obstacle(
                    name="ring",
                    why=f"a frame takes {self.ring_frame} bytes and is admitted whole; the ring has "
                    f"{settings.ring_bytes}",
                    change="fewer samples or channels",
                )
            ]
        if self._blocks > BLOCK_TABLE_ENTRIES:
            return [
                Obstacle(
                    name="block_table",
                    why=f"a frame is {self._blocks} blocks, and the ring's table has {BLOCK_TABLE_ENTRIES} entries",
                    change="greater blocks",
                )
            ]
        if self.link_s <= period_s < self.shortest_period_s and self.window_s <= period_s:
            return [
                Obstacle(
                    name="ring",
                    why="when a frame asks for admission, too much of the one before is still in the ring",
                    change="a shorter interrupt time-out or smaller threshold, fewer samples, or a lower PRF",
                )
            ]
        return []


def make_plan(settings: Settings) -> Plan:
    """Work everything out. Pure; raises nothing that :class:`Settings` has not refused."""
    work = _Work(settings)
    shape, period_s = settings.shape, 1 / settings.prf_hz
    obstacles = tuple(work.obstacles())
    latency_s = work.start_s + work.round_trip_s
    stall_s = formulas.longest_stall_s(
        work.ring_frame,
        settings.ring_bytes,
        period_s,
        work.goodput,
        start_s=latency_s,
        portion_bytes=work.portion,
    )
    peak = formulas.drained_peak(
        work.ring_frame,
        work.window_s,
        work.goodput,
        start_s=work.start_s,
        round_trip_s=work.round_trip_s,
        portion_bytes=work.portion,
    )
    if not obstacles:  # what the frame before left, and the link does not take by the end of this one's window
        left = formulas.backlog_at_next(work.ring_frame, period_s, work.goodput, start_s=latency_s)
        peak += math.ceil(max(0.0, left - work.window_s * work.goodput))
    carried = work.lanes <= LANES and work.lane_gbps <= FASTEST_LANE_GBPS * (1 + 1e-9)
    return Plan(
        settings=settings,
        channels=shape.channels,
        sample_rate_hz=settings.rate_hz,
        lane_rate_gbps=work.lane_gbps,
        lanes=work.lanes,
        burst_gbps=work.burst * 8 / 1e9,
        average_gbps=work.frame_bytes * 8 * settings.prf_hz / 1e9,
        depth_mm=formulas.depth_m(shape.samples, settings.rate_hz, one_way=settings.kind.one_way) * 1e3,
        window_us=work.window_s * 1e6,
        period_us=period_s * 1e6,
        frame_bytes=work.frame_bytes,
        packets_per_frame=formulas.packets_of(work.frame_bytes, settings.pmtu, settings.block_bytes),
        wire_octets_per_frame=work.wire,
        goodput_gbps=work.goodput * 8 / 1e9,
        link_time_us=work.link_s * 1e6,
        link_use_percent=work.link_s / period_s * 100,
        ring_bytes_per_frame=work.ring_frame,
        frames_in_ring=settings.ring_bytes / work.ring_frame,
        ring_peak_cut_through_bytes=round(formulas.cut_through_peak(work.ring_frame, work.burst, work.goodput)),
        ring_peak_bytes=peak,
        ring_peak_store_and_forward_bytes=work.ring_frame,
        longest_stall_us=None if obstacles else stall_s * 1e6,
        greatest_samples=_greatest_samples(settings) if carried else 0,
        greatest_prf_hz=_greatest_prf(work) if carried else 0.0,
        sustainable=not obstacles,
        obstacles=obstacles,
    )


def _greatest_prf(work: _Work) -> float:
    """Rounded down to 0.1 Hz, so that what is told can be kept up."""
    return math.floor(10 / work.shortest_period_s) / 10


def _greatest_samples(settings: Settings) -> int:
    """Search by halves: everything that a sample more costs only grows."""
    fits, fails = 0, MOST_SAMPLES + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if _Work(settings.model_copy(update={"samples": middle})).shortest_period_s <= 1 / settings.prf_hz:
            fits = middle
        else:
            fails = middle
    return fits
