"""Unmodified programs as peers, all in one power-up of the real peer."""

from __future__ import annotations

import pytest

from sim.programs import run as runner
from sim.programs.catalogue import PROGRAMS
from sim.programs.session import Outcome
from sim.run.narrator import Narrator


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    directory = tmp_path_factory.mktemp("programs")
    # Each twice: a queue pair of the engine takes nothing over from an earlier connection.
    found = runner.run_programs([*PROGRAMS, *PROGRAMS], Narrator(), seed=3, directory=directory)
    assert [outcome.name for outcome in found] == [*PROGRAMS, *PROGRAMS]
    assert (directory / "link.pcapng").stat().st_size > 0
    return {f"{outcome.name} {index // len(PROGRAMS)}": outcome for index, outcome in enumerate(found)}


@pytest.mark.parametrize("time", [0, 1], ids=["first", "again"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_well_and_its_data_are_right(outcomes: dict[str, Outcome], name: str, time: int) -> None:
    outcome = outcomes[f"{name} {time}"]
    assert outcome.passed, f"exit code {outcome.exit_code}, {outcome.problem}\n{outcome.output}"


def test_a_program_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["ib_fly"], "auto", 1) == runner.CANNOT_RUN
    assert "no program 'ib_fly'; there are: ib_write_bw_rc" in capsys.readouterr().out


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    assert runner.main([], "auto", 1) == runner.CANNOT_RUN
    assert "apt-get install ibverbs-utils perftest rdmacm-utils" in capsys.readouterr().out
