"""Frames as views of memory, released in any order. The queue pair is pretended; the real one is in tests/sim/peers."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from host.receive.pool import MemoryPool
from host.receive.receiver import FrameGone, ReceiveFailed, Receiver
from host.receive.release import ReleaseOrder
from tests.host.receive.frames import SEQUENCE, SHAPE, Arrivals, frame, samples


@pytest.fixture
def parts() -> tuple[MemoryPool, Arrivals, Receiver]:
    pool = MemoryPool(4, 4096)
    arrivals = Arrivals(pool)
    return pool, arrivals, Receiver([arrivals], pool)


def test_samples_are_the_memory_itself(parts):
    pool, arrivals, receiver = parts
    arrivals.write(2, SEQUENCE, frame())
    (received,) = receiver.poll()
    assert received.ok and (received.slot, received.sequence, received.index) == (2, SEQUENCE, 0)
    assert received.samples.dtype == np.int16 and np.array_equal(received.samples, samples())
    assert received.samples.ctypes.data == pool.slot_address(2) + 64
    assert arrivals.reposted == 1
    assert len(received.memory) == SHAPE.frame_bytes


def test_credit_is_the_unbroken_run(parts):
    _, arrivals, receiver = parts
    for slot in range(3):
        arrivals.write(slot, SEQUENCE + slot, frame(SEQUENCE + slot))
    first, second, third = receiver.poll()
    third.release()
    second.release()
    assert receiver.released(0) == 0
    first.release()
    first.release()
    assert receiver.released(0) == 3


def test_a_slot_that_is_passed_over_goes_back_with_those_before_it(parts):
    """A frame that an unreliable connection lost never arrives; the next one tells."""
    _, arrivals, receiver = parts
    arrivals.unreliable = True
    for slot, sequence in ((0, SEQUENCE), (3, SEQUENCE + 3), (1, SEQUENCE + 5)):
        arrivals.write(slot, sequence, frame(sequence))
    first, second, third = receiver.poll()
    assert [received.index for received in (first, second, third)] == [0, 3, 5]
    assert not any(received.problems for received in (first, second, third))
    second.release()
    assert receiver.released(0) == 0
    first.release()
    assert receiver.released(0) == 5
    third.release()
    assert receiver.released(0) == 6


def test_after_release_the_samples_are_gone(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, SEQUENCE, frame())
    with receiver.poll()[0] as received:
        kept = received.samples.copy()
    assert np.array_equal(kept, samples())
    with pytest.raises(FrameGone, match="was released"):
        _ = received.samples
    assert received.header["sequence"] == SEQUENCE


def test_a_frame_with_a_broken_header_has_bytes_but_no_samples(parts):
    _, arrivals, receiver = parts
    memory = frame()
    memory[0] ^= 1
    arrivals.write(1, SEQUENCE, memory)
    (received,) = receiver.poll()
    assert not received.ok and received.sequence == SEQUENCE & 0xFFFFF
    assert np.array_equal(received.memory, memory)
    with pytest.raises(FrameGone, match="header_magic"):
        _ = received.samples


def test_writing_over_a_held_frame_is_noticed(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, 1, frame(1))
    receiver.poll()
    arrivals.write(0, 2, frame(2))
    (late,) = receiver.poll()
    assert [problem.split(":")[0] for problem in late.problems] == ["overrun"]


def test_a_slot_that_does_not_exist_ends_it(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, 1, frame(1))
    arrivals._waiting[0] = type(arrivals._waiting[0])(5 << 20 | 1, SHAPE.frame_bytes)
    with pytest.raises(ReceiveFailed, match="slot 5"):
        receiver.poll()


def test_failure_comes_after_the_frames_that_still_arrived(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, 1, frame(1))
    arrivals.failure = "queue pair 0x11 is in its error state"
    assert len(receiver.poll()) == 1
    with pytest.raises(ReceiveFailed, match="error state"):
        receiver.poll()


def test_two_queue_pairs_have_their_own_slots():
    pool = MemoryPool(4, 4096)
    pairs = [Arrivals(pool), Arrivals(pool)]
    receiver = Receiver(pairs, pool)
    pairs[1].write(3, 8, frame(8))  # memory slot 3 is slot 1 of the second pair
    pairs[1]._waiting[0] = type(pairs[1]._waiting[0])(1 << 20 | 8, SHAPE.frame_bytes)
    (received,) = receiver.poll()
    assert received.ok and (received.queue_pair, received.slot) == (1, 1)
    received.release()
    assert (receiver.released(0), receiver.released(1)) == (0, 1)  # in any order, on a reliable connection
    with pytest.raises(ValueError, match="shared equally"):
        Receiver(pairs, MemoryPool(3, 4096))


def test_release_order_refuses_what_is_not_held():
    order = ReleaseOrder()
    with pytest.raises(ValueError, match="not held"):
        order.release(0)
    order.arrived()
    order.release(0)
    with pytest.raises(ValueError, match="not held"):
        order.release(0)


def test_waiting_leaves_the_interpreter_to_others(parts):
    """A thread counts while this one waits for a frame that comes 1 s later, announced by its event."""
    import os

    _, arrivals, receiver = parts
    read_end, write_end = os.pipe()

    class Event:
        def fileno(self) -> int:
            return read_end

    arrivals.event = Event()
    arrivals.acknowledge_event = lambda: os.read(read_end, 1)
    counted = 0

    def work() -> None:
        nonlocal counted
        limit = time.monotonic() + 1.0
        while time.monotonic() < limit:
            counted += 1
            time.sleep(0.001)
        arrivals.write(0, 1, frame(1))
        os.write(write_end, b"x")

    worker = threading.Thread(target=work)
    worker.start()
    polls = arrivals.polls
    received = receiver.receive(10.0)
    assert received is not None and received.sequence == 1
    assert arrivals.polls - polls < 50
    worker.join()
    assert counted > 100
    assert receiver.receive(0.05) is None
