"""A waveform of what went wrong, without recording every run: the run is deterministic, so it is repeated.

The repetition has the same seed and the model as its peer, which in lockstep changes nothing that the design sees, and
records only a window around the moment of interest.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace

from sim.build import Waves, compile_design
from sim.run.failure import Failure
from sim.run.narrator import Narrator, shown
from sim.run.plan import Plan
from sim.run.simulate import scenario_design
from sim.run.simulator import LOG, RunFailed, run_session

WAVES = "waves.fst"
BEFORE_FAILURE_NS = 100_000
AFTER_FAILURE_NS = 2_000
AFTER_WINDOW_NS = 200_000


@dataclass(frozen=True)
class Window:
    """Simulated time, in ns."""

    from_ns: int
    to_ns: int

    def __str__(self) -> str:
        return f"{self.from_ns / 1000:.0f} to {self.to_ns / 1000:.0f} us"


def window_of_failure(failure: Failure) -> Window:
    """What led to a session's early end."""
    return Window(max(0, failure.time_ns - BEFORE_FAILURE_NS), failure.time_ns + AFTER_FAILURE_NS)


def window_of_shot(plan: Plan, shot: int) -> Window:
    """A shot of a finished session and the time in which its frame is sent."""
    result = json.loads(plan.result_path.read_text())
    acquisition = plan.scenario.acquisition
    start = result["started_cycle"] / result["core_clock_hz"] * 1e9 + shot / acquisition.prf_hz * 1e9
    length = acquisition.samples * max(mode.sample_ns for mode in acquisition.modes) + AFTER_WINDOW_NS
    return Window(round(start), round(start + length))


def repeat_with_waves(plan: Plan, window: Window, first: Failure | None, narrator: Narrator) -> None:
    """Repeat a run and leave ``waves.fst`` in its folder; say if it does not end as it did the ``first`` time."""
    directory = plan.directory / "repetition"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    again = replace(
        plan,
        directory=directory,
        peer_kind="model",
        wire={},
        control={},
        record=False,
        waves=Waves(WAVES, window.from_ns, window.to_ns),
    )
    narrator.say(f"waveform: repeating the run for {window} of simulated time (WAVES=0 leaves it out)")
    try:
        with narrator.working("building the RTL with traces (cached after the first time)"):
            compile_design(scenario_design(plan.scenario, waves=True), plan.scenario.simulator)
        again.store()
        try:
            run_session(again, narrator, "recording")
            second = None
        except RunFailed as error:
            second = error.failure
    except (RuntimeError, KeyboardInterrupt) as error:
        narrator.say(f"waveform: none, {str(error) or 'interrupted'}")
        return
    recorded = directory / WAVES
    if not recorded.exists():
        narrator.say(f"waveform: none, the repetition ended before {window}; its log is {shown(directory / LOG)}")
        return
    kept = recorded.rename(plan.directory / WAVES)
    narrator.say(f"waveform: {shown(kept)}, {window} (open it with GTKWave or Surfer)")
    if first is not None and (second is None or second.reason != first.reason or second.time_ns != first.time_ns):
        narrator.say(
            "waveform: the repetition, with the model as its peer, did not fail alike: look at the peer first "
            f"(first {first}, then {second})"
        )
    shutil.rmtree(directory)
