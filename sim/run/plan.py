"""What the simulator's process must know of a run, handed over as one JSON file in the run's folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from host.monitor.snapshot import FILE as MONITOR
from sim.build import Waves
from sim.scenario.load import parse
from sim.scenario.model import Scenario

VARIABLE = "ECHOBENCH_PLAN"
"""Environment variable that names the plan's file."""
CONVENTIONAL_RESULT = "ECHOBENCH_CONVENTIONAL_RESULT"
"""Environment variable that names the file in which the conventional bench leaves its result."""


@dataclass(frozen=True)
class Plan:
    """A scenario, the folder for what it leaves, and where the peer is reached."""

    scenario: Scenario
    directory: Path
    peer_kind: str
    wire: dict[str, Any]
    control: dict[str, Any]
    slot_bytes: int
    fpga_ip: str
    fpga_mac: str
    record: bool = False
    waves: Waves | None = None
    wall_guard_seconds: float = 60.0
    """Wall time after which an awaited reply counts as lost: generous, a busy machine must not change a figure."""

    @property
    def path(self) -> Path:
        """File of the plan."""
        return self.directory / "plan.json"

    @property
    def result_path(self) -> Path:
        """File in which the simulator leaves its result."""
        return self.directory / "session.json"

    @property
    def failure_path(self) -> Path:
        """File in which the simulator leaves its reason for ending early; see :mod:`sim.run.failure`."""
        return self.directory / "failure.json"

    @property
    def recording_path(self) -> Path:
        """Folder of the recording, if one is made."""
        return self.directory / "recording"

    @property
    def progress_path(self) -> Path:
        """File to which the simulator appends its progress, one JSON object a line."""
        return self.directory / "progress.jsonl"

    @property
    def monitor_path(self) -> Path:
        """File of snapshots for whoever watches the run; see :mod:`host.monitor`."""
        return self.directory / MONITOR

    @property
    def packets_path(self) -> Path:
        """File of the data packets as they left the MAC; see :mod:`sim.run.packet_log`."""
        return self.directory / "packets.bin"

    @property
    def events_path(self) -> Path:
        """File of the bench's probe."""
        return self.directory / "events.csv"

    @property
    def capture_path(self) -> Path:
        """File in which received frames are kept as they came."""
        return self.directory / "capture.bin"

    def store(self) -> None:
        """Write the plan's file."""
        content = {
            **asdict(self),
            "scenario": self.scenario.model_dump(mode="json", exclude_unset=True),
            "directory": str(self.directory),
        }
        self.path.write_text(json.dumps(content, indent=1))

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read a plan's file."""
        content = json.loads(path.read_text())
        scenario = parse(content.pop("scenario"), path.name)
        waves = content.pop("waves")
        return cls(
            scenario=scenario,
            directory=Path(content.pop("directory")),
            waves=Waves(**waves) if waves else None,
            **content,
        )
