"""This machine's own software RDMA device, on a TAP device whose other end is the simulator.

Needs root and a kernel with rdma_rxe.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sim.peers.guarded import GuardedProcess, PrivateDirectory
from sim.peers.lifecycle import (
    LINK_MTU,
    ControlAddress,
    Network,
    PeerDescription,
    PeerError,
    PeerSettings,
    WireAddress,
    last_words,
    search_path,
    wait_for_status,
)
from sim.sources import ROOT

_MODULE = "rdma_rxe"
_TUN = Path("/dev/net/tun")
_MODULES = Path("/sys/module")
_NETWORKS = 64
_START_SCRIPT = Path(__file__).with_name("host_start.sh")


@dataclass
class _Running:
    """Names and files of a started peer."""

    process: GuardedProcess
    private: PrivateDirectory
    network: Network
    netdev: str
    device: str
    network_lock: int
    started: float


class HostPeer:
    """TAP device, software RDMA device and receiver on this machine. See :class:`sim.peers.lifecycle.Peer`.

    The network is the one of the settings or, if that is in use on this machine, one of the following ones;
    ``describe()`` tells. Open the wire before the exchange asks to connect: without it the TAP device has no carrier.
    """

    kind = "host"
    name = "host's RDMA device"

    def __init__(self, settings: PeerSettings) -> None:
        self.settings = settings
        self._running: _Running | None = None
        self._status: dict[str, Any] = {}
        self._ready_seconds = 0.0

    def start(self) -> None:
        """Start; raise :class:`PeerError` if this machine cannot be a peer."""
        check_usable()
        for path in (self.settings.status_file, self.settings.receiver_log):
            path.unlink(missing_ok=True)
        started = time.monotonic()
        private = PrivateDirectory()
        try:
            network, lock = _free_network(self.settings.network)
        except BaseException:
            private.close()
            raise
        suffix = secrets.token_hex(3)
        netdev, device = f"ebtap{suffix}", f"ebrxe{suffix}"
        process = GuardedProcess(private)
        self._running = _Running(process, private, network, netdev, device, lock, started)
        settings = replace(self.settings, network=network)
        control = f"unix:{private.path / 'control'}"
        receiver = [sys.executable, "-S", *settings.receiver_arguments(device, control)]
        environment = {
            **os.environ,
            "EB_CHECKOUT": str(ROOT),
            "EB_NETDEV": netdev,
            "EB_DEVICE": device,
            "EB_MTU": str(LINK_MTU),
            "EB_PEER_IP": network.peer_ip,
            "EB_PEER_MAC": network.peer_mac,
            "EB_PREFIX": str(network.prefix),
            "EB_FPGA_IP": network.fpga_ip,
            "EB_FPGA_MAC": network.fpga_mac,
            "EB_RECEIVER": shlex.join(receiver),
            "PYTHONPATH": search_path(),
        }
        remove = [_tool("ip"), "link", "delete", netdev]
        process.start(["/bin/sh", str(_START_SCRIPT)], settings.receiver_log, environment, at_end=[remove])

    def wait_ready(self, limit_seconds: float = 30.0) -> None:
        """Return when the receiver waits for the exchange; raise :class:`PeerError` with the end of its log."""
        running = self._started()
        status = wait_for_status(self.settings, running.process.alive, running.started + limit_seconds)
        if status is not None:
            self._status = status
            self._ready_seconds = time.monotonic() - running.started
            return
        ended = not running.process.alive()
        self.stop()
        reason = "it ended" if ended else f"it was not ready {limit_seconds:.0f} s after its start"
        raise PeerError(
            f"the receiver on this machine did not come up: {reason}{last_words(self.settings.receiver_log)}",
            'peer = "vm" needs nothing of this machine\'s kernel',
        )

    def wire_address(self) -> WireAddress:
        """Return the TAP device."""
        running = self._started()
        log = str(self.settings.receiver_log)
        return WireAddress("tap", self.name, running.process.pid, running.netdev, "", log)

    def control_address(self) -> ControlAddress:
        """Return the receiver's socket."""
        running = self._started()
        return ControlAddress(self.name, str(running.private.path / "control"), str(self.settings.receiver_log))

    def describe(self) -> PeerDescription:
        """Return what the peer is; after :meth:`wait_ready`."""
        running, status = self._started(), self._status
        if not status:
            raise RuntimeError("the receiver is not ready yet")
        return PeerDescription(
            kind=self.kind,
            kernel=status["kernel"],
            device=status["device"],
            ip=status["ip"],
            mac=status["mac"],
            mtu=LINK_MTU,
            pmtu=status["pmtu"],
            fpga_ip=running.network.fpga_ip,
            fpga_mac=running.network.fpga_mac,
            huge_pages=status["huge_pages"],
            start_seconds={"ready": round(self._ready_seconds, 2)},
            details={"netdev": running.netdev},
        )

    def ending(self, within_seconds: float = 0.0) -> str | None:
        """Say how its process ended; None if it still runs ``within_seconds`` from now."""
        return None if self._running is None else self._running.process.ending(within_seconds)

    def stop(self) -> None:
        """End the receiver and remove its devices and sockets."""
        running = self._running
        if running is not None:
            running.process.stop()
            if running.network_lock >= 0:
                os.close(running.network_lock)
                running.network_lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _started(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the host peer was not started")
        return self._running


def check_usable() -> None:
    """Raise :class:`PeerError`, naming what is missing, unless this machine can be a peer.

    Loads the kernel module if it is there.
    """
    if os.geteuid() != 0:
        raise PeerError('peer "host" needs root, to make network devices', 'run as root, or use peer = "vm"')
    for tool in ("ip", "rdma"):
        _tool(tool)
    if not (_MODULES / _MODULE).is_dir():
        modprobe = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin")
        if modprobe:
            subprocess.run([modprobe, _MODULE], check=False, capture_output=True, timeout=30)
    if not (_MODULES / _MODULE).is_dir():
        raise PeerError(
            f"kernel {platform.release()} has no module {_MODULE}, the software RDMA device",
            'use peer = "vm", which brings its own kernel; of Debian\'s, the -cloud- kernels lack the module',
        )
    if not os.access(_TUN, os.R_OK | os.W_OK):
        raise PeerError(
            f"{_TUN} cannot be opened", "'modprobe tun', or in a container give it the device; or use peer = \"vm\""
        )


def _tool(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if found is None:
        raise PeerError(f"{name} is missing", "apt-get install iproute2")
    return found


def _free_network(first: Network) -> tuple[Network, int]:
    """Return the first network from ``first`` on that this machine does not use, and a descriptor that reserves it."""
    used = list(_used_networks())
    for step in range(_NETWORKS):
        network = _shifted(first, step)
        subnet = IPv4Interface(f"{network.peer_ip}/{network.prefix}").network
        lock = os.open(
            Path(tempfile.gettempdir()) / f"echobench-network-{subnet.network_address}",
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
            0o600,
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        if not any(subnet.overlaps(other) for other in used):
            return network, lock
        os.close(lock)
    raise PeerError(
        f"no free network among {_NETWORKS} from {first.peer_ip}/{first.prefix} on",
        "delete leftover devices ('ip link delete ...'), or give the peer another address",
    )


def _shifted(network: Network, step: int) -> Network:
    size = 1 << (32 - network.prefix)
    return replace(
        network,
        fpga_ip=str(IPv4Address(network.fpga_ip) + step * size),
        peer_ip=str(IPv4Address(network.peer_ip) + step * size),
    )


def _used_networks() -> Iterator[IPv4Network]:
    listing = subprocess.run([_tool("ip"), "-json", "-4", "address"], check=True, capture_output=True, timeout=10)
    for link in json.loads(listing.stdout or b"[]"):
        for address in link.get("addr_info", ()):
            yield IPv4Interface(f"{address['local']}/{address['prefixlen']}").network
