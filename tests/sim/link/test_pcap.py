from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pcapng
import pytest

from sim.link.checker import ProtocolChecker
from sim.link.link import FS_PER_NS, FS_PER_US, Action, Direction, Fault, Link, LinkSettings
from sim.link.lockstep import Lockstep
from sim.link.pcap import Capture
from sim.link.responder import Reply, Responder, reply_packet
from sim.link.roce import encode
from tests.sim.link.frames import CONNECTION, noise, reference_icrc, write_frames

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
ARP = (
    b"\xff" * 6 + CONNECTION.device.mac + b"\x08\x06\0\1\x08\0\6\4\0\1" + CONNECTION.device.mac + bytes(14) + bytes(18)
)


def ticking() -> Iterator[float]:
    """A wall clock that moves a millisecond at each look."""
    now = 0.0
    while True:
        yield now
        now += 0.001


def read(path: Path) -> list:
    with path.open("rb") as file:
        return list(pcapng.FileScanner(file))


def packets_of(path: Path) -> list:
    return [block for block in read(path) if isinstance(block, pcapng.blocks.EnhancedPacket)]


def acknowledge(psn: int) -> bytes:
    return encode(reply_packet(CONNECTION, Reply(CONNECTION.device_qpn, psn, 0x1F, 1)))


def test_an_independent_reader_finds_everything(tmp_path):
    clock = ticking()
    frame = write_frames(b"12345", 0, 1, 7)[0]
    time_fs = 5_000_000_000 * FS_PER_US + 123 * FS_PER_NS  # more nanoseconds than 32 bits hold
    with Capture(tmp_path / "new" / "link.pcapng", wall=lambda: next(clock)) as capture:
        capture.record(Direction.TX, frame, time_fs, [Action.DROP])
        capture.record(Direction.RX, acknowledge(7), time_fs + FS_PER_US)
        assert capture.frames == 2
    section, tx, rx, first, second = read(tmp_path / "new" / "link.pcapng")
    assert [interface.options["if_name"] for interface in (tx, rx)] == ["tx", "rx"]
    assert section.options["shb_userappl"].startswith("EchoBench")
    assert [(block.interface_id, block.packet_data) for block in (first, second)] == [(0, frame), (1, acknowledge(7))]
    assert first.timestamp == pytest.approx(5_000_000_000e-6 + 123e-9, abs=1e-6)
    assert (first.timestamp_high << 32 | first.timestamp_low) == 5_000_000_000_123
    assert first.options["opt_comment"] == (
        "tx wall 0.001000 s; RC_WRITE_ONLY QP 0x11 PSN 0x000007 AckReq; link fault: drop"
    )
    assert second.options["opt_comment"] == "rx wall 0.002000 s; RC_ACKNOWLEDGE QP 0x12 PSN 0x000007 syndrome 0x1f"


def test_frames_are_in_order_of_simulated_time(tmp_path):
    path = tmp_path / "link.pcapng"
    with Capture(path) as capture:
        capture.record(Direction.TX, write_frames(b"abcd", 0, 1, 0)[0], 1 * FS_PER_US)
        capture.record(Direction.RX, acknowledge(0), 4 * FS_PER_US)  # known long before it is due
        capture.record(Direction.TX, write_frames(b"abcd", 0, 1, 1)[0], 2 * FS_PER_US)
        capture.record(Direction.TX, write_frames(b"abcd", 0, 1, 2)[0], 6 * FS_PER_US)
        capture.record(Direction.RX, acknowledge(1), 5 * FS_PER_US)
    assert [block.timestamp_low for block in packets_of(path)] == [1000, 2000, 4000, 5000, 6000]


def test_memory_does_not_grow_and_an_abandoned_file_is_readable(tmp_path):
    path = tmp_path / "link.pcapng"
    capture = Capture(path)
    for psn, frame in enumerate(write_frames(noise(600 * 4096), 0, 1, 0)):
        capture.record(Direction.TX, frame, psn * FS_PER_US)
        assert len(capture._waiting) <= 1 and capture._out_bytes < 1 << 20
    assert len(packets_of(path)) > 400
    capture.close()
    capture.close()
    assert len(packets_of(path)) == 600


def tshark(path: Path, *arguments: str) -> str:
    command = ["tshark", "-r", str(path), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@needs_tshark
def test_tshark_dissects_a_faulty_run_as_roce_with_none_malformed(tmp_path):
    path = tmp_path / "link.pcapng"
    faults = (
        Fault("drop", psn=2),
        Fault("corrupt", psn=3),
        Fault("duplicate", psn=4),
        Fault("reorder", psn=5),
        Fault("drop", "rx", psn=6),
    )
    with Capture(path) as capture:
        link = Link(LinkSettings(faults=faults), seed=1)
        lockstep = Lockstep(link, ProtocolChecker(Responder([CONNECTION])), 500 * FS_PER_NS, capture)
        sizes = (0, 1, 4, 5, 63, 64, 4096, 4097, 9000)
        psn = 0
        for size in sizes:
            for frame in write_frames(noise(size), 0x7F00_0000_1000, 0x1234, psn, immediate=size or None, ack_every=1):
                lockstep.sent(frame, psn * FS_PER_US)
                if psn < 2:
                    lockstep.matched(acknowledge(psn), psn * FS_PER_US)
                psn += 1
        total = capture.frames
    assert total == psn + 2

    fields = ("-T", "json", "-j", "infiniband frame")
    dissected = json.loads(tshark(path, *fields))
    assert len(dissected) == total
    for entry in dissected:
        protocols = entry["_source"]["layers"]["frame"]["frame.protocols"]
        assert protocols.startswith("eth:ethertype:ip:udp:infiniband"), protocols
    assert tshark(path, "-Y", "_ws.malformed || _ws.expert.severity >= 0x600000") == ""
    names = tshark(path, "-T", "fields", "-e", "frame.interface_name").split()
    assert names.count("tx") == psn and names.count("rx") == 2
    times = [float(text) for text in tshark(path, "-T", "fields", "-e", "frame.time_epoch").split()]
    assert times == sorted(times)
    # tshark shows the ICRC without verifying it: hold it against the one computed from the definition.
    shown = tshark(path, "-T", "fields", "-e", "infiniband.invariant.crc").split()
    frames = [block.packet_data for block in packets_of(path)]
    assert shown == ["0x" + reference_icrc(frame).hex() for frame in frames]
    comments = tshark(path, "-T", "fields", "-e", "frame.comment")
    assert comments.count("link fault") == 4  # psn 6 on rx was not answered in this run


@needs_tshark
def test_tshark_finds_what_is_malformed(tmp_path):
    """The check above can fail: a frame cut off in its headers is seen, and ARP is told apart."""
    path = tmp_path / "link.pcapng"
    good = write_frames(b"abcd", 0, 1, 0)[0]
    with Capture(path) as capture:
        capture.record(Direction.TX, good, 0)
        capture.record(Direction.TX, good[:60], FS_PER_US)
        capture.record(Direction.TX, ARP, 2 * FS_PER_US)
    assert tshark(path, "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number").split() == ["2"]
    last = [text.split(":")[-1] for text in tshark(path, "-T", "fields", "-e", "frame.protocols").split()]
    assert last[2] == "arp"
