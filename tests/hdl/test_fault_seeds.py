"""The variables of ``make test-faults``: what they choose, and the line that a bad one is answered with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sim.sources import ROOT
from tests.hdl.fault_seeds import RANGES, BadVariable, check, seeds

BAD = ("abc", "", "0", "-3", "1.5", "+1", " 1", "1_000", "99999999999")
CAMPAIGNS = ("tests/hdl/jesd204b/test_jesd204b_campaign.py", "tests/hdl/ernic_fuzz/test_ernic_fuzz.py")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in (*RANGES, "FAULT_BLOCK"):
        monkeypatch.delenv(name, raising=False)


def test_variables_choose_the_cases(monkeypatch):
    check()
    assert seeds(3) == [1, 2, 3]
    monkeypatch.setenv("FAULT_FIRST", "30")
    assert seeds(2) == [30, 31]
    monkeypatch.setenv("FAULT_CASES", "1")
    assert seeds(2) == [30]
    monkeypatch.setenv("FAULT_SEED", "7")
    assert seeds(2) == [7]
    monkeypatch.setenv("FAULT_BLOCK", "5 2")
    assert seeds(9) == [5, 6]


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("name", RANGES)
def test_a_bad_value_is_refused_by_name_and_range(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    least, most = RANGES[name]
    with pytest.raises(BadVariable) as error:
        check()
    assert str(error.value) == f"{name} = {text}: allowed are whole numbers from {least} to {most}"


@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("name", RANGES)
def test_a_campaign_ends_with_one_line(name, campaign):
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", campaign],
        cwd=ROOT,
        env={**os.environ, name: "abc"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    lines = (found.stdout + found.stderr).split("\n")
    assert [line for line in lines if line.strip()] == [
        f"ERROR: {name} = abc: allowed are whole numbers from {RANGES[name][0]} to {RANGES[name][1]}"
    ]


@pytest.mark.parametrize("faults", ["lnik", "", "link nothing"])
def test_make_refuses_campaigns_that_do_not_exist(faults):
    """Without a file pytest would play every test of the project."""
    command = ["make", "--dry-run", "test-faults", f"FAULTS={faults}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode != 0 and f"FAULTS = {faults}: allowed are link, engine, or both" in found.stderr
