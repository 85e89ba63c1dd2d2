"""Each check on machines that are fine but for one thing."""

import os
import re
import subprocess

import pytest

from host.doctor import CHECKS, Level, Machine, Observation, examine, observe
from host.doctor.observe import clock_synchronised, import_pyverbs, run_command
from sim.sources import ROOT
from tests.host.doctor.machines import HARDWARE, HEALTHY, KERNEL, MLX5, NETDEV, OWN_MAC, PEER, RXE, MadeUp

OK, WARNING, STOPS, UNKNOWN = Level.OK, Level.WARNING, Level.STOPS, Level.UNKNOWN
DEP = f"lib/modules/{KERNEL}/modules.dep"
HUGE = "sys/kernel/mm/hugepages/hugepages-2048kB"
CPU = "sys/devices/system/cpu"
ARP = "IP address HW type Flags HW address Mask Device\n"


@pytest.fixture
def made(tmp_path):
    return MadeUp(tmp_path)


@pytest.fixture
def hardware(tmp_path):
    return MadeUp(tmp_path, hardware=True)


def test_a_good_machine_is_all_fine(made):
    assert {name: found.level for name, found in made.findings().items()} == dict.fromkeys(CHECKS, OK)


def test_a_good_machine_with_hardware_is_all_fine(hardware):
    hardware.remove("proc/modules")
    hardware.commands = {"iptables": "-P INPUT DROP"}
    found = hardware.findings()
    assert {name: finding.level for name, finding in found.items()} == dict.fromkeys(CHECKS, OK)
    assert found["pcie_width"].seen == "x16" and "hardware" in found["firewall"].seen


# check, files to write (None: to remove), level, what is said, how it is mended
CASES = [
    ("module", {"proc/modules": "ext4 1 0"}, STOPS, "not loaded", "modprobe rdma_rxe"),
    ("module", {"proc/modules": "ext4 1 0", DEP: "kernel/x.ko:"}, STOPS, "cloud", "linux-image-amd64"),
    ("module", {"proc/modules": None}, UNKNOWN, "does not say", "modprobe"),
    ("crc32", {RXE: None, "proc/crypto": "name : crc32c"}, WARNING, "not loaded", "modprobe crc32_generic"),
    ("crc32", {RXE: None, "proc/crypto": "name : md5", DEP: "x"}, STOPS, "no crc32", "linux-image"),
    ("crc32", {RXE: None, "proc/crypto": None}, UNKNOWN, "does not list", "modprobe crc32_generic"),
    ("crc32", {RXE: None, "proc/crypto": "", "proc/sys/kernel/osrelease": "6.15.2"}, OK, "part of", ""),
    ("device", {RXE: None}, STOPS, "no RDMA device", "rdma link add rxe0 type rxe netdev eth0"),
    ("port", {f"{RXE}/ports/1/state": "1: DOWN"}, STOPS, "down", "ip link set dev eth0 up"),
    ("port", {f"{RXE}/ports/1/state": None}, UNKNOWN, "does not say", ""),
    ("port", {RXE: None}, UNKNOWN, "no device", ""),
    ("gid", {f"{RXE}/ports/1/gids/1": "0" * 32}, STOPS, "no GID", "ip address add 10.77.0.2/24 dev eth0"),
    ("gid", {f"{RXE}/ports/1/gid_attrs/types/1": "IB/RoCE v1"}, STOPS, "no GID", "ip address add"),
    ("gid", {RXE: None}, UNKNOWN, "no device", ""),
    ("mtu", {f"{NETDEV}/mtu": "4175"}, STOPS, "needs 4176", "ip link set dev eth0 mtu 4176"),
    ("mtu", {f"{NETDEV}/mtu": "4176"}, OK, "4176", ""),
    ("mtu", {NETDEV: None}, UNKNOWN, "no network device", ""),
    ("memlock", {"proc/self/limits": "Max locked memory 8388608 8388608 bytes"}, STOPS, "8192 KiB", "memlock"),
    ("memlock", {"proc/self/limits": f"Max locked memory {2 << 30} 0 bytes"}, OK, "KiB", ""),
    ("memlock", {"proc/self/limits": None}, UNKNOWN, "cannot be read", "ulimit -l"),
    ("huge_pages", {f"{HUGE}/free_hugepages": "1000"}, WARNING, "1000 of 1024", "sysctl vm.nr_hugepages=1054"),
    ("huge_pages", {f"{HUGE}/free_hugepages": "0", "proc/meminfo": "MemTotal: 2097152 kB"}, WARNING, "0 of 512", ""),
    ("huge_pages", {f"{HUGE}/free_hugepages": None}, UNKNOWN, "2 MiB", ""),
    ("neighbour", {"proc/net/arp": ARP}, STOPS, PEER, f"ip neighbour replace {PEER} lladdr MAC nud permanent dev eth0"),
    ("neighbour", {"proc/net/arp": f"{ARP}{PEER} 0x1 0x0 00:00:00:00:00:00 * eth0"}, STOPS, PEER, "permanent"),
    ("neighbour", {"proc/net/arp": f"{ARP}{PEER} 0x1 0x6 02:00:00:00:00:01 * eth1"}, STOPS, PEER, "dev eth0"),
    ("neighbour", {"proc/net/arp": f"{ARP}{PEER} 0x1 0x6 {OWN_MAC} * eth0"}, STOPS, "own", "permanent"),
    ("neighbour", {"proc/net/arp": f"{ARP}{PEER} 0x1 0x2 02:00:00:00:00:01 * eth0"}, WARNING, "until", "00:00:01 nud"),
    ("neighbour", {"proc/net/arp": None}, UNKNOWN, "cannot be read", "ip neighbour show"),
    ("link_speed", {f"{NETDEV}/speed": "25000"}, WARNING, "25 Gb/s", "plan --link-gbps 25"),
    ("link_speed", {f"{NETDEV}/speed": "-1"}, OK, "without a speed", ""),
    ("link_speed", {f"{NETDEV}/speed": "10", f"{NETDEV}/device": None}, OK, "without a speed", ""),
    ("link_speed", {f"{NETDEV}/speed": "-1", RXE: None}, UNKNOWN, "does not say", ""),
    ("pcie_width", {RXE: None}, UNKNOWN, "no device", ""),
    ("governor", {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}, WARNING, "powersave on 1", "cpupower"),
    ("governor", {CPU: None}, OK, "no frequency scaling", ""),
    ("permissions", {"dev/infiniband": None}, STOPS, "no /dev/infiniband", "modprobe ib_uverbs"),
]  # fmt: skip


def change(made, files):
    for path, text in files.items():
        if text is None:
            made.remove(path)
        else:
            made.write(path, text)


@pytest.mark.parametrize(("check", "files", "level", "seen", "mend"), CASES)
def test_one_thing_is_wrong(made, check, files, level, seen, mend):
    change(made, files)
    found = made.findings()[check]
    assert (found.level, seen in found.seen, mend in " ".join(found.mend)) == (level, True, True), found
    assert found.mend or found.level not in (STOPS, WARNING), "it says what to do"


@pytest.mark.parametrize(
    ("check", "files", "level", "seen"),
    [
        ("pcie_width", {f"{MLX5}/device/current_link_width": "8"}, WARNING, "x8 of x16"),
        ("pcie_width", {f"{MLX5}/device/max_link_width": None}, UNKNOWN, "does not say"),
        ("numa", {f"{MLX5}/device/numa_node": "1"}, WARNING, "node 1"),
        ("numa", {f"{MLX5}/device/numa_node": "-1"}, OK, "no node"),
        ("numa", {"proc/self/status": "Cpus_allowed_list: 0-7"}, WARNING, "node 0"),
        ("numa", {"sys/devices/system/node/node1": None, "proc/self/status": ""}, OK, "one node"),
        ("link_speed", {f"{NETDEV}/speed": None}, UNKNOWN, "does not say"),
    ],
)
def test_one_thing_is_wrong_with_hardware(hardware, check, files, level, seen):
    change(hardware, files)
    found = hardware.findings()[check]
    assert (found.level, seen in found.seen) == (level, True), found


def test_who_may_lock_memory_has_no_limit(made):
    made.write("proc/self/limits", "Max locked memory 65536 65536 bytes")
    made.write("proc/self/status", "CapEff:\t0000000000004000")
    assert made.findings()["memlock"].level is OK


def test_the_wish_counts(made):
    assert made.findings(pmtu=2048)["mtu"].seen.endswith("needs 2128")
    assert "2049" in made.findings(pool_bytes=(4096 << 20) + 1)["huge_pages"].seen
    missing = made.findings(device="mlx5_7")["device"]
    assert missing.level is STOPS and "there are rxe0" in missing.seen and "rdma link add mlx5_7" in missing.mend[0]
    unnamed = made.findings(peer_ip=None)["neighbour"]
    assert unnamed.level is UNKNOWN and "--peer-ip" in unnamed.mend[0]


def test_the_network_device_that_would_do_is_named_without_an_rdma_device(made):
    made.remove(RXE)
    made.write("sys/class/net/dummy0/operstate", "down")
    assert made.findings()["device"].mend == ("rdma link add rxe0 type rxe netdev eth0",)


@pytest.mark.parametrize(("synchronised", "level"), [(True, OK), (False, WARNING), (None, UNKNOWN)])
def test_clock(made, synchronised, level):
    made.clock = synchronised
    assert made.findings()["clock"].level is level


def test_pyverbs(made):
    made.pyverbs = "ModuleNotFoundError: No module named 'pyverbs'"
    found = made.findings()["pyverbs"]
    assert (found.level, found.seen) == (STOPS, made.pyverbs) and "python3-pyverbs" in found.mend[0]


def test_verbs_that_may_not_be_opened():
    found = CHECKS["permissions"](Observation(verbs_files={"uverbs0": True, "uverbs1": False}))
    assert found[0] is STOPS and "uverbs1" in found[1]


def test_access_is_asked_of_the_kernel(made, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "uverbs0" or mode != os.R_OK | os.W_OK)
    assert made.findings()["permissions"].level is STOPS


def test_of_a_machine_that_shows_nothing_nothing_is_claimed(tmp_path):
    found = examine(observe(Machine(tmp_path, lambda *_: None, lambda: None, lambda: "")))
    assert [finding.check for finding in found] == list(CHECKS)
    fine = {finding.check for finding in found if finding.level is OK}
    assert fine == {"governor", "numa", "pyverbs"}


@pytest.mark.parametrize("path", [*HEALTHY, *HARDWARE])
@pytest.mark.parametrize(
    "rubbish", ["", "?", "-1 : : -\n\nx 1 2 3 4 5\n: 0x", "Max locked memory\nMemTotal:\nCapEff: zz", None]
)
def test_whatever_a_file_holds_there_is_no_traceback(tmp_path, path, rubbish):
    made = MadeUp(tmp_path, hardware=path in HARDWARE)
    made.remove(path)
    if rubbish is None:
        (made.root / path).mkdir()  # cannot be read, even by root
    else:
        made.write(path, rubbish)
    found = made.findings()
    assert list(found) == list(CHECKS) and all(finding.seen for finding in found.values())


def test_the_troubleshooting_chapter_follows_the_checks():
    chapter = (ROOT / "host/doctor/README.md").read_text().split("## Troubleshooting")[1]
    assert re.findall(r"^### (\w+)$", chapter, re.MULTILINE) == list(CHECKS)


def test_commands_that_are_missing_fail_or_hang_say_nothing(monkeypatch):
    assert run_command("no-such-program-anywhere") is None
    assert run_command("false") is None
    assert run_command("echo", "here") == "here\n"

    def hang(*arguments, **options):
        raise subprocess.TimeoutExpired(arguments, options["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    assert run_command("echo", "here") is None


def test_this_machine_answers():
    assert clock_synchronised() in (True, False, None)
    assert isinstance(import_pyverbs(), str)
    assert list(CHECKS) == [finding.check for finding in examine(observe())]
