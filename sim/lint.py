"""Every static check of the project, one line each; all run even if one fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sim.build import verilator_environment
from sim.sources import HDL, INCLUDE_DIRS, ROOT, sources

CHECK_LIMIT_SECONDS = 600
TOP = "frontend"


def _command(*arguments: str, environment: dict[str, str] | None = None) -> list[str]:
    """Run a tool; return its output lines if it fails."""
    result = subprocess.run(
        arguments,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=CHECK_LIMIT_SECONDS,
        check=False,
    )
    if result.returncode == 0:
        return []
    return (result.stdout + result.stderr).splitlines() or [f"{arguments[0]} ended with {result.returncode}"]


def _python(*arguments: str) -> list[str]:
    return _command(sys.executable, "-m", *arguments)


def check_verilator() -> list[str]:
    """The whole front end under ``verilator --lint-only -Wall``."""
    environment = verilator_environment()
    verilator = Path(environment["VERILATOR_ROOT"]) / "bin" / "verilator"
    includes = [f"-I{folder}" for folder in INCLUDE_DIRS]
    files = [str(path) for path in sources(TOP)]
    return _command(
        str(verilator), "--lint-only", "-Wall", *includes, *files, "--top-module", TOP, environment=environment
    )


def check_yosys() -> list[str]:
    """Yosys reads and elaborates the front end without a problem."""
    includes = " ".join(f"-I{folder}" for folder in INCLUDE_DIRS)
    files = " ".join(str(path) for path in sources(TOP))
    script = f"read_verilog -sv {includes} {files}; hierarchy -check -top {TOP}; proc; check -assert"
    return _command("yosys", "-q", "-p", script)


def _house_rules(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    where = path.relative_to(ROOT)
    modules = re.findall(r"^\s*module\s+(\w+)", text, re.MULTILINE)
    if modules != [path.stem]:
        yield f"{where}: holds module {', '.join(modules) or 'none'}, expected exactly {path.stem} (rule 1)"
    lines = [line for line in text.splitlines() if line.strip()]
    if "`default_nettype none" not in text or lines[-1].strip() != "`default_nettype wire":
        yield f"{where}: `default_nettype none on top and wire at the end are due (rule 3)"
    if "`timescale 1ns / 1fs" not in text:
        yield f"{where}: `timescale 1ns / 1fs is due (rule 3)"
    code = text.splitlines()
    for number, line in enumerate(code, start=1):
        if re.search(r"\b(always_ff|always_comb|interface|typedef|struct)\b", line.split("//")[0]):
            yield f"{where}:{number}: outside the subset of all tools (rule 2)"
        if "lint_off" in line and not _reasoned(line, code[number - 2 : number] + code[number : number + 1]):
            yield f"{where}:{number}: a waiver needs its reason (rule 8)"


def _reasoned(waiver: str, neighbours: list[str]) -> bool:
    """Whether a waiver's line says why, or a comment next to it does."""
    behind = waiver.split("lint_off", 1)[1]
    return "//" in behind or any("//" in line and "verilator" not in line for line in neighbours)


def check_house_rules() -> list[str]:
    """The numbered rules of hdl/README.md that a program can check."""
    return [complaint for path in sorted(HDL.rglob("*.v")) for complaint in _house_rules(path)]


CHECKS: dict[str, Callable[[], list[str]]] = {
    "ruff check": lambda: _python("ruff", "check", "."),
    "ruff format": lambda: _python("ruff", "format", "--check", "."),
    "types of host (mypy)": lambda: _python("mypy"),
    "host never imports sim": lambda: _command(str(Path(sys.executable).with_name("lint-imports"))),
    "registers up to date": lambda: _python("host.control.registers", "--check"),
    "house rules of hdl": check_house_rules,
    "verilator -Wall": check_verilator,
    "yosys": check_yosys,
}


def main() -> int:
    """Run all checks; return 0 if all pass."""
    failed = 0
    for name, check in CHECKS.items():
        print(f"lint: {name} ... ", end="", flush=True)
        try:
            complaints = check()
        except (OSError, subprocess.TimeoutExpired, FileNotFoundError) as error:
            complaints = [str(error)]
        print("ok" if not complaints else "FAILED", flush=True)
        for line in complaints[:60]:
            print(f"    {line}")
        failed += bool(complaints)
    print(f"lint: {len(CHECKS) - failed} of {len(CHECKS)} checks pass")
    return 1 if failed else 0
