"""Setup: quick when all is there, one helpful message when it cannot install."""

import os
import subprocess
import sys

import pytest

from sim import bootstrap


def test_nothing_is_missing_where_tests_run():
    assert bootstrap.missing_packages() == []


def test_without_root_the_message_is_the_line_to_run(monkeypatch):
    monkeypatch.setattr(bootstrap, "DEBIAN_PACKAGES", {"make": "builds", "no-such-package-ever": "shows the message"})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as refusal:
        bootstrap.install_debian_packages()
    message = str(refusal.value)
    assert "no-such-package-ever shows the message" in message
    assert "sudo apt-get install -y --no-install-recommends no-such-package-ever" in message
    assert "make" not in message.split("--no-install-recommends")[1]


def test_setup_with_everything_there_says_nothing():
    assert bootstrap.environment_is_current(), "run 'make setup' first: the lock has changed"
    command = [sys.executable, str(bootstrap.ROOT / "sim" / "bootstrap.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert result.stdout == ""


def test_a_failing_command_shows_the_end_of_its_log(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(SystemExit, match="the reason"):
        bootstrap.run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], log)
