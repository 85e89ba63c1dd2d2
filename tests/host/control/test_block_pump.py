"""The pump: slots in turn, blocks to consecutive addresses, immediates, batches, limits."""

import pytest

from host.control.block_pump import Block, BlockPump, Datagrams, FrameTooLarge, RemoteSlots
from host.control.work_queue import Completion, Opcode, WorkRequest
from host.frame_layout import split_datagram_immediate

SLOTS = RemoteSlots(address=0x1000_0000, key=0xABCD, slot_bytes=0x10000, count=2)


def frame(sequence, lengths=(4096, 4096, 128), start=0):
    blocks, address = [], start
    for index, length in enumerate(lengths):
        blocks.append(Block(address, length, index == 0, index == len(lengths) - 1, sequence))
        address += length
    return blocks


def pump(**options):
    return BlockPump(SLOTS, **{"sq_depth": 16, "batch": 8, **options})


def test_a_frame_fills_its_slot_and_ends_with_the_immediate():
    subject = pump()
    subject.add(frame(0x12345678))
    requests = subject.next_batch()
    assert [request.remote_address - SLOTS.address for request in requests] == [0, 4096, 8192]
    assert [request.opcode for request in requests] == [Opcode.WRITE, Opcode.WRITE, Opcode.WRITE_IMMEDIATE]
    assert requests[-1].immediate == 0 << 20 | 0x45678
    assert {request.remote_key for request in requests} == {SLOTS.key}


def test_the_next_frame_takes_the_next_slot():
    subject = pump()
    subject.add(frame(0) + frame(1))
    assert subject.next_batch()[3].remote_address == SLOTS.address + SLOTS.slot_bytes


def test_batches_are_limited():
    subject = pump(batch=2)
    subject.add(frame(0))
    assert [len(subject.next_batch()) for _ in range(3)] == [2, 1, 0]


def test_the_send_queue_is_never_overfilled():
    subject = pump(sq_depth=4)
    subject.add(frame(0, (4096,) * 5))
    assert len(subject.next_batch()) == 3
    assert subject.next_batch() == []
    subject.complete(1)
    assert len(subject.next_batch()) == 1


def test_a_frame_waits_for_a_released_slot_and_a_begun_one_goes_on():
    subject = pump()
    subject.add(frame(0) + frame(1) + frame(2))
    assert len(subject.next_batch()) == 6
    assert subject.starved_of_slots
    assert subject.slots_needed == 1
    subject.release(1)
    assert not subject.starved_of_slots
    assert subject.next_batch()[0].remote_address == SLOTS.address


def test_the_host_is_waited_for_only_when_it_has_the_frame():
    """A slot whose frame is still on its way is the wire's matter."""
    subject = pump()
    subject.add(frame(0) + frame(1) + frame(2))
    assert not subject.awaits_host
    subject.next_batch()
    assert subject.starved_of_slots
    assert not subject.awaits_host
    subject.frames_completed = 1
    assert subject.awaits_host
    subject.release(1)
    assert not subject.awaits_host


def test_an_outdated_release_takes_nothing_back():
    subject = pump()
    subject.release(2)
    subject.release(1)
    subject.add(frame(0) + frame(1) + frame(2) + frame(3))
    assert len(subject.next_batch() + subject.next_batch()) == 12


def test_a_frame_larger_than_a_slot_is_refused():
    subject = pump()
    subject.add(frame(0, (SLOTS.slot_bytes, 128)))
    with pytest.raises(FrameTooLarge, match="larger slots"):
        subject.next_batch()


def test_blocks_out_of_order_are_refused():
    subject = pump()
    subject.add(frame(0)[1:])
    with pytest.raises(ValueError, match="out of order"):
        subject.next_batch()


def test_more_completions_than_requests_are_refused():
    with pytest.raises(ValueError, match="1 completions for 0"):
        pump().complete(1)


def test_work_request_layout_is_pg332s():
    request = WorkRequest(0x1234, Opcode.WRITE_IMMEDIATE, 0x0102, 0x40000, 0x7F00_0000_1000, 0x1A2B3C4D, 0xDEADBEEF)
    data = request.pack()
    assert len(data) == 64
    assert data[0:2] == b"\x34\x12"
    assert data[4:12] == (0x0102).to_bytes(8, "little")
    assert data[12:16] == (0x40000).to_bytes(4, "little")
    assert data[16] == 1
    assert data[20:28] == (0x7F00_0000_1000).to_bytes(8, "little")
    assert data[28:32] == (0x1A2B3C4D).to_bytes(4, "little")
    assert data[48:52] == (0xDEADBEEF).to_bytes(4, "little")


def test_completion_layout_is_pg332s():
    assert Completion.unpack(b"\x34\x12\x01\x05") == Completion(identifier=0x1234, opcode=1, error=5)


def test_datagrams_each_say_where_their_octets_belong():
    """Two frames of three blocks, the ring's end inside the second block."""
    subject = pump(batch=64, sq_depth=64, datagrams=Datagrams(octets=2048, ring_bytes=8192))
    for number in range(2):
        subject.add(frame(1000 + number, lengths=(4096, 4096, 100), start=2048))
    requests = subject.next_batch()
    assert [request.local_address for request in requests[:5]] == [2048, 4096, 6144, 0, 2048]
    assert [request.length for request in requests[:5]] == [2048] * 4 + [100]
    assert {request.opcode for request in requests} == {Opcode.SEND_IMMEDIATE}
    told = [split_datagram_immediate(request.immediate) for request in requests]
    assert told == [(number, place, place == 4) for number in range(2) for place in range(5)]
    assert subject.complete(10) == [False] * 4 + [True] + [False] * 4 + [True]
    assert subject.frames_completed == 2


def test_after_a_reset_what_had_not_arrived_is_posted_again_and_before_all_else():
    """Two frames under way: the first known to the receiver, its last WRITE acknowledged in part."""
    subject = pump(sq_depth=16)
    subject.add(frame(7) + frame(8) + frame(9))
    first = subject.next_batch()
    subject.complete(2)
    subject.release(1)
    assert subject.start_over(lambda request: 64 if request.local_address == 8192 else 0, arrived=1) == 4
    assert subject.outstanding == 0 and subject.waiting == 4 + 3
    again = subject.next_batch()
    assert [request.opcode for request in again[:4]] == [
        Opcode.WRITE, Opcode.WRITE, Opcode.WRITE, Opcode.WRITE_IMMEDIATE
    ]  # fmt: skip
    assert (again[0].local_address, again[0].length) == (8192 + 64, 64)
    assert again[0].remote_address == first[2].remote_address + 64
    assert again[1:4] == first[3:6]
    assert [request.frame for request in again] == [0, 1, 1, 1, 2, 2, 2]
    assert subject.complete(7) == [True, False, False, True, False, False, True]
    assert subject.frames_completed == 3


def test_a_frame_that_the_receiver_does_not_know_is_announced_again():
    subject = pump()
    subject.add(frame(7))
    subject.next_batch()
    subject.start_over(lambda _: 0, arrived=0)
    assert subject.next_batch()[-1].opcode is Opcode.WRITE_IMMEDIATE
