"""ernic_command_octets: as long as the frame that an independent encoder makes, for every opcode that is sent."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tests.hdl.ernic_datapath.command_word import pack
from tests.hdl.ernic_datapath.reference import CNP, Packet, encode
from tests.hdl.module_bench import SIMULATORS, run_module

# RC, UC and UD requests, responses, acknowledgement, congestion notification.
OPCODES = (*range(0x12), 0x16, 0x17, *range(0x20, 0x2C), 0x64, 0x65, CNP)


@cocotb.test()
async def every_opcode_and_length(dut):
    rng = random.Random(9)
    for opcode in OPCODES:
        for length in (0, 1, 2, 3, 4, 256, 4093, 4096, rng.randrange(4097)):
            dut.cmd.value = pack(opcode=opcode, payload_bytes=length, psn=rng.getrandbits(24), ttl=rng.getrandbits(8))
            await Timer(1, "ns")
            frame = encode(Packet(opcode=opcode, payload=bytes(length)))
            assert int(dut.octets.value) == len(frame), (hex(opcode), length)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ernic_command_octets(simulator):
    run_module("ernic/ernic_command_octets", __name__, simulator)
