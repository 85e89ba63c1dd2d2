"""Dispatch of received packets: the whole table of opcodes, readiness and enable."""

from __future__ import annotations

from itertools import product

import cocotb
import pytest
from cocotb.triggers import Timer

from tests.hdl.ernic_datapath.verdict import Ticket
from tests.hdl.module_bench import SIMULATORS, run_module

ACKNOWLEDGE = 0x11
READ_RESPONSES = range(0x0D, 0x11)
EMPTY = dict.fromkeys(Ticket.__dataclass_fields__, 0)


@cocotb.test()
async def table(dut):
    """Who is offered the packet, who takes it; the writer has a line for exactly the packets that are taken."""
    for opcode, stored in product(range(256), range(2)):
        words, size = opcode % 8, 8191 - opcode * 7
        ticket = Ticket(**EMPTY | {"opcode": opcode, "stored": stored, "words": words, "payload_bytes": size})
        dut.s_ticket.value = ticket.pack()
        for valid, enabled, ack, request, order in product(range(2), repeat=5):
            dut.s_ticket_valid.value = valid
            dut.engine_enabled.value = enabled
            dut.m_ack_ready.value = ack
            dut.m_request_ready.value = request
            dut.m_order_ready.value = order
            await Timer(1, "ns")
            is_ack, is_read = opcode == ACKNOWLEDGE, opcode in READ_RESPONSES
            at_ack = bool(dut.m_ack_valid.value) and (is_ack or bool(ack))
            at_request = bool(dut.m_request_valid.value and request)
            line = bool(dut.m_order_valid.value and order)
            gone = bool(dut.s_ticket_ready.value and valid)
            state = f"opcode {opcode:#x}, stored {stored}, {valid=} {enabled=} {ack=} {request=} {order=}"
            if not valid:
                assert not (dut.m_ack_valid.value or dut.m_request_valid.value or dut.m_order_valid.value), state
            elif not enabled:
                assert not (dut.m_ack_valid.value or dut.m_request_valid.value), state
                assert gone == (not stored or bool(order)), state
                assert line == (stored and gone), state
                assert dut.m_order_discard.value, state
            elif is_ack:
                assert (at_ack, at_request, line, gone) == (True, False, False, True), state
                assert not dut.m_ack_is_read.value
            elif is_read:
                taken = bool(ack and order)
                assert (at_ack, at_request, line, gone) == (taken, False, taken, taken), state
                assert dut.m_ack_is_read.value
            else:
                taken = bool(request and order)
                assert (at_ack, at_request, line, gone) == (False, taken, taken, taken), state
            if line:
                assert bool(dut.m_order_discard.value) == (not enabled), state
                assert bool(dut.m_order_is_read.value) == is_read, state
                assert dut.m_order_stored.value == stored, state
                assert bool(dut.m_order_datagram.value) == (opcode >> 5 == 3), state
                assert (int(dut.m_order_words.value), int(dut.m_order_bytes.value)) == (words, size), state


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_dispatch(simulator):
    run_module("ernic/ernic_dispatch", __name__, simulator)
