"""A mapped netlist (yosys, ``write_json``): what it takes of the device, and its longest combinational path.

The netlist is one flat module of cells of the UltraScale+ family as yosys 0.23 knows them.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# LUTs that a cell occupies, distributed memory and shift registers included (UltraScale+ CLB: one LUT holds 64 bits).
_LUTS = {
    **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
    **{"RAM32M16": 8, "RAM64M8": 8, "RAM32M": 4, "RAM64M": 4},
    **{"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM512X1S": 8},
    **{"RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM32X16DR8": 8, "RAM64X8SW": 8},
    **{"SRL16E": 1, "SRLC32E": 1},
}
_FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
_HALF_BLOCKS = {"RAMB18E2": 1, "RAMB36E2": 2}
_FREE = {"INV", "BUFG", "MUXF7", "MUXF8", "MUXF9", "CARRY4", "GND", "VCC", "IBUF", "OBUF"}

# How far a cell lengthens a path, in LUT levels: wide multiplexers and carry chains have wires of their own.
_LEVEL = 1.0
_WIDE_MULTIPLEXER = 0.25
_CARRY_ENTRY = 0.5
_CARRY_HOP = 0.05


@dataclass(frozen=True)
class Area:
    """What a netlist takes: LUTs (those used as memory too), flip-flops, block RAMs of 36 kbit, UltraRAMs, DSPs."""

    lut: int = 0
    lut_memory: int = 0
    ff: int = 0
    bram: float = 0.0
    uram: int = 0
    dsp: int = 0

    def __add__(self, other: Area) -> Area:
        return Area(
            self.lut + other.lut,
            self.lut_memory + other.lut_memory,
            self.ff + other.ff,
            self.bram + other.bram,
            self.uram + other.uram,
            self.dsp + other.dsp,
        )


@dataclass(frozen=True)
class Path:
    """The longest path: its weight, and how many cells of each kind it goes through, from where to where."""

    weight: float
    luts: int
    multiplexers: int
    carries: int
    begin: str
    end: str


def area(kinds: Mapping[str, int]) -> Area:
    """Add up cells by kind. Raises ``ValueError`` for a kind that is not known, rather than count it as nothing."""
    total = Counter(kinds)
    unknown = {
        kind
        for kind in total
        if kind not in _LUTS
        and kind not in _FLIP_FLOPS
        and kind not in _HALF_BLOCKS
        and kind not in _FREE
        and kind not in ("URAM288", "DSP48E2")
    }
    if unknown:
        raise ValueError(f"cells of an unknown kind: {', '.join(sorted(unknown))}")
    return Area(
        lut=sum(total[kind] * luts for kind, luts in _LUTS.items()),
        lut_memory=sum(total[kind] * luts for kind, luts in _LUTS.items() if not kind.startswith("LUT")),
        ff=sum(total[kind] for kind in _FLIP_FLOPS),
        bram=sum(total[kind] * halves for kind, halves in _HALF_BLOCKS.items()) / 2,
        uram=total["URAM288"],
        dsp=total["DSP48E2"],
    )


def instance(cell: str) -> str:
    """The instance that a cell of the flattened netlist comes from, dots between levels ("" for the top)."""
    flattened = re.match(r"\$flatten(\\.*?)\.\$", cell)
    if flattened:
        return flattened[1].replace("\\", "")
    if cell.startswith("$"):
        return ""
    return cell.rsplit(".", 1)[0].replace("\\", "") if "." in cell else ""


def module_of(kind: str) -> str:
    """The name in the source of a kind of cell, with parameters: ``$paramod\\name\\..`` or ``$paramod$hash\\name``."""
    if kind.startswith("$paramod\\"):
        return kind.split("\\")[1]
    return kind.rsplit("\\", 1)[-1]


class Netlist:
    """One flat module of a netlist; ``Netlist(json.load(...), top)``."""

    def __init__(self, design: Mapping[str, Any], top: str) -> None:
        module = design["modules"][top]
        self._cells: dict[str, Any] = module["cells"]
        self._names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            for position, bit in enumerate(net["bits"]):
                if isinstance(bit, int) and (not net.get("hide_name") or bit not in self._names):
                    self._names[bit] = f"{name}[{position}]" if len(net["bits"]) > 1 else name

    def kinds(self, below: str = "", other_than: Iterable[str] = ()) -> Counter[str]:
        """Cells by kind, of instance ``below`` and all under it, but not of the instances ``other_than``."""
        excluded = tuple(other_than)

        def inside(name: str, prefix: str) -> bool:
            return not prefix or name == prefix or name.startswith(prefix + ".")

        found: Counter[str] = Counter()
        for name, cell in self._cells.items():
            place = instance(name)
            if inside(place, below) and not any(inside(place, prefix) for prefix in excluded):
                found[cell["type"]] += 1
        return found

    def longest_path(self) -> Path:
        """From a register, memory or input to a register, memory or output.

        Raises ``ValueError`` if there is a combinational loop.
        """
        arcs: dict[int, list[tuple[int, float, str]]] = {}
        arriving: Counter[int] = Counter()
        for cell in self._cells.values():
            kind = cell["type"]
            for inputs, outputs, weight in _through(kind, cell["connections"]):
                for begin in inputs:
                    for end in outputs:
                        arcs.setdefault(begin, []).append((end, weight, kind))
                        arriving[end] += 1
        length = dict.fromkeys(arcs, 0.0) | dict.fromkeys(arriving, 0.0)
        before: dict[int, tuple[int, str]] = {}
        waiting = deque(bit for bit in length if not arriving[bit])
        done = 0
        while waiting:
            bit = waiting.popleft()
            done += 1
            for end, weight, kind in arcs.get(bit, ()):
                if length[bit] + weight > length[end]:
                    length[end] = length[bit] + weight
                    before[end] = (bit, kind)
                arriving[end] -= 1
                if not arriving[end]:
                    waiting.append(end)
        if done < len(length):
            loop = next(bit for bit, count in arriving.items() if count > 0)
            raise ValueError(f"combinational loop through {self._names.get(loop, loop)}")
        if not length:
            return Path(0.0, 0, 0, 0, "", "")
        end = bit = max(length, key=lambda candidate: length[candidate])
        passed: Counter[str] = Counter()
        while bit in before:
            bit, kind = before[bit]
            passed[kind] += 1
        return Path(
            weight=round(length[end], 2),
            luts=sum(count for kind, count in passed.items() if kind in _LUTS),
            multiplexers=sum(count for kind, count in passed.items() if kind.startswith("MUXF")),
            carries=passed["CARRY4"],
            begin=self._names.get(bit, str(bit)),
            end=self._names.get(end, str(end)),
        )


def _bits(connections: Mapping[str, list[Any]], ports: Iterable[str]) -> list[int]:
    return [bit for port in ports for bit in connections.get(port, ()) if isinstance(bit, int)]


def _through(kind: str, connections: Mapping[str, list[Any]]) -> Iterable[tuple[list[int], list[int], float]]:
    """(inputs, outputs, weight) of a cell's combinational arcs; registers, block RAM, UltraRAM and DSP have none."""
    if kind.startswith("LUT"):
        yield _bits(connections, [f"I{n}" for n in range(6)]), _bits(connections, ["O"]), _LEVEL
    elif kind.startswith("MUXF"):
        yield _bits(connections, ["I0", "I1", "S"]), _bits(connections, ["O"]), _WIDE_MULTIPLEXER
    elif kind in ("INV", "BUFG"):
        yield _bits(connections, ["I"]), _bits(connections, ["O"]), 0.0
    elif kind == "CARRY4":
        outputs = _bits(connections, ["CO", "O"])
        yield _bits(connections, ["DI", "S", "CYINIT"]), outputs, _CARRY_ENTRY
        yield _bits(connections, ["CI"]), outputs, _CARRY_HOP
    elif kind.startswith("RAM") and kind in _LUTS:
        # Distributed memory is read combinationally: address A to output A.
        for port in connections:
            if port.startswith("DO") and port != "DO":
                yield _bits(connections, ["ADDR" + port[2:]]), _bits(connections, [port]), _LEVEL
        yield _bits(connections, [f"DPRA{n}" for n in range(8)] + ["DPRA"]), _bits(connections, ["DPO"]), _LEVEL
        yield _bits(connections, [f"A{n}" for n in range(8)] + ["A"]), _bits(connections, ["SPO", "O"]), _LEVEL
