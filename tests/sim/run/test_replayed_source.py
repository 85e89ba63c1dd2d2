"""What a run has received can be played into the converters again: sample by sample the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from host.receive.replay import Replay
from host.storage.export import export
from tests.sim.run.scenario_runs import run

SHORT = {"acquisition": {"samples": 62}}


@pytest.mark.parametrize("form", ["npy", "h5"])
def test_a_recording_comes_back(tmp_path: Path, form: str):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    assert run(tmp_path / "first", SHORT).code == 0
    export(tmp_path / "first" / "capture.bin", tmp_path / f"shots.{form}", form)
    acquisition = {"samples": 62, "source": str(tmp_path / f"shots.{form}")}
    again = run(tmp_path / "second", {"acquisition": acquisition})
    assert again.code == 0, again.report["reasons"]
    first, second = (
        [frame.samples for frame in Replay(tmp_path / name / "capture.bin")] for name in ("first", "second")
    )
    assert len(first) == 2 and np.array_equal(first, second)
