"""The register map: addresses, fields, and generated files that are up to date."""

import pytest

from host.control.registers import register_map
from host.control.registers.__main__ import main


def test_registers_of_a_block_do_not_overlap():
    for block in register_map().values():
        taken = {}
        for register in block.registers:
            for index in range(register.count):
                address = register.address(index)
                assert address not in taken, f"{block.name}.{register.name} and {taken.get(address)}"
                assert address % 4 == 0
                taken[address] = register.name


def test_fields_stay_inside_32_bits_and_do_not_overlap():
    for block in register_map().values():
        for register in block.registers:
            seen = 0
            for field in register.fields:
                assert field.high >= field.low
                assert field.mask < 1 << 32
                assert not seen & field.mask, f"{block.name}.{register.name}.{field.name}"
                seen |= field.mask


def test_field_values_that_do_not_fit_are_refused():
    field = register_map()["RING"]["BLOCK_LENGTH"]["BYTES"]
    with pytest.raises(ValueError, match="does not fit"):
        field.put(1 << 24)
    assert field.get(0xC0000080) == 0x80


def test_instances_outside_the_array_are_refused():
    with pytest.raises(IndexError, match="only 256"):
        register_map()["RING"]["BLOCK_ADDRESS"].address(256)


def test_generated_files_are_up_to_date():
    assert main(["--check"]) == 0
