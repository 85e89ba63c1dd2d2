"""The register map, read from ``registers.toml``: addresses for software, RTL constants, tables for the documentation.

``python -m host.control.registers --write`` renews the generated files, ``--check`` fails if one is out of date.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
_DESCRIPTION = _HERE / "registers.toml"
RTL_HEADER = _ROOT / "hdl" / "lib" / "registers.vh"
DOCUMENT = _HERE / "README.md"


@dataclass(frozen=True)
class Field:
    """Bits ``high`` down to ``low`` of a register."""

    name: str
    high: int
    low: int
    summary: str

    @property
    def mask(self) -> int:
        """The field's bits set, in place."""
        return ((1 << (self.high - self.low + 1)) - 1) << self.low

    def get(self, value: int) -> int:
        """Return the field of register value ``value``."""
        return (value & self.mask) >> self.low

    def put(self, value: int) -> int:
        """Return ``value`` in place; raise ``ValueError`` if it does not fit."""
        if value < 0 or value << self.low & ~self.mask:
            raise ValueError(f"{self.name}: {value} does not fit into bits {self.high}:{self.low}")
        return value << self.low


@dataclass(frozen=True)
class Register:
    """One register, or ``count`` of them ``stride`` bytes apart; ``offset`` is relative to the block's base.

    The registers of a repeating block have the block's ``count`` and ``stride``.
    """

    block: str
    name: str
    base: int
    offset: int
    access: str
    reset: int
    summary: str
    count: int
    stride: int
    fields: tuple[Field, ...]

    @property
    def mask(self) -> int:
        """The bits that mean something: those of the fields, or all 32."""
        return reduce(or_, (field.mask for field in self.fields), 0) or 0xFFFFFFFF

    def address(self, index: int = 0) -> int:
        """Absolute byte address of instance ``index``; raise ``IndexError`` outside ``range(count)``."""
        if not 0 <= index < self.count:
            raise IndexError(f"{self.block}.{self.name}[{index}]: only {self.count} exist")
        return self.base + self.offset + index * self.stride

    def __getitem__(self, field: str) -> Field:
        for candidate in self.fields:
            if candidate.name == field:
                return candidate
        raise KeyError(f"{self.block}.{self.name} has no field {field}")


@dataclass(frozen=True)
class Block:
    """Registers that share a base; a block of which there are ``count`` repeats every ``stride`` bytes."""

    name: str
    base: int
    summary: str
    registers: tuple[Register, ...]
    count: int = 1
    stride: int = 0

    def __getitem__(self, register: str) -> Register:
        for candidate in self.registers:
            if candidate.name == register:
                return candidate
        raise KeyError(f"{self.name} has no register {register}")


def _field(entry: dict[str, str]) -> Field:
    high, _, low = entry["bits"].partition(":")
    return Field(entry["name"], int(high), int(low or high), entry["summary"])


def _blocks() -> Iterator[Block]:
    with _DESCRIPTION.open("rb") as file:
        description = tomllib.load(file)
    for block in description["block"]:
        count, stride = block.get("count", 1), block.get("stride", 0)
        registers = tuple(
            Register(
                block=block["name"],
                name=entry["name"],
                base=block["base"],
                offset=entry["offset"],
                access=entry["access"],
                reset=entry.get("reset", 0),
                summary=entry["summary"],
                count=entry.get("count", count),
                stride=entry.get("stride", stride),
                fields=tuple(_field(field) for field in entry.get("fields", [])),
            )
            for entry in block["register"]
        )
        yield Block(block["name"], block["base"], block["summary"], registers, count, stride)


@cache
def register_map() -> dict[str, Block]:
    """All blocks by name: ``register_map()["RING"]["BLOCK_COUNT"].address()``."""
    return {block.name: block for block in _blocks()}


def rtl_header() -> str:
    """Verilog macros: ``EB_<BLOCK>_<REGISTER>`` is the offset in its block, ``..._RESET`` its reset value.

    ``..._MASK`` has the bits that mean something, ``..._STRIDE`` is the distance of repeated registers.
    """
    lines = [
        "// Made from host/control/registers/registers.toml by 'make registers'; do not edit.",
        "`ifndef EB_REGISTERS_VH",
        "`define EB_REGISTERS_VH",
    ]
    for block in register_map().values():
        lines.append(f"`define EB_{block.name}_BASE 20'h{block.base:05x}")
        for register in block.registers:
            name = f"EB_{block.name}_{register.name}"
            lines.append(f"`define {name} 20'h{register.offset:05x}")
            lines.append(f"`define {name}_RESET 32'h{register.reset:08x}")
            lines.append(f"`define {name}_MASK 32'h{register.mask:08x}")
            if register.count > 1:
                lines.append(f"`define {name}_STRIDE {register.stride}")
    lines.append("`endif")
    return "\n".join(lines) + "\n"


def _rows(register: Register, repeated_with_block: bool) -> Iterator[str]:
    offset = f"0x{register.offset:03X}"
    if register.count > 1 and not repeated_with_block:
        offset += f" + i*0x{register.stride:X}, i < {register.count}"
    yield f"| {offset} | {register.name} | {register.access} | 0x{register.reset:X} | {register.summary} |"
    for field in register.fields:
        bits = str(field.high) if field.high == field.low else f"{field.high}:{field.low}"
        yield f"| | [{bits}] {field.name} | | | {field.summary} |"


def document() -> str:
    """The register map as Markdown tables."""
    lines = ["# Registers", "", "Made from `registers.toml`; `make registers` renews it.", ""]
    for block in register_map().values():
        instances = f" + i*0x{block.stride:X}, i < {block.count}" if block.count > 1 else ""
        lines += [f"## {block.name}, base 0x{block.base:05X}{instances}", "", block.summary, ""]
        lines += ["| offset | register | access | reset | meaning |", "|---|---|---|---|---|"]
        for register in block.registers:
            lines += _rows(register, block.count > 1)
        lines.append("")
    return "\n".join(lines)
