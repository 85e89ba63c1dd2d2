"""A capture log as a file that other tools open: HDF5 in the layout of this folder, or numpy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from host.imaging.probe import Probe
from host.receive.frame import Frame
from host.receive.replay import Replay
from host.storage.writer import FrameWriter

_LABELS = {1: "ultrasound", 2: "photoacoustic"}


class NothingToExport(ValueError):
    """The log has no frame that could be written; the text says what it has."""


@dataclass
class Exported:
    """What an export wrote, and what it left out."""

    files: list[Path] = field(default_factory=list)
    frames: int = 0
    flagged: int = 0
    """Of those written."""
    without_header: int = 0
    """Left out: nobody knows their shape."""
    flagged_left_out: int = 0
    truncated_bytes: int = 0
    """At the end of the log, of a record that was never finished."""


def export(
    log: Path,
    target: Path,
    form: str,
    *,
    flagged: bool = True,
    probe: Probe | None = None,
    progress: Callable[[int], None] = lambda frames: None,
) -> Exported:
    """Write the frames of ``log`` to ``target`` as ``form``, one of :data:`FORMS`; return what was written.

    ``flagged``: also frames that something is wrong with. ``probe`` describes the array for HDF5, with as many elements
    as channels unless it is given. ``progress`` is called with the number of frames so far. Raises ``ValueError`` for
    another form, :class:`NothingToExport`, :class:`~host.receive.capture.CaptureError` or ``OSError``.
    """
    if form not in FORMS:
        raise ValueError(f"{form!r}: allowed {', '.join(FORMS)}")
    result = Exported()
    selection = _Selection(log, result, progress, flagged=flagged)
    FORMS[form](selection, target, probe)
    if not result.frames:
        raise NothingToExport(
            f"{log} has no frame to export: {result.without_header} without a valid header, {result.flagged_left_out} "
            "flagged and left out"
        )
    return result


@dataclass
class _Selection:
    """The frames of a log that are to be written; may be gone through more than once."""

    log: Path
    result: Exported
    progress: Callable[[int], None]
    flagged: bool

    def frames(self, *, counted: bool) -> Iterator[Frame]:
        """Give the frames in order of arrival; ``counted`` in the pass that writes them."""
        result = self.result if counted else Exported()
        with Replay(self.log) as replay:
            for frame in replay:
                if frame.shape is None:
                    result.without_header += 1
                elif frame.ok or self.flagged:
                    result.frames += 1
                    result.flagged += not frame.ok
                    yield frame
                    if counted:
                        self.progress(result.frames)
                else:
                    result.flagged_left_out += 1
            result.truncated_bytes = replay.truncated_bytes


def _h5(selection: _Selection, target: Path, probe: Probe | None) -> None:
    writer: FrameWriter | None = None
    try:
        for frame in selection.frames(counted=True):
            if writer is None:
                array = probe or Probe(elements=frame.samples.shape[1])
                writer = FrameWriter(target, array, description=f"made from {selection.log.name}", flush=False)
                selection.result.files.append(target)
            writer.append(frame.samples, frame.header, frame.trailer, crc_ok=_crc_ok(frame))
    finally:
        if writer is not None:
            writer.close()


def _crc_ok(frame: Frame) -> bool:
    return not any(problem.split(":")[0] in ("payload_crc", "trailer_crc") for problem in frame.problems)


def _npy(selection: _Selection, target: Path, probe: Probe | None) -> None:
    """One array ``[frame, sample, channel]`` for each mode and shape; the first pass counts."""
    del probe
    counts = Counter(_key(frame) for frame in selection.frames(counted=False))
    arrays = {}
    for key, count in counts.items():
        mode, samples, channels = key
        name = _LABELS.get(mode, f"mode{mode}")
        alike = [other for other in counts if other[0] == mode]
        suffix = f"-{name}-{samples}x{channels}" if len(alike) > 1 else f"-{name}"
        path = target if len(counts) == 1 else target.with_name(target.stem + suffix + target.suffix)
        arrays[key] = np.lib.format.open_memmap(path, "w+", np.int16, (count, samples, channels))
        selection.result.files.append(path)
    rows: Counter[tuple[int, int, int]] = Counter()
    for frame in selection.frames(counted=True):
        key = _key(frame)
        arrays[key][rows[key]] = frame.samples
        rows[key] += 1
    for array in arrays.values():
        array.flush()


def _key(frame: Frame) -> tuple[int, int, int]:
    samples, channels = frame.samples.shape
    return int(frame.header["mode"]), samples, channels


FORMS: dict[str, Callable[[_Selection, Path, Probe | None], None]] = {"h5": _h5, "npy": _npy}
