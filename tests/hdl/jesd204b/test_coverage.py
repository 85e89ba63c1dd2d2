"""The coverage of the fault cases: what is counted, and what is named as missing."""

from __future__ import annotations

import json

from tests.hdl.jesd204b.cases import KINDS, draw
from tests.hdl.jesd204b.coverage import IMPOSSIBLE, MARGIN_BINS, MOMENTARY, SIDES, STATES, Coverage, main, wanted


def test_a_seed_says_everything_about_a_case() -> None:
    assert str(draw(17)) == str(draw(17)) and str(draw(17)) != str(draw(18))


def test_every_kind_is_drawn() -> None:
    drawn = {name for seed in range(400) for name, _ in draw(seed).kinds}
    assert drawn == set(KINDS)


def test_hits_are_counted_and_the_rest_is_named(tmp_path, capsys) -> None:
    case = next(case for case in map(draw, range(100)) if [name for name, _ in case.kinds] == ["burst"])
    states = [STATES.index("alignment")] * 700
    coverage = Coverage()
    before = set(coverage.missed())
    assert before == set(wanted())
    coverage.add(case, states, [3, 9], [(STATES.index("alignment"), STATES.index("samples"))])
    found = before - set(coverage.missed())
    assert found == {
        "burst in alignment",
        "change alignment > samples",
        "last lane up to 3 beats before the release",
        "first lane up to 12 beats before the release",
    }
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(coverage.to_json()))
    main(tmp_path)
    report = capsys.readouterr().out
    assert "2 cases" in report
    lines = report.splitlines()
    assert next(line.split() for line in lines if line.startswith("burst")) == ["burst", "0", "2", "0", "0"]
    assert next(line.split() for line in lines if line.startswith("slip")) == ["slip", "-", "0", "0", "0"]
    assert "  alignment -> samples: 2" in lines
    assert next(line.split() for line in lines if line.startswith("last lane"))[2:5] == ["-", "0", "2"]
    assert f"4 of {len(wanted())} hit" in lines
    missing = lines[-1]
    assert missing.startswith("not hit: ") and "burst in samples" in missing and "burst in alignment" not in missing


def test_what_is_left_out_is_a_cell_and_has_a_reason() -> None:
    cells = {f"{name} in {state}" for name in MOMENTARY for state in STATES}
    cells |= {f"{side} up to {end} beats before the release" for side in SIDES for end in MARGIN_BINS}
    assert set(IMPOSSIBLE) < cells and all(IMPOSSIBLE.values())
    assert not set(IMPOSSIBLE) & set(wanted())
