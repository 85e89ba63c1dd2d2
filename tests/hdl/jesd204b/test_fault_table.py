"""The table of faults in the link's chapter: every row names what tests it, and what it names is there."""

from __future__ import annotations

import re

import pytest

from sim.sources import HDL
from tests.hdl.jesd204b import test_jesd204b_faults, test_jesd204b_receiver, test_jesd204b_settings
from tests.hdl.jesd204b.cases import KINDS

CHAPTER = HDL / "jesd204b" / "README.md"
FILES = {"": test_jesd204b_receiver, "s": test_jesd204b_settings, "f": test_jesd204b_faults}


UNTOLD = ("none: ", "not marked")
"""How the table says that the receiver does not tell of something."""


def table(heading: str) -> list[tuple[str, str, str]]:
    """The three cells of each row of the table under ``heading``."""
    section = re.split(r"\n##+ ", CHAPTER.read_text().split(f"# {heading}\n")[1])[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [(cells[0].strip(), cells[1].strip(), cells[2].strip()) for cells in lines[2:]]


def rows() -> list[tuple[str, str]]:
    """Fault and tests of each row, of both tables."""
    found = table("Faults, and what the receiver does") + table("What no receiver can tell")
    return [(fault, tests) for fault, _, tests in found if not tests.startswith("none: ")]


def named(tests: str) -> list[tuple[str, str]]:
    """Letter and name of everything in a cell of tests."""
    found, letter = [], ""
    for match in re.finditer(r"\((\w)\)|`([^`]+)`", tests):
        if match[1]:
            letter = match[1]
        else:
            found.append((letter, match[2]))
    return found


@pytest.mark.parametrize(("fault", "tests"), rows())
def test_what_a_row_names_is_there(fault: str, tests: str) -> None:
    assert named(tests), fault
    for letter, name in named(tests):
        if name.endswith(".py"):
            assert (CHAPTER.parents[2] / name).exists() or (CHAPTER.parents[2] / "tests/hdl/jesd204b" / name).exists()
        elif letter == "c":
            assert name in KINDS
        else:
            assert type(getattr(FILES[letter], name)).__module__.startswith("cocotb"), f"{name} is no test"


def test_the_table_has_the_faults_of_the_campaign() -> None:
    """So that it does not get lost that there is a table."""
    assert len(rows()) > 30


def test_what_the_receiver_does_not_tell_is_all_in_one_place() -> None:
    untold = {
        name
        for _, receiver, tests in table("Faults, and what the receiver does")
        if any(word in receiver.replace("*", "") for word in UNTOLD)
        for name in named(tests)
    }
    assert len(untold) >= 3
    assert untold <= {name for _, _, tests in table("What no receiver can tell") for name in named(tests)}
