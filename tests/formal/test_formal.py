"""The checks of every proof, and that the prover itself does not pass over what goes wrong."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tests.formal.__main__ import main
from tests.formal.checks import Check, ProofFailure, checks
from tests.formal.proofs import JESD204B_ELASTIC_BUFFER, PROOFS
from tests.formal.prover import HERE, Model, NoAnswer, Search, Unplantable, bug, plant

CHECKS = [
    pytest.param(
        check,
        id=f"{proof.name}-{check.what.replace(': ', '-').replace(' ', '-')}",
        marks=[pytest.mark.slow_proof] if check.slow else [],
    )
    for proof in PROOFS
    for check in checks(proof)
]


@pytest.mark.parametrize("check", CHECKS)
def test_check(check: Check):
    print(check.run(print))


def test_each_properties_file_is_a_proof():
    assert sorted(path.stem for path in HERE.glob("*_properties.v")) == sorted(proof.top for proof in PROOFS)


@pytest.mark.parametrize("proof", PROOFS, ids=[proof.name for proof in PROOFS])
def test_bugs_can_be_planted(proof, tmp_path):
    # Also the slow ones, which are run in make formal only.
    assert len(proof.bugs) >= 2
    for number, planted in enumerate(proof.bugs):
        folder = tmp_path / str(number)
        folder.mkdir()
        plant(proof.files(), planted.edits, folder)
        assert list(folder.iterdir())


ELASTIC = "hdl/jesd204b/jesd204b_elastic_buffer.v"


@pytest.mark.parametrize(
    "edit", [(ELASTIC, "not a text of this file", ""), (ELASTIC, "1'b1", ""), ("hdl/none.v", "a", "b")]
)
def test_a_bug_that_does_not_fit_is_refused(edit, tmp_path):
    with pytest.raises(Unplantable, match=edit[0]):
        plant(JESD204B_ELASTIC_BUFFER.files(), [edit], tmp_path)


@pytest.mark.parametrize("edits", [(), ((ELASTIC, "// Read side", "// Other side"),)])
def test_a_bug_that_is_none_is_not_found(edits):
    check = checks(replace(JESD204B_ELASTIC_BUFFER, bugs=(bug("none", *edits, within=Search(3)),)))[-1]
    with pytest.raises(ProofFailure, match="does not find the bug 'none'"):
        check.run(print)


def test_a_broken_design_fails_the_base_case():
    edits = JESD204B_ELASTIC_BUFFER.bugs[0].edits
    outcome = Model(JESD204B_ELASTIC_BUFFER, "test", whole=False, parameters={}, edits=edits).base_case()
    assert not outcome.passed
    assert outcome.failed_assertions
    assert outcome.trace.exists()


def test_without_invariants_the_induction_fails():
    check = checks(replace(JESD204B_ELASTIC_BUFFER, parameters={"DEPTH": 512, "KINDS_WIDTH": 6, "HELP": 0}))[0]
    with pytest.raises(ProofFailure, match=r"not inductive, see .*elastic_buffer/proof"):
        check.run(print)


def test_a_source_that_yosys_cannot_read():
    with pytest.raises(NoAnswer, match="elastic_buffer, test: yosys cannot read it"):
        Model(
            JESD204B_ELASTIC_BUFFER, "test", whole=True, parameters={}, edits=((ELASTIC, "module jesd", "modul jesd"),)
        )


def test_no_answer_says_which_proof_and_which_limit():
    with pytest.raises(
        NoAnswer, match=r"elastic_buffer, test: \S+ has used up 1 s of processor time \(limit_seconds\)"
    ):
        model = Model(replace(JESD204B_ELASTIC_BUFFER, limit_seconds=1), "test", whole=False, parameters={})
        model.run([sys.executable, "-c", "while True: pass"])


def test_unknown_name(capsys):
    assert main(["nothing"]) == 2
    assert "no proof named nothing; there are: cdc_fifo" in capsys.readouterr().err
