"""The table of `make bench`: goals met, missed, and not measured."""

import pytest

from sim.run.engine_figures import Figure, figures, scenarios


@pytest.mark.parametrize(
    ("value", "at_most", "reached"),
    [(5.0, False, True), (4.99, False, False), (5.0, True, True), (5.01, True, False), (None, True, False)],
)
def test_a_goal_is_reached_at_its_limit_and_never_unmeasured(value, at_most, reached):
    assert Figure("", value, "", 5.0, at_most).reached is reached
    assert Figure("", value, "").reached is None


def test_every_row_of_the_issue_comes_from_a_run():
    runs, asked = scenarios(), set()
    simulated = {
        "goodput_gbps": 98.0,
        "latency_us": {"p50": 1.0},
        "unfairness_percent": 1.0,
        "doorbell_to_wire_ns": 22.0,
        "doorbells": 8,
    }

    def of(name):
        asked.add(name)
        return simulated

    rows = figures(runs, of)
    assert asked == set(runs)
    assert {row.what: row.reached for row in rows if row.reached is False} == {}
    assert sum(row.goal is not None for row in rows) == 13
    # A limit of the wire is its own for each path MTU.
    goals = {row.what: row.goal for row in rows}
    assert goals["RC WRITE, PMTU 256"] == pytest.approx(0.99 * 100 * 256 / (256 + 82), abs=1e-3)
