"""Made-up machines: files below a folder, and what commands print."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from host.doctor import Finding, Machine, Wish, examine, observe

KERNEL = "6.1.0-30-amd64"
PEER, PEER_MAC, OWN_MAC = "10.77.0.1", "02:00:00:00:00:01", "02:00:00:00:00:02"
RXE = "sys/class/infiniband/rxe0"
NETDEV = "sys/class/net/eth0"
HEALTHY = {
    "proc/sys/kernel/osrelease": KERNEL,
    "proc/modules": "rdma_rxe 180224 0 - Live 0x0\nib_uverbs 1 0 - Live 0x0",
    "proc/crypto": "name         : crc32\ndriver       : crc32-pclmul",
    "proc/meminfo": "MemTotal:        8000000 kB\nMemFree: 1 kB",
    "proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         unlimited  unlimited  bytes",
    "proc/self/status": "Name:\tpython\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3",
    "proc/net/arp": "IP address  HW type  Flags  HW address  Mask  Device\n"
    f"{PEER}  0x1  0x6  {PEER_MAC}  *  eth0\n10.77.0.9  0x1  0x2  02:00:00:00:00:09  *  eth0",
    f"lib/modules/{KERNEL}/modules.dep": "kernel/drivers/infiniband/rdma_rxe.ko: x\nkernel/crypto/crc32_generic.ko:",
    f"lib/modules/{KERNEL}/modules.builtin": "kernel/fs/ext4/ext4.ko",
    f"{RXE}/parent": "eth0",
    f"{RXE}/ports/1/state": "4: ACTIVE",
    f"{RXE}/ports/1/rate": "100 Gb/sec (4X EDR)",
    f"{RXE}/ports/1/gids/0": "fe80:0000:0000:0000:0000:00ff:fe00:0002",
    f"{RXE}/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:0a4d:0002",
    f"{RXE}/ports/1/gids/2": "0000:0000:0000:0000:0000:0000:0000:0000",
    f"{RXE}/ports/1/gid_attrs/types/0": "RoCE v2",
    f"{RXE}/ports/1/gid_attrs/types/1": "RoCE v2",
    f"{RXE}/ports/1/gid_attrs/ndevs/1": "eth0",
    f"{NETDEV}/mtu": "4200",
    f"{NETDEV}/address": OWN_MAC,
    f"{NETDEV}/operstate": "up",
    f"{NETDEV}/carrier": "1",
    f"{NETDEV}/speed": "100000",
    f"{NETDEV}/device/vendor": "0x1af4",
    "sys/class/net/lo/mtu": "65536",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "1024",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "1030",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
    "sys/devices/system/node/node0/cpulist": "0-3",
    "sys/devices/system/node/node1/cpulist": "4-7",
    "dev/infiniband/uverbs0": "",
}
MLX5 = "sys/class/infiniband/mlx5_0"
HARDWARE = {
    f"{MLX5}/device/net/eth0/x": "",
    f"{MLX5}/device/current_link_width": "16",
    f"{MLX5}/device/max_link_width": "16",
    f"{MLX5}/device/numa_node": "0",
    **{path.replace(RXE, MLX5): text for path, text in HEALTHY.items() if "/ports/" in path},
}


class MadeUp:
    """A machine that is fine until it is changed."""

    def __init__(self, root: Path, *, hardware: bool = False) -> None:
        self.root = root
        self.commands: dict[str, str] = {"nft": nft(), "iptables": "-P INPUT ACCEPT"}
        self.clock: bool | None = True
        self.pyverbs = ""
        for path, text in HEALTHY.items():
            if not (hardware and path.startswith(RXE)):
                self.write(path, text)
        for path, text in HARDWARE.items() if hardware else ():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        """Make or replace a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all in it."""
        file = self.root / path
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()

    @property
    def machine(self) -> Machine:
        """What is looked at."""
        return Machine(self.root, lambda *words: self.commands.get(words[0]), lambda: self.clock, lambda: self.pyverbs)

    def findings(self, **wish: Any) -> dict[str, Finding]:
        """Examine it."""
        wanted = Wish(**{"peer_ip": PEER, **wish})
        return {finding.check: finding for finding in examine(observe(self.machine, wanted))}


def nft(*rules: list[dict[str, Any]], policy: str = "accept") -> str:
    """Return a rule set with one chain for what comes in."""
    key = {"family": "inet", "table": "filter"}
    chain = {"chain": {**key, "name": "input", "hook": "input", "type": "filter", "policy": policy}}
    other = {"chain": {**key, "name": "forward", "hook": "forward", "type": "filter", "policy": "drop"}}
    found = [{"rule": {**key, "chain": "input", "expr": list(rule)}} for rule in rules]
    return json.dumps({"nftables": [{"metainfo": {}}, chain, other, *found]})


def port(right: Any, operation: str = "==") -> dict[str, Any]:
    """Return what asks for a UDP port."""
    return {"match": {"op": operation, "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": right}}


def state() -> dict[str, Any]:
    """Return what asks for the state of a connection."""
    return {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established"]}}
