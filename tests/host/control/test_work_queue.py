"""Queue entries as the engine reads them, and data that are given instead of an address."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from host.control.engine import QueueMemory, QueuePair
from host.control.work_queue import WQE_BYTES, Completion, Opcode, WorkRequest

DEPTH = 16


class FakePlatform:
    """Memory and registers that only remember."""

    def __init__(self) -> None:
        self.contents = bytearray(1 << 16)
        self.memory = self
        self.registers: Any = self

    def write(self, address: int, data: Any) -> Any:
        """Memory takes bytes; a register, a number, and is awaited."""
        if isinstance(data, int):
            return asyncio.sleep(0)
        self.contents[address : address + len(data)] = data
        return None

    def octets(self, address: int, count: int) -> bytes:
        return bytes(self.contents[address : address + count])


def posted(requests: list[WorkRequest], *, inline: bool = True, before: int = 0) -> tuple[FakePlatform, QueueMemory]:
    platform = FakePlatform()
    memory, _ = QueueMemory.place(0x1000, DEPTH, inline=inline)
    pair = QueuePair(platform, 2, memory)  # type: ignore[arg-type]
    pair._depth = DEPTH
    filler = [WorkRequest(0, Opcode.WRITE, 0x40, 1)]

    async def post() -> None:
        for _ in range(before):
            await pair.post(filler)
        await pair.post(requests)

    asyncio.run(post())
    return platform, memory


def test_a_short_send_has_its_data_in_the_entry():
    entry = WorkRequest(3, Opcode.SEND, 0, 5, inline=b"hello").pack()
    assert len(entry) == 64
    assert entry[32:48] == b"hello".ljust(16, b"\0")


@pytest.mark.parametrize("opcode", [Opcode.SEND, Opcode.WRITE, Opcode.WRITE_IMMEDIATE])
@pytest.mark.parametrize("length", [17, 255, 256])
@pytest.mark.parametrize("before", [0, 3, DEPTH - 1, DEPTH + 2])
def test_inline_data_lie_beside_the_queue_each_in_its_entrys_place(opcode: Opcode, length: int, before: int):
    data = bytes(index & 0xFF for index in range(length))
    platform, memory = posted([WorkRequest(1, opcode, 0, length, 7, 8, inline=data)], before=before)
    slot = before % DEPTH
    entry = platform.octets(memory.send_queue + slot * WQE_BYTES, WQE_BYTES)
    address = int.from_bytes(entry[4:12], "little")
    assert memory.inline is not None and address == memory.inline + slot * 256
    assert platform.octets(address, length) == data
    assert entry[32:48] == bytes(16)


def test_room_for_inline_data_begins_behind_the_doorbell_and_ends_at_the_end():
    memory, end = QueueMemory.place(0x1000, DEPTH, inline=True)
    assert memory.inline == memory.completion_doorbell + 64 and end == memory.inline + DEPTH * 256
    plain, end = QueueMemory.place(0x1000, DEPTH)
    assert plain.inline is None and end == memory.inline


def test_a_queue_pair_without_room_says_so():
    with pytest.raises(ValueError, match=r"17 bytes inline: queue pair 2 has no room .* inline=True"):
        posted([WorkRequest(1, Opcode.SEND, 0, 17, inline=bytes(17))], inline=False)


@pytest.mark.parametrize(
    ("opcode", "length", "inline"),
    [
        (Opcode.SEND, 16, b""),
        (Opcode.SEND_IMMEDIATE, 5, b"four"),
        (Opcode.WRITE, 5, b"four"),
        (Opcode.SEND, 257, bytes(257)),
        (Opcode.READ, 32, bytes(32)),
    ],
)
def test_data_where_the_engine_does_not_look_are_refused(opcode: Opcode, length: int, inline: bytes):
    with pytest.raises(ValueError, match=f"{opcode.name} of {length} bytes with {len(inline)} inline"):
        WorkRequest(1, opcode, 0x1000, length, inline=inline)


def test_completions_say_what_went_wrong():
    assert Completion.unpack(b"\x01\x00\x02\x00") == Completion(1, 2, 0)
    assert Completion(1, 0, 0).reason == ""
    refused = Completion(1, 0, 0x0A).reason
    assert refused.startswith("the receiver refused it")
    # Entries behind the one that failed have its code, and the top bit.
    assert Completion(2, 0, 0x8A).reason == f"an earlier work request failed: {refused}"
    assert "0x15" in Completion(1, 0, 0x15).reason
    assert "0x15" in Completion(2, 0, 0x95).reason
