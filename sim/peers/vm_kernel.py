"""The micro-VM's kernel: Debian's own, from its package, without installing it; made once, kept in ``build/kernel/``.

From the package come two files. ``vmlinux`` is the kernel uncompressed, which QEMU starts directly (PVH): unpacking it
in an emulated machine would take several seconds of every start. ``initramfs`` is a small archive with a static
busybox, the modules that the VM needs and ``vm_init.sh``. ``python -m sim.peers.vm_kernel`` makes them ahead of time.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from sim.peers.lifecycle import PeerError
from sim.sources import ROOT

CACHE = ROOT / "build" / "kernel"
INIT_SCRIPT = Path(__file__).with_name("vm_init.sh")
_PACKAGE = re.compile(r"linux-image-(6\.1\.0-(\d+)-amd64)")
_MODULES = (
    *("virtio_pci", "virtio_console", "virtio_net", "9p", "9pnet_virtio"),
    # rdma_rxe of 6.1 asks for "crc32" by that name, and nothing loads it by itself without udev
    *("crc32_generic", "ib_uverbs", "rdma_rxe", "tun"),
    "rdma_ucm",
)
_NEEDED_MODULE = "rdma_rxe"
_LOCK_SECONDS = 600
_DOWNLOAD_SECONDS = 300
_ELF_INTERPRETER = 3  # PT_INTERP
_SETUP_SECTORS, _PAYLOAD = 0x1F1, 0x248  # Linux x86 boot protocol 2.08


@dataclass(frozen=True)
class Kernel:
    """A kernel that is ready to boot. ``release`` is what ``uname -r`` will say."""

    release: str
    package: str
    version: str
    vmlinux: Path
    initramfs: Path


def cached_kernel() -> Kernel | None:
    """Return the kernel in the cache, ``None`` if there is none or if the initramfs is of another recipe."""
    record = CACHE / "kernel.json"
    try:
        data = json.loads(record.read_text())
    except (OSError, ValueError):
        return None
    if data.pop("recipe") != _recipe():
        return None
    kernel = Kernel(**{**data, "vmlinux": CACHE / data["vmlinux"], "initramfs": CACHE / data["initramfs"]})
    return kernel if kernel.vmlinux.exists() and kernel.initramfs.exists() else None


def ensure_kernel(progress: Callable[[str], None] = lambda _: None) -> Kernel:
    """Return the cached kernel, or fetch and prepare the newest that apt offers.

    Raise :class:`PeerError` with the reason. Two processes may call this at once; the second waits for the first.
    """
    kernel = cached_kernel()
    if kernel:
        return kernel
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "lock", timeout=_LOCK_SECONDS):
        return cached_kernel() or _make(progress)


def _make(progress: Callable[[str], None]) -> Kernel:
    busybox = _static_busybox()
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        package = _newest_package()
        progress(f"fetching {package}")
        archive = _download(package, Path(folder))
        version = _run(["dpkg-deb", "--field", str(archive), "Version"]).strip()
        release = package.removeprefix("linux-image-")
        tree = Path(folder) / "tree"
        progress(f"unpacking {package} {version}")
        _run(["dpkg-deb", "-x", str(archive), str(tree)])
        _run([_tool("depmod"), "-b", str(tree), release])
        name = f"{release}_{version}"
        unfinished = Path(folder) / "vmlinux"
        unfinished.write_bytes(_uncompressed((tree / "boot" / f"vmlinuz-{release}").read_bytes(), package))
        unfinished.replace(CACHE / f"vmlinux-{name}")
        progress("making the initramfs")
        _write_initramfs(Path(folder) / "initramfs", busybox, tree, release)
        (Path(folder) / "initramfs").replace(CACHE / f"initramfs-{name}")
    kernel = Kernel(release, package, version, Path(f"vmlinux-{name}"), Path(f"initramfs-{name}"))
    record = {**asdict(kernel), "vmlinux": kernel.vmlinux.name, "initramfs": kernel.initramfs.name, "recipe": _recipe()}
    (CACHE / "kernel.tmp").write_text(json.dumps(record, indent=2))
    (CACHE / "kernel.tmp").replace(CACHE / "kernel.json")
    return Kernel(release, package, version, CACHE / kernel.vmlinux, CACHE / kernel.initramfs)


def _recipe() -> str:
    """Return a digest of what the initramfs is made from, so that an old one is not used after a change."""
    return hashlib.sha256(INIT_SCRIPT.read_bytes() + Path(__file__).read_bytes()).hexdigest()


def _newest_package() -> str:
    listing = _run(["apt-cache", "search", "--names-only", r"^linux-image-6\.1\.0-[0-9]+-amd64$"])
    found = [match for line in listing.splitlines() if (match := _PACKAGE.fullmatch(line.split(" ", 1)[0]))]
    if not found:
        raise PeerError(
            "apt offers no package linux-image-6.1.0-*-amd64, the micro-VM's kernel",
            "run 'apt-get update' (Debian 12), then 'python -m sim.peers.vm_kernel'",
        )
    return max(found, key=lambda match: int(match.group(2))).group(0)


def _download(package: str, folder: Path) -> Path:
    try:
        subprocess.run(
            ["apt-get", "download", "-q", package],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_SECONDS,
        )
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        raise PeerError(
            f"cannot download {package}: {' '.join(reason)}",
            "check the network and 'apt-get update'; or put build/kernel/ of another checkout here",
        ) from error
    return next(folder.glob("*.deb"))


def _uncompressed(image: bytes, package: str) -> bytes:
    """Return the ELF kernel inside a bzImage."""
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (image[_SETUP_SECTORS] + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\xfd7zXZ\x00"):
        kernel = lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(payload)  # a size field follows the stream
    elif payload.startswith(b"\x1f\x8b"):
        kernel = gzip.decompress(payload)
    else:
        raise PeerError(
            f"{package} is compressed in a way that is not known here", "report this with the package's name"
        )
    if not kernel.startswith(b"\x7fELF"):
        raise PeerError(f"{package} holds no ELF kernel", "report this with the package's name")
    return kernel


def _write_initramfs(path: Path, busybox: Path, tree: Path, release: str) -> None:
    from virtme.cpiowriter import CpioWriter  # noqa: PLC0415 - virtme-ng is needed only here
    from virtme.modfinder import find_modules_from_install  # noqa: PLC0415

    modules = find_modules_from_install(_MODULES, root=str(tree), kver=release)
    names = [Path(module).name for module in modules]
    if f"{_NEEDED_MODULE}.ko" not in names:
        raise PeerError(
            f"kernel {release} has no module {_NEEDED_MODULE}, the software RDMA device",
            "a -cloud kernel lacks it; use the plain -amd64 package",
        )
    with path.open("wb") as file:
        archive = CpioWriter(file)
        for folder in ("bin", "dev", "proc", "sys", "host", "modules"):
            archive.mkdir(folder.encode(), 0o755)
        archive.mkchardev(b"dev/console", (5, 1), 0o600)
        archive.mkchardev(b"dev/null", (1, 3), 0o666)
        archive.write_file(b"bin/busybox", busybox.read_bytes(), 0o755)
        archive.symlink(b"busybox", b"bin/sh")
        archive.write_file(b"init", INIT_SCRIPT.read_bytes(), 0o755)
        archive.write_file(b"modules/order", "".join(f"{name}\n" for name in names).encode(), 0o644)
        for module in modules:
            archive.write_file(b"modules/" + Path(module).name.encode(), Path(module).read_bytes(), 0o644)
        archive.write_trailer()


def _static_busybox() -> Path:
    found = shutil.which("busybox")
    if found is None or _needs_loader(Path(found)):
        raise PeerError("a static busybox is missing, the micro-VM's first programs", "apt-get install busybox-static")
    return Path(found)


def _needs_loader(program: Path) -> bool:
    """Tell whether a 64-bit ELF program names a dynamic loader, which the initramfs does not have."""
    image = program.read_bytes()
    (table,) = struct.unpack_from("<Q", image, 0x20)
    size, count = struct.unpack_from("<HH", image, 0x36)
    return any(struct.unpack_from("<I", image, table + index * size)[0] == _ELF_INTERPRETER for index in range(count))


def _tool(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if found is None:
        raise PeerError(f"{name} is missing", "apt-get install kmod")
    return found


def _run(command: list[str]) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS).stdout
    except (subprocess.SubprocessError, OSError) as error:
        detail = (getattr(error, "stderr", None) or str(error)).strip()
        raise PeerError(f"'{' '.join(command[:2])}' failed: {detail}", "this step needs a Debian 12 system") from error


def main() -> int:
    """Prepare the kernel and say which it is."""
    try:
        kernel = ensure_kernel(lambda text: print(text, flush=True))
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{kernel.package} {kernel.version} is ready in {CACHE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
