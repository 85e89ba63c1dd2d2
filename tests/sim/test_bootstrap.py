"""Setup: quick when all is there, one helpful message when it cannot install."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

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


FROM_DEBIAN = {"pyverbs"}
"""What the virtual environment takes from the system, because the package list has it."""


def third_party_imports():
    """Names of the packages that any file of the project imports."""
    for folder in ("host", "sim", "tests"):
        for path in (bootstrap.ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    yield from ((alias.name, path) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    yield node.module, path


def test_every_import_is_of_a_package_that_the_setup_installs():
    own = {"host", "sim", "tests", *sys.stdlib_module_names}
    for name, path in third_party_imports():
        top, _, below = name.partition(".")
        if top in own or top in FROM_DEBIAN:
            continue
        found = importlib.util.find_spec(f"{top}.{below.partition('.')[0]}" if top == "cocotbext" else top)
        assert found is not None and Path(found.origin).is_relative_to(bootstrap.VENV), f"{path} imports {name}"


def test_setup_with_everything_there_says_nothing():
    assert bootstrap.environment_is_current(), "run 'make setup' first: the lock has changed"
    command = [sys.executable, str(bootstrap.ROOT / "sim" / "bootstrap.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert result.stdout == ""


def test_a_failing_command_shows_the_end_of_its_log(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(SystemExit, match="the reason"):
        bootstrap.run("trying", [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], log)


NOBODY = 65534


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout that is not root's, set up by root."""
    for name, folder in (("ROOT", "."), ("BUILD", "build"), ("VENV", ".venv")):
        monkeypatch.setattr(bootstrap, name, tmp_path / folder)
    (tmp_path / "build" / "runs").mkdir(parents=True)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "python").symlink_to("/usr/bin/python3")
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_sets_up_belongs_to_the_checkouts_owner(checkout):
    os.chown(checkout, NOBODY, NOBODY)
    bootstrap.hand_over()
    for path in (checkout / "build" / "runs", checkout / ".venv" / "python"):
        assert path.lstat().st_uid == NOBODY
    assert Path("/usr/bin/python3").stat().st_uid == 0


def test_folders_of_another_user_are_refused_with_the_line_that_mends_it(checkout, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "runs")
    with pytest.raises(SystemExit) as refusal:
        bootstrap.refuse_foreign_folders()
    assert f"another user owns {checkout / 'build' / 'runs'}" in str(refusal.value)
    assert f"sudo chown -R $(id -u):$(id -g) {checkout / 'build'} {checkout / '.venv'}" in str(refusal.value)


def test_own_folders_are_not_refused(checkout):
    bootstrap.refuse_foreign_folders()
