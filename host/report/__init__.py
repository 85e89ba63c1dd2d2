"""A run's figures, verdict and report: JSON for machines, a page for people, a table for the terminal."""

from host.report.model import (
    FRAMES_LOST,
    Configuration,
    Expectation,
    Fault,
    Frames,
    Host,
    LinkEvent,
    ModeSwitch,
    Packet,
    Peer,
    Recovered,
    Report,
    RunFigures,
    Simulated,
    Spread,
    Wall,
    WallSplit,
)
from host.report.page import Picture, Pictures
from host.report.summary import print_summary
from host.report.verdict import judge
from host.report.write import write_report

__all__ = [
    "FRAMES_LOST",
    "Configuration",
    "Expectation",
    "Fault",
    "Frames",
    "Host",
    "LinkEvent",
    "ModeSwitch",
    "Packet",
    "Peer",
    "Picture",
    "Pictures",
    "Recovered",
    "Report",
    "RunFigures",
    "Simulated",
    "Spread",
    "Wall",
    "WallSplit",
    "judge",
    "print_summary",
    "write_report",
]
