"""What is checked of every proof: it holds, its assumptions leave room for what matters, it finds the planted bugs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.formal.prover import Bug, Model, Outcome, Proof, Tell


class ProofFailure(AssertionError):
    """A check did not come out as it must."""


@dataclass(frozen=True)
class Check:
    """One check of a proof; ``run`` returns in words how it came out, and raises ``ProofFailure`` if badly."""

    proof: Proof
    what: str
    run: Callable[[Tell], str]
    slow: bool = False


def checks(proof: Proof) -> list[Check]:
    """Return all checks of a proof, the cheapest first."""
    found = [
        Check(
            proof,
            f"bug: {bug.name}",
            lambda tell, bug=bug: _finds(proof, bug, tell),
            slow=(bug.within or proof.bugs_within).slow,
        )
        for bug in proof.bugs
    ]
    return [
        Check(proof, "holds", lambda tell: _holds(proof, tell)),
        Check(proof, "assumptions leave room", lambda tell: _leaves_room(proof, tell), slow=proof.cover.slow),
        *found,
    ]


def _holds(proof: Proof, tell: Tell) -> str:
    # The induction builds on k good steps; the base case must show them.
    if proof.base < proof.k:
        raise ProofFailure(f"{proof.name}: a base case of {proof.base} steps does not show {proof.k}")
    model = Model(proof, "proof", whole=False, parameters={}, tell=tell)
    _demand(model.base_case(), "counter-example")
    _demand(model.induction(), "not inductive")
    return f"{model.assertions} assertions, k = {proof.k}, base {proof.base} steps"


def _leaves_room(proof: Proof, tell: Tell) -> str:
    parameters = {**proof.small, **proof.cover.environment, "HELP": 0}
    model = Model(proof, "cover", whole=proof.whole, parameters=parameters, tell=tell)
    if model.covers == 0:
        raise ProofFailure(f"{proof.name}: no cover statement says that its assumptions leave room")
    _demand(model.reach(proof.cover), "not reached")
    return f"{model.covers} states reached, within {proof.cover.steps} steps"


def _finds(proof: Proof, bug: Bug, tell: Tell) -> str:
    # Without the helping invariants: what fails is the specification.
    search = bug.within or proof.bugs_within
    parameters = {**proof.small, **search.environment, "HELP": 0}
    model = Model(proof, f"bug {bug.name}", whole=proof.whole, parameters=parameters, edits=bug.edits, tell=tell)
    outcome = model.find(search)
    if outcome.passed or not outcome.failed_assertions:
        raise ProofFailure(f"{proof.name} does not find the bug {bug.name!r}:\n{_end(outcome.log)}")
    return f"found, {outcome.failed_assertions[0]}"


def _demand(outcome: Outcome, failure: str) -> None:
    if not outcome.passed:
        raise ProofFailure(f"{failure}, see {outcome.trace.parent}:\n{_end(outcome.log)}")


def _end(log: str) -> str:
    """Return the last lines of a log that may be hundreds of steps long."""
    return "\n".join(log.splitlines()[-12:])
