"""An RDMA device of this machine: found, described, its memory registered."""

from __future__ import annotations

import ipaddress
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyverbs import enums
from pyverbs.device import Context
from pyverbs.enums import (
    IBV_ACCESS_LOCAL_WRITE,
    IBV_ACCESS_ON_DEMAND,
    IBV_ACCESS_RELAXED_ORDERING,
    IBV_ACCESS_REMOTE_WRITE,
    IBV_EVENT_PORT_ACTIVE,
    IBV_ODP_SUPPORT,
    IBV_ODP_SUPPORT_WRITE,
    IBV_PORT_ACTIVE,
)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError

from host.exchange import PATH_MTUS
from host.receive.events import new_event_descriptors, only
from host.receive.evidence import Evidence
from host.receive.pool import MemoryPool

PORT = 1
_V4_MAPPED = 0xFFFF << 32
_SYSFS = Path("/sys/class/infiniband")
_EVENT_NAMES = {
    value: name.removeprefix("IBV_EVENT_").lower()
    for name, value in vars(enums).items()
    if name.startswith("IBV_EVENT_")
}
_GID_LIMIT_SECONDS = 3.0
ROCE_OVERHEAD_BYTES = 80
"""What the largest packet adds to the path MTU, as the kernel counts it: 4096 needs a network MTU of 4176."""


class DeviceError(RuntimeError):
    """The device is missing or cannot do what was asked; the text says what to change."""


@dataclass(frozen=True)
class Port:
    """Where the device stands in the network."""

    gid_index: int
    gid: str
    ip: str
    mac: str
    netdev: str


class Device:
    """An open RDMA device with one protection domain. ``asynchronous`` is the descriptor of its asynchronous events."""

    def __init__(self, name: str, ip: str | None = None) -> None:
        self.name = name
        if not (_SYSFS / name).is_dir():
            present = ", ".join(sorted(entry.name for entry in _SYSFS.glob("*"))) or "none"
            raise DeviceError(
                f"no RDMA device {name!r} (present: {present}); 'rdma link add {name} type rxe netdev NETDEV' makes a "
                f"software one"
            )
        try:
            with new_event_descriptors() as found:
                self.context = Context(name=name)
            self.asynchronous = only(found, "context")
            self.domain = PD(self.context)
        except PyverbsError as error:
            raise DeviceError(f"cannot open RDMA device {name!r}: {error}") from error
        self.port = _find_port(name, ip)
        self._regions: list[Any] = []

    def check_path_mtu(self, pmtu: int) -> None:
        """Raise :class:`DeviceError` if the port cannot carry packets of ``pmtu`` payload bytes.

        The software device would take any path MTU and fail later, on the wire.
        """
        active = PATH_MTUS[self.context.query_port(PORT).active_mtu - 1]
        if active < pmtu:
            raise DeviceError(
                f"{self.name} offers a path MTU of {active}, {pmtu} was asked for: set the MTU of {self.port.netdev} "
                f"to at "
                f"least {pmtu + ROCE_OVERHEAD_BYTES}"
            )

    def wait_active(self, limit_seconds: float) -> None:
        """Return once the port is active; raise :class:`DeviceError` if it is not within ``limit_seconds``."""
        deadline = time.monotonic() + limit_seconds
        while not self.active:
            if time.monotonic() > deadline:
                raise DeviceError(
                    f"port of {self.name} is not active after {limit_seconds:.1f} s; is {self.port.netdev} up and its "
                    f"other "
                    "end there?"
                )
            time.sleep(0.01)

    def register(self, pool: MemoryPool) -> Any:
        """Register the whole pool for remote writes, once; return the memory region.

        On-demand paging where the device has it, else the pages are pinned. Relaxed ordering is asked for: a device
        that has none ignores it, and a completion is never seen before what it completes.
        """
        access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING
        access |= IBV_ACCESS_ON_DEMAND if self.pages_on_demand else 0
        try:
            region = MR(self.domain, pool.total_bytes, access, address=pool.address)
        except PyverbsError as error:
            raise DeviceError(
                f"cannot register {pool.total_bytes >> 20} MiB with {self.name}: {error}; without root the limit on "
                f"locked memory "
                "(ulimit -l) must allow it"
            ) from error
        self._regions.append(region)
        return region

    @property
    def pages_on_demand(self) -> bool:
        """The device can write into memory of reliable connections that is not pinned."""
        try:
            capabilities = self.context.query_device_ex().odp_caps
        except PyverbsError:  # a device that cannot be asked has none
            return False
        wanted = IBV_ODP_SUPPORT_WRITE
        return bool(capabilities.general_caps & IBV_ODP_SUPPORT and capabilities.rc_odp_caps & wanted)

    def register_buffer(self, address: int, length: int) -> Any:
        """Register memory of this process that only its own receives reach; return the memory region."""
        try:
            region = MR(self.domain, length, IBV_ACCESS_LOCAL_WRITE, address=address)
        except PyverbsError as error:
            raise DeviceError(f"cannot register {length} octets with {self.name}: {error}") from error
        self._regions.append(region)
        return region

    def wait_quiet(self, quiet_seconds: float) -> None:
        """Return once the network device has taken no frame for so long."""
        count = Path(f"/sys/class/net/{self.port.netdev}/statistics/rx_packets")
        seen, since = count.read_text(), time.monotonic()
        while time.monotonic() - since < quiet_seconds:
            time.sleep(quiet_seconds / 10)
            if (now := count.read_text()) != seen:
                seen, since = now, time.monotonic()

    def take_events(self) -> list[str]:
        """Return the asynchronous events that wait, by name, except the one that says that all is well."""
        names = []
        while self.asynchronous.waiting():
            event = self.context.get_async_event()
            if event.event_type != IBV_EVENT_PORT_ACTIVE:
                names.append(_EVENT_NAMES.get(event.event_type, f"event {event.event_type}"))
            event.ack()
        return names

    @property
    def active(self) -> bool:
        """The port is up and has a partner."""
        return bool(self.context.query_port(PORT).state == IBV_PORT_ACTIVE)

    def evidence(self) -> Evidence:
        """Return what the counters say now."""
        frames = Path(f"/sys/class/net/{self.port.netdev}/statistics/rx_packets").read_text()
        return Evidence(self.active, int(frames), self.counters())

    def counters(self) -> dict[str, int]:
        """Return the hardware counters of the port, or nothing where the device has none."""
        folder = _SYSFS / self.name / "ports" / str(PORT) / "hw_counters"
        values = {}
        for path in sorted(folder.glob("*")) if folder.is_dir() else ():
            text = path.read_text().strip()
            if path.name != "lifespan" and text.isdigit():
                values[path.name] = int(text)
        return values

    def close(self) -> None:
        """Deregister and close; queue pairs must be closed before."""
        for region in self._regions:
            region.close()
        self._regions.clear()
        self.domain.close()
        self.context.close()


def _find_port(name: str, ip: str | None) -> Port:
    """Search the GID table for the IPv4 address: its index depends on the order in which addresses appeared."""
    deadline = time.monotonic() + _GID_LIMIT_SECONDS
    wanted = None if ip is None else int(ipaddress.IPv4Address(ip)) | _V4_MAPPED
    while True:
        for index, value in _gids(name):
            if value == wanted or (wanted is None and value >> 32 == 0xFFFF):
                return _describe_port(name, index, value)
        if time.monotonic() > deadline:  # the kernel adds entries a moment after the address
            raise DeviceError(
                f"{name} has no GID for {ip or 'any IPv4 address'}; give its network device that address ('ip address "
                f"add ...')"
            )
        time.sleep(0.02)


def _gids(name: str) -> list[tuple[int, int]]:
    folder = _SYSFS / name / "ports" / str(PORT) / "gids"
    found: list[tuple[int, int]] = []
    for index in sorted(int(entry) for entry in os.listdir(folder)):  # noqa: PTH208 - a thousand entries
        try:
            value = int((folder / str(index)).read_text().strip().replace(":", ""), 16)
        except OSError:
            continue  # an empty entry of some drivers
        if value == 0 and found:
            break  # entries fill from the start
        if value:
            found.append((index, value))
        elif index > 16:
            break
    return found


def _describe_port(name: str, index: int, value: int) -> Port:
    port = _SYSFS / name / "ports" / str(PORT)
    netdev = (port / "gid_attrs" / "ndevs" / str(index)).read_text().strip()
    return Port(
        gid_index=index,
        gid=":".join(f"{value >> shift & 0xFFFF:04x}" for shift in range(112, -1, -16)),
        ip=str(ipaddress.IPv4Address(value & 0xFFFFFFFF)),
        mac=Path(f"/sys/class/net/{netdev}/address").read_text().strip(),
        netdev=netdev,
    )
