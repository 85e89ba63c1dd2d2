"""What can be seen of a machine: files of the kernel below one root, and what three commands print. Judges nothing.

Whatever cannot be read is ``None`` or empty; nothing here raises for a file that is missing or may not be read.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from host.doctor.firewall import Verdict, iptables_verdict, nft_verdict

COMMAND_LIMIT_SECONDS = 5.0
HUGE_PAGE_BYTES = 2 << 20
_IPC_LOCK = 1 << 14
_TIME_ERROR = 5
_TIMEX_BYTES = 512
_GIDS_LOOKED_AT = 64
_ARP_COMPLETE, _ARP_PERMANENT = 2, 4


def run_command(*arguments: str) -> str | None:
    """Return what a command prints; ``None`` if there is no such command, or it fails, or does not end."""
    try:
        done = subprocess.run(
            arguments,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def clock_synchronised() -> bool | None:
    """Ask the kernel whether somebody disciplines its clock; ``None`` if it does not say."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))  # zeroes: changes nothing
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != _TIME_ERROR


def import_pyverbs() -> str:
    """Return why pyverbs cannot be used, empty if it can."""
    try:
        import pyverbs.device  # noqa: F401, PLC0415 - whether that works is the question
    except Exception as error:  # a broken extension module may raise anything
        return f"{type(error).__name__}: {error}"
    return ""


@dataclass(frozen=True)
class Machine:
    """Where to look. A test gives a folder and functions of its own."""

    root: Path = Path("/")
    command: Callable[..., str | None] = run_command
    clock: Callable[[], bool | None] = clock_synchronised
    pyverbs: Callable[[], str] = import_pyverbs

    def text(self, path: str) -> str | None:
        """Return the contents of a file without surrounding blanks, ``None`` if they cannot be had."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return a file's whole number."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """Return what a folder holds, sorted; nothing if it cannot be listed."""
        try:
            return sorted(os.listdir(self.root / path))  # noqa: PTH208 - names only
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        """Tell whether there is such a file or folder."""
        return (self.root / path).exists()


@dataclass(frozen=True)
class Wish:
    """What is to work: device (``None``: the first), path MTU, the other end's address, bytes of the memory pool."""

    device: str | None = None
    pmtu: int = 4096
    peer_ip: str | None = None
    pool_bytes: int | None = None


@dataclass(frozen=True)
class Gid:
    """One entry of the GID table; ``kind`` as the kernel spells it, e.g. ``RoCE v2``."""

    index: int
    value: str
    kind: str


@dataclass(frozen=True)
class Device:
    """An RDMA device, port 1. ``software``: it stands on a network device and not on PCIe."""

    name: str
    software: bool
    netdev: str | None = None
    state: str | None = None
    rate: str | None = None
    gids: tuple[Gid, ...] = ()
    pcie_width: int | None = None
    pcie_width_most: int | None = None
    node: int | None = None


@dataclass(frozen=True)
class NetworkDevice:
    """A network device; ``speed_mbps`` is ``None`` where the driver does not say. Of a virtual one it means nothing."""

    name: str
    mtu: int | None = None
    mac: str | None = None
    up: bool = False
    speed_mbps: int | None = None


@dataclass(frozen=True)
class Neighbour:
    """An entry of the table of Ethernet addresses."""

    ip: str
    mac: str
    netdev: str
    complete: bool
    permanent: bool


@dataclass(frozen=True)
class Observation:
    """All that was seen; what checks judge by."""

    wish: Wish = Wish()
    kernel: tuple[int, int] | None = None
    rxe_loaded: bool | None = None
    rxe_available: bool | None = None
    crc32: bool | None = None
    crc32_available: bool | None = None
    devices: tuple[Device, ...] = ()
    networks: tuple[NetworkDevice, ...] = ()
    memlock_bytes: int | None = None
    """Limit on locked memory; ``None`` is unknown, a negative number no limit."""
    memlock_exempt: bool = False
    memory_bytes: int | None = None
    huge_pages_free: int | None = None
    huge_pages: int | None = None
    neighbours: tuple[Neighbour, ...] | None = None
    packet_filter: bool | None = None
    """The kernel has a packet filter that rules could be in."""
    firewall: tuple[Verdict, ...] = ()
    governors: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, frozenset[int]] = field(default_factory=dict)
    processors: frozenset[int] = frozenset()
    clock_synchronised: bool | None = None
    pyverbs: str = ""
    verbs_files: dict[str, bool] = field(default_factory=dict)
    """Files ``/dev/infiniband/uverbs*``, and whether this user may open them."""

    @property
    def device(self) -> Device | None:
        """The device that is wished for."""
        wanted = [device for device in self.devices if self.wish.device in (None, device.name)]
        return wanted[0] if wanted else None

    @property
    def network(self) -> NetworkDevice | None:
        """The network device that the RDMA device stands on; without one, the first that would do."""
        if self.device is not None:
            return next((network for network in self.networks if network.name == self.device.netdev), None)
        others = [network for network in self.networks if network.name != "lo"]
        return next((network for network in others if network.up), others[0] if others else None)


def observe(machine: Machine = Machine(), wish: Wish = Wish()) -> Observation:
    """Look at everything once. Raises nothing."""
    release = machine.text("proc/sys/kernel/osrelease") or ""
    modules = machine.text(f"lib/modules/{release}/modules.dep") if release else None
    builtin = machine.text(f"lib/modules/{release}/modules.builtin") or "" if release else ""
    loaded = machine.text("proc/modules")
    memory = _table(machine.text("proc/meminfo") or "", ":").get("MemTotal", "").partition(" ")[0]
    pages = "sys/kernel/mm/hugepages/hugepages-2048kB"
    return Observation(
        wish=wish,
        kernel=_version(release),
        rxe_loaded=_loaded(machine, loaded, builtin, "rdma_rxe"),
        rxe_available=None if modules is None else "/rdma_rxe.ko" in modules + builtin,
        crc32=_has_crc32(machine.text("proc/crypto")),
        crc32_available=None if modules is None else "/crc32_generic.ko" in modules + builtin,
        devices=tuple(_device(machine, name) for name in machine.names("sys/class/infiniband")),
        networks=tuple(_network(machine, name) for name in machine.names("sys/class/net")),
        memlock_bytes=_memlock(machine.text("proc/self/limits")),
        memlock_exempt=_exempt(machine.text("proc/self/status")),
        memory_bytes=int(memory) * 1024 if memory.isdecimal() else None,
        huge_pages_free=machine.number(f"{pages}/free_hugepages"),
        huge_pages=machine.number(f"{pages}/nr_hugepages"),
        neighbours=_neighbours(machine.text("proc/net/arp")),
        packet_filter=_packet_filter(machine, loaded, builtin),
        firewall=tuple(_firewall(machine)),
        governors=_governors(machine),
        nodes=_nodes(machine),
        processors=_processors(machine),
        clock_synchronised=machine.clock(),
        pyverbs=machine.pyverbs(),
        verbs_files={
            name: os.access(machine.root / "dev/infiniband" / name, os.R_OK | os.W_OK)
            for name in machine.names("dev/infiniband")
            if name.startswith("uverbs")
        },
    )


def _version(release: str) -> tuple[int, int] | None:
    parts = release.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (ValueError, IndexError):
        return None


def _loaded(machine: Machine, loaded: str | None, builtin: str, name: str) -> bool | None:
    if machine.exists(f"sys/module/{name}") or f"/{name}.ko" in builtin:
        return True
    if loaded is None and not machine.exists("sys/module"):
        return None
    return any(line.split(" ", 1)[0] == name for line in (loaded or "").splitlines())


def _has_crc32(crypto: str | None) -> bool | None:
    if crypto is None:
        return None
    return any(line.replace(" ", "") == "name:crc32" for line in crypto.splitlines())


def _table(text: str, separator: str) -> dict[str, str]:
    pairs = (line.split(separator, 1) for line in text.splitlines() if separator in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _device(machine: Machine, name: str) -> Device:
    folder = f"sys/class/infiniband/{name}"
    port = f"{folder}/ports/1"
    gids = []
    for index in sorted(int(entry) for entry in machine.names(f"{port}/gids") if entry.isdecimal())[:_GIDS_LOOKED_AT]:
        value = machine.text(f"{port}/gids/{index}")
        if value and _hexadecimal(value.replace(":", "")):
            gids.append(Gid(index, value, machine.text(f"{port}/gid_attrs/types/{index}") or ""))
    netdev = machine.text(f"{folder}/parent")
    if netdev is None:
        known = (machine.text(f"{port}/gid_attrs/ndevs/{gid.index}") for gid in gids)
        netdev = next((name for name in known if name), None) or next(iter(machine.names(f"{folder}/device/net")), None)
    return Device(
        name=name,
        software=machine.exists(f"{folder}/parent") or not machine.exists(f"{folder}/device"),
        netdev=netdev,
        state=(machine.text(f"{port}/state") or "").partition(":")[2].strip() or None,
        rate=machine.text(f"{port}/rate"),
        gids=tuple(gids),
        pcie_width=machine.number(f"{folder}/device/current_link_width"),
        pcie_width_most=machine.number(f"{folder}/device/max_link_width"),
        node=machine.number(f"{folder}/device/numa_node"),
    )


def _network(machine: Machine, name: str) -> NetworkDevice:
    folder = f"sys/class/net/{name}"
    speed = machine.number(f"{folder}/speed")
    return NetworkDevice(
        name=name,
        mtu=machine.number(f"{folder}/mtu"),
        mac=machine.text(f"{folder}/address"),
        up=machine.text(f"{folder}/operstate") in ("up", "unknown") and machine.number(f"{folder}/carrier") != 0,
        speed_mbps=speed if speed and speed > 0 and machine.exists(f"{folder}/device") else None,
    )


def _memlock(limits: str | None) -> int | None:
    for line in (limits or "").splitlines():
        if line.startswith("Max locked memory"):
            soft = line.removeprefix("Max locked memory").strip().partition(" ")[0]
            return -1 if soft == "unlimited" else int(soft) if soft.isdecimal() else None
    return None


def _exempt(status: str | None) -> bool:
    return bool(_hexadecimal(_table(status or "", ":").get("CapEff", "")) & _IPC_LOCK)


def _hexadecimal(text: str) -> int:
    """Return a number, 0 for what is none."""
    try:
        return int(text, 16)
    except ValueError:
        return 0


def _neighbours(arp: str | None) -> tuple[Neighbour, ...] | None:
    if arp is None:
        return None
    found = []
    for line in arp.splitlines()[1:]:
        columns = line.split()
        if len(columns) == 6:
            flags = _hexadecimal(columns[2])
            complete, permanent = bool(flags & _ARP_COMPLETE), bool(flags & _ARP_PERMANENT)
            found.append(Neighbour(columns[0], columns[3], columns[5], complete, permanent))
    return tuple(found)


def _packet_filter(machine: Machine, loaded: str | None, builtin: str) -> bool | None:
    """Only a kernel that shows its modules can be known to have no filter among them."""
    if any(_loaded(machine, loaded, builtin, name) for name in ("nf_tables", "ip_tables")):
        return True
    return False if loaded else None


def _firewall(machine: Machine) -> Iterator[Verdict]:
    for text, judge in (
        (machine.command("nft", "-j", "list", "ruleset"), nft_verdict),
        (machine.command("iptables", "-S", "INPUT"), iptables_verdict),
    ):
        if text is not None and (verdict := judge(text)) is not None:
            yield verdict


def _governors(machine: Machine) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in machine.names("sys/devices/system/cpu"):
        governor = machine.text(f"sys/devices/system/cpu/{name}/cpufreq/scaling_governor")
        if governor:
            counts[governor] = counts.get(governor, 0) + 1
    return counts


def _nodes(machine: Machine) -> dict[int, frozenset[int]]:
    folder = "sys/devices/system/node"
    names = [name for name in machine.names(folder) if name.startswith("node") and name[4:].isdecimal()]
    return {int(name[4:]): _cpus(machine.text(f"{folder}/{name}/cpulist")) for name in names}


def _processors(machine: Machine) -> frozenset[int]:
    return _cpus(_table(machine.text("proc/self/status") or "", ":").get("Cpus_allowed_list"))


def _cpus(text: str | None) -> frozenset[int]:
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
