"""Prove properties of RTL: yosys makes a transition system of a design and its properties, an SMT solver does the rest.

A proof is by k-induction: no assertion can fail in the first ``depth`` steps (base case), and from any state whatever
in which all assertions have held for ``k`` steps they hold in the next (induction). Both together: they hold for ever.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.sources import INCLUDE_DIRS, ROOT

HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "formal"
# A guard against a solver that never returns, far above what any proof takes.
LIMIT_SECONDS = 1800


@dataclass(frozen=True)
class Mutation:
    """A bug to plant.

    ``substitutions`` are (old, new) texts of ``source`` (a path of the proof's sources); each old text stands there
    exactly once. ``depth`` is the number of steps within which the counter-example must be found; to find it faster,
    the first ``skip`` are not looked at, and the others in groups of ``stride``. ``parameters`` are for the properties,
    to the same end: they may only restrict the environment. ``slow``: not in ``make test``, only in ``make formal``.
    """

    name: str
    source: str
    substitutions: tuple[tuple[str, str], ...]
    depth: int
    skip: int = 0
    stride: int = 1
    parameters: Mapping[str, int] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True)
class Memory:
    """A memory of the design that properties look into, at ``path`` below the top, of ``width`` bits a word.

    Properties include ``words.vh``, which has two wires for it: ``<name>_place``, an address that the solver chooses
    once and for all, and ``<name>_word``, the word there. In a proof that word is all that is kept of the memory (see
    models/one_word_memory.v). Elsewhere the memory is whole, and ``<name>_word`` means nothing.
    """

    name: str
    path: str
    address_width: int
    width: int

    def wires(self, whole: bool) -> str:
        """Verilog text of the two wires."""
        place = f"wire [{self.address_width - 1}:0] {self.name}_place"
        word = f"wire [{self.width - 1}:0] {self.name}_word"
        if whole:
            return f"(* anyconst *) {place};\n(* anyseq *) {word};\n"
        return (
            f"(* hierconn *) wire [{self.address_width - 1}:0] \\{self.path}.place ;\n"
            f"(* hierconn *) wire [{self.width - 1}:0] \\{self.path}.word ;\n"
            f"{place} = \\{self.path}.place ;\n{word} = \\{self.path}.word ;\n"
        )


@dataclass(frozen=True)
class Proof:
    """What is to be proved of what.

    ``claim`` says it in a line. ``top`` is the module in ``<top>.v`` beside this file; ``sources`` are paths below the
    root. ``depth`` is the number of steps of the base case, ``k`` that of the induction. ``clocks`` more than
    1: steps are of a global time in which clocks are free inputs; otherwise a step is a clock. Covers and planted bugs
    run on ``parameters`` overridden by ``small``, and covers also by ``search``, which may only restrict the
    environment. ``memories`` are what the properties see of the design's memories. ``cut`` are modules whose
    outputs may be anything at any time, but for what the properties assume of them.
    """

    name: str
    claim: str
    top: str
    sources: tuple[str, ...]
    depth: int
    k: int
    cover_depth: int
    mutations: tuple[Mutation, ...]
    parameters: Mapping[str, int] = field(default_factory=dict)
    small: Mapping[str, int] = field(default_factory=dict)
    search: Mapping[str, int] = field(default_factory=dict)
    clocks: int = 1
    memories: tuple[Memory, ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run of the solver gave; ``trace`` is that of a counter-example, ``seconds`` are wall time."""

    passed: bool
    log: str
    trace: Path
    seconds: float

    @property
    def failed_assertions(self) -> list[str]:
        """Places (file:lines) of the assertions that the counter-example breaks."""
        return re.findall(r"Assert failed in \w+: (\S+)", self.log)


class Model:
    """A transition system in a file, ready for the solver.

    ``whole``: with whole memories, for traces that the design itself can go through; otherwise of each memory one word
    is kept and the others read as anything, which is enough for a proof of every word and costs little.
    """

    def __init__(
        self,
        proof: Proof,
        label: str,
        *,
        whole: bool,
        parameters: Mapping[str, int],
        mutation: Mutation | None = None,
    ):
        self.folder = BUILD / proof.name / label
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.file = self.folder / "model.smt2"
        self.top = proof.top
        files = [HERE / f"{proof.top}.v", *(self._source(name, mutation) for name in proof.sources)]
        parameters = {**proof.parameters, **parameters}
        chosen = " ".join(f"-chparam {name} {value}" for name, value in parameters.items())
        (self.folder / "words.vh").write_text("".join(memory.wires(whole) for memory in proof.memories))
        includes = " ".join(f"-I{folder}" for folder in (*INCLUDE_DIRS, self.folder))
        script = [
            f"read_verilog -sv -formal {includes} {' '.join(map(str, files))}",
            f"hierarchy -check -top {proof.top} {chosen}",
            # Nothing may be optimised before wires named in properties are joined with the design's: flatten's work.
            "proc -noopt",
            *(f"cutpoint t:*{module}*; hierarchy -check -top {proof.top}" for module in proof.cut),
            "memory_collect",
            ""
            if whole
            else f"techmap -autoproc -map {HERE / 'models' / 'one_word_memory.v'}; select -assert-none t:$mem*",
            "flatten",
            "opt_clean",
            "check -assert",
            "async2sync" if proof.clocks == 1 else "opt -full; clk2fflogic",
            "opt -full",
            "dffunmap",
            "opt_clean",
            f"write_smt2 -wires {self.file}",
        ]
        result = _run(["yosys", "-q", "-l", str(self.folder / "yosys.log"), "-p", "; ".join(filter(None, script))])
        if result.returncode != 0:
            raise RuntimeError(f"yosys cannot read {proof.name}:\n{result.stdout}{result.stderr}")
        text = self.file.read_text()
        self.assertions = text.count("; yosys-smt2-assert ")
        self.covers = text.count("; yosys-smt2-cover ")

    def _source(self, name: str, mutation: Mutation | None) -> Path:
        path = ROOT / name
        if mutation is None or mutation.source != name:
            return path
        text = path.read_text()
        for old, new in mutation.substitutions:
            if text.count(old) != 1:
                raise ValueError(f"{mutation.name}: {old!r} stands {text.count(old)} times in {name}, expected once")
            text = text.replace(old, new)
        mutant = self.folder / path.name
        mutant.write_text(text)
        return mutant

    def base_case(self, depth: int) -> Outcome:
        """No assertion fails in the first ``depth`` steps, from any initial state."""
        return self._solve("base", ["-t", str(depth)])

    def find(self, bug: Mutation) -> Outcome:
        """An assertion fails within the bug's depth: the outcome has not passed."""
        return self._solve("base", ["-t", f"{bug.skip}:{bug.stride}:{bug.depth}"])

    def induction(self, k: int) -> Outcome:
        """Assertions that have held for ``k`` steps hold in the next.

        The solver is asked for one assertion at a time, all being assumed in the steps before: many small questions are
        far easier than the one whether any of them can fail.
        """
        started = time.monotonic()
        text = self.file.read_text()
        system, _, _ = text.partition("; end of module")
        conjunction = re.search(rf"\(define-fun \|{self.top}_a\| .*? Bool \(and\n(.*?)\n\)\)", text, re.DOTALL)
        goals = [] if conjunction is None else conjunction[1].splitlines()
        if not goals or len(goals) != self.assertions:
            raise RuntimeError(f"{self.file} has {self.assertions} assertions, of which {len(goals)} were understood")
        steps = range(k + 1)
        query = ["(set-logic QF_UFBV)", system]
        for step in steps:
            query.append(f"(declare-fun s{step} () |{self.top}_s|)")
            query.append(f"(assert (|{self.top}_u| s{step}))\n(assert (|{self.top}_h| s{step}))")
        for step in steps[:-1]:
            query.append(f"(assert (|{self.top}_t| s{step} s{step + 1}))\n(assert (|{self.top}_a| s{step}))")
        log = []
        for number, goal in enumerate(goals):
            place = re.search(rf"yosys-smt2-assert {number} \S+ (\S+)", text)
            file = self.folder / "goal.smt2"
            last = goal.strip().replace(" state)", f" s{k})")
            file.write_text("\n".join([*query, f"(assert (not {last}))", "(check-sat)\n"]))
            asked = time.monotonic()
            answer = _run(["yices-smt2", str(file)]).stdout.strip()
            log.append(f"{answer} {place[1] if place else goal} ({time.monotonic() - asked:.1f} s)")
            if answer != "unsat":
                # smtbmc finds the same state again, and writes it down.
                trace = self._solve("induction", ["-i", "-t", str(k)])
                return Outcome(False, "\n".join([*log, trace.log]), trace.trace, time.monotonic() - started)
        (self.folder / "induction.log").write_text("\n".join(log))
        return Outcome(True, "\n".join(log), file, time.monotonic() - started)

    def reach(self, depth: int) -> Outcome:
        """Every cover statement is reached within ``depth`` steps, with no assertion broken on the way."""
        return self._solve("cover", ["-c", "-t", str(depth)])

    def _solve(self, kind: str, options: list[str]) -> Outcome:
        # Cover traces are numbered by smtbmc, one a statement.
        trace = self.folder / ("cover%.vcd" if kind == "cover" else f"{kind}.vcd")
        command = ["yosys-smtbmc", "-s", "yices", "--noprogress", "--dump-vcd", str(trace), *options, str(self.file)]
        started = time.monotonic()
        result = _run(command)
        log = result.stdout + result.stderr
        (self.folder / f"{kind}.log").write_text(log)
        status = re.search(r"Status: (\w+)", log)
        if status is None:
            raise RuntimeError(f"the solver gave no answer:\n{log}")
        return Outcome(status[1] == "PASSED", log, trace, time.monotonic() - started)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    # The solver is in the project's Python environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
