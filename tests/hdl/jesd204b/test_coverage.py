"""The coverage of the fault cases: what is counted, and what is named as missing."""

from __future__ import annotations

import json

from tests.hdl.jesd204b.cases import KINDS, draw
from tests.hdl.jesd204b.coverage import STATES, Coverage, main, wanted


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
    assert "2 cases" in report and "     2  burst in alignment" in report
    missing = report.splitlines()[-1]
    assert missing.startswith("not hit: ") and "burst in samples" in missing and "burst in alignment" not in missing
