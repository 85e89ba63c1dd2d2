"""Compare what arrived with what was played into the lanes, sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from host.frame_layout import HEADER_BYTES
from host.receive.capture import Record
from host.receive.inspection import Inspection, inspect
from sim.adc.sources import ShotSource
from sim.session.shot import Shot

_LINK_ERRORS = "link_errors"


@dataclass(frozen=True)
class CheckedFrame:
    """One frame of the capture. ``wrong_samples`` counts those that differ from what was played."""

    sequence: int
    inspection: Inspection
    record: Record
    wrong_samples: int

    @property
    def flagged(self) -> bool:
        """The front end itself says that samples may be wrong."""
        return flags_errors(self.inspection)


@dataclass(frozen=True)
class Trigger:
    """Of a frame of ``mode`` (id): its trigger time less the truth, and from the pulse to the first sample."""

    mode: int
    error_ns: float
    to_first_sample_ns: float


@dataclass
class Verification:
    """Findings over all frames of a run."""

    received: int = 0
    damaged: int = 0
    """Frames that the receiver itself found incomplete: they lost packets on an unreliable connection."""
    flagged: int = 0
    flagged_samples_wrong: int = 0
    bit_exact: bool = True
    complaints: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    """Sequence numbers of pulses without a frame."""
    suspects: set[int] = field(default_factory=set)
    triggers: list[Trigger] = field(default_factory=list)
    payload_bytes: int = 0

    @property
    def suspect(self) -> int:
        """The first pulse whose frame is missing or complained of; 0 if there is none."""
        return min(self.suspects.union(self.missing), default=0)


def flags_errors(found: Inspection) -> bool:
    """Whether a frame says that the link had errors while it was acquired."""
    return any(problem.startswith(_LINK_ERRORS) for problem in found.problems)


def inspect_record(record: Record) -> Inspection:
    """Inspect a frame of the capture as the receiver did."""
    return inspect(np.frombuffer(record.data, np.uint8), record.immediate, 0)


def check_frame(record: Record, shots: Mapping[int, ShotSource], played: Sequence[Shot]) -> CheckedFrame:
    """Inspect one record and compare its samples with the shot that its sequence number names.

    ``shots`` has the samples of each mode id.
    """
    memory = np.frombuffer(record.data, np.uint8)
    found = inspect_record(record)
    sequence = int(found.header["sequence"])
    if found.shape is None or sequence >= len(played):
        return CheckedFrame(sequence, found, record, 0)
    samples = memory[HEADER_BYTES : HEADER_BYTES + found.shape.payload_bytes].view("<i2")
    expected = shots[played[sequence].mode].shot(played[sequence].index)
    if expected.size != samples.size:
        return CheckedFrame(sequence, found, record, max(expected.size, samples.size))
    return CheckedFrame(sequence, found, record, int(np.count_nonzero(samples != expected.reshape(-1))))


def verify(frames: Iterable[CheckedFrame], played: Sequence[Shot], *, reliable: bool = True) -> Verification:
    """Judge all frames: complete, each once, exact unless flagged, at the place in time where they were triggered.

    Where the connection is not ``reliable``, a frame that the receiver found incomplete counts as damaged, not as
    received; what it takes for whole must be right all the same.
    """
    result, seen = Verification(), set()
    for frame in frames:
        before = len(result.complaints)
        name = f"frame {frame.sequence}"
        others = [problem for problem in frame.inspection.problems if not problem.startswith(_LINK_ERRORS)]
        if others and not reliable:
            result.damaged += 1
            continue
        if frame.sequence >= len(played):
            result.bit_exact = False
            result.complaints.append(f"{name}: no such shot was triggered; {'; '.join(frame.inspection.problems)}")
            continue
        if frame.sequence in seen:
            result.complaints.append(f"{name}: arrived twice")
            continue
        seen.add(frame.sequence)
        result.received += 1
        result.flagged += frame.flagged
        result.flagged_samples_wrong += frame.wrong_samples if frame.flagged else 0
        if others:
            result.bit_exact = False
            result.complaints.append(f"{name}: {'; '.join(others)}")
        elif frame.wrong_samples and not frame.flagged:
            result.bit_exact = False
            result.complaints.append(f"{name}: {frame.wrong_samples} samples differ from what was played, unflagged")
        shot = played[frame.sequence]
        if shot.tick is None:
            result.bit_exact = False
            result.complaints.append(f"{name}: triggered when no window could open")
        elif frame.inspection.shape is not None:
            result.complaints += _place(frame, shot)
            result.triggers.append(
                Trigger(shot.mode, shot.error_ns(int(frame.inspection.header["trigger"])), shot.to_first_sample_ns)
            )
            result.payload_bytes += frame.inspection.shape.payload_bytes
        if len(result.complaints) > before:
            result.suspects.add(frame.sequence)
    result.missing = [sequence for sequence in range(len(played)) if sequence not in seen]
    return result


def _place(frame: CheckedFrame, shot: Shot) -> list[str]:
    header, found = frame.inspection.header, []
    if int(header["trigger"]) != shot.seen_time:
        found.append(
            f"frame {frame.sequence}: trigger 0x{int(header['trigger']):x} in its header, given at 0x{shot.seen_time:x}"
        )
    if header["mode"] != shot.mode:
        found.append(f"frame {frame.sequence}: mode {header['mode']} in its header, triggered in mode {shot.mode}")
    return found
