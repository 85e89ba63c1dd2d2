"""What the front end takes of a ZU19EG, subsystem by subsystem: a table, and ``build/synth/report.json``."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict

from sim.sources import ROOT
from sim.synthesis.netlist import Area
from sim.synthesis.yosys import BUILD, Job, Result, synthesise, version

REPORT = BUILD / "report.json"
QUEUE_PAIRS = 16
DEVICE = "ZU19EG"
# AMD's product table for Zynq UltraScale+ EG.
DEVICE_TOTAL = Area(lut=522_720, ff=1_045_440, bram=984, uram=128, dsp=1968)
CORE = {"NUM_QP": QUEUE_PAIRS}
SUBSYSTEMS = ("jesd204b_receiver", "acquisition", "ring_buffer", "ernic")
JOBS = (
    Job("ring", "ring/ring_buffer", {}, {"memory": "memory", "blocks": "blocks"}, kept=("ring_memory", "ring_blocks")),
    Job("jesd204b", "jesd204b/jesd204b_receiver", {}, kept=("jesd204b_lane",)),
    Job("acquisition", "acquisition/acquisition", {}),
    Job(
        "ernic",
        "ernic/ernic",
        CORE,
        {"control": "control", "transmit": "transmit", "receive": "receive"},
        kept=("ernic_control", "ernic_transmit", "ernic_receive"),
    ),
    # Register bus, crossings, identity: the front end without the four.
    Job("rest", "frontend", CORE, boxes=SUBSYSTEMS),
)
# Other engines: none of the sources that this project rests on gives figures for them.
PUBLISHED: Mapping[str, str] = {
    "AMD ERNIC (PG332 v3.1)": "not published here",
    "RecoNIC, Coyote, fpga-network-stack": "not published here",
}
WHOLE = "frontend"


def rows(results: Mapping[str, Result]) -> list[tuple[str, Area]]:
    """Subsystems with their parts, then the whole front end."""
    table: list[tuple[str, Area]] = []
    whole = Area()
    for name, result in results.items():
        table.append((name, result.total))
        table.extend((f"  {part}", value) for part, value in result.parts.items())
        whole += result.total
    return [*table, (WHOLE, whole)]


def table(results: Mapping[str, Result]) -> str:
    """For the terminal."""
    lines = [f"{'':22}{'LUT':>9}{'memory':>9}{'FF':>9}{'BRAM36':>9}{'URAM':>7}{'DSP':>6}"]

    def line(name: str, value: Area) -> str:
        memory = f"{value.lut_memory:>9}" if name != DEVICE else f"{'':9}"
        return f"{name:22}{value.lut:>9}{memory}{value.ff:>9}{value.bram:>9g}{value.uram:>7}{value.dsp:>6}"

    lines += [line(name, value) for name, value in rows(results)]
    whole = rows(results)[-1][1]
    lines.append(line(DEVICE, DEVICE_TOTAL))
    shares = (
        (whole.lut, DEVICE_TOTAL.lut, 9),
        (None, None, 9),
        (whole.ff, DEVICE_TOTAL.ff, 9),
        (whole.bram, DEVICE_TOTAL.bram, 9),
        (whole.uram, DEVICE_TOTAL.uram, 7),
        (whole.dsp, DEVICE_TOTAL.dsp, 6),
    )
    lines.append(
        f"{'  used':22}" + "".join(" " * w if used is None else f"{used / total:>{w}.1%}" for used, total, w in shares)  # type: ignore[operator]
    )
    lines.append("")
    lines.append(
        "longest path (cells in sequence, before placement; levels count LUTs, and carry chains as a part of one)"
    )
    for name, result in results.items():
        path = result.path
        what = f"{path.luts} LUT, {path.multiplexers} wide multiplexers, {path.carries} CARRY4"
        lines.append(f"  {name:14}{path.weight:>6} levels: {what}; {path.begin} to {path.end}")
    lines.append("")
    lines += [f"{engine}: {figures}" for engine, figures in PUBLISHED.items()]
    return "\n".join(lines)


def report(results: Mapping[str, Result]) -> dict[str, object]:
    """As the table, for programs."""
    return {
        "tool": version(),
        "family": "xcup",
        "queue_pairs": QUEUE_PAIRS,
        "device": {"name": DEVICE, **asdict(DEVICE_TOTAL)},
        "fits": fits(rows(results)[-1][1]),
        "subsystems": {name: asdict(result) for name, result in results.items()},
        WHOLE: asdict(rows(results)[-1][1]),
        "published": dict(PUBLISHED),
    }


def fits(whole: Area) -> bool:
    """Nothing is used more than there is."""
    used, total = asdict(whole), asdict(DEVICE_TOTAL)
    return all(used[kind] <= total[kind] for kind in ("lut", "ff", "bram", "uram", "dsp"))


def main() -> int:
    """Synthesise everything; return 0 if the front end fits the device."""
    results: dict[str, Result] = {}
    for job in JOBS:
        begin = time.monotonic()
        print(f"synth: {job.name} ...", flush=True)
        results[job.name] = synthesise(job, lambda text, name=job.name: print(f"synth: {name}: {text}", flush=True))  # type: ignore[misc]
        print(f"synth: {job.name} done ({time.monotonic() - begin:.0f} s)", flush=True)
    REPORT.write_text(json.dumps(report(results), indent=1))
    print()
    print(table(results))
    fitting = fits(rows(results)[-1][1])
    print(f"\nThe front end {'fits' if fitting else 'DOES NOT FIT'} {DEVICE}; written: {REPORT.relative_to(ROOT)}")
    return 0 if fitting else 1
