"""Synthesis: what is counted, how a path is found, and one small module through yosys."""

from __future__ import annotations

from typing import Any

import pytest

from sim.synthesis import yosys
from sim.synthesis.netlist import Area, Netlist, Path, area, instance, module_of
from sim.synthesis.report import DEVICE_TOTAL, fits, report, rows, table
from sim.synthesis.yosys import Job, Result, synthesise

FIFO = Job("fifo", "lib/sync_fifo", {"WIDTH": 64, "DEPTH": 1024, "BLOCK_MEMORY": 1})


def netlist(cells: dict[str, tuple[str, dict[str, list[Any]]]]) -> Netlist:
    """A module of these cells, whose nets are called after their numbers."""
    found = {name: {"type": kind, "connections": connections} for name, (kind, connections) in cells.items()}
    bits = {bit for _, ports in cells.values() for net in ports.values() for bit in net if isinstance(bit, int)}
    names = {f"n{bit}": {"bits": [bit], "hide_name": 0} for bit in bits}
    return Netlist({"modules": {"top": {"cells": found, "netnames": names}}}, "top")


def register(d: int, q: int) -> tuple[str, dict[str, list[Any]]]:
    return "FDRE", {"C": [1], "CE": ["1"], "D": [d], "R": ["0"], "Q": [q]}


def lut(output: int, *inputs: int) -> tuple[str, dict[str, list[Any]]]:
    return f"LUT{len(inputs)}", {**{f"I{n}": [bit] for n, bit in enumerate(inputs)}, "O": [output]}


def test_area_counts_by_kind():
    kinds = {
        "LUT6": 3,
        "LUT1": 1,
        "RAM32M16": 2,
        "SRL16E": 1,
        "FDRE": 5,
        "FDSE": 1,
        "RAMB18E2": 3,
        "RAMB36E2": 1,
        "URAM288": 2,
        "DSP48E2": 4,
        "CARRY4": 9,
        "MUXF7": 1,
        "INV": 7,
    }
    assert area(kinds) == Area(lut=21, lut_memory=17, ff=6, bram=2.5, uram=2, dsp=4)
    with pytest.raises(ValueError, match="ODD"):
        area({"LUT6": 1, "ODD": 1})
    assert area({"LUT2": 1}) + area({"LUT2": 2, "FDRE": 1}) == Area(lut=3, ff=1)


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        (r"$flatten\control.\registers.$abc$12$auto$blif.cc:1:x$3", "control.registers"),
        (r"$flatten\bank[0].lower.$abc$1", "bank[0].lower"),
        ("memory.bank[0].upper.memory.0.1", "memory.bank[0].upper.memory.0"),
        ("$abc$40598$auto$fsm_map.cc:170:map_fsm$3132", ""),
        ("counter", ""),
    ],
)
def test_cells_belong_to_instances(cell, place):
    assert instance(cell) == place


def test_longest_path_goes_from_register_to_register():
    design = netlist(
        {
            "a": register(9, 10),
            # Three LUTs, and a shorter way round; the second register begins a path of its own.
            "x": lut(11, 10, 30),
            "y": lut(12, 11),
            "z": lut(9, 12, 10),
            "b": register(9, 20),
            "w": lut(21, 20),
        }
    )
    assert design.longest_path() == Path(weight=3.0, luts=3, multiplexers=0, carries=0, begin="n10", end="n9")


def test_carries_multiplexers_and_distributed_memory_count():
    design = netlist(
        {
            "a": register(99, 10),
            "x": lut(11, 10),
            "c0": (
                "CARRY4",
                {"CI": ["0"], "CYINIT": ["0"], "DI": [10, 10, 10, 10], "S": [11, 11, 11, 11], "CO": [12], "O": [13]},
            ),
            "c1": ("CARRY4", {"CI": [12], "CYINIT": ["0"], "DI": ["0"] * 4, "S": ["0"] * 4, "CO": [14], "O": [15]}),
            "m": ("MUXF7", {"I0": [15], "I1": ["0"], "S": ["1"], "O": [16]}),
            "r": (
                "RAM64M8",
                {"ADDRA": [16, 16], "ADDRH": [17], "DIA": [10], "WE": [16], "WCLK": [1], "DOA": [18], "DOB": [19]},
            ),
            # Block memory ends a path.
            "u": ("URAM288", {"ADDR_A": [18], "DOUT_A": [20]}),
            "y": lut(21, 20),
        }
    )
    path = design.longest_path()
    assert (path.luts, path.multiplexers, path.carries) == (2, 1, 2)
    assert (path.begin, path.end) == ("n10", "n18")
    assert path.weight == pytest.approx(1 + 0.5 + 0.05 + 0.25 + 1)


def test_a_loop_is_an_error():
    design = netlist({"x": lut(11, 12), "y": lut(12, 11, 10), "a": register(11, 10)})
    with pytest.raises(ValueError, match=r"loop through n1[12]"):
        design.longest_path()


def test_parts_are_counted_by_place():
    design = netlist(
        {
            "top_register": register(1, 2),
            "part.one": register(2, 3),
            "part.deep.two": register(3, 4),
            "partial.x": register(4, 5),
        }
    )
    assert design.kinds()["FDRE"] == 4
    assert design.kinds("part")["FDRE"] == 2
    assert design.kinds("part.deep")["FDRE"] == 1
    assert design.kinds(other_than=["part"])["FDRE"] == 2


def test_the_report_says_whether_it_fits():
    path = Path(4.5, 4, 0, 3, "here", "there")
    results = {
        "ring": Result(Area(lut=1000, lut_memory=8, ff=2000, bram=230.5, uram=86), {"memory": Area(uram=86)}, path, {}),
        "ernic": Result(Area(lut=20000, ff=9000, bram=4, uram=40, dsp=1), {}, path, {}),
    }
    assert rows(results)[-1] == ("frontend", Area(lut=21000, lut_memory=8, ff=11000, bram=234.5, uram=126, dsp=1))
    text = table(results)
    for piece in ("ring", "  memory", "ZU19EG", "522720", "98.4%", "4.5 levels: 4 LUT", "here to there"):
        assert piece in text
    assert report(results)["fits"] is True
    assert fits(DEVICE_TOTAL)
    for kind in ("lut", "ff", "bram", "uram", "dsp"):
        assert not fits(DEVICE_TOTAL + Area(**{kind: 1}))


def test_a_small_module_through_yosys(tmp_path, monkeypatch):
    monkeypatch.setattr(yosys, "BUILD", tmp_path)
    said: list[str] = []
    result = synthesise(FIFO, said.append)
    # 64 kbit are two block RAMs of 32 kbit of data each.
    assert result.total.bram == 2
    assert result.total.uram == result.total.dsp == 0
    assert 20 <= result.total.lut <= 120
    # Two addresses of 10 bits, the level of 11, and one bit beside the output register, which is in the block RAM.
    assert result.total.ff == 32
    assert 1 <= result.path.luts <= 5
    assert "kept" not in said
    assert synthesise(FIFO, said.append) == result
    assert said[-1] == "kept"
    # Another parameter is another result, and replaces the kept one.
    small = Job("fifo", FIFO.module, {"WIDTH": 8, "DEPTH": 32, "BLOCK_MEMORY": 0})
    other = synthesise(small, said.append)
    assert other.total.bram == 0
    assert other.total.lut_memory > 0
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "kind",
    ["ring_memory", r"$paramod\ring_memory\RING_BYTES=s32'0", r"$paramod$5126b4c8618ac831f83140139d\ring_memory"],
)
def test_modules_keep_their_names(kind):
    assert module_of(kind) == "ring_memory"


def test_parts_that_are_kept_and_modules_that_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(yosys, "BUILD", tmp_path)
    module, parameters = "lib/cdc_fifo", {"WIDTH": 8, "DEPTH": 16}
    whole = synthesise(Job("whole", module, parameters), lambda _: None)
    kept = synthesise(Job("kept", module, parameters, {"sync": "read_crossing"}, kept=("cdc_sync",)), lambda _: None)
    rest = synthesise(Job("rest", module, parameters, boxes=("cdc_sync",)), lambda _: None)
    # Synchronisers are flip-flops or, to yosys, shift registers.
    assert 0 < kept.parts["sync"].lut + kept.parts["sync"].ff < kept.total.lut + kept.total.ff
    assert rest.total.lut + rest.total.ff < whole.total.lut + whole.total.ff


@pytest.mark.parametrize("what", [{"kept": ("no_such_module",)}, {"boxes": ("no_such_module",)}])
def test_a_module_that_is_not_there_is_an_error(tmp_path, monkeypatch, what):
    monkeypatch.setattr(yosys, "BUILD", tmp_path)
    with pytest.raises(RuntimeError, match="yosys failed"):
        synthesise(Job("fifo", "lib/sync_fifo", {}, **what), lambda _: None)


def test_a_module_that_is_wrong_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(yosys, "BUILD", tmp_path)
    with pytest.raises(RuntimeError, match="yosys failed"):
        synthesise(Job("fifo", FIFO.module, {"NO_SUCH_PARAMETER": 1}), lambda _: None)
