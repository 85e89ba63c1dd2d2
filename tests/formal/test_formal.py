"""Every proof holds, its assumptions leave room for what matters, and it finds the bugs that are planted for it."""

from __future__ import annotations

import pytest

from tests.formal.proofs import PROOFS
from tests.formal.prover import Model, Mutation, Outcome, Proof

BUGS = [
    pytest.param(
        proof,
        bug,
        id=f"{proof.name}-{bug.name.replace(' ', '-')}",
        marks=[pytest.mark.slow_proof] if bug.slow else [],
    )
    for proof in PROOFS
    for bug in proof.mutations
]
NAMES = [proof.name for proof in PROOFS]


def _row(record_property, proof: Proof, what: str, depth: str, result: str, seconds: float) -> None:
    """A line of the table that tests/formal/conftest.py prints."""
    record_property("formal", [proof.name, what, depth, result, f"{seconds:.1f} s"])


def _holds(outcome: Outcome) -> str:
    return "holds" if outcome.passed else "FAILS"


@pytest.mark.parametrize("proof", PROOFS, ids=NAMES)
def test_proof_holds(proof: Proof, record_property):
    model = Model(proof, "proof", whole=False, parameters={})
    assert model.assertions > 0
    # The induction builds on k good steps; the base case must show them.
    assert proof.k <= proof.depth
    base = model.base_case(proof.depth)
    _row(record_property, proof, "base case", f"{proof.depth} steps", _holds(base), base.seconds)
    assert base.passed, f"counter-example in {base.trace}:\n{base.log}"
    induction = model.induction(proof.k)
    _row(record_property, proof, "induction", f"k = {proof.k}", _holds(induction), induction.seconds)
    assert induction.passed, f"not inductive, see {induction.trace}:\n{induction.log}"


@pytest.mark.parametrize("proof", PROOFS, ids=NAMES)
def test_assumptions_leave_room(proof: Proof, record_property):
    model = Model(proof, "cover", whole=True, parameters={**proof.small, **proof.search, "HELP": 0})
    assert model.covers > 0
    covers = model.reach(proof.cover_depth)
    reached = f"{covers.log.count('Reached cover')} of {model.covers}"
    _row(record_property, proof, "cover", reached, "reached" if covers.passed else "NOT REACHED", covers.seconds)
    assert covers.passed, covers.log


@pytest.mark.parametrize(("proof", "bug"), BUGS)
def test_planted_bug_is_found(proof: Proof, bug: Mutation, record_property):
    # Without the helping invariants: what fails is the specification.
    label = f"bug-{bug.name.replace(' ', '-')}"
    model = Model(proof, label, whole=True, parameters={**proof.small, **bug.parameters, "HELP": 0}, mutation=bug)
    outcome = model.find(bug)
    found = not outcome.passed and bool(outcome.failed_assertions)
    _row(
        record_property,
        proof,
        f"bug: {bug.name}",
        f"<= {bug.depth} steps",
        "found" if found else "NOT FOUND",
        outcome.seconds,
    )
    assert found, f"planted bug not found:\n{outcome.log}"
    assert outcome.trace.exists()
