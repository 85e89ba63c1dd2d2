"""Counters of the receive link in words."""

from __future__ import annotations

from host.report.link_rows import Row, lane_rows, link_rows

COUNTERS = {
    "STATUS": 7,
    "LANE_DISPARITY": 1234,
    "LANE_FRAME_MISALIGNED": 2,
    "LANE_MULTIFRAME_MISALIGNED": 1,
    "LANE_FCHK": 1,
    "LANE_OVERFLOW": 0,
    "LANE_UNDERFLOW": 0,
    "LANE_REPLACEMENTS": 9,
    "LANE_ILAS_MISMATCH": 1 << 20 | 1 << 9,
    "SYSREF_MISALIGNED": 1,
    "FILL_LEAST": 100,
    "FILL_MOST": 123,
    "LANE_DISPARITY[11]": 1234,
    "LANE_FCHK[2]": 1,
    "LANE_ILAS_MISMATCH[2]": 1 << 20,
    "LANE_REPLACEMENTS[2]": 9,
}


def test_each_counter_is_a_row_with_a_plain_name():
    assert link_rows(COUNTERS) == [
        Row("disparity errors", "1,234", alarming=True),
        Row("frame alignment characters elsewhere", "2", alarming=True),
        Row("multiframe alignment characters elsewhere", "1", alarming=True),
        Row("lanes with a wrong check sum (FCHK)", "1", alarming=True),
        Row("lanes whose buffer has overflowed", "0"),
        Row("lanes whose buffer has run empty", "0"),
        Row("alignment characters left out or out of turn", "9", alarming=True),
        Row("fields of the alignment sequence that differ", "K, FCHK", alarming=True),
        Row("a later SYSREF was off", "yes", alarming=True),
        Row("lanes came early by, link clocks", "100 to 123"),
    ]


def test_lanes_one_by_one():
    assert lane_rows(COUNTERS) == [
        Row("lane 2: wrong check sum (FCHK)", "1", alarming=True),
        Row("lane 2: alignment sequence differs in", "FCHK", alarming=True),
        Row("lane 2: alignment characters left out or out of turn", "9", alarming=True),
        Row("lane 11: disparity errors", "1,234", alarming=True),
    ]


def test_no_counters_no_rows():
    assert link_rows({}) == [] and lane_rows({}) == []
