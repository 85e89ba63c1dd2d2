"""Will a setting work? Rates, depth, ring, stalls, before anything is switched on."""

from host.plan.plan import Obstacle, Plan, Settings, make_plan

__all__ = ["Obstacle", "Plan", "Settings", "make_plan"]
