"""What is shown on a real device. Each case runs in processes of its own; see :mod:`tests.host.live.machine`."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from host.exchange import Event, ExchangeClosed, Summary
from host.receive.capture import CaptureReader
from host.receive.device import Device
from host.receive.errors import ReceiveFailed, ReceiveTimeout
from host.receive.frame import Frame
from host.receive.receiver import Receiver
from host.receive.serve import EXIT_FAILED, serve
from tests.host.live.software_front_end import LIMIT_SECONDS, SoftwareFrontEnd, connect_to, frame_of, samples_of

DEVICE = "rxe0"
SLOT_BYTES = 8192
CLOCK_STATUS, CLOCK_MAXIMUM_ERROR = 0x10, 0x04
"""What adjtimex is to set (linux/timex.h); to zero here."""
CASES: dict[str, Callable[[Path], None]] = {}


def case(function: Callable[[Path], None]) -> Callable[[Path], None]:
    """Register a case under its name."""
    CASES[function.__name__] = function
    return function


def receiver(folder: Path, *names: str, slots: int = 4, **options: object) -> Receiver:
    controls = [f"unix:{folder / name}" for name in names or ("control",)]
    return Receiver(DEVICE, *controls, slots=slots, slot_bytes=SLOT_BYTES, **{"timeout_seconds": 30.0, **options})


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a process of its own; return its number. To be called before a device is opened."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def sender(folder: Path, work: Callable[[SoftwareFrontEnd], None], name: str = "control", **options: object) -> int:
    """Start a front end in a process of its own that does ``work`` when it is connected."""

    def run() -> None:
        device = Device(DEVICE)
        front_end = SoftwareFrontEnd(device, folder / name, **options)
        work(front_end)
        front_end.close()
        device.close()

    return in_child(run)


def ended(child: int) -> None:
    """Wait for a child; it must have ended well."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert status == 0, f"the sending process ended with status {status}"
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the sending process did not end")


def check(frame: Frame, sequence: int) -> None:
    """The frame is the one that was sent."""
    assert frame.ok, frame.problems
    assert frame.sequence == sequence
    assert np.array_equal(frame.samples, samples_of(sequence))


@case
def frames_come_in_order_and_whole_and_the_loop_ends(folder: Path) -> None:
    """Twenty frames through four slots: credit goes back while they come."""

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(20))
        assert front_end.finish().frames == 20

    child = sender(folder, work)
    with receiver(folder) as frames:
        for number, frame in enumerate(frames):
            with frame:
                check(frame, number)
        assert number == 19
        assert frames.statistics.frames == 20 and frames.statistics.lost == 0
    ended(child)


@case
def samples_are_registered_memory_itself(folder: Path) -> None:
    """No copy: a later WRITE to the same slot shows in a view that was kept against the rules."""

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(5))
        front_end.finish()

    child = sender(folder, work)
    with receiver(folder) as frames:
        kept = []
        for frame in frames:
            with frame:
                kept.append(frame.samples)
        assert np.array_equal(kept[0], samples_of(4)) and not np.array_equal(kept[0], samples_of(0))
        assert kept[1].ctypes.data - kept[0].ctypes.data == SLOT_BYTES
    ended(child)


@case
def both_ways_to_wait_bring_the_same(folder: Path) -> None:
    """Polling, on one processor; as with events."""

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(8))
        front_end.finish()

    child = sender(folder, work)
    with receiver(folder, completion="poll", affinity="0") as frames:
        assert os.sched_getaffinity(0) == {0}
        for number, frame in enumerate(frames):
            with frame:
                check(frame, number)
        assert number == 7
    ended(child)


@case
def silence_is_explained_stage_by_stage(folder: Path) -> None:
    """Nobody came; somebody came and is silent; the sender is silent; the application holds all slots."""
    with receiver(folder) as frames:
        expect_timeout(frames, "no control software has come to unix:")
    with receiver(folder) as frames:
        connection = connect_to(folder / "control")
        expect_timeout(frames, "has not answered the offer of queue pairs")
        connection.close()

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(4))
        wait_for(folder / "seen")
        front_end.finish()

    child = sender(folder, work)
    with receiver(folder) as frames:
        held = [frames.receive(30.0) for _ in range(4)]
        expect_timeout(frames, "all 4 slots hold frames that the application has not released")
        held[0].release()
        expect_timeout(frames, "not one frame has come to tap0")  # packets between two queue pairs of one device
        for frame in held:
            frame.release()
        (folder / "seen").touch()
        assert list(frames) == []
    ended(child)


def expect_timeout(frames: Receiver, text: str) -> None:
    started = time.monotonic()
    try:
        frames.receive(0.5)
    except ReceiveTimeout as silence:
        assert text in str(silence), silence
        assert time.monotonic() - started >= 0.5
    else:
        raise AssertionError("a frame came")


@case
def other_threads_run_while_one_waits(folder: Path) -> None:
    """Waiting for a frame does not hold the interpreter."""
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.wait(0.001):
            counted += 1

    with receiver(folder) as frames:
        worker = threading.Thread(target=count)
        worker.start()
        expect_timeout(frames, "no control software")
        stop.set()
        worker.join()
    assert counted > 50, counted


@case
def latest_gives_the_newest_and_never_stops_the_sender(folder: Path) -> None:
    """The application holds one frame all the time; a hundred frames pass through four slots meanwhile."""

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(100))
        (folder / "sent").touch()
        while not (folder / "taken").exists():
            time.sleep(0.01)
        front_end.finish()

    child = sender(folder, work)
    with receiver(folder, policy="latest") as frames:
        first = frames.receive(30.0)
        kept = first.samples.copy()
        wait_for(folder / "sent")
        deadline = time.monotonic() + LIMIT_SECONDS
        while frames.statistics.frames < 100 and time.monotonic() < deadline:
            time.sleep(0.01)
        newest = frames.receive(30.0)
        check(newest, 99)
        assert np.array_equal(first.samples, kept), "a frame that is held was written over"
        assert frames.statistics.skipped == 98
        (folder / "taken").touch()
        assert list(frames) == []
    ended(child)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not come about"
        time.sleep(0.01)


@case
def control_software_killed_and_started_again(folder: Path) -> None:
    """It dies in the middle of a frame; its successor connects to the same receiver and goes on from 0."""

    def die(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(3))
        front_end.send(3, data=frame_of(3)[:3000])  # not whole: it brings an immediate, and what it lacks is seen
        os.kill(os.getpid(), signal.SIGKILL)

    def go_on(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(10))
        assert front_end.finish().frames == 10

    victim = sender(folder, die)

    def successor() -> None:
        wait_for(folder / "dead")
        device = Device(DEVICE)
        go_on(SoftwareFrontEnd(device, folder / "control"))

    child = in_child(successor)
    with receiver(folder, persistent=True) as frames:
        for number in range(3):
            with frames.receive(30.0) as frame:
                check(frame, number)
        broken = frames.receive(30.0)
        assert not broken.ok, "a frame that was not sent whole passes for good"
        os.waitpid(victim, 0)
        (folder / "dead").touch()
        expect_timeout(frames, "when the 1 frames of the connection before are released")
        broken.release()
        for number, frame in enumerate(frames):
            with frame:
                check(frame, number)
        assert number == 9
        assert [event.split(":")[0] for event in frames.events] == ["control_lost"]
        assert frames.statistics.frames == 14 and frames.statistics.flagged == 1
    ended(child)


@case
def without_persistence_a_lost_control_ends_it(folder: Path) -> None:
    """The error comes after the frames that had arrived, and says who has gone."""

    def die(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(3))
        os.kill(os.getpid(), signal.SIGKILL)

    child = sender(folder, die)
    with receiver(folder) as frames:
        for number in range(3):
            with frames.receive(30.0) as frame:
                check(frame, number)
        try:
            frames.receive(30.0)
        except ReceiveFailed as failure:
            assert "control software has gone" in str(failure), failure
        else:
            raise AssertionError("a frame came")
    os.waitpid(child, 0)


@case
def receiver_killed_and_started_again(folder: Path) -> None:
    """The kernel gives its queue pairs and memory back; the next one listens at the same place."""

    def take_some() -> None:
        with receiver(folder) as frames:
            for number, frame in enumerate(frames):
                with frame:
                    check(frame, number)
                if number == 4:
                    os.kill(os.getpid(), signal.SIGKILL)

    def take_all() -> None:
        wait_for(folder / "dead")
        with receiver(folder) as frames:
            for number, frame in enumerate(frames, start=5):
                with frame:
                    check(frame, number)
            assert number == 14

    victim, successor = in_child(take_some), in_child(take_all)
    device = Device(DEVICE)
    front_end = SoftwareFrontEnd(device, folder / "control")
    front_end.stream(range(5))
    os.waitpid(victim, 0)
    try:
        front_end.expect(Summary)
    except ExchangeClosed:
        front_end.close()
    else:
        raise AssertionError("the exchange with a dead receiver goes on")
    (folder / "dead").touch()
    front_end = SoftwareFrontEnd(device, folder / "control")
    front_end.stream(range(5, 15))
    front_end.finish()
    front_end.close()
    device.close()
    ended(successor)


@case
def two_front_ends_with_two_queue_pairs_each(folder: Path) -> None:
    """Every frame says where it came from; each has its own slots and credit."""

    def work(front_end: SoftwareFrontEnd) -> None:
        for number in range(12):
            front_end.stream([number], queue_pair=number % 2)
        front_end.finish()

    children = [sender(folder, work, name, queue_pairs=2) for name in ("a", "b")]
    seen: dict[tuple[int, int], list[int]] = {}
    with receiver(folder, "a", "b", queue_pairs=2) as frames:
        for frame in frames:
            with frame:
                check(frame, frame.sequence)
                seen.setdefault((frame.front_end, frame.queue_pair), []).append(frame.sequence)
        assert frames.statistics.frames == 24 and frames.statistics.lost == 0
    odd, even = list(range(1, 12, 2)), list(range(0, 12, 2))
    assert seen == {(0, 0): even, (0, 1): odd, (1, 0): even, (1, 1): odd}, seen
    for child in children:
        ended(child)


@case
def sender_that_ignores_credit_is_held_by_the_receive_queue(folder: Path) -> None:
    """No more completions than receives: the completion queue cannot overflow. What is written over is flagged."""

    def work(front_end: SoftwareFrontEnd) -> None:
        for number in range(8):
            assert front_end.send(number) == "success"
        (folder / "sent").touch()
        front_end.finish()

    child = sender(folder, work)
    with receiver(folder) as frames:
        first = frames.receive(30.0)
        wait_for(folder / "sent")
        rest = list(frames)
        assert len(rest) == 7
        for frame in [first, *rest]:
            intact = frame.shape is not None and np.array_equal(frame.samples, samples_of(frame.sequence))
            assert intact or not frame.ok, f"frame {frame.sequence} is wrong and nothing tells"
        assert sum(not frame.ok for frame in (first, *rest)) >= 4
    ended(child)


@case
def a_thousand_frames_with_a_fault_every_seventh_leak_nothing(folder: Path) -> None:
    """WRITEs outside the memory end the queue pair; it is reset, and the frame sent again. Size and files stay."""
    faults = 0

    def work(front_end: SoftwareFrontEnd) -> None:
        nonlocal faults
        for number in range(1000):
            front_end.wait_credit()
            if number % 7 == 3:
                assert front_end.send(number, outside=True) == "remote_access_error"
                front_end.recover()
                faults += 1
            assert front_end.send(number) == "success"
        summary = front_end.finish()
        assert summary.frames == 1000
        assert len([event for event in front_end.events if event.cause == "queue_pair_error"]) == faults

    child = sender(folder, work, recovers=True)
    sizes = []
    with receiver(folder) as frames:
        for number, frame in enumerate(frames):
            with frame:
                check(frame, number)
            if number in (200, 999):
                sizes.append((resident_bytes(), len(list(Path("/proc/self/fd").iterdir()))))
        assert number == 999
        assert frames.statistics.lost == 0
    ended(child)
    (size, files), (later_size, later_files) = sizes
    assert later_files == files, f"{files} open files have become {later_files}"
    assert later_size - size < 1 << 20, f"{size >> 10} KiB have become {later_size >> 10} KiB"


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@case
def a_fault_without_recovery_says_so(folder: Path) -> None:
    """Control software that does not recover: the receiver ends, and names the state and the completions."""

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(2))
        assert front_end.send(2, outside=True) == "remote_access_error"
        assert front_end.expect(Event).fatal

    child = sender(folder, work)
    with receiver(folder) as frames:
        for number in range(2):
            with frames.receive(30.0) as frame:
                check(frame, number)
        try:
            frames.receive(30.0)
        except ReceiveFailed as failure:
            assert "in its error state" in str(failure) and "flushed" in str(failure), failure
        else:
            raise AssertionError("a frame came")
    ended(child)


@case
def a_second_receiver_at_the_same_place_is_refused(folder: Path) -> None:
    """And the first one goes on listening."""
    with receiver(folder) as frames:
        try:
            receiver(folder).open()
        except Exception as error:
            assert "another receiver listens there" in str(error), error
        else:
            raise AssertionError("two receivers listen at one place")
        connect_to(folder / "control").close()
        expect_timeout_or_end(frames)


def expect_timeout_or_end(frames: Receiver) -> None:
    try:
        frames.receive(0.5)
    except (ReceiveTimeout, ReceiveFailed):
        return
    raise AssertionError("a frame came")


@case
def the_example_saves_an_image(folder: Path) -> None:
    """The script of the documentation, unchanged, with the memory that it takes by itself."""
    from host.examples import receive_image

    def work(front_end: SoftwareFrontEnd) -> None:
        assert front_end.hello.slot_bytes > 1 << 20
        front_end.stream([5])
        wait_for(folder / "images" / "5.png")
        front_end.finish()

    child = sender(folder, work)
    sys.argv = ["receive_image", DEVICE, f"unix:{folder / 'control'}", "--output", str(folder / "images")]
    receive_image.main()
    assert [path.name for path in (folder / "images").iterdir()] == ["5.png"]
    ended(child)


def discipline_clock() -> None:
    """Do what a time service does: tell the kernel that its clock is right."""
    settings = bytearray(512)
    struct.pack_into("I", settings, 0, CLOCK_STATUS | CLOCK_MAXIMUM_ERROR)
    assert ctypes.CDLL(None).adjtimex((ctypes.c_char * len(settings)).from_buffer(settings)) >= 0


def doctor(*options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    command = [
        sys.executable,
        "-m",
        "host",
        "doctor",
        "--device",
        DEVICE,
        "--pool-bytes",
        str(8 << 20),
        "--json",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, {finding["check"]: finding for finding in json.loads(done.stdout)}


@case
def what_the_doctor_says_mends_this_machine(_folder: Path) -> None:
    code, found = doctor("--peer-ip", "10.77.0.1")
    assert code == 1 and found["neighbour"]["level"] == "stops", found
    assert {finding["level"] for finding in found.values()} == {"ok", "warning", "stops"}, found
    others = [name for name, finding in found.items() if finding["level"] != "ok"]
    assert others == ["huge_pages", "neighbour", "clock"], found
    for name in ("huge_pages", "neighbour"):
        command = found[name]["mend"][0].replace("MAC", "02:00:00:00:00:01").replace("sysctl", "busybox sysctl -w")
        subprocess.run(command.split(), check=True)
    discipline_clock()
    code, found = doctor("--peer-ip", "10.77.0.1")
    assert code == 0 and {finding["level"] for finding in found.values()} == {"ok"}, found
    subprocess.run(["ip", "link", "set", "dev", "tap0", "mtu", "4175"], check=True)
    code, found = doctor("--peer-ip", "10.77.0.1")
    subprocess.run(["ip", "link", "set", "dev", "tap0", "mtu", "4200"], check=True)
    assert code == 1 and [name for name, finding in found.items() if finding["level"] != "ok"] == ["mtu"], found


@case
def a_capture_that_cannot_be_written_is_counted_and_the_stream_goes_on(folder: Path) -> None:
    """Room for two frames and a half: the third to the last are received and not kept."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(6))
        assert front_end.finish().frames == 6
        assert [event.cause for event in front_end.events] == ["capture_gap"]

    child = sender(folder, work)
    assert serve(receiver(folder), capture=folder / "log", gaps=True) == 0
    records = CaptureReader(folder / "log")
    assert [record.immediate & 0xFFFFF for record in records] == [0, 1]
    assert records.truncated_bytes == 0
    ended(child)


@case
def without_gaps_a_capture_that_cannot_be_written_is_the_end(folder: Path) -> None:
    """Control software is told why."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def work(front_end: SoftwareFrontEnd) -> None:
        front_end.stream(range(3))
        event = front_end.expect(Event)
        assert event.fatal and event.cause == "capture_failed"

    child = sender(folder, work)
    assert serve(receiver(folder), capture=folder / "log") == EXIT_FAILED
    ended(child)
