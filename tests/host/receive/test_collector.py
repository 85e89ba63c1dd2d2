"""Frames as views of memory, released in any order. The queue pair is pretended; the real one is in tests/sim/peers."""

from __future__ import annotations

import numpy as np
import pytest

from host.receive.collector import FrameCollector, QueuePairFailed
from host.receive.frame import FrameGone
from host.receive.pool import MemoryPool
from host.receive.release import ReleaseOrder
from tests.host.receive.frames import SEQUENCE, SHAPE, Arrivals, frame, samples


def collector(connections: list[Arrivals], pool: MemoryPool) -> FrameCollector:
    return FrameCollector(connections, [pool.array(slot) for slot in range(pool.slots)])


@pytest.fixture
def parts() -> tuple[MemoryPool, Arrivals, FrameCollector]:
    pool = MemoryPool(4, 4096)
    arrivals = Arrivals(pool)
    return pool, arrivals, collector([arrivals], pool)


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


def test_a_detached_frame_stays_when_its_slot_is_written_again(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, SEQUENCE, frame())
    (received,) = receiver.poll()
    received.detach()
    assert (receiver.released(0), receiver.held) == (1, 0)
    arrivals.write(0, SEQUENCE + 1, frame(SEQUENCE + 1, seed=2))
    (later,) = receiver.poll()
    assert not later.problems
    assert np.array_equal(received.samples, samples()) and np.array_equal(later.samples, samples(2))
    received.release()
    assert receiver.released(0) == 1


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
    (early,) = receiver.poll()
    assert early.ok
    arrivals.write(0, 2, frame(2))
    (late,) = receiver.poll()
    for victim in (early, late):
        assert [problem.split(":")[0] for problem in victim.problems] == ["overrun"]
    early.release()
    assert receiver.held == 1
    late.release()
    assert (receiver.held, receiver.released(0)) == (0, 2)


def test_a_slot_that_does_not_exist_ends_it(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, 1, frame(1))
    arrivals._waiting[0] = type(arrivals._waiting[0])(5 << 20 | 1, SHAPE.frame_bytes)
    with pytest.raises(QueuePairFailed, match="slot 5"):
        receiver.poll()


def test_failure_comes_after_the_frames_that_still_arrived(parts):
    _, arrivals, receiver = parts
    arrivals.write(0, 1, frame(1))
    arrivals.failure = "queue pair 0x11 is in its error state"
    assert len(receiver.poll()) == 1
    with pytest.raises(QueuePairFailed, match="error state"):
        receiver.poll()


def test_two_queue_pairs_have_their_own_slots():
    pool = MemoryPool(4, 4096)
    pairs = [Arrivals(pool), Arrivals(pool)]
    receiver = collector(pairs, pool)
    pairs[1].write(3, 8, frame(8))  # memory slot 3 is slot 1 of the second pair
    pairs[1]._waiting[0] = type(pairs[1]._waiting[0])(1 << 20 | 8, SHAPE.frame_bytes)
    (received,) = receiver.poll()
    assert received.ok and (received.queue_pair, received.slot) == (1, 1)
    received.release()
    assert (receiver.released(0), receiver.released(1)) == (0, 1)  # in any order, on a reliable connection
    with pytest.raises(ValueError, match="shared equally"):
        collector(pairs, MemoryPool(3, 4096))


def test_release_order_refuses_what_is_not_held():
    order = ReleaseOrder()
    with pytest.raises(ValueError, match="not held"):
        order.release(0)
    order.arrived()
    order.release(0)
    with pytest.raises(ValueError, match="not held"):
        order.release(0)
