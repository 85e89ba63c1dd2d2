"""What stops RDMA on this machine, and how to mend it."""

from host.doctor.checks import CHECKS, Finding, Level, examine
from host.doctor.observe import Machine, Observation, Wish, observe

__all__ = ["CHECKS", "Finding", "Level", "Machine", "Observation", "Wish", "examine", "observe"]
