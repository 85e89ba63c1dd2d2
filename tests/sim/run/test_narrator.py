"""A run speaks in whole lines, and shows signs of life where nobody sees a spinner."""

import io
import time

from rich.console import Console

from sim.run.narrator import Narrator, shown
from sim.sources import ROOT

ERASED = "\x1b[1A\x1b[2K"
LONG = "peer auto: micro-VM, because " + "a reason of many words, " * 12 + "and that is all"


def heard(narrator_of):
    output = io.StringIO()
    narrator_of(output)
    return output.getvalue()


def terminal(output, kind):
    return Console(file=output, force_terminal=True, _environ={"TERM": kind})


def test_a_terminal_that_cannot_erase_is_a_log():
    def work(output):
        with Narrator(terminal(output, "dumb"), interval_seconds=60).working("building"):
            pass

    assert heard(work) == "building\n"


def test_a_long_sentence_stays_one_line():
    assert heard(lambda output: Narrator(Console(file=output)).say(LONG)).splitlines() == [LONG]


def test_brackets_are_text_and_not_markup():
    assert "[red]" in heard(lambda output: Narrator(Console(file=output)).say("a [red] word"))


def test_a_log_shows_that_work_goes_on_and_what_it_is_at():
    def work(output):
        with Narrator(Console(file=output), interval_seconds=0.02).working("building") as show:
            while output.getvalue().count("building (") < 2:
                time.sleep(0.01)
            show("linking")
            while "linking (" not in output.getvalue():
                time.sleep(0.01)

    lines = heard(work).splitlines()
    assert lines[0] == "building"
    assert lines[-1].startswith("linking (")


def test_a_terminal_shows_the_work_in_one_line_that_goes_away():
    def work(output):
        with Narrator(terminal(output, "xterm")).working("building") as show:
            show("linking")

    said = heard(work)
    assert "building" in said
    assert said.endswith(ERASED)


def test_paths_inside_the_checkout_are_relative(tmp_path):
    assert shown(ROOT / "build" / "runs") == "build/runs"
    assert shown(tmp_path) == str(tmp_path)
