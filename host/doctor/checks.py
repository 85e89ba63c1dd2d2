"""The checks, in the order of the README: each a pure function of an :class:`Observation`."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from host.doctor.firewall import Answer
from host.doctor.observe import HUGE_PAGE_BYTES, Observation

ROCE_OVERHEAD_BYTES = 80
"""What the kernel takes off the network MTU; of the rest, the next path MTU below is active."""
USUAL_POOL_BYTES = 2 << 30
LINE_RATE_MBPS = 100_000
CRC_LIBRARY_KERNEL = (6, 15)
"""From here on rdma_rxe takes CRC-32 from the kernel's library and needs no module for it."""


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    STOPS = "stops"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """What one check found; ``mend`` are commands, or one sentence where no command does it."""

    check: str
    level: Level
    seen: str
    mend: tuple[str, ...] = ()


Result = tuple[Level, str] | tuple[Level, str, tuple[str, ...]]
Check = Callable[[Observation], Result]
CHECKS: dict[str, Check] = {}


def _check(function: Check) -> Check:
    CHECKS[function.__name__] = function
    return function


def examine(observation: Observation) -> list[Finding]:
    """Return the finding of every check, in order."""
    return [Finding(name, *check(observation)) for name, check in CHECKS.items()]


def _netdev(seen: Observation) -> str:
    return seen.network.name if seen.network else "NETDEV"


def _device_name(seen: Observation) -> str:
    return seen.device.name if seen.device else seen.wish.device or "rxe0"


def _hardware(seen: Observation) -> bool:
    return seen.device is not None and not seen.device.software


def _pool_bytes(seen: Observation) -> int:
    """Bytes of the receiver's pool: as wished, or as the receiver chooses."""
    usual = USUAL_POOL_BYTES if seen.memory_bytes is None else min(USUAL_POOL_BYTES, seen.memory_bytes // 2)
    return seen.wish.pool_bytes or usual


@_check
def module(seen: Observation) -> Result:
    """The software RDMA device's kernel module."""
    if _hardware(seen):
        return Level.OK, f"not needed: {_device_name(seen)} is hardware"
    if seen.rxe_loaded:
        return Level.OK, "rdma_rxe is loaded"
    if seen.rxe_loaded is None:
        return Level.UNKNOWN, "the kernel does not say which modules are loaded", ("modprobe rdma_rxe",)
    if seen.rxe_available is False:
        kernel = ("apt-get install linux-image-amd64",)
        return Level.STOPS, "this kernel has no rdma_rxe (cloud flavours lack it)", kernel
    return Level.STOPS, "rdma_rxe is not loaded", ("modprobe rdma_rxe",)


@_check
def crc32(seen: Observation) -> Result:
    """The check sum that rdma_rxe asks the kernel for."""
    if _hardware(seen):
        return Level.OK, f"not needed: {_device_name(seen)} is hardware"
    if seen.device is not None or seen.crc32:
        return Level.OK, "crc32 is there" if seen.crc32 else f"{seen.device and seen.device.name} was made with it"
    if seen.kernel is not None and seen.kernel >= CRC_LIBRARY_KERNEL:
        return Level.OK, "part of this kernel"
    if seen.crc32 is None:
        return Level.UNKNOWN, "the kernel does not list its check sums", ("modprobe crc32_generic",)
    if seen.crc32_available is False:
        return Level.STOPS, "this kernel has no crc32", ("apt-get install linux-image-amd64",)
    return (
        Level.WARNING,
        "crc32 is not loaded; it comes by itself unless modprobe is out of reach",
        ("modprobe crc32_generic",),
    )


@_check
def device(seen: Observation) -> Result:
    """There is an RDMA device, the one that is wished for."""
    names = ", ".join(device.name for device in seen.devices)
    if seen.device is not None:
        others = f" (of {names})" if len(seen.devices) > 1 else ""
        return Level.OK, f"{seen.device.name}, {'software' if seen.device.software else 'hardware'}{others}"
    what = f"no RDMA device {seen.wish.device or ''}".rstrip() + (f"; there are {names}" if names else "")
    return Level.STOPS, what, (f"rdma link add {_device_name(seen)} type rxe netdev {_netdev(seen)}",)


@_check
def port(seen: Observation) -> Result:
    """Its port is active."""
    if seen.device is None:
        return Level.UNKNOWN, "no device"
    if seen.device.state is None:
        return Level.UNKNOWN, f"{seen.device.name} does not say the state of its port"
    if seen.device.state == "ACTIVE":
        return Level.OK, "active"
    return (
        Level.STOPS,
        f"{seen.device.state.lower()}: no cable, or {_netdev(seen)} is down",
        (f"ip link set dev {_netdev(seen)} up",),
    )


@_check
def gid(seen: Observation) -> Result:
    """An IPv4 address stands in its GID table, for RoCE v2."""
    if seen.device is None:
        return Level.UNKNOWN, "no device"
    for entry in seen.device.gids:
        value = int(entry.value.replace(":", ""), 16)
        if value >> 32 == 0xFFFF and "v2" in entry.kind:
            return Level.OK, f"index {entry.index}, {ipaddress.IPv4Address(value & 0xFFFFFFFF)}"
    return (
        Level.STOPS,
        f"{seen.device.name} has no GID of an IPv4 address",
        (f"ip address add 10.77.0.2/24 dev {_netdev(seen)}",),
    )


@_check
def mtu(seen: Observation) -> Result:
    """The network device carries packets of the path MTU."""
    due = seen.wish.pmtu + ROCE_OVERHEAD_BYTES
    if seen.network is None or seen.network.mtu is None:
        return Level.UNKNOWN, "no network device"
    have = f"{seen.network.name} has {seen.network.mtu}"
    if seen.network.mtu >= due:
        return Level.OK, f"{have}, path MTU {seen.wish.pmtu} needs {due}"
    return (
        Level.STOPS,
        f"{have}, path MTU {seen.wish.pmtu} needs {due} (at both ends, and in switches)",
        (f"ip link set dev {seen.network.name} mtu {due}",),
    )


@_check
def memlock(seen: Observation) -> Result:
    """The pool may be locked in memory."""
    due = _pool_bytes(seen)
    if seen.memlock_exempt:
        return Level.OK, "no limit holds for this user"
    if seen.memlock_bytes is None:
        return Level.UNKNOWN, "the limit cannot be read", ("ulimit -l",)
    if seen.memlock_bytes < 0 or seen.memlock_bytes >= due:
        return Level.OK, "unlimited" if seen.memlock_bytes < 0 else f"{seen.memlock_bytes >> 10} KiB"
    return (
        Level.STOPS,
        f"{seen.memlock_bytes >> 10} KiB may be locked, the pool has {due >> 10}",
        ("echo '* - memlock unlimited' > /etc/security/limits.d/rdma.conf  # then log in again",),
    )


@_check
def huge_pages(seen: Observation) -> Result:
    """The pool finds huge pages."""
    due = -(-_pool_bytes(seen) // HUGE_PAGE_BYTES)
    if seen.huge_pages_free is None:
        return Level.UNKNOWN, "the kernel does not tell of pages of 2 MiB"
    if seen.huge_pages_free >= due:
        return Level.OK, f"{seen.huge_pages_free} pages of 2 MiB are free, the pool takes {due}"
    total = due + (seen.huge_pages or 0) - seen.huge_pages_free
    return (
        Level.WARNING,
        f"{seen.huge_pages_free} of {due} pages of 2 MiB are free: registration is slow",
        (f"sysctl vm.nr_hugepages={total}",),
    )


@_check
def neighbour(seen: Observation) -> Result:
    """The front end's Ethernet address is known for good: connecting waits a second for it at most."""
    ip, netdev = seen.wish.peer_ip, _netdev(seen)
    if ip is None:
        return Level.UNKNOWN, "no front end was named", ("python -m host doctor --peer-ip ADDRESS",)
    if seen.neighbours is None:
        return Level.UNKNOWN, "the table of neighbours cannot be read", (f"ip neighbour show {ip}",)
    found = next((entry for entry in seen.neighbours if (entry.ip, entry.netdev) == (ip, netdev)), None)
    if found is None or not found.complete:
        return (
            Level.STOPS,
            f"no Ethernet address of {ip} on {netdev}",
            (f"ip neighbour replace {ip} lladdr MAC nud permanent dev {netdev}",),
        )
    if seen.network is not None and found.mac == seen.network.mac:
        return (
            Level.STOPS,
            f"{ip} has this machine's own Ethernet address, so packets come back",
            (f"ip neighbour replace {ip} lladdr MAC nud permanent dev {netdev}",),
        )
    if not found.permanent:
        return (
            Level.WARNING,
            f"{found.mac}, until it is forgotten",
            (f"ip neighbour replace {ip} lladdr {found.mac} nud permanent dev {netdev}",),
        )
    return Level.OK, f"{found.mac}, permanent"


@_check
def firewall(seen: Observation) -> Result:
    """UDP to port 4791 comes in. Only a software device's packets pass the kernel's filter."""
    if _hardware(seen):
        return Level.OK, "hardware takes its packets before the kernel's filter"
    blocked = [verdict for verdict in seen.firewall if verdict.answer is Answer.DROPPED]
    unsure = [verdict for verdict in seen.firewall if verdict.answer is Answer.MAYBE]
    mend = (
        "nft insert rule inet filter input udp dport 4791 accept",
        "iptables -I INPUT -p udp --dport 4791 -j ACCEPT  # where rules are kept by iptables",
    )
    if blocked:
        return Level.STOPS, f"UDP 4791 is dropped: {blocked[0].by}", mend
    if unsure:
        return Level.WARNING, f"UDP 4791 may be dropped: {unsure[0].by}", mend
    if seen.firewall:
        return Level.OK, f"UDP 4791 passes: {seen.firewall[0].by}"
    if seen.packet_filter is False:
        return Level.OK, "the kernel has no packet filter loaded"
    return Level.UNKNOWN, "rules cannot be read (no nft or iptables, or not allowed)", ("sudo nft list ruleset",)


@_check
def link_speed(seen: Observation) -> Result:
    """The link is as fast as the front end's."""
    speed = seen.network.speed_mbps if seen.network else None
    if speed is None:
        if seen.device is not None and seen.device.software:
            return Level.OK, "software on a network device without a speed: as fast as the processor"
        return Level.UNKNOWN, "the driver does not say"
    if speed >= LINE_RATE_MBPS:
        return Level.OK, f"{speed / 1000:g} Gb/s"
    return (
        Level.WARNING,
        f"{speed / 1000:g} Gb/s, the front end sends at {LINE_RATE_MBPS // 1000}",
        (f"python -m host plan --link-gbps {speed / 1000:g}  # what this link carries",),
    )


@_check
def pcie_width(seen: Observation) -> Result:
    """The device has all PCIe lanes that it can have."""
    if seen.device is None:
        return Level.UNKNOWN, "no device"
    if seen.device.software:
        return Level.OK, "not on PCIe"
    width, most = seen.device.pcie_width, seen.device.pcie_width_most
    if width is None or most is None:
        return Level.UNKNOWN, "the device does not say"
    if width >= most:
        return Level.OK, f"x{width}"
    return Level.WARNING, f"x{width} of x{most}", (f"put the card into a slot with {most} lanes",)


@_check
def governor(seen: Observation) -> Result:
    """Processors do not slow down between frames."""
    if not seen.governors:
        return Level.OK, "no frequency scaling"
    slow = {name: count for name, count in seen.governors.items() if name != "performance"}
    if not slow:
        return Level.OK, "performance"
    shown = ", ".join(f"{name} on {count}" for name, count in sorted(slow.items()))
    return Level.WARNING, f"{shown} processors", ("cpupower frequency-set -g performance",)


@_check
def numa(seen: Observation) -> Result:
    """This process runs near the device."""
    if len(seen.nodes) < 2:
        return Level.OK, "one node"
    node = seen.device.node if seen.device else None
    if node is None or node < 0 or node not in seen.nodes:
        return Level.OK, "the device belongs to no node"
    if seen.processors and seen.processors <= seen.nodes[node]:
        return Level.OK, f"on node {node}, with the device"
    return (
        Level.WARNING,
        f"the device is at node {node}, this process may run elsewhere",
        ("python -m host.receive serve --affinity device ...",),
    )


@_check
def clock(seen: Observation) -> Result:
    """Somebody disciplines the clock that frames' time stamps are compared with."""
    if seen.clock_synchronised is None:
        return Level.UNKNOWN, "the kernel does not say", ("chronyc tracking",)
    if seen.clock_synchronised:
        return Level.OK, "synchronised"
    return (
        Level.WARNING,
        "nobody disciplines it, so times of frames and of this machine differ",
        ("apt-get install chrony  # for 100 ns: linuxptp, ptp4l and phc2sys",),
    )


@_check
def pyverbs(seen: Observation) -> Result:
    """The receiver's library can be imported."""
    if not seen.pyverbs:
        return Level.OK, "can be imported"
    return Level.STOPS, seen.pyverbs, ("apt-get install python3-pyverbs ibverbs-providers",)


@_check
def permissions(seen: Observation) -> Result:
    """This user may open the verbs."""
    if not seen.verbs_files:
        return Level.STOPS, "there is no /dev/infiniband/uverbs*", ("modprobe ib_uverbs",)
    closed = [name for name, may in seen.verbs_files.items() if not may]
    if not closed:
        return Level.OK, f"/dev/infiniband/{next(iter(seen.verbs_files))} can be opened"
    return (
        Level.STOPS,
        f"/dev/infiniband/{closed[0]} may not be opened",
        (f"chmod 666 /dev/infiniband/{closed[0]}  # rdma-core's udev rules do it at every start",),
    )
