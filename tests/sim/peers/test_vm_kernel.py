"""Fetching and preparing the VM's kernel: what can go wrong is named."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from sim.peers import vm_kernel
from sim.peers.lifecycle import PeerError

ELF = b"\x7fELF" + b"kernel" * 100


def packed(payload: bytes) -> bytes:
    """Return a bzImage with two set-up sectors and ``payload`` 100 bytes into the protected-mode part."""
    image = bytearray(3 * 512 + 100)
    image[0x1F1] = 2
    struct.pack_into("<II", image, 0x248, 100, len(payload))
    return bytes(image) + payload + b"rest"


def test_kernel_is_found_in_its_image():
    assert vm_kernel._uncompressed(packed(gzip.compress(ELF)), "p") == ELF


def test_unknown_compression_and_wrong_content_are_named():
    with pytest.raises(PeerError, match="linux-image-x is compressed in a way that is not known"):
        vm_kernel._uncompressed(packed(b"\x28\xb5\x2f\xfd" + bytes(20)), "linux-image-x")
    with pytest.raises(PeerError, match="no ELF kernel"):
        vm_kernel._uncompressed(packed(gzip.compress(b"something")), "linux-image-x")


def test_newest_plain_package_is_taken(monkeypatch: pytest.MonkeyPatch):
    names = ["6.1.0-9-amd64", "6.1.0-47-amd64", "6.1.0-48-cloud-amd64", "6.1.0-49-rt-amd64", "6.1.0-10-amd64"]
    listing = "".join(f"linux-image-{name} - Linux 6.1\n" for name in names)
    monkeypatch.setattr(vm_kernel, "_run", lambda _: listing)
    assert vm_kernel._newest_package() == "linux-image-6.1.0-47-amd64"


def test_missing_package_has_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(vm_kernel, "CACHE", tmp_path)
    monkeypatch.setattr(vm_kernel, "_run", lambda _: "")
    with pytest.raises(PeerError, match=r"no package linux-image-6\.1\.0-\*-amd64.*\nHint: run 'apt-get update'"):
        vm_kernel.ensure_kernel()


def test_kernel_without_the_module_is_refused(tmp_path: Path):
    with pytest.raises(PeerError, match=r"kernel 6\.1\.0-1-amd64 has no module rdma_rxe"):
        vm_kernel._write_initramfs(tmp_path / "initramfs", Path("/bin/true"), tmp_path, "6.1.0-1-amd64")


def test_missing_or_dynamic_busybox_is_named(monkeypatch: pytest.MonkeyPatch):
    for found in (None, "/bin/sh"):  # a dynamic program
        monkeypatch.setattr(vm_kernel.shutil, "which", lambda _, found=found: found)
        with pytest.raises(PeerError, match=r"static busybox is missing(?s:.*)busybox-static"):
            vm_kernel._static_busybox()


def test_cache_of_another_recipe_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(vm_kernel, "CACHE", tmp_path)
    for name in ("vmlinux-x", "initramfs-x"):
        (tmp_path / name).write_bytes(b"")
    record = '{"release":"r","package":"p","version":"v","vmlinux":"vmlinux-x","initramfs":"initramfs-x","recipe":"%s"}'
    (tmp_path / "kernel.json").write_text(record % "old")
    assert vm_kernel.cached_kernel() is None
    (tmp_path / "kernel.json").write_text(record % vm_kernel._recipe())
    found = vm_kernel.cached_kernel()
    assert found is not None and found.vmlinux == tmp_path / "vmlinux-x"
