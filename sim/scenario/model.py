"""The keys of a scenario, their types, ranges and defaults, and what must hold between them.

Every model is frozen and refuses unknown keys. Cross-checks raise :class:`Impossible`, which carries the key it blames.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from host.control.link_watch import CAUSES
from host.control.modes import LANES_A_LINK, MODES, PHOTOACOUSTIC, ULTRASOUND, Mode
from host.frame_layout import FrameShape
from host.receive.datagrams import RECEIVE_DEPTH
from sim.scenario.lane_fault_checks import refusals
from sim.scenario.lane_faults import LaneFault

RING_BYTES = 4 << 20
GRANULE_BYTES = 4096
BLOCK_TABLE_ENTRIES = 256
DATA_QUEUE_PAIRS = 8
"""Queue pairs of the front end as it is built, beside the one for management."""
HEADER_OCTETS_A_PACKET = 14 + 20 + 8 + 12 + 4 + 24  # Ethernet to BTH, ICRC, and preamble, FCS and gap
DATAGRAM_OCTETS = 12
"""What a datagram has beside: queue key, source, immediate."""
MAX_LANE_RATE_GBPS = 12.8
DOUBLE_NS = 600.0
LATEST_DROP_SAMPLES = 100_000
FEWEST_CHANNELS = 64
GENERATOR_ROOM_S = 10e-6
"""From the end of a window to the generator's next shot, so that software can stop it first."""
SHORTEST_GENERATED_S = 10e-6
"""Beats are made some microseconds ahead, so the testbench must know the generator's first shot by then."""
LINKS = 16
"""Converters of the whole front end."""
ACK_TIMEOUT_UNIT_NS = 4096
HELD_NS = 10_000
"""The longest that a reordered frame waits for the next one."""
DELAYING = ("delay", "stall")
"""Faults of the Ethernet link that take a time."""
SOURCES = ("phantom", "ramp", "unique", "prbs", "constant", "square")
ModeName = Literal["ultrasound", "photoacoustic"]
LaneMap = Literal["identity", "reversed"] | tuple[int, ...]
Lane = Annotated[int, Field(ge=0, le=31)]


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _each_once(value: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Refuse a list that names something twice: whoever wrote it meant something else."""
    if twice := [entry for entry, times in Counter(value or ()).items() if times > 1]:
        raise ValueError(f"{', '.join(map(str, twice))}: there more than once; name each once")
    return value


class Impossible(ValueError):
    """A value that is legal alone and impossible beside the others."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key} = {value}: {allowed}")
        self.key = key


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class LinkFault(_Section):
    """One fault on the Ethernet link: at a packet sequence number, or with a probability."""

    action: Literal["drop", "duplicate", "reorder", "corrupt", "truncate", "delay", "stall"]
    direction: Literal["tx", "rx"] = "tx"
    psn: Annotated[int, Field(ge=0, le=0xFFFFFF)] | None = None
    probability: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    occurrence: Annotated[int, Field(ge=1, le=1000)] = 1
    seed: int | None = None
    delay_ns: Annotated[int, Field(ge=0, le=10_000_000)] = 5_000

    @model_validator(mode="after")
    def _one_selector(self) -> Self:
        if (self.psn is None) == (self.probability is None):
            raise ValueError("needs exactly one of psn and probability")
        if "delay_ns" in self.model_fields_set and self.action not in DELAYING:
            raise ValueError(f"delay_ns means nothing for {self.action}; it is for {', '.join(DELAYING)}")
        return self


class QueueFault(_Section):
    """Something that makes a queue pair go fatal, at the first work request of a frame."""

    kind: Literal["wrong_key", "out_of_range", "access", "bad_entry", "silence", "not_ready"]
    frame: Annotated[int, Field(ge=0)]


class Trigger(NamedTuple):
    """One trigger: its shot, and how long after the shot's own it comes; 0 for that one itself."""

    shot: int
    later_ns: float


class Acquisition(_Section):
    """What the front end acquires."""

    mode: Annotated[tuple[ModeName, ...], Field(min_length=1)] = ("ultrasound",)
    """One, or one a shot; a list that is too short begins anew."""
    source: str = "phantom"
    channels: Literal[64, 128, 256] | None = None
    samples: Annotated[int, Field(ge=1, le=65_535)] = 4096
    shots: Annotated[int, Field(ge=1, le=100_000)] = 4
    prf_hz: Annotated[float, Field(ge=1.0, le=1e6)] = 5000.0
    jitter_ns: Annotated[float, Field(ge=0.0, le=1e6)] = 0.0
    """Each trigger comes up to this much sooner or later than at ``prf_hz``, and then at any time of the link clock."""
    laser_delay_ns: Annotated[float, Field(ge=0.0, le=1e6)] = 60.0
    """From the laser pulse to the first sample of a photoacoustic window."""
    trigger: Literal["external", "generator"] = "external"
    """Who fires: something outside, or the front end's own generator, whose shots the laser answers with a pulse."""
    retune_us: Annotated[float, Field(ge=0.0, le=10_000.0)] = 20.0
    """What converters and clocks take to change to another mode."""
    missing_pulses: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Shots whose laser pulse does not come."""
    double_triggers: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Shots whose trigger comes twice, the second time :data:`DOUBLE_NS` later, into the open window."""

    @field_validator("mode", mode="before")
    @classmethod
    def _one_mode(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    _once = field_validator("missing_pulses", "double_triggers")(_each_once)

    @field_validator("source")
    @classmethod
    def _known_source(cls, value: str) -> str:
        if value in SOURCES or Path(value).suffix in (".npy", ".h5", ".hdf5"):
            return value
        raise ValueError(f"must be {', '.join(SOURCES)} or the path of a .npy or .h5 file")

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that occur, in the order in which they do."""
        return tuple(dict.fromkeys(MODES[name] for name in self.mode))

    @property
    def main_mode(self) -> Mode:
        """The mode whose channels ``channels`` counts: ultrasound, if it occurs."""
        return ULTRASOUND if ULTRASOUND in self.modes else self.modes[0]

    @property
    def links(self) -> int:
        """JESD204B links (converters) that carry the channels."""
        each = self.main_mode.channels_a_link
        return (self.channels or LINKS * each) // each

    def mode_of(self, shot: int) -> Mode:
        """The mode of shot number ``shot``."""
        return MODES[self.mode[shot % len(self.mode)]]

    def shape_of(self, mode: Mode) -> FrameShape:
        """Samples, channels and sizes of a frame of ``mode``."""
        return FrameShape(self.samples, self.links * mode.channels_a_link)

    @property
    def largest_frame(self) -> int:
        """Bytes of the largest frame."""
        return max(self.shape_of(mode).frame_bytes for mode in self.modes)

    @property
    def triggers(self) -> tuple[Trigger, ...]:
        """All triggers that come, in order."""
        found = []
        for shot in range(self.shots):
            if shot not in self.missing_pulses:
                found.append(Trigger(shot, 0.0))
                if shot in self.double_triggers:
                    found.append(Trigger(shot, DOUBLE_NS))
        return tuple(found)


class Jesd204b(_Section):
    """The serial links between converters and front end."""

    k: Annotated[int, Field(ge=8, le=32, multiple_of=4)] = 32
    scrambling: bool = True
    subclass: Literal[0, 1] = 1
    lane_skew_octets: Annotated[int, Field(ge=0, le=512)] = 0
    lane_map: LaneMap = "identity"
    """How the board is wired: for each lane of the links, the transceiver (physical lane) that it runs to."""
    inverted_lanes: tuple[Lane, ...] = ()
    """Physical lanes whose two wires are exchanged."""
    software_lane_map: LaneMap | None = None
    """What the control software takes ``lane_map`` for; None: what it is."""
    software_inverted_lanes: tuple[Lane, ...] | None = None
    """What the control software takes ``inverted_lanes`` for; None: what they are."""
    error_report: bool = False
    """The receiver tells the converters of errors by SYNC~ low for two frames."""
    interrupts: tuple[str, ...] = tuple(CAUSES)
    """What raises the link's interrupt, by the names of its causes."""
    faults: tuple[LaneFault, ...] = ()

    _once = field_validator("inverted_lanes", "software_inverted_lanes", "interrupts")(_each_once)

    @field_validator("lane_map", "software_lane_map", mode="before")
    @classmethod
    def _each_lane_once(cls, value: Any) -> Any:
        if value is None or value in ("identity", "reversed"):
            return value
        if isinstance(value, tuple) and sorted(value, key=str) == sorted(range(len(value)), key=str):
            return value
        raise ValueError('allowed are "identity", "reversed" or a list with the number of each lane once')

    @field_validator("interrupts")
    @classmethod
    def _known_causes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(value) - set(CAUSES):
            raise ValueError(f"{', '.join(sorted(unknown))}: no cause; there are {', '.join(CAUSES)}")
        return value

    def wired(self, lanes: int) -> tuple[int, ...]:
        """The physical lane of each of ``lanes`` lanes of the links."""
        return _lane_map(self.lane_map, lanes)

    def wired_for_software(self, lanes: int) -> tuple[int, ...]:
        """Likewise, as the control software believes."""
        return _lane_map(self.lane_map if self.software_lane_map is None else self.software_lane_map, lanes)

    @property
    def inverted_for_software(self) -> tuple[int, ...]:
        """Physical lanes that the control software takes for inverted."""
        return self.inverted_lanes if self.software_inverted_lanes is None else self.software_inverted_lanes


def _lane_map(value: LaneMap, lanes: int) -> tuple[int, ...]:
    if isinstance(value, tuple):
        return value
    straight = range(lanes)
    return tuple(reversed(straight)) if value == "reversed" else tuple(straight)


class Rdma(_Section):
    """The RDMA engine and its connection."""

    transport: Literal["RC", "UC", "UD"] = "RC"
    write_each: bool = False
    """UC: each packet of a WRITE is a WRITE of its own, so that a lost one costs no other."""
    qps: Annotated[int, Field(ge=1, le=DATA_QUEUE_PAIRS)] = 1
    level: Literal[1, 2, 3] = 2
    """Service level of all queue pairs: control, image data, log."""
    pmtu: Literal[256, 512, 1024, 2048, 4096] = 4096
    sq_depth: Literal[16, 32, 64, 128, 256, 512, 1024] = 1024
    start_psn: Annotated[int, Field(ge=0, le=0xFFFFFF)] = 0
    block_bytes: Literal[4096, 8192, 16384, 32768, 65536, 131072, 262144] = 262144
    interrupt_threshold: Annotated[int, Field(ge=1, le=128)] = 8
    interrupt_timeout_ns: Annotated[int, Field(ge=100, le=1_000_000)] = 16_000
    batch: Annotated[int, Field(ge=1, le=64)] = 8
    posting: Literal["processor", "hardware"] = "processor"
    """Who turns blocks into WRITEs: control software, in batches after interrupts; or the poster, one by one."""
    retry_count: Annotated[int, Field(ge=0, le=7)] = 7
    retry_timeout: Annotated[int, Field(ge=1, le=31)] = 4
    """Exponent of the acknowledgement time-out, 4.096 us x 2^n of simulated time."""
    rnr_retry: Annotated[int, Field(ge=0, le=7)] = 7
    """Times that a receiver may be not ready in a row; 7: any number."""
    faults: tuple[QueueFault, ...] = ()
    acknowledge_every: Annotated[int, Field(ge=1, le=128)] = 16


class Link(_Section):
    """The Ethernet link and what stands at its other end."""

    peer: Literal["auto", "vm", "host", "model"] = "auto"
    time: Literal["lockstep"] = "lockstep"
    delay_ns: Annotated[int, Field(ge=0, le=1_000_000)] = 500
    turnaround_ns: Annotated[int, Field(ge=0, le=1_000_000)] = 500
    rate_gbps: Annotated[float, Field(ge=1.0, le=100.0)] = 100.0
    faults: tuple[LinkFault, ...] = ()


class Host(_Section):
    """Receiver and control software."""

    slots: Annotated[int, Field(ge=2, le=128)] = 16
    software_delay_ns: Annotated[int, Field(ge=0, le=1_000_000)] = 1000
    policy: Literal["lossless"] = "lossless"
    stall_frame: Annotated[int, Field(ge=0)] | None = None
    """The frame for whose slot the receiver lets wait, once."""
    stall_us: Annotated[float, Field(ge=0.0, le=100_000.0)] = 0.0


class Expect(_Section):
    """What makes a run pass, beyond the bit-exactness of every delivered frame."""

    frames_lost: Annotated[int, Field(ge=0)] = 0
    min_goodput_gbps: Annotated[float, Field(ge=0.0)] = 0.0
    max_unfairness_percent: Annotated[float, Field(gt=0.0)] | None = None
    """Of the queue pairs' goodput while all of them have work: largest less smallest, in percent of the mean."""
    max_latency_us: Annotated[float, Field(gt=0.0)] | None = None
    flagged_frames: Annotated[int, Field(ge=0)] = 0
    """Frames that must arrive flagged (lane faults); no more and no fewer."""


class Scenario(_Section):
    """A whole scenario."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    simulator: Literal["verilator", "icarus"] = "verilator"
    acquisition: Acquisition = Acquisition()
    jesd204b: Jesd204b = Jesd204b()
    rdma: Rdma = Rdma()
    link: Link = Link()
    host: Host = Host()
    expect: Expect = Expect()

    @property
    def links(self) -> int:
        """JESD204B links (converters) that carry the channels."""
        return self.acquisition.links

    @property
    def longest_journey_ns(self) -> int:
        """The longest that the link can take to bring a frame, with all its faults."""
        held = HELD_NS if any(fault.action == "reorder" for fault in self.link.faults) else 0
        delays = [fault.delay_ns for fault in self.link.faults if fault.action in DELAYING]
        return self.link.delay_ns + max(delays, default=0) + held

    @property
    def wire_goodput_gbps(self) -> float:
        """Payload rate of MIDDLE packets (or datagrams) of one PMTU at the link's rate: the most the wire can carry."""
        headers = HEADER_OCTETS_A_PACKET + (DATAGRAM_OCTETS if self.rdma.transport == "UD" else 0)
        return self.link.rate_gbps * self.rdma.pmtu / (self.rdma.pmtu + headers)

    @model_validator(mode="before")
    @classmethod
    def _tuples(cls, data: Any) -> Any:
        """TOML has arrays only; strict models want tuples."""
        if isinstance(data, dict):
            for section in ("acquisition", "jesd204b", "rdma", "link"):
                table = data.get(section)
                if isinstance(table, dict):
                    data = {**data, section: {key: _fixed(value) for key, value in table.items()}}
        return data

    @model_validator(mode="after")
    def _possible(self) -> Self:
        acquisition = self.acquisition
        self._channels()
        shape = max((acquisition.shape_of(mode) for mode in acquisition.modes), key=lambda shape: shape.frame_bytes)
        in_ring = -(-shape.frame_bytes // GRANULE_BYTES) * GRANULE_BYTES
        largest = (RING_BYTES - 128) // (shape.channels * 2)
        if in_ring > RING_BYTES:
            raise Impossible(
                "acquisition.samples",
                acquisition.samples,
                f"a frame of {shape.frame_bytes} bytes does not fit into the ring of {RING_BYTES}; "
                f"allowed 1 to {largest} at {shape.channels} channels",
            )
        period = 1.0 / acquisition.prf_hz
        window = acquisition.samples / min(mode.sample_rate_hz for mode in acquisition.modes)
        if acquisition.shots > 1 and window >= period:
            raise Impossible(
                "acquisition.prf_hz",
                acquisition.prf_hz,
                f"the window of {window * 1e6:.1f} us does not fit into {period * 1e6:.1f} us; "
                f"allowed below {1 / window:.0f} Hz at {acquisition.samples} samples",
            )
        self._pulses(period - window)
        self._generated(period, period - window)
        if self.host.stall_frame is not None and self.host.stall_frame < self.host.slots * self.rdma.qps:
            raise Impossible(
                "host.stall_frame",
                self.host.stall_frame,
                f"the first {self.host.slots * self.rdma.qps} frames find free slots; allowed from there on",
            )
        blocks = -(-shape.frame_bytes // self.rdma.block_bytes)
        if blocks > BLOCK_TABLE_ENTRIES:
            raise Impossible(
                "rdma.block_bytes",
                self.rdma.block_bytes,
                f"a frame would take {blocks} blocks; the block table holds {BLOCK_TABLE_ENTRIES}",
            )
        self._receivable(shape.frame_bytes)
        self._sustainable(in_ring, period)
        self._recoverable()
        self._fatal()
        if self.rdma.write_each and self.rdma.transport != "UC":
            raise Impossible("rdma.write_each", True, f"is for UC; {self.rdma.transport} allows false")
        self._postable()
        if self.expect.max_unfairness_percent is not None and self.rdma.qps == 1:
            raise Impossible(
                "expect.max_unfairness_percent",
                self.expect.max_unfairness_percent,
                "one queue pair shares with nobody; allowed from rdma.qps = 2 on",
            )
        if self.rdma.batch > self.rdma.sq_depth:
            raise Impossible("rdma.batch", self.rdma.batch, f"allowed 1 to rdma.sq_depth = {self.rdma.sq_depth}")
        if self.expect.frames_lost > acquisition.shots:
            raise Impossible("expect.frames_lost", self.expect.frames_lost, f"allowed 0 to {acquisition.shots} shots")
        if self.expect.flagged_frames > acquisition.shots:
            raise Impossible(
                "expect.flagged_frames", self.expect.flagged_frames, f"allowed 0 to {acquisition.shots} shots"
            )
        self._placeable()
        return self

    def _receivable(self, frame_bytes: int) -> None:
        """Refuse datagrams for which not enough receives can be posted: those that find none are lost."""
        datagrams = -(-frame_bytes // self.rdma.pmtu)
        if self.rdma.transport == "UD" and self.host.slots * datagrams > RECEIVE_DEPTH:
            raise Impossible(
                "host.slots",
                self.host.slots,
                f"a frame takes {datagrams} datagrams, and the receiver posts at most {RECEIVE_DEPTH} receives; "
                f"allowed 2 to {RECEIVE_DEPTH // datagrams}",
            )

    def _postable(self) -> None:
        """Refuse what the poster cannot do: it knows one reliable queue pair, and its software waits for slots."""
        if self.rdma.posting != "hardware":
            return
        if self.rdma.qps > 1:
            raise Impossible("rdma.qps", self.rdma.qps, 'rdma.posting = "hardware" allows 1')
        if self.rdma.transport != "RC":
            raise Impossible("rdma.transport", self.rdma.transport, 'rdma.posting = "hardware" allows RC')
        if self.host.stall_frame is not None:
            raise Impossible("host.stall_frame", self.host.stall_frame, 'rdma.posting = "processor" allows it')

    def _placeable(self) -> None:
        """Refuse faults of what is not there, and skew that no receiver can tell from lateness."""
        jesd204b, lanes = self.jesd204b, self.links * LANES_A_LINK
        channels = min(self.acquisition.shape_of(mode).channels for mode in self.acquisition.modes)
        shortest = min(mode.octets_per_frame for mode in self.acquisition.modes) * jesd204b.k
        if jesd204b.lane_skew_octets > shortest // 2 - 8:
            raise Impossible(
                "jesd204b.lane_skew_octets",
                jesd204b.lane_skew_octets,
                f"allowed 0 to {shortest // 2 - 8}, half a multiframe",
            )
        for name in ("lane_map", "software_lane_map"):
            value = getattr(jesd204b, name)
            if isinstance(value, tuple) and len(value) != lanes:
                raise Impossible(f"jesd204b.{name}", list(value), f"{len(value)} lanes; there are {lanes}")
        for name in ("inverted_lanes", "software_inverted_lanes"):
            value = getattr(jesd204b, name) or ()
            if max(value, default=0) >= lanes:
                raise Impossible(f"jesd204b.{name}", list(value), f"allowed 0 to {lanes - 1}")
        for index, fault in enumerate(jesd204b.faults):
            limits = {
                "lane": lanes,
                "link": self.links,
                "channel": channels,
                "other": channels if fault.kind == "duplicate_channel" else lanes,
                "shot": self.acquisition.shots,
                # A lane may die after the window, too: into a change of mode, say.
                "sample": LATEST_DROP_SAMPLES if fault.kind == "lane_drop" else self.acquisition.samples,
            }
            for key, limit in limits.items():
                value = getattr(fault, key)
                if value is not None and value >= limit:
                    raise Impossible(f"jesd204b.faults[{index}].{key}", value, f"allowed 0 to {limit - 1}")
        for refusal in refusals(self.acquisition, jesd204b):
            raise Impossible(f"jesd204b.faults{refusal.key}", refusal.value, refusal.why)

    def _recoverable(self) -> None:
        """Refuse a time-out that passes before an acknowledgement can come: every packet would be sent for ever."""
        rdma, link = self.rdma, self.link
        if rdma.transport != "RC":
            return
        packet_ns = (rdma.pmtu + HEADER_OCTETS_A_PACKET) * 8 / link.rate_gbps
        answer_ns = rdma.acknowledge_every * packet_ns + 2 * link.delay_ns + link.turnaround_ns
        timeout_ns = ACK_TIMEOUT_UNIT_NS << rdma.retry_timeout
        if answer_ns >= timeout_ns:
            least = (int(answer_ns) // ACK_TIMEOUT_UNIT_NS).bit_length()
            raise Impossible(
                "rdma.retry_timeout",
                rdma.retry_timeout,
                f"the acknowledgement of {rdma.acknowledge_every} packets takes up to {answer_ns / 1000:.1f} us on "
                f"this link, and the time-out passes after {timeout_ns / 1000:.1f} us; allowed {least} to 31",
            )

    def _fatal(self) -> None:
        """Refuse faults that no queue pair can have, or that nothing can be recovered from."""
        rdma, faults = self.rdma, self.rdma.faults
        if not faults:
            return
        if rdma.transport != "RC" or rdma.qps > 1 or rdma.posting == "hardware":
            raise Impossible(
                "rdma.faults", len(faults), "allowed with one queue pair, rdma.transport RC, rdma.posting processor"
            )
        frames = [fault.frame for fault in faults]
        if sorted(set(frames)) != frames or frames[-1] >= self.acquisition.shots:
            raise Impossible("rdma.faults", frames, f"frames: allowed rising, 0 to {self.acquisition.shots - 1}")
        if rdma.rnr_retry == 7 and any(fault.kind == "not_ready" for fault in faults):
            raise Impossible("rdma.rnr_retry", 7, "retries for ever; with a fault not_ready allowed 0 to 6")
        if faults[0] == QueueFault(kind="not_ready", frame=0):
            raise Impossible("rdma.faults[0].frame", 0, "the first frame finds a receive; not_ready is allowed from 1")

    def _channels(self) -> None:
        """Refuse numbers of channels that the lanes cannot carry."""
        acquisition = self.acquisition
        mode = acquisition.main_mode
        most = LINKS * mode.channels_a_link
        if acquisition.channels is not None and acquisition.channels > most:
            needed = mode.lane_rate_gbps * acquisition.channels / most
            raise Impossible(
                "acquisition.channels",
                acquisition.channels,
                f"{mode.name} would need {needed:.2f} Gb/s a lane; at most {MAX_LANE_RATE_GBPS}, so up to {most}",
            )
        if len(acquisition.modes) == 1:
            return
        if Path(acquisition.source).suffix:
            raise Impossible("acquisition.source", acquisition.source, "a file holds frames of one mode")
        fewest = min(acquisition.shape_of(mode).channels for mode in acquisition.modes)
        if fewest < FEWEST_CHANNELS:
            raise Impossible(
                "acquisition.channels",
                acquisition.channels,
                f"photoacoustic frames would have {fewest}; allowed 128 or 256 where modes change",
            )

    def _doubles(self) -> None:
        """Refuse second triggers that would not fall into the window of the first."""
        acquisition, key = self.acquisition, "acquisition.double_triggers"
        doubles = acquisition.double_triggers
        if not doubles:
            return
        if acquisition.trigger == "generator":
            raise Impossible(key, doubles, "the generator fires once; allowed with external triggers")
        if max(doubles) >= acquisition.shots:
            raise Impossible(key, doubles, f"allowed 0 to {acquisition.shots - 1}")
        shortest = acquisition.samples * min(mode.sample_ns for mode in acquisition.modes)
        if shortest < 2 * DOUBLE_NS:
            raise Impossible(
                key, doubles, f"windows of {shortest:.0f} ns are too short; allowed from {2 * DOUBLE_NS:.0f}"
            )

    def _generated(self, period: float, room: float) -> None:
        """Refuse what the front end's generator cannot do: jitter, periods that the testbench cannot follow.

        ``room`` in seconds, from the end of a window to the next shot.
        """
        acquisition = self.acquisition
        if acquisition.trigger != "generator":
            return
        if acquisition.jitter_ns and PHOTOACOUSTIC not in acquisition.modes:
            raise Impossible("acquisition.jitter_ns", acquisition.jitter_ns, "the generator has none; allowed 0")
        if len(acquisition.modes) > 1 and room < GENERATOR_ROOM_S:
            raise Impossible(
                "acquisition.prf_hz",
                acquisition.prf_hz,
                f"the generator has to be stopped after a window if the mode changes, within "
                f"{GENERATOR_ROOM_S * 1e6:.0f} us; {room * 1e6:.1f} us are left",
            )
        if period < SHORTEST_GENERATED_S:
            raise Impossible(
                "acquisition.prf_hz",
                acquisition.prf_hz,
                f"allowed up to {1 / SHORTEST_GENERATED_S:.0f} with the generator",
            )

    def _pulses(self, room: float) -> None:
        """Refuse triggers that fall into windows, and missing ones that nobody could miss; ``room`` in seconds."""
        acquisition = self.acquisition
        if acquisition.shots > 1 and 2 * acquisition.jitter_ns >= room * 1e9:
            raise Impossible("acquisition.jitter_ns", acquisition.jitter_ns, f"allowed below {room * 5e8:.0f}")
        self._doubles()
        if not acquisition.missing_pulses:
            return
        if any(acquisition.mode_of(shot) is not PHOTOACOUSTIC for shot in acquisition.missing_pulses):
            raise Impossible("acquisition.missing_pulses", acquisition.missing_pulses, "only the laser has pulses")
        if len(acquisition.modes) > 1 and not all(map(self._misses, acquisition.missing_pulses)):
            raise Impossible(
                "acquisition.missing_pulses",
                acquisition.missing_pulses,
                "a pulse is missed when others come before and after it without a change of mode between",
            )
        if max(acquisition.missing_pulses) > acquisition.shots - 2:
            raise Impossible(
                "acquisition.missing_pulses",
                acquisition.missing_pulses,
                f"allowed 1 to {acquisition.shots - 2}: a pulse is missed when others follow",
            )
        if acquisition.jitter_ns * 2e-9 >= 0.5 / acquisition.prf_hz:
            raise Impossible("acquisition.jitter_ns", acquisition.jitter_ns, "pulses so late count as missing")

    def _misses(self, missing: int) -> bool:
        """The laser's pulses before and after a missing one are of the same stretch of photoacoustic shots."""
        acquisition = self.acquisition
        for step in (-1, 1):
            shot = missing
            while shot in acquisition.missing_pulses:
                shot += step
            if not 0 <= shot < acquisition.shots:
                return False
            between = range(min(shot, missing), max(shot, missing) + 1)
            if any(acquisition.mode_of(other) is not PHOTOACOUSTIC for other in between):
                return False
        return True

    def _sustainable(self, in_ring: int, period: float) -> None:
        """Refuse a lossless run whose frames outgrow the ring: what a period leaves behind adds up shot by shot."""
        drained = self.wire_goodput_gbps * 1e9 / 8 * period
        left_behind = max(0.0, in_ring - drained)
        worst = in_ring + left_behind * (self.acquisition.shots - 1)
        if worst > RING_BYTES and self.expect.frames_lost == 0:
            limit = self.wire_goodput_gbps * 1e9 / 8 / in_ring
            raise Impossible(
                "acquisition.prf_hz",
                self.acquisition.prf_hz,
                f"{self.acquisition.shots} frames of {in_ring} bytes outgrow the ring of {RING_BYTES} bytes at "
                f"{self.wire_goodput_gbps:.1f} Gb/s; sustained up to {limit:.0f} Hz (or say expect.frames_lost)",
            )
