import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from host.imaging import Path as SoundPath
from host.imaging import Probe, bmode
from host.report import (
    Configuration,
    Expectation,
    Fault,
    Frames,
    LinkEvent,
    ModeSwitch,
    Picture,
    Pictures,
    RunFigures,
    Simulated,
    Spread,
    judge,
    print_summary,
    write_report,
)
from host.report.page import render
from host.report.plots import latency_svg, peaks, trigger_bins
from host.report.text import figure
from tests.host.report.example import figures

ROOT = Path(__file__).resolve().parents[3]
VOID = {"meta", "br", "hr", "img", "input", "link", "base"}
LOADING = {"script", "link", "iframe", "object", "embed", "base", "form", "video", "audio", "source"}
REFERENCES = {"src", "href", "xlink:href", "srcset", "data", "poster", "action", "background"}


class Page(HTMLParser):
    """Collects what can refer to something, checks that tags close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.styles, self.text, self.loading = [], [], [], [], [], []
        self.tags = {}
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag in LOADING:
            self.loading.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in REFERENCES:
                self.references.append(value)
            if name.startswith("on"):
                self.loading.append(name)
            self.styles.append(value or "")

    def handle_endtag(self, tag):
        if self.open and self.open[-1] in {"tr", "td", "th", "li"} and tag not in {"tr", "td", "th", "li"}:
            raise AssertionError(f"</{tag}> inside {self.open[-1]}")
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        else:
            self.text.append(data)


@pytest.fixture(scope="module")
def pictures():
    samples = np.random.default_rng(1).integers(-3000, 3000, (512, 32), np.int16)
    image = bmode(samples, Probe(elements=32), 80e6)
    laser = bmode(samples, Probe(elements=32), 125e6, path=SoundPath.ONE_WAY)
    return Pictures(
        (
            Picture("ultrasound", image, samples, 80e6, "Frame 3."),
            Picture("photoacoustic", laser, samples, 125e6, "Frame 4."),
        )
    )


@pytest.fixture(scope="module")
def page(pictures):
    return render(judge(figures()), pictures)


def test_page_is_well_formed_and_has_all_pictures(page):
    parsed = Page(page)
    assert parsed.tags["svg"] == parsed.tags["figure"] == 7
    assert parsed.tags["image"] >= 2
    text = " ".join("".join(parsed.text).split())
    for words in ("PASS", "97.93 Gb/s", "drop PSN 200", "needs a board", "rcvd_pkts", "Frame 3.", "6.1.0-57-amd64"):
        assert words in text


def test_page_refers_to_nothing_outside(page):
    parsed = Page(page)
    assert parsed.loading == []
    assert len(parsed.references) > 10
    for reference in parsed.references:
        assert reference.startswith(("#", "data:image/png;base64,")), reference[:80]
        if reference.startswith("#"):
            assert reference[1:] in parsed.ids
    for style in parsed.styles:
        assert "@import" not in style
        for target in re.findall(r"url\(([^)]*)\)", style):
            assert target.startswith("#") and target[1:] in parsed.ids
    assert len(parsed.ids) == len(set(parsed.ids))


def test_diagrams_take_their_colours_from_the_page(page):
    assert not re.search(r"#01020\d", page)
    defined = set(re.findall(r"(--[\w-]+):", page))
    used = set(re.findall(r"var\((--[\w-]+)\)", page))
    assert {"--ink", "--accent", "--alert", "--muted", "--line", "--font"} <= used <= defined


def test_page_is_the_same_again(page, pictures):
    assert render(judge(figures()), pictures) == page


def test_page_of_a_run_that_measured_nothing():
    text = "".join(Page(render(judge(RunFigures(scenario="x", seed=1)))).text)
    assert "FAIL" in text and "not measured: peer.kind" in text
    assert "<svg" not in text


def test_triggers_and_changes_of_mode_are_shown():
    simulated = Simulated(
        trigger_errors_ns=[-1.5, 0.25, 2.0],
        trigger_to_first_sample_ns=Spread(min=56.5, p50=60.0, p99=63.5, max=63.5),
        laser_missing=2,
        mode_switches=[ModeSwitch(to="photoacoustic", first_sample_us=31.25, ready_us=36.5)],
    )
    run = figures(configuration=Configuration(mode="interleaved"), simulated=simulated)
    text = "".join(Page(render(judge(run))).text)
    for words in ("time stamp less true time", "56.5 to 63.5 ns", "2 pulses did not come", "31.25 µs", "36.5 µs"):
        assert words in text
    run = figures(configuration=Configuration(mode="ultrasound"), simulated=simulated)
    assert "time stamp less true time" not in render(judge(run))


def test_trigger_errors_of_just_the_limit_are_drawn_inside_it():
    counts, edges = trigger_bins([2.0, -2.0, 0.0, 0.3, -0.05], 2.0)
    inside = (edges[:-1] >= -2.0) & (edges[1:] <= 2.0)
    assert counts.sum() == counts[inside].sum() == 5
    assert counts[inside][0] == counts[inside][-1] == 1
    assert counts[np.searchsorted(edges, 0.3) - 1] == 1 and counts[np.flatnonzero(edges == 0.0)[0] - 1] == 1
    counts, edges = trigger_bins([2.01, -7.5], 2.0)
    assert counts.sum() == 2 and counts[(edges[:-1] >= -2.0) & (edges[1:] <= 2.0)].sum() == 0
    assert edges[0] < -7.5 and trigger_bins([], 2.0)[0].sum() == 0


def test_events_of_the_receive_link_are_listed_as_far_as_there_is_room():
    events = [LinkEvent(time_us=20.5 * n, causes=["disparity", "cgs_lost"]) for n in range(30)]
    simulated = Simulated(link_events=events, link_causes={"disparity": 30, "cgs_lost": 30}, error_reports=7)
    text = "".join(Page(render(judge(figures(simulated=simulated)))).text)
    for words in ("30 times", "told converters of errors 7 times", "disparity, cgs_lost", "492 µs", "and 5 more"):
        assert words in text, words
    assert "512.5 µs" not in text
    assert "told the control software" not in render(judge(figures(simulated=Simulated())))


def test_what_comes_from_outside_is_escaped(pictures):
    bad = "<script>alert('x')</script>&"
    run = figures(
        scenario=bad,
        scenario_text=bad,
        error=bad,
        faults=[Fault(where=bad, what=bad)],
        frames=Frames(sent=1, received=0, lost=1, dropped_by_cause={bad: 1}),
        expectations=[Expectation(name=bad, relation="<=", limit=1)],
    )
    page = render(judge(run), Pictures((replace(pictures.frames[0], caption=bad),)))
    parsed = Page(page)
    assert parsed.loading == []
    assert "".join(parsed.text).count(bad) >= 7


def test_files_are_written(tmp_path, pictures):
    report = write_report(tmp_path, figures(), pictures)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bmode-photoacoustic.png",
        "bmode.png",
        "report.html",
        "report.json",
    ]
    assert (tmp_path / "report.json").read_text() == report.to_json()
    write_report(tmp_path, figures(bit_exact=False))
    assert '"verdict": "fail"' in (tmp_path / "report.json").read_text()


def test_peaks_of_a_long_timeline_are_kept():
    values = np.zeros(100_000)
    values[[7, 31_415, 99_999]] = (5, 9, 3)
    short = peaks(list(zip(np.arange(100_000.0), values, strict=True)), 1000)
    assert short.shape == (1000, 2)
    assert sorted(short[:, 1])[-4:] == [0, 3, 5, 9]
    assert np.all(np.diff(short[:, 0]) > 0)
    assert len(peaks([(0.0, 1.0), (1.0, 2.0)], 1000)) == 2


@pytest.mark.parametrize("values", [[1.0], [0.0, 0.0], [-0.2, 4.0], list(np.linspace(1, 2, 300))])
@pytest.mark.parametrize("limit", [None, 2.0, 1000.0])
def test_latency_diagram_of_any_values(values, limit):
    svg = latency_svg(values, Spread.of(values), limit)
    Page(svg)
    assert ("limit" in svg) == (limit is not None and max(values) > limit / 3)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "µs", "–"),
        (4, "", "4"),
        (4.0, "", "4"),
        (1234567, "B", "1,234,567 B"),
        (327.68, "", "327.68"),
        (1.08516, "µs", "1.085 µs"),
        (412345.6, "", "412,346"),
        ("15 → 2", "", "15 → 2"),
        (True, "", "True"),
    ],
)
def test_figures_as_text(value, unit, text):
    assert figure(value, unit) == text


def printed(report, width=100):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    print_summary(report, console)
    return console.export_text()


def test_summary_ends_with_the_verdict():
    text = printed(judge(figures()))
    assert re.search(r"bandwidth, RC +95.6 +97.93 +Gb/s +✓", text)
    assert "bandwidth, UC" not in text and "published figures are not measured" in text
    assert text.index("412,000 cycles/s") < text.index("PASS: default, seed 1")
    failed = printed(judge(figures(bit_exact=False, error="[red]gone")))
    assert "FAIL: default" in failed and "samples that arrived differ" in failed and "[red]gone" in failed


def test_command_line_shows_a_report_and_its_verdict(tmp_path):
    for exact, code in ((True, 0), (False, 1)):
        write_report(tmp_path, figures(bit_exact=exact))
        command = [sys.executable, "-m", "host.report", str(tmp_path / "report.json")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert "default, seed 1" in done.stdout
