"""Install what a checkout needs: Debian packages, and a virtual environment with the locked Python packages.

Runs on any Python 3 with the standard library alone, before anything is installed. Does nothing, quickly, when all is
there. Without root and with Debian packages missing it names the one command that installs them and fails.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed"
LOCK = ROOT / "pyproject.lock"
BUILD = ROOT / "build"
KERNELS = BUILD / "kernel"
SYSTEM_PYTHON = "/usr/bin/python3"
PYTHON_VERSION = (3, 11)
INSTALL_LIMIT_SECONDS = 1500

DEBIAN_PACKAGES = {
    "make": "builds",
    "g++": "compiles Verilator's output",
    "perl": "Verilator's front script",
    "ccache": "compiles Verilator's run time once",
    "liblz4-dev": "FST waveforms",
    "zlib1g-dev": "FST waveforms",
    "iverilog": "the second simulator",
    "yosys": "synthesis check and proofs of the RTL",
    "python3": "the interpreter that Debian's pyverbs is made for",
    "python3-venv": "the project's Python environment",
    "libpython3.11": "Python inside the simulator",
    "python3-pyverbs": "the RDMA receiver",
    "ibverbs-providers": "user-space driver of SoftRoCE",
    "rdma-core": "RDMA set-up",
    "qemu-system-x86": "the micro-VM",
    "busybox-static": "the micro-VM's first program",
    "iproute2": "network and RDMA set-up",
    "kmod": "kernel modules of the micro-VM",
    "tshark": "reads the captures in tests",
    "ibverbs-utils": "unmodified programs as peers: ibv_*_pingpong",
    "perftest": "unmodified programs as peers: ib_write_bw",
    "rdmacm-utils": "unmodified programs as peers: rping",
}


def say(text: str) -> None:
    """Progress goes to the terminal at once."""
    print(f"setup: {text}", flush=True)


def missing_packages() -> list[str]:
    """Debian packages of the list that are not installed."""
    if shutil.which("dpkg-query") is None:
        sys.exit("setup: this is not Debian (no dpkg-query); EchoBench is made for Debian 12")
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *DEBIAN_PACKAGES]
    output = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0].split(":")[0] for line in output.splitlines() if line.split()[1:2] == ["ii"]}
    return [package for package in DEBIAN_PACKAGES if package not in installed]


def install_debian_packages() -> None:
    """Install what is missing, or say how."""
    missing = missing_packages()
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        reasons = "\n".join(f"  {package:20} {DEBIAN_PACKAGES[package]}" for package in missing)
        sys.exit(
            f"setup: Debian packages are missing:\n{reasons}\ninstall them with:\n"
            f"  sudo apt-get update && sudo {' '.join(command)}"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    log = BUILD / "setup-debian.log"
    say(f"installing {len(missing)} Debian packages: {' '.join(missing)} (log: {log.relative_to(ROOT)})")
    run("apt-get update", ["apt-get", "update"], log, environment)
    run("apt-get install", command, log, environment)


def run(what: str, command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
    """Run a command with its output in ``log``, a sign of life every few seconds, and a limit."""
    started = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=environment, stdin=subprocess.DEVNULL
        )
        try:
            while process.poll() is None:
                try:
                    process.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - started
                    say(f"{what} ({elapsed:.0f} s)")
                    if elapsed > INSTALL_LIMIT_SECONDS:
                        sys.exit(
                            f"setup: {' '.join(command[:3])} took longer than {INSTALL_LIMIT_SECONDS} s; see {log}"
                        )
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        sys.exit(
            f"setup: {' '.join(command[:4])} failed with exit code {process.returncode}:\n{tail}\n(whole log: {log})"
        )


def environment_stamp() -> str:
    """Name what the environment must be made from: lock, interpreter, place."""
    version = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import sys; print(*sys.version_info[:3])"], capture_output=True, text=True, check=True
    ).stdout.split()
    if tuple(int(part) for part in version[:2]) != PYTHON_VERSION:
        wanted = ".".join(map(str, PYTHON_VERSION))
        sys.exit(
            f"setup: {SYSTEM_PYTHON} is {'.'.join(version)}; Debian 12's {wanted} is needed (pyverbs is made for it)"
        )
    return hashlib.sha256(LOCK.read_bytes() + repr((version, str(VENV))).encode()).hexdigest()


def environment_is_current() -> bool:
    """Whether the environment is there and made from the present lock."""
    return STAMP.exists() and STAMP.read_text() == environment_stamp()


def install_python_packages() -> None:
    """Make the environment anew when the lock or the interpreter has changed."""
    if environment_is_current():
        return
    log = BUILD / "setup-python.log"
    say(f"making .venv with {sum(1 for line in LOCK.read_text().splitlines() if '==' in line)} locked packages")
    run("making .venv", [SYSTEM_PYTHON, "-m", "venv", "--clear", "--system-site-packages", str(VENV)], log)
    run(
        "installing Python packages",
        [
            str(VENV / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
            "-r",
            str(LOCK),
        ],
        log,
    )
    STAMP.write_text(environment_stamp())


def fetch_kernel() -> None:
    """Have the micro-VM's kernel in the cache; unpacked, not installed."""
    if (KERNELS / "kernel.json").exists():
        return
    say("unpacking Debian's kernel for the micro-VM")
    run("unpacking the kernel", [str(VENV / "bin" / "python"), "-m", "sim.peers.vm_kernel"], BUILD / "setup-kernel.log")


def refuse_foreign_folders() -> None:
    """Say what to do if somebody else's set-up, root's usually, made the folders that this one must write."""
    made = [path for path in (BUILD, VENV) if path.exists()]
    foreign = [
        path for path in (*made, BUILD / "runs", BUILD / "hdl") if path.exists() and not os.access(path, os.W_OK)
    ]
    if foreign or not os.access(ROOT, os.W_OK):
        theirs = " ".join(str(path) for path in (made if foreign else [ROOT]))
        sys.exit(
            f"setup: another user owns {foreign[0] if foreign else ROOT}, and you may not write there; take it over:\n"
            f"  sudo chown -R $(id -u):$(id -g) {theirs}"
        )


def hand_over() -> None:
    """Give what root's set-up made to whom the checkout belongs, so that the next command needs no root."""
    owner = ROOT.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    for top in (BUILD, VENV):
        for path in (top, *top.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def main() -> None:
    """Install what is missing, one process at a time."""
    refuse_foreign_folders()
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another setup of this checkout to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        install_debian_packages()
        install_python_packages()
        fetch_kernel()
    hand_over()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("setup: interrupted; run it again to go on")
