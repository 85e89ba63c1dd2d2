"""Queue entries as the engine reads them."""

from __future__ import annotations

import pytest

from host.control.work_queue import Opcode, WorkRequest


def test_a_short_send_has_its_data_in_the_entry():
    entry = WorkRequest(3, Opcode.SEND, 0, 5, inline=b"hello").pack()
    assert len(entry) == 64
    assert entry[32:48] == b"hello".ljust(16, b"\0")


@pytest.mark.parametrize(
    ("opcode", "length", "inline"),
    [
        (Opcode.SEND, 16, b""),
        (Opcode.SEND_IMMEDIATE, 5, b"four"),
        (Opcode.SEND, 17, bytes(17)),
        (Opcode.WRITE, 5, b"hello"),
    ],
)
def test_data_where_the_engine_does_not_look_are_refused(opcode: Opcode, length: int, inline: bytes):
    with pytest.raises(ValueError, match=f"{opcode.name} of {length} bytes with {len(inline)} in the entry"):
        WorkRequest(1, opcode, 0x1000, length, inline=inline)
