"""What a run found out. The runner fills :class:`RunFigures`; :mod:`host.report.verdict` makes a :class:`Report` of it.

The field names are the keys of ``report.json`` and stay what they are; ``report.schema.json`` beside this file is made
from here. ``None`` stands for a figure that was not measured; a number that is not finite counts as not measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

FORMAT_VERSION = 1


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Figure = Annotated[float | None, BeforeValidator(_finite)]
"""A measured number, or ``None``."""
Count = Annotated[int | None, Field(ge=0)]
"""A counted number, or ``None``."""


class Group(BaseModel):
    """Fields of the report that belong together.

    Unknown names are refused, so that no figure gets lost by a typing error.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class Spread(Group):
    """How a figure is distributed: smallest, median, 99th percentile (nearest rank), largest."""

    min: float
    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self | None:
        """Return the spread of ``values``, ``None`` if there are none."""
        ordered = sorted(values)
        if not ordered:
            return None
        rank = [ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.99)]
        return cls(min=ordered[0], p50=rank[0], p99=rank[1], max=ordered[-1])


class Configuration(Group):
    """The settings of the scenario that figures depend on."""

    mode: Literal["ultrasound", "photoacoustic", "interleaved"] | None = None
    source: str | None = None
    simulator: str | None = None
    transport: Literal["RC", "UC", "UD"] | None = None
    channels: Count = None
    samples: Count = None
    shots: Count = None
    sample_rate_hz: Figure = None
    prf_hz: Figure = None
    pmtu: Count = None
    block_bytes: Count = None
    interrupt_threshold: Count = None
    batch: Count = None
    posting: Literal["processor", "hardware"] | None = None
    sq_depth: Count = None
    rq_depth: Count = None
    cq_depth: Count = None
    inline_bytes: Count = None
    sge: Count = None
    ring_bytes: Count = None
    shaper_burst_bytes: Count = None
    huge_page_bytes: Count = None
    rate_gbps: Figure = None


class Peer(Group):
    """Who received.

    ``kind`` as in the scenario (``auto`` resolved), the kernel's release, the device's own counters.
    """

    kind: str | None = None
    kernel: str | None = None
    device: str | None = None
    counters: dict[str, int] = Field(default_factory=dict)


class Frames(Group):
    """Frames that were triggered, that arrived, and where the others went. ``dropped_by_cause`` adds up to ``lost``.

    Of the frames received, ``flagged`` say themselves that their samples may be wrong; ``flagged_samples_wrong``
    of theirs are.
    """

    sent: Count = None
    received: Count = None
    flagged: Count = None
    flagged_samples_wrong: Count = None
    lost: Count = None
    dropped_by_cause: dict[str, int] = Field(default_factory=dict)


class Packet(Group):
    """One packet on the wire, for the time diagram: ``tx`` leaves the front end, ``rx`` comes to it."""

    time_us: float
    direction: Literal["tx", "rx"]
    opcode: str
    psn: int
    bytes: int = 0
    fate: Literal["delivered", "dropped", "corrupted", "delayed", "duplicated", "reordered"] = "delivered"
    retransmission: bool = False


class ModeSwitch(Group):
    """One change of mode.

    From its first register write to the first sample in the new mode, and to when triggers open windows again.
    """

    to: str
    first_sample_us: float
    ready_us: float


class Recovered(Group):
    """A queue pair that went fatal and was reset on both sides; fatal codes of PG332."""

    time_us: float
    queue_pair: int
    error: int
    reason: str
    first_psn: int
    reposted: int
    """Work requests that were posted again."""
    took_us: float


class LinkEvent(Group):
    """An interrupt of the receive link: when it was served, and all that had happened since the one before."""

    time_us: float
    causes: list[str]


class Simulated(Group):
    """Figures in simulated time: the same in every run of the same scenario and seed, on any machine."""

    time_us: Figure = None
    goodput_gbps: Figure = None
    average_gbps: Figure = None
    queue_pair_goodput_gbps: dict[str, float] = Field(default_factory=dict)
    """Of each queue pair, by its number, while all of several had packets to send."""
    unfairness_percent: Figure = None
    """Largest less smallest of these, in percent of their mean."""
    latency_us: Spread | None = None
    latencies_us: list[float] = Field(default_factory=list)
    doorbell_to_wire_ns: Figure = None
    trigger_to_first_sample_ns: Spread | None = None
    trigger_error_ns: Spread | None = None
    trigger_errors_ns: list[float] = Field(default_factory=list)
    laser_missing: Count = None
    trigger_to_completion_us: Spread | None = None
    mode_switch_us: Figure = None
    mode_switches: list[ModeSwitch] = Field(default_factory=list)
    ring_peak_bytes: Count = None
    ring_timeline: list[tuple[float, int]] = Field(default_factory=list)
    blocks: Count = None
    interrupts: Count = None
    doorbells: Count = None
    retransmitted_packets: Count = None
    link_counters: dict[str, int] = Field(default_factory=dict)
    link_interrupts: list[str] = Field(default_factory=list)
    """Causes that raised the link's interrupt, those that were enabled."""
    link_causes: dict[str, int] = Field(default_factory=dict)
    """Events with each cause."""
    link_events: list[LinkEvent] = Field(default_factory=list)
    error_reports: Count = None
    """Times that SYNC~ told a converter of errors."""
    acquisition_counters: dict[str, int] = Field(default_factory=dict)
    ring_counters: dict[str, int] = Field(default_factory=dict)
    rdma_counters: dict[str, int] = Field(default_factory=dict)
    recoveries: list[Recovered] = Field(default_factory=list)
    packets: list[Packet] = Field(default_factory=list)


class WallSplit(Group):
    """Where the wall time of the streaming part went, in seconds."""

    rtl: Figure = None
    python: Figure = None
    peer: Figure = None


class Wall(Group):
    """Figures in wall time: how fast the testbench is on this machine."""

    seconds: Figure = None
    cycles_per_second: Figure = None
    payload_mb_per_second: Figure = None
    split: WallSplit = WallSplit()


class Host(Group):
    """Figures of the receiving software, in wall time on the machine that received."""

    registration_ms: Figure = None
    registration_small_pages_ms: Figure = None
    cpu_percent: Figure = None
    cq_poll_us: Figure = None
    socket_receive_us: Figure = None


class Fault(Group):
    """A fault that the scenario asked for, and how often it was put in; ``certain`` if it had to be at least once."""

    where: str
    what: str
    times: int = 0
    certain: bool = False


FRAMES_LOST = "frames lost"
"""Name of the expectation that allows for losses."""


class Expectation(Group):
    """One line of the scenario's ``[expect]``; ``ok`` is filled by the verdict and not trusted from outside."""

    name: str
    relation: Literal["<=", ">=", "=="]
    limit: float
    actual: Figure = None
    unit: str = ""
    ok: bool | None = None

    def holds(self) -> bool:
        """Whether the figure was measured and keeps its limit."""
        if self.actual is None:
            return False
        if self.relation == "==":
            return self.actual == self.limit
        return self.actual <= self.limit if self.relation == "<=" else self.actual >= self.limit


class RunFigures(Group):
    """All that the runner knows at the end of a run.

    ``error`` says why it ended early, if it did; ``complaints`` are what is wrong with one that ended as it should.
    ``bit_exact``: every frame that arrived unflagged is, sample by sample, what was played.
    """

    scenario: str
    scenario_text: str = ""
    seed: int
    error: str | None = None
    complaints: list[str] = Field(default_factory=list)
    configuration: Configuration = Configuration()
    peer: Peer = Peer()
    frames: Frames = Frames()
    bit_exact: bool | None = None
    expectations: list[Expectation] = Field(default_factory=list)
    faults: list[Fault] = Field(default_factory=list)
    simulated: Simulated = Simulated()
    wall: Wall = Wall()
    host: Host = Host()


class Comparison(Group):
    """A published figure and ours beside it. ``own`` is ``None`` where this run did not measure it."""

    key: str
    what: str
    published: str
    unit: str
    kind: Literal["sim", "host", "board"]
    own: float | str | None = None
    reached: bool | None = None
    note: str = ""


class Report(RunFigures):
    """The figures and what they amount to."""

    format: Literal["echobench-report"] = "echobench-report"
    format_version: int = FORMAT_VERSION
    verdict: Literal["pass", "fail"]
    reasons: list[str]
    published: list[Comparison]

    def to_json(self) -> str:
        """Return ``report.json``: the verdict on top, everything else in the order of the model."""
        fields = self.model_dump(mode="json")
        first = {name: fields.pop(name) for name in ("format", "format_version", "verdict", "reasons")}
        return json.dumps(first | fields, indent=1, allow_nan=False) + "\n"
