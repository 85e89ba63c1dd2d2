"""Frames out of datagrams, against a queue that does what a device does: the oldest receive takes what comes."""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import pytest

from host.frame_layout import datagram_immediate, split_datagram_immediate
from host.receive.datagrams import DatagramFrames

OCTETS = 256
PLACES = 5
SLOTS = 3
FRAME_BYTES = 4 * OCTETS + 100


def content(number: int, places: int = PLACES) -> list[bytes]:
    """The datagrams of a frame, the last one shorter."""
    noise = np.random.default_rng(number).integers(0, 256, places * OCTETS, np.uint8).tobytes()
    cut = [noise[start : start + OCTETS] for start in range(0, len(noise), OCTETS)]
    return [*cut[:-1], cut[-1][:100]]


class TB:
    """A receive queue, the frames that come out of it, and who still holds which memory."""

    def __init__(self, *, release: bool = True) -> None:
        self.memory = np.full((SLOTS, 8 * OCTETS), 0xA5, np.uint8)
        self.queue: deque[tuple[int, np.ndarray]] = deque()
        self.frames = DatagramFrames(list(self.memory), OCTETS, FRAME_BYTES, lambda *posted: self.queue.append(posted))
        self.frames.fill()
        self.release = release
        self.found = []

    def send(self, number: int, *places: int, foreign: bool = False) -> None:
        """Let datagrams of a frame arrive."""
        data = content(number)
        for place in places or range(PLACES):
            token, memory = self.queue.popleft()
            memory[: len(data[place])] = np.frombuffer(data[place], np.uint8)
            carried = None if foreign else datagram_immediate(number, place, last=place == PLACES - 1)
            self._take(self.frames.arrived(token, carried, len(data[place])))

    def finish(self) -> None:
        self._take(self.frames.finish())

    def _take(self, found) -> None:
        for frame in found:
            self.found.append(frame)
            if self.release:
                self.frames.release(frame.number + 1)

    @property
    def direct(self) -> list[bool]:
        """For each frame, whether it is the slot itself."""
        return [any(np.shares_memory(frame.memory, slot) for slot in self.memory) for frame in self.found]

    def check(self, incomplete: dict[int, set[int]] | None = None) -> None:
        """All that came is right, and all that is not is told of."""
        lacking = incomplete or {}
        for frame in self.found:
            data = content(frame.number)
            missing = lacking.get(frame.number, set())
            assert bool(frame.problems) == bool(missing), frame
            for place, octets in enumerate(data):
                got = frame.memory[place * OCTETS : place * OCTETS + len(octets)].tobytes()
                assert got == (bytes(len(octets)) if place in missing else octets), (frame.number, place)


def test_the_immediate_of_a_datagram_says_where_it_belongs():
    value = datagram_immediate((1 << 17) + 5, 16383, last=True)
    assert split_datagram_immediate(value) == (5, 16383, True)
    assert split_datagram_immediate(datagram_immediate(131071, 0, last=False)) == (131071, 0, False)
    with pytest.raises(ValueError, match="14 bits"):
        datagram_immediate(0, 1 << 14, last=False)


def test_every_free_place_has_its_receive_and_frames_are_the_slots():
    tb = TB()
    assert len(tb.queue) == SLOTS * PLACES
    for number in range(7):
        tb.send(number)
    assert [(frame.number, frame.slot, frame.octets) for frame in tb.found] == [
        (number, number % SLOTS, FRAME_BYTES) for number in range(7)
    ]
    assert all(tb.direct)
    # What was handed out last still stands in the slots.
    tb.found = tb.found[-SLOTS:]
    tb.check()
    assert len(tb.queue) == SLOTS * PLACES


def test_slots_that_are_held_get_no_receives():
    tb = TB(release=False)
    for number in range(SLOTS):
        tb.send(number)
    assert len(tb.queue) == 0
    tb.frames.release(2)
    assert len(tb.queue) == 2 * PLACES


@pytest.mark.parametrize("lost", range(PLACES))
def test_a_lost_datagram_costs_its_frame_and_the_next_ones_come_whole(lost):
    tb = TB()
    for number in range(10):
        tb.send(number, *(place for place in range(PLACES) if (number, place) != (2, lost)))
        tb.found, kept = tb.found, tb.found
        tb.found = kept[-1:]
        if tb.found:
            tb.check({2: {lost}})
        tb.found = kept
    assert [frame.number for frame in tb.found] == list(range(10))
    # The receives that were posted before the loss are used up after three frames.
    assert tb.direct[:2] == [True] * 2 and not any(tb.direct[2:5]) and all(tb.direct[6:])


def test_late_and_doubled_datagrams_change_nothing_that_was_handed_out():
    tb = TB()
    tb.send(0, 1, 0, 2, 2, 3, 4)
    tb.send(0, 3)
    tb.send(1)
    tb.send(2, foreign=True)
    tb.send(2, 4, 3, 2, 1, 0)
    tb.check()
    assert [frame.number for frame in tb.found] == [0, 1, 2]
    for number in range(3, 12):
        tb.send(number)
    assert all(tb.direct[-3:])


def test_a_frame_lost_whole_is_only_a_number_and_the_last_one_is_given_up_at_the_end():
    tb = TB()
    tb.send(0)
    tb.send(2)
    tb.send(3, 0, 1)
    tb.finish()
    assert [frame.number for frame in tb.found] == [0, 2, 3]
    assert [frame.octets for frame in tb.found] == [FRAME_BYTES, FRAME_BYTES, 0]
    tb.found.pop(0)
    tb.check({3: {2, 3, 4}})


def test_as_many_frames_lost_as_there_are_slots():
    tb = TB()
    tb.send(0)
    tb.frames.release(1 + SLOTS)  # the sender has given them up
    tb.send(1 + SLOTS)
    assert [frame.number for frame in tb.found] == [0, 1 + SLOTS]
    tb.found.pop(0)
    tb.check()


def test_frames_of_another_size_come_too():
    tb = TB()
    data = content(0, 3)
    for number in range(5):
        for place, octets in enumerate(data):
            token, memory = tb.queue.popleft()
            memory[: len(octets)] = np.frombuffer(octets, np.uint8)
            tb._take(tb.frames.arrived(token, datagram_immediate(number, place, last=place == 2), len(octets)))
    assert [frame.octets for frame in tb.found] == [2 * OCTETS + 100] * 5
    assert not any(frame.problems for frame in tb.found)
    assert all(frame.memory[: 2 * OCTETS].tobytes() == b"".join(data[:2]) for frame in tb.found)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_link_does_nothing_is_wrong_and_unflagged(seed):
    """Losses, doubles and exchanges at random; a frame is right or told of, and memory handed out stays as it was."""
    random_ = random.Random(seed)
    tb = TB(release=False)
    came: dict[int, set[int]] = {}
    stream = []
    for number in range(30):
        for place in range(PLACES):
            if random_.random() > 0.03:
                stream += [(number, place)] * (2 if random_.random() < 0.03 else 1)
    for index in range(len(stream) - 1):
        if random_.random() < 0.05:
            stream[index], stream[index + 1] = stream[index + 1], stream[index]
    checked = 0
    for number, place in stream:
        if not tb.queue:
            break  # cannot be: what is free has its receives
        tb.send(number, place)
        came.setdefault(number, set()).add(place)
        if len(tb.found) > checked:
            new, tb.found = tb.found, tb.found[checked:]
            tb.check({f: set(range(PLACES)) - came[f] for f in came if len(came[f]) < PLACES})
            tb.found, checked = new, len(new)
            tb.frames.release(new[-1].number + 1)
    assert tb.queue
    tb.finish()
    assert {frame.number for frame in tb.found} == set(came)
