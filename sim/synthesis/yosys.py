"""Run yosys on a subsystem; results are kept by a hash of all that they depend on."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path as File

from sim.sources import INCLUDE_DIRS, ROOT, sources
from sim.synthesis.netlist import Area, Netlist, Path, area, module_of

BUILD = ROOT / "build" / "synth"
# A guard against a run that never ends, far above what any takes.
LIMIT_SECONDS = 7200
SIGN_OF_LIFE_SECONDS = 20
# Whatever decides how a netlist is counted.
_MEASURE = File(__file__).with_name("netlist.py")


@dataclass(frozen=True)
class Job:
    """``module`` (below hdl/, no suffix) with ``parameters``.

    ``parts`` are instances (dots between levels) whose area is told apart, of modules in ``kept``: these are mapped by
    themselves, which also saves time with one that has many instances. ``boxes`` are submodules that are left out.
    """

    name: str
    module: str
    parameters: Mapping[str, int]
    parts: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What a job takes, its parts by name, its longest path and the cells by kind."""

    total: Area
    parts: dict[str, Area]
    path: Path
    cells: dict[str, int]


def version() -> str:
    """Of yosys."""
    return subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True).stdout.strip()


def script(job: Job, netlist: File) -> str:
    """The commands for yosys: all flat but the kept modules, which are flattened when mapped, for paths across them."""
    top = File(job.module).name
    parameters = "".join(f" -chparam {name} {value}" for name, value in job.parameters.items())
    includes = " ".join(f"-I{folder}" for folder in INCLUDE_DIRS)
    return "\n".join(
        [
            f"read_verilog -sv {includes} {' '.join(str(path) for path in sources(job.module))}",
            f"hierarchy -check -top {top}{parameters}",
            *(f"select -assert-any {_named(module)}" for module in (*job.boxes, *job.kept)),
            *(f"blackbox {_named(box)}" for box in job.boxes),
            *(f"setattr -mod -set keep_hierarchy 1 {_named(module)}" for module in job.kept),
            f"synth_xilinx -family xcup -top {top} -flatten -uram -noiopad -noclkbuf",
            "setattr -mod -unset keep_hierarchy *",
            "flatten",
            "opt_clean",
            f"write_json {netlist}",
        ]
    )


def _named(module: str) -> str:
    """A selection: the module as it is or with parameters, which stand behind its name or, as a hash, before."""
    return f"{module} $paramod\\\\{module}\\\\* $paramod$*\\\\{module}"


def synthesise(job: Job, say: Callable[[str], None]) -> Result:
    """Run the job, or take its kept result; ``say`` hears what goes on. Raises ``RuntimeError`` if yosys fails."""
    folder = BUILD / f"{job.name}-{_key(job)}"
    netlist = folder / "netlist.json.gz"
    kept = folder / f"result-{_hash([_MEASURE])}.json"
    if not netlist.exists():
        for old in BUILD.glob(f"{job.name}-*"):
            shutil.rmtree(old)
        folder.mkdir(parents=True)
        _run(job, folder, netlist, say)
    else:
        say("kept")
    if not kept.exists():
        kept.write_text(json.dumps(asdict(_measure(job, netlist)), indent=1))
    return _load(json.loads(kept.read_text()))


def _run(job: Job, folder: File, netlist: File, say: Callable[[str], None]) -> None:
    """Run yosys, with a sign of life from time to time; the netlist is there only if all went well."""
    commands = folder / "synthesis.ys"
    plain = folder / "netlist.json"
    commands.write_text(script(job, plain))
    log = folder / "yosys.log"
    command = ["yosys", "-q", "-l", str(log), "-s", str(commands)]
    # A group of its own: yosys has children, which must end with it.
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    waited = 0
    try:
        while True:
            try:
                _, errors = process.communicate(timeout=SIGN_OF_LIFE_SECONDS)
                break
            except subprocess.TimeoutExpired as error:
                waited += SIGN_OF_LIFE_SECONDS
                if waited > LIMIT_SECONDS:
                    raise RuntimeError(f"{job.name}: yosys took longer than {LIMIT_SECONDS} s") from error
                say(f"{waited} s, {_stage(log)}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"{job.name}: yosys failed ({log}):\n{errors[-2000:]}")
    partial = folder / "partial.gz"
    with plain.open("rb") as source, gzip.open(partial, "wb", compresslevel=3) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()
    partial.rename(netlist)


def _hash(paths: Iterable[File], *texts: str) -> str:
    digest = hashlib.sha256("\n".join(texts).encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _key(job: Job) -> str:
    headers = (path for folder in INCLUDE_DIRS for path in folder.glob("*.vh"))
    return _hash(sorted({*sources(job.module), *headers}), version(), script(job, File("netlist.json")))


def _stage(log: File) -> str:
    """The last heading of the log: what yosys is at."""
    for line in reversed(log.read_text(errors="replace")[-200_000:].splitlines()):
        words = line.split()
        if len(words) > 2 and words[0][0].isdigit() and words[1] == "Executing" and words[2].isupper():
            return words[2]
    return "reading"


def _measure(job: Job, file: File) -> Result:
    netlist = Netlist(json.loads(gzip.decompress(file.read_bytes())), File(job.module).name)
    boxes = set(job.boxes)
    kinds = {kind: count for kind, count in netlist.kinds().items() if module_of(kind) not in boxes}
    return Result(
        total=area(kinds),
        parts={name: area(netlist.kinds(prefix)) for name, prefix in job.parts.items()},
        path=netlist.longest_path(),
        cells=dict(sorted(kinds.items())),
    )


def _load(data: dict[str, object]) -> Result:
    total, parts, path, cells = (data[name] for name in ("total", "parts", "path", "cells"))
    assert isinstance(total, dict)
    assert isinstance(parts, dict)
    assert isinstance(path, dict)
    assert isinstance(cells, dict)
    return Result(Area(**total), {name: Area(**part) for name, part in parts.items()}, Path(**path), cells)
