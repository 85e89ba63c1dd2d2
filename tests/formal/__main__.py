"""Run all proofs, or those named: ``python -m tests.formal [name ...]``. Ends with 1 if one of them fails."""

from __future__ import annotations

import sys
import time

from sim.run.narrator import Narrator
from tests.formal.checks import ProofFailure, checks
from tests.formal.proofs import PROOFS
from tests.formal.prover import NoAnswer, Unplantable


def main(names: list[str]) -> int:
    """Say of each check how it came out as soon as it has, and while it runs how far it is."""
    known = [proof.name for proof in PROOFS]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no proof named {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    narrator = Narrator()
    began = time.monotonic()
    failures = []
    total = 0
    for proof in PROOFS:
        if names and proof.name not in names:
            continue
        narrator.say(f"{proof.name}: {proof.claim}", style="bold")
        for check in checks(proof):
            label = f"{proof.name}, {check.what}"
            started = time.monotonic()
            total += 1
            try:
                with narrator.working(label) as now:
                    result = check.run(lambda text, now=now, label=label: now(f"{label}: {text}"))
            except (ProofFailure, NoAnswer, Unplantable) as failure:
                failures.append(label)
                result = f"FAILED: {failure}"
            narrator.say(f"  {check.what}: {result} ({time.monotonic() - started:.1f} s)")
    for label in failures:
        narrator.say(f"failed: {label}", style="red")
    narrator.say(f"{total - len(failures)} of {total} checks passed ({time.monotonic() - began:.0f} s)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
