"""Prove properties of RTL: yosys makes a transition system of a design and its properties, an SMT solver does the rest.

A proof is by k-induction: no assertion can fail in the first steps (base case), and from any state whatever in which
all assertions have held for ``k`` steps they hold in the next (induction). Both together: they hold for ever.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.sources import INCLUDE_DIRS, ROOT, sources

HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "formal"

# (file below the root, text that stands there exactly once, text in its place)
Edit = tuple[str, str, str]
Tell = Callable[[str], None]


class NoAnswer(RuntimeError):
    """yosys or the solver ended without an answer."""


class Unplantable(ValueError):
    """The text that a planted bug replaces does not stand in the source, or more than once."""


@dataclass(frozen=True)
class Search:
    """How a trace is looked for: within ``steps`` of the initial state.

    To find it sooner, the first ``skip`` steps are not looked at, and the others in groups of ``stride``.
    ``environment`` are parameters of the properties to the same end: they may only restrict the environment.
    ``slow``: not in ``make test``, only in ``make formal``.
    """

    steps: int
    skip: int = 0
    stride: int = 1
    environment: Mapping[str, int] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True)
class Bug:
    """A bug to plant, and to be found as its proof's ``bugs_within`` says, or as ``within`` does."""

    name: str
    edits: tuple[Edit, ...]
    within: Search | None = None


def bug(name: str, *edits: Edit, within: Search | None = None) -> Bug:
    """Return a bug of one edit or more."""
    return Bug(name, edits, within)


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
    """What is to be proved of what: ``<name>_properties.v`` beside this file is true of ``modules``.

    ``claim`` says it in a line. ``modules`` are lists of sources as in ``sim.sources`` ("ring/ring_buffer").

    The proof itself: ``parameters``; ``base`` steps of the base case, at least ``k``, the steps of the induction.
    Traces that must be found: the ``cover`` statements, and an assertion that fails for each of ``bugs``
    (``bugs_within``, unless the bug says otherwise), all on ``parameters`` overridden by ``small``.

    ``free_clocks``: steps are of a global time in which clocks are free inputs; otherwise a step is a clock.
    ``memories`` are what the properties see of the design's memories. ``stand_ins`` are modules that models/ has others
    for. ``cut`` are modules whose outputs may be anything at any time, but for what the properties assume of them.
    ``whole``: traces are looked for with whole memories. Not if the specification itself speaks of a memory's word.
    ``limit_seconds`` is the processor time of one call of the solver, a guard far above what it takes.
    """

    name: str
    claim: str
    modules: tuple[str, ...]
    base: int
    cover: Search
    bugs_within: Search
    bugs: tuple[Bug, ...]
    k: int = 1
    parameters: Mapping[str, int] = field(default_factory=dict)
    small: Mapping[str, int] = field(default_factory=dict)
    memories: tuple[Memory, ...] = ()
    stand_ins: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    free_clocks: bool = False
    whole: bool = True
    limit_seconds: int = 600

    @property
    def top(self) -> str:
        """Name of the module with the properties."""
        return f"{self.name}_properties"

    def files(self) -> list[Path]:
        """Return sources of the design, each once, stand-ins in place."""
        found = dict.fromkeys(path for module in self.modules for path in sources(module))
        return [HERE / "models" / path.name if path.stem in self.stand_ins else path for path in found]


@dataclass(frozen=True)
class Outcome:
    """What a run of the solver gave; ``trace`` is that of a counter-example."""

    passed: bool
    log: str
    trace: Path

    @property
    def failed_assertions(self) -> list[str]:
        """Places (file:lines) of the assertions that the counter-example breaks."""
        return re.findall(r"Assert failed in \w+: (?:\S*/)?(\S+)", self.log)


def plant(files: Iterable[Path], edits: Iterable[Edit], folder: Path) -> list[Path]:
    """Return ``files``, those that ``edits`` name replaced by edited copies in ``folder``.

    Raises ``Unplantable`` if an edit does not fit: a bug that is not there is not found either, for the wrong reason.
    """
    planted = {path: path for path in files}
    for name, old, new in edits:
        original = ROOT / name
        if original not in planted:
            raise Unplantable(f"{name} is not among the sources")
        text = planted[original].read_text()
        if text.count(old) != 1:
            raise Unplantable(f"{old!r} stands {text.count(old)} times in {name}, expected once")
        planted[original] = folder / original.name
        planted[original].write_text(text.replace(old, new))
    return list(planted.values())


class Model:
    """A transition system in a file, ready for the solver.

    ``whole``: with whole memories, for traces that the design itself can go through; otherwise of each memory one word
    is kept and the others read as anything, which is enough for a proof of every word and costs little. ``tell`` hears
    how far the solver is.
    """

    def __init__(
        self,
        proof: Proof,
        label: str,
        *,
        whole: bool,
        parameters: Mapping[str, int],
        edits: tuple[Edit, ...] = (),
        tell: Tell = lambda _: None,
    ):
        self.proof = proof
        self.label = label
        self.tell = tell
        self.folder = BUILD / proof.name / re.sub(r"\W+", "-", label)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.file = self.folder / "model.smt2"
        files = [HERE / f"{proof.top}.v", *plant(proof.files(), edits, self.folder)]
        chosen = " ".join(f"-chparam {name} {value}" for name, value in {**proof.parameters, **parameters}.items())
        (self.folder / "words.vh").write_text("".join(memory.wires(whole) for memory in proof.memories))
        includes = " ".join(f"-I{folder}" for folder in (*INCLUDE_DIRS, self.folder))
        one_word = f"techmap -autoproc -map {HERE / 'models' / 'one_word_memory.v'}; select -assert-none t:$mem*"
        script = [
            f"read_verilog -sv -formal {includes} {' '.join(map(str, files))}",
            f"hierarchy -check -top {proof.top} {chosen}",
            # Nothing may be optimised before wires named in properties are joined with the design's: flatten's work.
            "proc -noopt",
            *(f"cutpoint t:*{module}*; hierarchy -check -top {proof.top}" for module in proof.cut),
            "memory_collect",
            "" if whole else one_word,
            "flatten",
            "opt_clean",
            "check -assert",
            "opt -full; clk2fflogic" if proof.free_clocks else "async2sync",
            "opt -full",
            "dffunmap",
            "opt_clean",
            f"write_smt2 -wires {self.file}",
        ]
        status, log = self.run(["yosys", "-q", "-l", f"{self.folder}/yosys.log", "-p", "; ".join(filter(None, script))])
        if status != 0:
            raise NoAnswer(f"{proof.name}, {label}: yosys cannot read it:\n{log}")
        text = self.file.read_text()
        self.assertions = text.count("; yosys-smt2-assert ")
        self.covers = text.count("; yosys-smt2-cover ")

    def base_case(self) -> Outcome:
        """No assertion fails in the first steps, from any initial state."""
        return self._smtbmc("base", ["-t", str(self.proof.base)])

    def find(self, search: Search) -> Outcome:
        """An assertion fails within the search: the outcome has not passed."""
        return self._smtbmc("base", ["-t", f"{search.skip}:{search.stride}:{search.steps}"])

    def reach(self, search: Search) -> Outcome:
        """Every cover statement is reached within the search, with no assertion broken on the way."""
        return self._smtbmc("cover", ["-c", "-t", str(search.steps)])

    def induction(self) -> Outcome:
        """Assertions that have held for ``k`` steps hold in the next.

        The solver is asked for one assertion at a time, all being assumed in the steps before: many small questions are
        far easier than the one whether any of them can fail.
        """
        k, top = self.proof.k, self.proof.top
        text = self.file.read_text()
        system, _, _ = text.partition("; end of module")
        conjunction = re.search(rf"\(define-fun \|{top}_a\| .*? Bool \(and\n(.*?)\n\)\)", text, re.DOTALL)
        goals = [] if conjunction is None else conjunction[1].splitlines()
        if not goals or len(goals) != self.assertions:
            raise NoAnswer(f"{self.file} has {self.assertions} assertions, of which {len(goals)} were understood")
        query = ["(set-logic QF_UFBV)", system]
        for step in range(k + 1):
            query.append(f"(declare-fun s{step} () |{top}_s|)")
            query.append(f"(assert (|{top}_u| s{step}))\n(assert (|{top}_h| s{step}))")
        for step in range(k):
            query.append(f"(assert (|{top}_t| s{step} s{step + 1}))\n(assert (|{top}_a| s{step}))")
        log = []
        for number, goal in enumerate(goals):
            found = re.search(rf"yosys-smt2-assert {number} \S+ (?:\S*/)?(\S+)", text)
            place = found[1] if found else goal
            self.tell(f"assertion {number + 1} of {len(goals)}, {place}")
            file = self.folder / "goal.smt2"
            last = goal.strip().replace(" state)", f" s{k})")
            file.write_text("\n".join([*query, f"(assert (not {last}))", "(check-sat)\n"]))
            _, answer = self.run(["yices-smt2", str(file)])
            if answer.strip() not in ("sat", "unsat"):
                raise NoAnswer(f"{self.proof.name}, {self.label}, {place}: {answer}")
            log.append(f"{answer.strip()} {place}")
            if answer.strip() == "sat":
                # smtbmc finds the same state again, and writes it down.
                trace = self._smtbmc("induction", ["-i", "-t", str(k)])
                return Outcome(False, "\n".join([*log, trace.log]), trace.trace)
        return Outcome(True, "\n".join(log), file)

    def _smtbmc(self, kind: str, options: list[str]) -> Outcome:
        # Cover traces are numbered by smtbmc, one a statement.
        trace = self.folder / ("cover%.vcd" if kind == "cover" else f"{kind}.vcd")
        command = ["yosys-smtbmc", "-s", "yices", "--noprogress", "--dump-vcd", str(trace), *options, str(self.file)]
        _, log = self.run(command)
        (self.folder / f"{kind}.log").write_text(log)
        status = re.search(r"Status: (\w+)", log)
        if status is None:
            raise NoAnswer(
                f"{self.proof.name}, {self.label}: the solver has ended without an answer;"
                f" it had {self.proof.limit_seconds} s of processor time (limit_seconds).\n{log}"
            )
        return Outcome(status[1] == "PASSED", log, trace)

    def run(self, command: list[str]) -> tuple[int, str]:
        """Run a command within the proof's limit; return its status and what it says."""
        status, log = run(command, self.proof.limit_seconds, self.tell)
        if status == -signal.SIGXCPU:
            limit = f"{self.proof.limit_seconds} s of processor time (limit_seconds)"
            raise NoAnswer(f"{self.proof.name}, {self.label}: {command[0]} has used up {limit}")
        return status, log


def run(command: list[str], limit_seconds: int, tell: Tell = lambda _: None) -> tuple[int, str]:
    """Run a command; return its status and all that it says, also to ``tell`` what smtbmc says of its progress.

    ``limit_seconds`` of processor time, not of wall time: a busy machine changes no result. The process that
    uses more ends with SIGXCPU.
    """
    # The solver is in the project's Python environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    lines = []
    with subprocess.Popen(
        ["prlimit", f"--cpu={limit_seconds}:{limit_seconds + 5}", *command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            progress = re.match(r"##\s+\S+\s+Checking (.*?)\.\.", line)
            if progress:
                tell(progress[1])
    return process.returncode, "".join(lines)
