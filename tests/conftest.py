"""What holds for all tests: variables of the fault campaigns are looked at before anything is collected."""

from __future__ import annotations

import pytest

from tests.hdl import fault_seeds


def pytest_configure() -> None:
    """End with one line if a variable of ``make test-faults`` has a value that is none."""
    try:
        fault_seeds.check()
    except fault_seeds.BadVariable as error:
        raise pytest.UsageError(str(error)) from error
