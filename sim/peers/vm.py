"""The micro-VM: a Debian kernel with the software RDMA device under QEMU, its network card wired to the simulator.

It runs on this machine's own file system, read-only over 9p, so the receiver in it is the one of this checkout. No
root, no bridge and no KVM is needed. ``python -m sim.peers.vm exec -- COMMAND...`` runs any command in such a VM, with
the checkout writable.
"""

from __future__ import annotations

import argparse
import compileall
import re
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sim.peers.guarded import GuardedProcess, PrivateDirectory
from sim.peers.lifecycle import (
    LINK_MTU,
    ControlAddress,
    PeerDescription,
    PeerError,
    PeerSettings,
    WireAddress,
    last_words,
    search_path,
    wait_for_status,
)
from sim.peers.vm_kernel import Kernel, ensure_kernel
from sim.sources import ROOT

QEMU = "qemu-system-x86_64"
CPU_MODEL = "Nehalem"
"""The least that numpy runs on. Without AVX, which QEMU emulates slowly, Python starts in 3/4 of the time."""
DEVICE = "rxe0"
CONTROL_PORT = "echobench.control"
BASE_MEMORY_BYTES = 320 << 20
"""What the guest needs beside the receive slots: kernel, interpreter, numpy, socket buffers."""
_HUGE_PAGE_BYTES = 2 << 20
_STAGE = re.compile(r"echobench: stage=(\w+) uptime=([\d.]+)")
_FAILED = re.compile(r"echobench: failed=(.+)")
_EXIT = re.compile(r"echobench: exit=(\d+)")
_KERNEL_OPTIONS = (
    # each of these saves time in an emulated machine; none changes how the network or RDMA behaves
    *("console=ttyS0", "quiet", "loglevel=4", "panic=-1", "net.ifnames=0", "mitigations=off", "no_timer_check"),
    *("tsc=reliable", "cryptomgr.notests", "raid=noautodetect", "audit=0", "selinux=0", "apparmor=0"),
    *("init_on_alloc=0", "rcupdate.rcu_expedited=1", "nowatchdog", "kfence.sample_interval=0"),
)


@dataclass(frozen=True)
class Machine:
    """The emulated machine. ``memory_bytes`` of 0 means: as much as the receive slots need."""

    memory_bytes: int = 0
    processors: int = 1
    acceleration: Literal["tcg", "kvm"] = "tcg"
    """``kvm`` is for machines where it is known to work; nested, it may hang at boot, which the limit then ends."""


@dataclass
class _Guest:
    """A VM's files and its process."""

    kernel: Kernel
    console: Path
    private: PrivateDirectory
    process: GuardedProcess
    started: float = field(default_factory=time.monotonic)

    def stages(self) -> dict[str, float]:
        """Return the guest's own clock, in seconds, at each stage that it has reached."""
        return {name: float(uptime) for name, uptime in _STAGE.findall(self.text())}

    def text(self) -> str:
        """Return the console so far."""
        try:
            return self.console.read_text(errors="replace")
        except OSError:
            return ""

    def failure(self) -> str | None:
        """Return what the guest says went wrong, if it says so."""
        match = _FAILED.search(self.text())
        return match.group(1) if match else None


class VmPeer:
    """A micro-VM with a receiver. See :class:`sim.peers.lifecycle.Peer`."""

    kind = "vm"
    name = "micro-VM"

    def __init__(self, settings: PeerSettings, machine: Machine | None = None) -> None:
        self.settings = settings
        self._machine = machine or Machine()
        self._guest: _Guest | None = None
        self._status: dict[str, Any] = {}
        self._ready_seconds = 0.0

    def start(self) -> None:
        """Start QEMU. Returns at once if the kernel is in the cache; else fetches and prepares it first."""
        needed = BASE_MEMORY_BYTES + self.settings.pool_bytes
        memory = self._machine.memory_bytes or -(-needed >> 20) << 20
        if memory < needed:
            raise PeerError(
                f"{memory >> 20} MiB of guest memory are too little: the receive slots take "
                f"{self.settings.pool_bytes >> 20} MiB, the rest of the guest {BASE_MEMORY_BYTES >> 20} MiB",
                f"give the micro-VM at least {-(-needed >> 20)} MiB, or use fewer or smaller slots",
            )
        settings = self.settings
        for path in (settings.status_file, settings.receiver_log):
            path.unlink(missing_ok=True)
        compileall.compile_dir(ROOT / "host", quiet=2)  # the guest cannot write, and compiling there is slow
        network = settings.network
        receiver = [sys.executable, "-S", *settings.receiver_arguments(DEVICE, f"port:{CONTROL_PORT}")]
        self._guest = _launch(
            self._machine,
            memory,
            settings.run_directory.resolve(),
            environment={
                "EB_MODE": "serve",
                "EB_MTU": str(LINK_MTU),
                "EB_PEER_IP": network.peer_ip,
                "EB_PREFIX": str(network.prefix),
                "EB_FPGA_IP": network.fpga_ip,
                "EB_FPGA_MAC": network.fpga_mac,
                "EB_DEVICE": DEVICE,
                "EB_RECEIVER": shlex.join(receiver),
                "EB_CONNECTION_MANAGER": str(int(settings.connection_manager)),
                "PYTHONPATH": search_path(),
                "OPENBLAS_NUM_THREADS": "1",
            },
            peer_mac=network.peer_mac,
            huge_pages=-(-settings.pool_bytes // _HUGE_PAGE_BYTES),
        )

    def wait_ready(self, limit_seconds: float = 90.0) -> None:
        """Return when the receiver in the VM waits for the exchange.

        Raise :class:`PeerError` with the console's end if it fails or takes longer.
        """
        guest = self._started()
        deadline = guest.started + limit_seconds
        status = wait_for_status(self.settings, guest.process.alive, deadline)
        if status is not None:
            self._status = status
            self._ready_seconds = time.monotonic() - guest.started
            return
        stages = guest.stages()
        reached = ", ".join(f"{name} at {uptime:.1f} s" for name, uptime in stages.items()) or "none"
        ended = not guest.process.alive()
        log = self.settings.receiver_log if "rxe" in stages and self.settings.receiver_log.exists() else guest.console
        reason = guest.failure() or ("it ended" if ended else f"it was not ready {limit_seconds:.0f} s after its start")
        self.stop()
        raise PeerError(
            f"the micro-VM did not come up: {reason}; stages reached: {reached}{last_words(log)}",
            f"see {guest.console} and qemu.log beside it" + ("" if ended else "; on a busy machine allow more time"),
        )

    def wire_address(self) -> WireAddress:
        """Return where the VM's network card can be reached."""
        guest = self._started()
        log = self.settings.receiver_log if self.settings.receiver_log.exists() else guest.console
        directory = guest.private.path
        return WireAddress(
            "datagram", self.name, guest.process.pid, str(directory / "wire"), str(directory / "card"), str(log)
        )

    def control_address(self) -> ControlAddress:
        """Return where the receiver's serial port can be reached."""
        guest = self._started()
        return ControlAddress(self.name, str(guest.private.path / "control"), str(self.settings.receiver_log))

    def describe(self) -> PeerDescription:
        """Return what the VM is; after :meth:`wait_ready`."""
        guest, status = self._started(), self._status
        if not status:
            raise RuntimeError("the micro-VM is not ready yet")
        return PeerDescription(
            kind=self.kind,
            kernel=status["kernel"],
            device=status["device"],
            ip=status["ip"],
            mac=status["mac"],
            mtu=LINK_MTU,
            pmtu=status["pmtu"],
            fpga_ip=self.settings.network.fpga_ip,
            fpga_mac=self.settings.network.fpga_mac,
            huge_pages=status["huge_pages"],
            start_seconds={
                **guest.stages(),
                "receiver": status["uptime_seconds"],
                "ready": round(self._ready_seconds, 2),
            },
            details={
                "package": f"{guest.kernel.package} {guest.kernel.version}",
                "acceleration": self._machine.acceleration,
            },
        )

    def ending(self, within_seconds: float = 0.0) -> str | None:
        """Say how its process ended; None if it still runs ``within_seconds`` from now."""
        return None if self._guest is None else self._guest.process.ending(within_seconds)

    def stop(self) -> None:
        """End QEMU and remove its sockets."""
        if self._guest is not None:
            self._guest.process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _started(self) -> _Guest:
        if self._guest is None:
            raise RuntimeError("the micro-VM was not started")
        return self._guest


def run_command(
    command: str,
    *,
    memory_bytes: int = 2 << 30,
    processors: int = 2,
    limit_seconds: float = 600.0,
    writable: Path = ROOT,
) -> int:
    """Run a shell command in a micro-VM, as root, in the checkout.

    What it prints is copied to this process's output as it comes. The root file system is this machine's, read-only
    except for ``writable``. Return the command's exit code; raise :class:`PeerError` if the VM ends without one or
    ``limit_seconds`` pass.
    """
    with tempfile.TemporaryDirectory(prefix="exec-", dir=_run_base()) as folder:
        run_directory = Path(folder)
        guest = _launch(
            Machine(memory_bytes, processors),
            memory_bytes,
            run_directory,
            environment={
                "EB_MODE": "exec",
                "EB_WRITABLE": str(writable.resolve()),
                "EB_COMMAND": command,
                "PATH": f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            },
        )
        try:
            deadline = guest.started + limit_seconds
            output = run_directory / "output.log"
            position = 0
            while guest.process.alive() and time.monotonic() < deadline:
                position = _copy_new(output, position)
                time.sleep(0.1)
            timed_out = guest.process.alive()
            _copy_new(output, position)
        finally:
            guest.process.stop()
        match = _EXIT.search(guest.text())
        if match:
            return int(match.group(1))
        reason = f"did not end within {limit_seconds:.0f} s" if timed_out else guest.failure() or "ended its VM"
        raise PeerError(
            f"the command in the micro-VM {reason}{last_words(guest.console)}",
            "allow more time (--limit) or memory (--memory)",
        )


def _copy_new(path: Path, position: int) -> int:
    if not path.exists():
        return position
    with path.open("rb") as file:
        file.seek(position)
        data = file.read()
    sys.stdout.write(data.decode(errors="replace"))
    sys.stdout.flush()
    return position + len(data)


def _run_base() -> Path:
    base = ROOT / "build" / "runs"
    base.mkdir(parents=True, exist_ok=True)
    return base


def _launch(
    machine: Machine,
    memory_bytes: int,
    run_directory: Path,
    environment: dict[str, str],
    *,
    peer_mac: str | None = None,
    huge_pages: int = 0,
) -> _Guest:
    """Start QEMU.

    With ``peer_mac`` it has a network card on the sockets ``card`` and ``wire``, and the control port.
    """
    qemu = shutil.which(QEMU)
    if qemu is None:
        raise PeerError(f"{QEMU} is missing, the micro-VM's emulator", "apt-get install qemu-system-x86")
    kernel = ensure_kernel(lambda text: print(text, file=sys.stderr, flush=True))
    private = PrivateDirectory()
    try:
        console = run_directory / "console.log"
        console.unlink(missing_ok=True)
        settings = {"EB_CHECKOUT": str(ROOT), "EB_RUN": str(run_directory), **environment}
        initramfs = private.path / "initramfs"
        _with_settings(kernel.initramfs, initramfs, settings)
        command = [qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35"]
        command += ["-accel", "kvm"] if machine.acceleration == "kvm" else ["-accel", "tcg,thread=multi"]
        command += ["-cpu", CPU_MODEL, "-smp", str(machine.processors), "-m", f"{memory_bytes >> 20}M"]
        options = [*_KERNEL_OPTIONS, *([f"hugepages={huge_pages}"] if huge_pages else [])]
        command += ["-kernel", str(kernel.vmlinux), "-initrd", str(initramfs), "-append", " ".join(options)]
        command += ["-serial", f"file:{_quoted(console)}"]
        command += _share("root", Path("/"), read_only=True) + _share("run", run_directory, read_only=False)
        if "EB_WRITABLE" in environment:
            command += _share("writable", Path(environment["EB_WRITABLE"]), read_only=False)
        if peer_mac:
            command += _network_card(private.path, peer_mac) + _control_port(private.path)
        process = GuardedProcess(private)
        process.start(command, run_directory / "qemu.log")
        return _Guest(kernel, console, private, process)
    except BaseException:
        private.close()
        raise


def _with_settings(initramfs: Path, target: Path, settings: dict[str, str]) -> None:
    """Append an archive with one file, ``settings``; the kernel unpacks both."""
    from virtme.cpiowriter import CpioWriter  # noqa: PLC0415 - see vm_kernel

    text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())
    shutil.copyfile(initramfs, target)
    with target.open("ab") as file:
        archive = CpioWriter(file)
        archive.write_file(b"settings", text.encode(), 0o644)
        archive.write_trailer()


def _share(tag: str, directory: Path, *, read_only: bool) -> list[str]:
    source = f"local,id={tag},path={_quoted(directory)},security_model=none,multidevs=remap"
    return [
        *("-fsdev", source + (",readonly=on" if read_only else "")),
        *("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
    ]


def _network_card(directory: Path, mac: str) -> list[str]:
    here, there = _quoted(directory / "card"), _quoted(directory / "wire")
    link = f"dgram,id=link,local.type=unix,local.path={here},remote.type=unix,remote.path={there}"
    return ["-netdev", link, "-device", f"virtio-net-pci,netdev=link,mac={mac},host_mtu={LINK_MTU}"]


def _control_port(directory: Path) -> list[str]:
    return [
        *("-chardev", f"socket,id=control,path={_quoted(directory / 'control')},server=on,wait=off"),
        *("-device", "virtio-serial-pci"),
        *("-device", f"virtserialport,chardev=control,name={CONTROL_PORT}"),
    ]


def _quoted(path: Path) -> str:
    return str(path).replace(",", ",,")


def main() -> int:
    """Command line: ``exec`` runs a command in a VM, ``boot`` starts one, says how long it took, and stops it."""
    parser = argparse.ArgumentParser(prog="python -m sim.peers.vm", description=__doc__)
    commands = parser.add_subparsers(dest="action", required=True)
    execute = commands.add_parser("exec", help="run a command in a micro-VM")
    execute.add_argument("--memory", type=int, default=2048, help="MiB (default: %(default)s)")
    execute.add_argument("--processors", type=int, default=2, help="default: %(default)s")
    execute.add_argument("--limit", type=float, default=600.0, help="seconds (default: %(default)s)")
    execute.add_argument("command", nargs="+")
    commands.add_parser("boot", help="start a micro-VM with a receiver, print how long each stage took, stop it")
    arguments = parser.parse_args()
    try:
        if arguments.action == "boot":
            return _boot()
        return run_command(
            shlex.join(arguments.command),
            memory_bytes=arguments.memory << 20,
            processors=arguments.processors,
            limit_seconds=arguments.limit,
        )
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2


def _boot() -> int:
    with tempfile.TemporaryDirectory(prefix="boot-", dir=_run_base()) as folder:
        peer = VmPeer(PeerSettings(run_directory=Path(folder), slot_bytes=(2 << 20) + 4096))
        try:
            peer.start()
            peer.wait_ready()
            seconds = peer.describe().start_seconds
        finally:
            peer.stop()
    for name, value in seconds.items():
        print(f"{name:>10} {value:6.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
