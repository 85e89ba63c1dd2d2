"""The account of a run: session result, probe and capture become the figures of the report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from host.control.modes import MODES_BY_ID, PHOTOACOUSTIC, Mode
from host.control.registers import register_map
from host.frame_layout import HEADER_BYTES
from host.imaging.beamform import SHORTEST_IMAGE_SAMPLES
from host.imaging.beamform import Path as SoundPath
from host.imaging.bmode import bmode
from host.receive.capture import CaptureReader, Record
from host.receive.inspection import Inspection
from host.report import (
    FRAMES_LOST,
    Configuration,
    Expectation,
    Fault,
    Frames,
    LinkEvent,
    ModeSwitch,
    Packet,
    Picture,
    Pictures,
    Recovered,
    RunFigures,
    Simulated,
    Spread,
    Wall,
    WallSplit,
)
from host.report import Peer as PeerFigures
from host.storage.writer import FrameWriter
from sim.adc.sources import default_probe
from sim.bench.probe import Kind, ProbeEvent, read_probe
from sim.peers.lifecycle import PeerDescription
from sim.run.drops import drops_by_cause
from sim.run.figures import (
    DataPacket,
    Done,
    Post,
    StreamFigures,
    Timing,
    first_transmissions,
    shared_goodput_gbps,
    stream_figures,
    unfairness_percent,
)
from sim.run.packet_log import read_packets
from sim.run.plan import Plan
from sim.run.verify import CheckedFrame, Verification, check_frame, flags_errors, inspect_record, verify
from sim.scenario.model import RING_BYTES, Scenario
from sim.session.converters import first_sample_s, mode_shots
from sim.session.shot import Shot

_NEVER = ("PROTOCOL_ERRORS", "RELEASES_IGNORED")
"""Ring counters that only a fault of the design can raise."""
_KINDS = frozenset({Kind.DOORBELL, Kind.FRAME_COMMITTED, Kind.MEMORY_WRITE, Kind.RING_USED})
_ACQUISITION_COUNTERS = (
    "TRIGGERS",
    "FRAMES",
    "DROPPED_EARLY",
    "DROPPED_LINK_DOWN",
    "DROPPED_HELD",
    "LASER_MISSING",
    "SHOTS_FIRED",
    "CROSSING_OVERFLOWS",
)
_LINK_SETTINGS = frozenset(
    register.name for register in register_map()["JESD204B"].registers if register.access == "RW"
)
"""Registers of the receive link that are no counters: what it was told."""
_RDMA_COUNTERS = frozenset(register.name for register in register_map()["ERNIC"].registers if register.access == "RO")
_RING_COUNTERS = (
    "FRAMES_ADMITTED",
    "DROPPED_RING_FULL",
    "DROPPED_DESCRIPTORS_FULL",
    "DROPPED_DISABLED",
    "DROPPED_HOST_STALLED",
    "HIGH_WATER",
    "IRQ_COUNT",
    *_NEVER,
)
_SHOWN_PACKETS = 400
_FATAL_CODES = {
    "wrong_key": 0x0A,
    "out_of_range": 0x0A,
    "access": 0x0A,
    "bad_entry": 0x05,
    "silence": 0x06,
    "not_ready": 0x09,
}
"""What PG332 calls the end of a queue pair by each kind of fault."""
FRAMES = "frames.h5"
_RECEIVE_QUEUE, _COMPLETION_QUEUE, _INLINE_BYTES, _SGE = 128, 128, 256, 16


@dataclass(frozen=True)
class Account:
    """What a run comes to. ``suspect`` is the shot to look at first if the verdict is a failure."""

    figures: RunFigures
    pictures: Pictures
    suspect: int


def run_figures(plan: Plan, description: PeerDescription | None) -> Account:
    """Verify the frames of a finished session, store them, and gather its figures."""
    result = json.loads(plan.result_path.read_text())
    scenario = plan.scenario
    events = read_probe(plan.events_path, _KINDS)
    played = [Shot(**shot) for shot in result["shots"]]
    packets = read_packets(plan.packets_path)
    timing, posts, dones = _timing(scenario, result), _posts(result, events), _completions(result, events)
    stream = stream_figures(
        timing,
        packets,
        posts,
        dones,
        [event.cycle for event in events if event.kind is Kind.FRAME_COMMITTED],
        result["finished_cycle"] - result["started_cycle"],
    )
    destinations = {number: destination for number, destination in result["destinations"]}
    shared = shared_goodput_gbps(timing, packets, posts, dones, destinations) if len(destinations) > 1 else {}
    verification, pictures = _frames(plan, played)
    frames = _frame_counts(scenario, result, verification)
    complaints = [*verification.complaints, *_protocol_complaints(scenario, result, stream)]
    figures = RunFigures(
        scenario=scenario.name,
        scenario_text=scenario.model_dump_json(indent=1),
        seed=scenario.seed,
        complaints=complaints,
        configuration=_configuration(scenario),
        peer=_peer(plan, description, result),
        frames=frames,
        bit_exact=verification.bit_exact and verification.received > 0,
        expectations=_expectations(scenario, frames, stream, verification, shared, len(result["recoveries"])),
        faults=_faults(scenario, result),
        simulated=_simulated(result, events, stream, packets, verification, shared),
        wall=_wall(result, verification),
    )
    return Account(figures, pictures, verification.suspect)


def salvage(plan: Plan) -> int:
    """Store what a run received before it ended early, as far as it can be read; return the number of frames."""
    if not plan.capture_path.exists():
        return 0
    records = list(CaptureReader(plan.capture_path))
    if records:
        acquisition = plan.scenario.acquisition
        probe = default_probe(acquisition.shape_of(acquisition.main_mode).channels)
        with FrameWriter(plan.directory / FRAMES, probe, description=plan.scenario.name, flush=False) as store:
            for record in records:
                _keep(store, inspect_record(record), record)
    return len(records)


def failed_figures(scenario: Scenario, description: PeerDescription | None, reason: str) -> RunFigures:
    """Figures of a run that ended early."""
    peer = PeerFigures(kind=scenario.link.peer)
    if description is not None:
        peer = PeerFigures(kind=description.kind, kernel=description.kernel, device=description.device)
    return RunFigures(
        scenario=scenario.name,
        scenario_text=scenario.model_dump_json(indent=1),
        seed=scenario.seed,
        error=reason,
        configuration=_configuration(scenario),
        peer=peer,
    )


def _timing(scenario: Scenario, result: dict[str, Any]) -> Timing:
    return Timing(
        core_clock_hz=result["core_clock_hz"],
        rate_gbps=scenario.link.rate_gbps,
        # What is not acknowledged completes when it has left.
        link_round_trip_ns=(2 * scenario.link.delay_ns + scenario.link.turnaround_ns)
        * (scenario.rdma.transport == "RC"),
    )


def _posts(result: dict[str, Any], events: list[ProbeEvent]) -> list[Post]:
    doorbells = [event.cycle for event in events if event.kind is Kind.DOORBELL]
    return [Post(cycle, count, number) for cycle, (number, count) in zip(doorbells, result["doorbells"], strict=True)]


def _completions(result: dict[str, Any], events: list[ProbeEvent]) -> list[Done]:
    """The completion entries that the engine wrote, in time; which of them ended a frame the control software knows."""
    logs = {number: iter([]) for number, _ in result["completion_queues"]}
    for number in logs:
        logs[number] = iter([ends for entry, ends in result["completions"] if entry == number])
    done = []
    for event in events:
        if event.kind is not Kind.MEMORY_WRITE:
            continue
        for number, (first, end) in result["completion_queues"]:
            if first <= event.value < end:
                done.append(Done(event.cycle, next(logs[number], False), number))
    return done


def _frames(plan: Plan, played: list[Shot]) -> tuple[Verification, Pictures]:
    """Check every captured frame against what was played, store it, and keep the last good one for the pictures."""
    scenario = plan.scenario
    acquisition = scenario.acquisition
    probe = default_probe(acquisition.shape_of(acquisition.main_mode).channels)
    shots = {mode.identifier: mode_shots(scenario, mode) for mode in acquisition.modes}
    delays = {mode.identifier: first_sample_s(scenario, mode) for mode in acquisition.modes}
    shown: dict[int, CheckedFrame] = {}

    def checked() -> Iterator[CheckedFrame]:
        if not plan.capture_path.exists():
            return
        file = plan.directory / FRAMES
        with FrameWriter(file, probe, first_sample_s=delays, description=scenario.name, flush=False) as store:
            for record in CaptureReader(plan.capture_path):
                frame = check_frame(record, shots, played)
                _keep(store, frame.inspection, frame.record)
                if frame.inspection.ok:
                    shown[int(frame.inspection.header["mode"])] = frame
                yield frame

    verification = verify(checked(), played, reliable=scenario.rdma.transport == "RC")
    pictures = [
        _picture(scenario, mode, shown[mode.identifier]) for mode in acquisition.modes if mode.identifier in shown
    ]
    return verification, Pictures(tuple(pictures))


def _samples(found: Inspection, record: Record) -> Any:
    shape = found.shape
    assert shape is not None
    octets = np.frombuffer(record.data, np.uint8)[HEADER_BYTES : HEADER_BYTES + shape.payload_bytes]
    return octets.view("<i2").reshape(shape.samples, shape.channels)


def _keep(store: FrameWriter, found: Inspection, record: Record) -> None:
    if found.shape is not None:
        store.append(_samples(found, record), found.header, found.trailer, crc_ok=found.ok or flags_errors(found))


def _picture(scenario: Scenario, mode: Mode, frame: CheckedFrame) -> Picture:
    samples, rate = _samples(frame.inspection, frame.record), mode.sample_rate_hz
    path = SoundPath.ONE_WAY if mode.one_way else SoundPath.PLANE_WAVE
    image = None
    if len(samples) >= SHORTEST_IMAGE_SAMPLES:
        probe = default_probe(samples.shape[1])
        image = bmode(samples, probe, rate, path=path, first_sample_s=first_sample_s(scenario, mode))
    caption = f"{scenario.name}: frame {frame.sequence}, {mode.name}, as received"
    return Picture(mode.name, image, samples, rate, caption)


def _frame_counts(scenario: Scenario, result: dict[str, Any], verification: Verification) -> Frames:
    causes = drops_by_cause(result["counters"])
    if scenario.rdma.transport != "RC":
        # Only an unreliable connection loses frames on the way: whole, or parts of them.
        causes["lost_on_link"] = result["statistics"]["frames_completed"] - len(result["received"])
        causes["incomplete"] = verification.damaged
    sent = len(scenario.acquisition.triggers)
    return Frames(
        sent=sent,
        received=verification.received,
        flagged=verification.flagged,
        flagged_samples_wrong=verification.flagged_samples_wrong,
        lost=sent - verification.received,
        dropped_by_cause={name: count for name, count in causes.items() if count},
    )


def _protocol_complaints(scenario: Scenario, result: dict[str, Any], stream: StreamFigures) -> list[str]:
    complaints = [f"protocol violation: {violation}" for violation in result["violations"][:5]]
    ring = result["counters"]["RING"]
    complaints += [f"the ring counts {ring[name]} {name}" for name in _NEVER if ring[name]]
    missing, missed = result["counters"]["ACQUISITION"]["LASER_MISSING"], len(scenario.acquisition.missing_pulses)
    if missing != missed:
        complaints.append(f"{missed} laser pulses did not come, and the front end missed {missing}")
    if not scenario.link.faults and not scenario.rdma.faults and stream.retransmitted_packets:
        complaints.append(f"{stream.retransmitted_packets} packets were retransmitted on a link without faults")
    complaints += [
        f"the peer differed from the specification ({entry['kind']}): {entry['detail']}"
        for entry in result["discrepancies"][:5]
    ]
    return complaints


def _expectations(
    scenario: Scenario,
    frames: Frames,
    stream: StreamFigures,
    verification: Verification,
    shared: dict[int, float],
    recoveries: int,
) -> list[Expectation]:
    expect = scenario.expect
    found = [
        Expectation(name=FRAMES_LOST, relation="==", limit=expect.frames_lost, actual=frames.lost),
        Expectation(name="frames flagged", relation="==", limit=expect.flagged_frames, actual=verification.flagged),
    ]
    if scenario.rdma.faults:
        wanted = len(scenario.rdma.faults)
        found.append(Expectation(name="recoveries", relation="==", limit=wanted, actual=recoveries))
    if expect.min_goodput_gbps:
        found.append(
            Expectation(
                name="goodput", relation=">=", limit=expect.min_goodput_gbps, actual=stream.goodput_gbps, unit="Gb/s"
            )
        )
    if expect.max_unfairness_percent is not None:
        limit, actual = expect.max_unfairness_percent, unfairness_percent(shared.values())
        found.append(Expectation(name="unfairness", relation="<=", limit=limit, actual=actual, unit="%"))
    if expect.max_latency_us is not None:
        worst = max(stream.latencies_us, default=None)
        found.append(Expectation(name="latency", relation="<=", limit=expect.max_latency_us, actual=worst, unit="us"))
    return found


def _configuration(scenario: Scenario) -> Configuration:
    acquisition, rdma = scenario.acquisition, scenario.rdma
    mode = acquisition.main_mode
    return Configuration(
        mode=mode.name if len(acquisition.modes) == 1 else "interleaved",
        source=acquisition.source,
        simulator=scenario.simulator,
        transport=rdma.transport,
        channels=acquisition.shape_of(mode).channels,
        samples=acquisition.samples,
        shots=acquisition.shots,
        sample_rate_hz=mode.sample_rate_hz,
        prf_hz=acquisition.prf_hz,
        pmtu=rdma.pmtu,
        block_bytes=rdma.block_bytes,
        interrupt_threshold=rdma.interrupt_threshold,
        batch=rdma.batch if rdma.posting == "processor" else 1,
        posting=rdma.posting,
        sq_depth=rdma.sq_depth,
        rq_depth=_RECEIVE_QUEUE,
        cq_depth=_COMPLETION_QUEUE,
        inline_bytes=_INLINE_BYTES,
        sge=_SGE,
        ring_bytes=RING_BYTES,
        rate_gbps=scenario.link.rate_gbps,
    )


def _peer(plan: Plan, description: PeerDescription | None, result: dict[str, Any]) -> PeerFigures:
    return PeerFigures(
        kind=plan.peer_kind,
        kernel=description.kernel if description else None,
        device=description.device if description else "model",
        counters=result["summary"]["counters"],
    )


def _faults(scenario: Scenario, result: dict[str, Any]) -> list[Fault]:
    times = Counter(injection["fault"] for injection in result["injections"])
    found = [
        Fault(
            where=fault.where,
            what=fault.kind,
            times=acted,
            certain=True,
        )
        for fault, acted in zip(scenario.jesd204b.faults, result["lane_faults"], strict=True)
    ]
    recoveries = result["recoveries"]
    for index, queue_fault in enumerate(scenario.rdma.faults):
        seen = index < len(recoveries) and recoveries[index]["error"] == _FATAL_CODES[queue_fault.kind]
        where = f"queue pair, frame {queue_fault.frame}"
        found.append(Fault(where=where, what=queue_fault.kind, times=int(seen), certain=True))
    for index, fault in enumerate(scenario.link.faults):
        where = f"PSN {fault.psn}" if fault.psn is not None else f"probability {fault.probability}"
        found.append(
            Fault(
                where=f"link {fault.direction}, {where}",
                what=fault.action,
                times=times[index],
                certain=fault.psn is not None,
            )
        )
    return found


def _simulated(
    result: dict[str, Any],
    events: list[ProbeEvent],
    stream: StreamFigures,
    packets: list[DataPacket],
    verification: Verification,
    shared: dict[int, float],
) -> Simulated:
    hertz, start = result["core_clock_hz"], result["started_cycle"]

    def microseconds(cycle: int) -> float:
        return round((cycle - start) / hertz * 1e6, 6)

    counters = result["counters"]
    # Where there is a laser, its pulses are those whose times matter.
    lasers = [trigger for trigger in verification.triggers if trigger.mode == PHOTOACOUSTIC.identifier]
    triggers = lasers or verification.triggers
    errors = [round(trigger.error_ns, 6) for trigger in triggers]
    switches = [
        ModeSwitch(
            to=MODES_BY_ID[switch["after"]].name,
            first_sample_us=round((switch["first_sample"] - switch["started"]) / hertz * 1e6, 6),
            ready_us=round((switch["ready"] - switch["started"]) / hertz * 1e6, 6),
        )
        for switch in result["switches"]
    ]
    return Simulated(
        time_us=microseconds(result["finished_cycle"]),
        goodput_gbps=round(stream.goodput_gbps, 6),
        average_gbps=round(stream.average_gbps, 6),
        queue_pair_goodput_gbps={str(number): round(value, 6) for number, value in shared.items()},
        unfairness_percent=unfairness_percent(shared.values()),
        latency_us=Spread.of(round(value, 6) for value in stream.latencies_us),
        latencies_us=[round(value, 6) for value in stream.latencies_us],
        doorbell_to_wire_ns=None if stream.doorbell_to_wire_ns is None else round(stream.doorbell_to_wire_ns, 6),
        trigger_to_first_sample_ns=Spread.of(round(trigger.to_first_sample_ns, 6) for trigger in triggers),
        trigger_error_ns=Spread.of(errors),
        trigger_errors_ns=errors,
        mode_switch_us=max((switch.ready_us for switch in switches), default=None),
        mode_switches=switches,
        laser_missing=counters["ACQUISITION"]["LASER_MISSING"],
        ring_peak_bytes=counters["RING"]["HIGH_WATER"],
        ring_timeline=[
            (microseconds(event.cycle), event.value)
            for event in events
            if event.kind is Kind.RING_USED and event.cycle >= start
        ],
        blocks=result["statistics"]["blocks"],
        interrupts=counters["RING"]["IRQ_COUNT"],
        doorbells=result["statistics"]["doorbells"],
        retransmitted_packets=stream.retransmitted_packets,
        recoveries=[
            Recovered(
                time_us=microseconds(entry["began"]),
                queue_pair=entry["queue_pair"],
                error=entry["error"],
                reason=entry["reason"],
                first_psn=entry["first_psn"],
                reposted=entry["reposted"],
                took_us=round((entry["ended"] - entry["began"]) / hertz * 1e6, 6),
            )
            for entry in result["recoveries"]
        ],
        link_counters={name: value for name, value in counters["JESD204B"].items() if name not in _LINK_SETTINGS},
        link_interrupts=result["link_interrupts"],
        link_causes=result["link_causes"],
        link_events=[
            LinkEvent(time_us=microseconds(event["time"]), causes=event["causes"]) for event in result["link_events"]
        ],
        error_reports=result["error_reports"],
        acquisition_counters={name: counters["ACQUISITION"][name] for name in _ACQUISITION_COUNTERS},
        ring_counters={name: counters["RING"][name] for name in _RING_COUNTERS},
        rdma_counters={name: value for name, value in counters["ERNIC"].items() if name in _RDMA_COUNTERS},
        packets=_packets(packets, microseconds),
    )


def _packets(packets: list[DataPacket], microseconds: Callable[[int], float]) -> list[Packet]:
    """The first packets of the run, for the time diagram."""
    shown = packets[:_SHOWN_PACKETS]
    fresh = {id(packet) for packet in first_transmissions(shown)}
    return [
        Packet(
            time_us=microseconds(packet.last_cycle),
            direction="tx",
            opcode="WRITE",
            psn=packet.psn,
            bytes=packet.frame_octets,
            retransmission=id(packet) not in fresh,
        )
        for packet in shown
    ]


def _wall(result: dict[str, Any], verification: Verification) -> Wall:
    wall = result["wall"]
    seconds = wall["seconds"]
    rest = max(0.0, seconds - wall["python"] - wall["peer"])
    return Wall(
        seconds=seconds,
        cycles_per_second=wall["cycles"] / seconds,
        payload_mb_per_second=verification.payload_bytes / seconds / 1e6,
        split=WallSplit(rtl=rest, python=wall["python"], peer=wall["peer"]),
    )


def result_of(directory: Path) -> dict[str, Any]:
    """Return the parsed ``report.json`` of a run's folder."""
    content: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return content
