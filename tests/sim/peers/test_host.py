"""The host peer: its cases run in the micro-VM, whose kernel has the software RDMA device whatever this one has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.peers import host
from sim.peers.host import HostPeer, _free_network
from sim.peers.lifecycle import Network, PeerError, PeerSettings
from sim.peers.vm import run_command

CASES = "tests/sim/peers/host_cases.py"


@pytest.mark.peer
def test_cases_on_a_kernel_with_rxe(capsys: pytest.CaptureFixture[str]):
    command = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q -p no:cacheprovider {CASES}"
    code = run_command(command, memory_bytes=1 << 30, limit_seconds=400.0)
    output = capsys.readouterr().out
    assert code == 0, output
    assert re.search(r"^2 passed", output, re.MULTILINE), output


@pytest.mark.peer
def test_a_command_in_the_vm_gives_its_output_and_exit_code(capsys: pytest.CaptureFixture[str]):
    code = run_command(
        "uname -r; lsmod | grep -c -E '^(rdma_rxe|tun) '; touch build/probe && rm build/probe && echo writable; "
        "touch /etc/probe || echo read-only; exit 7",
        memory_bytes=512 << 20,
    )
    lines = capsys.readouterr().out.splitlines()
    assert code == 7
    assert lines[0].startswith("6.1.0-")
    assert lines[1:3] == ["2", "writable"] and lines[-1] == "read-only"


@pytest.mark.skipif(Path("/sys/module/rdma_rxe").exists(), reason="this kernel has the module")
def test_missing_module_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host.os, "geteuid", lambda: 0)
    with pytest.raises(PeerError, match=r"has no module rdma_rxe.*\nHint: use peer = \"vm\""):
        HostPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65536)).start()


def test_without_root_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host.os, "geteuid", lambda: 1000)
    with pytest.raises(PeerError, match="needs root"):
        HostPeer(PeerSettings(run_directory=tmp_path, slot_bytes=65536)).start()


def test_networks_in_use_are_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(host.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(host, "_used_networks", lambda: [host.IPv4Network("10.77.0.0/23")])
    first, lock = _free_network(Network())
    second, other = _free_network(Network())
    assert (first.fpga_ip, first.peer_ip) == ("10.77.2.1", "10.77.2.2")
    assert second.peer_ip == "10.77.3.2"
    for descriptor in (lock, other):
        host.os.close(descriptor)
