"""Exit codes, table and JSON of the command."""

import json

import pytest

from host.__main__ import main, parser
from host.doctor import CHECKS, command
from tests.host.doctor.machines import NETDEV, PEER, RXE, MadeUp


def run(made, *arguments):
    return command.run(parser().parse_args(["doctor", "--peer-ip", PEER, *arguments]), made.machine)


@pytest.fixture
def made(tmp_path):
    return MadeUp(tmp_path)


def test_all_is_well(made, capsys):
    assert run(made) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in CHECKS) and "nothing stops RDMA" in shown


def test_what_stops_is_named_with_the_command_that_mends_it(made, capsys):
    made.write(f"{NETDEV}/mtu", "1500")
    made.remove(f"{RXE}/ports/1/gids/1")
    assert run(made) == 1
    shown = capsys.readouterr().out
    assert "RDMA is stopped by: gid, mtu" in shown
    assert "mtu: ip link set dev eth0 mtu 4176\n" in shown


def test_a_warning_does_not_change_the_exit_code(made):
    made.clock = False
    assert run(made) == 0


def test_json(made, capsys):
    made.write(f"{NETDEV}/mtu", "2127")
    assert run(made, "--json", "--pmtu", "2048") == 1
    found = json.loads(capsys.readouterr().out)
    assert [entry["check"] for entry in found] == list(CHECKS)
    entry = next(entry for entry in found if entry["check"] == "mtu")
    assert entry["level"] == "stops" and entry["mend"] == ["ip link set dev eth0 mtu 2128"]


def test_options_reach_the_wish(made, capsys):
    assert run(made, "--device", "mlx5_3", "--json") == 1
    assert "mlx5_3" in capsys.readouterr().out
    run(made, "--pool-bytes", str(6 << 30), "--json")
    assert "of 3072 pages" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--peer-ip", "fpga"], ["--pmtu", "1500"]])
def test_what_makes_no_sense_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    assert ended.value.code == 2 and arguments[0] in capsys.readouterr().err
