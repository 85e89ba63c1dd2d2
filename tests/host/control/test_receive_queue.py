"""The receive queue's registers, and its elements going round."""

from __future__ import annotations

import asyncio

import pytest

from host.control.receive_queue import ReceiveQueue
from host.control.registers import register_map

BASE, INDEX, DEPTH, ELEMENT = 0x8_0000_1000, 0x8_0000_0040, 4, 512


class Machine:
    """Registers by name and memory, without an engine behind them."""

    def __init__(self) -> None:
        self.bytes = bytearray(b"\xee" * 0x4000)
        self.written: dict[str, int] = {}
        block = register_map()["ERNIC_QP"]
        names = ("RQBA", "RQBAMSB", "RQWPTRDBADD", "RQWPTRDBADDMSB", "RQCI")
        self._names = {block[name].address(2): name for name in names}
        self.registers = self.memory = self

    async def write_register(self, address: int, value: int) -> None:
        self.written[self._names[address]] = value

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.bytes[address - 0x8_0000_0000 :][:length])

    def write(self, address: int, data):
        if isinstance(data, int):
            return self.write_register(address, data)
        start = address - 0x8_0000_0000
        self.bytes[start : start + len(data)] = data
        return None

    def deliver(self, index: int, message: bytes) -> None:
        """What the engine does: data, then the producer index."""
        self.write(BASE + index % DEPTH * ELEMENT, message)
        self.write(INDEX, ((index + 1) % DEPTH).to_bytes(4, "little"))


def made(machine: Machine, element: int = ELEMENT) -> ReceiveQueue:
    return ReceiveQueue(machine, 3, buffers=BASE, depth=DEPTH, element_bytes=element, index=INDEX)  # type: ignore[arg-type]


def test_registers_of_a_queue_pair_and_size_in_units() -> None:
    machine = Machine()
    assert asyncio.run(made(machine).prepare()) == 2
    assert machine.written == {
        "RQBA": BASE & 0xFFFFFFFF,
        "RQBAMSB": 8,
        "RQWPTRDBADD": INDEX & 0xFFFFFFFF,
        "RQWPTRDBADDMSB": 8,
    }
    assert machine.read(INDEX, 4) == bytes(4)


def test_messages_come_out_in_order_and_elements_go_back() -> None:
    machine = Machine()
    queue = made(machine)

    async def play() -> None:
        await queue.prepare()
        assert not queue.waiting
        for number in range(11):
            machine.deliver(number, bytes(range(number, number + 100)))
            assert queue.waiting
            assert await queue.take(40, skip=60) == bytes(range(number + 60, number + 100))
            assert machine.written["RQCI"] == (number + 1) % DEPTH
            assert not queue.waiting
        await queue.prepare()  # a new connection begins at the first element
        machine.deliver(0, b"new")
        assert await queue.take(3) == b"new"

    asyncio.run(play())


@pytest.mark.parametrize("element", [0, 100, 768])
def test_sizes_that_the_engine_cannot_have_are_refused(element: int) -> None:
    with pytest.raises(ValueError, match="256 times a power of two"):
        made(Machine(), element)
