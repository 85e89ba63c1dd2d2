"""Lost and dropped frames, from sequence numbers and headers."""

from __future__ import annotations

import pytest

from host.receive.account import SequenceAccount, Statistics


@pytest.mark.parametrize(
    ("frames", "lost", "dropped"),
    [
        ([], 0, 0),
        ([(7, 5)], 0, 0),  # what was dropped before the first frame was before this connection
        ([(0, 0), (1, 0), (2, 0)], 0, 0),
        ([(0, 0), (3, 2), (4, 0)], 0, 2),
        ([(0, 0), (3, 0), (4, 0)], 2, 0),
        ([(0, 0), (5, 1)], 3, 1),
        ([(1, 0), (0, 0), (3, 0), (2, 0)], 0, 0),  # two queue pairs, one faster than the other
        ([(2, 0), (0, 0)], 1, 0),
        ([(1 << 40, 0), ((1 << 40) + 2, 0)], 1, 0),
    ],
)
def test_gaps(frames: list[tuple[int, int]], lost: int, dropped: int):
    account = SequenceAccount()
    for sequence, dropped_before in frames:
        account.take(sequence, dropped_before)
    assert (account.lost, account.dropped) == (lost, dropped)


@pytest.mark.parametrize("first", [0, 3, (1 << 20) - 1, (7 << 20) + 5])
def test_a_broken_header_leaves_the_low_bits(first: int):
    account = SequenceAccount()
    account.take(first, 0)
    account.take_low_bits((first + 1) & 0xFFFFF)
    account.take(first + 2, 0)
    assert account.lost == 0
    account.take_low_bits((first + 4) & 0xFFFFF)
    assert account.lost == 1


def test_sums():
    one = Statistics(frames=1, flagged=2, skipped=3, dropped=4, lost=5, bytes=6)
    assert one + one == Statistics(2, 4, 6, 8, 10, 12)
