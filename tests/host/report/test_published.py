import pytest

from host.report import Configuration, Host, Simulated, Spread, judge
from host.report.published import PUBLISHED, compare
from tests.host.report.example import figures


def row(key, run):
    (found,) = [line for line in compare(run) if line.key == key]
    return found


def test_keys_are_unique_and_every_figure_of_the_list_is_there():
    keys = [line.key for line in PUBLISHED]
    assert len(keys) == len(set(keys))
    assert {line.kind for line in PUBLISHED} == {"sim", "host", "board"}
    assert [line.key for line in judge(figures()).published] == keys


@pytest.mark.parametrize(
    ("key", "own", "reached"),
    [
        ("burst", pytest.approx(327.68), True),
        ("prf", 5.0, True),
        ("ring", 4.0, True),
        ("ring_peak", pytest.approx(1.408, abs=1e-3), None),
        ("block", 256.0, True),
        ("coalescing", 8, True),
        ("batch", 8, True),
        ("rc_bandwidth", 97.93, True),
        ("uc_bandwidth", None, None),
        ("photoacoustic_rate", None, None),
        ("doorbell", 21.7, True),
        ("queues", "4096, 1024, 128, 256, 128, 16", None),
        ("interrupts", pytest.approx(9847, abs=1), None),
        ("trigger_precision", None, None),
        ("laser_delay", None, None),
        ("numa", None, None),
        ("registration", None, None),
    ],
)
def test_own_figure_beside_the_published(key, own, reached):
    found = row(key, figures())
    assert (found.own, found.reached) == (own, reached)


def test_latency_rows_take_median_and_p99():
    run = figures(simulated=Simulated(latency_us=Spread(min=0.5, p50=1.3, p99=2.0, max=9.0)))
    assert (row("latency", run).own, row("latency", run).reached) == (1.3, False)
    assert (row("latency_p99", run).own, row("latency_p99", run).reached) == (2.0, True)
    assert row("latency_tuned", run).reached and row("latency_untuned", run).reached


def test_bandwidth_belongs_to_its_transport():
    run = figures(configuration=Configuration(transport="UC", mode="photoacoustic", sample_rate_hz=125e6))
    assert row("uc_bandwidth", run).own == 97.93
    assert row("uc_bandwidth", run).reached
    assert row("rc_bandwidth", run).own is None and row("latency", run).own is None
    assert row("photoacoustic_rate", run).own == 125.0
    assert row("burst", run).own is None
    assert row("laser_delay", run).own == 60.0 and row("laser_delay", run).reached


@pytest.mark.parametrize(("low", "high", "reached"), [(-2.0, 1.9, True), (-1.0, 2.1, False), (-2.1, 0.0, False)])
def test_the_precision_of_triggers_is_the_worst_time_stamp(low, high, reached):
    spread = Spread(min=low, p50=0.0, p99=high, max=high)
    run = figures(configuration=Configuration(mode="photoacoustic"), simulated=Simulated(trigger_error_ns=spread))
    assert row("trigger_precision", run).own == max(-low, high)
    assert row("trigger_precision", run).reached is reached


@pytest.mark.parametrize(("delay", "reached"), [(57.9, False), (58.0, True), (62.0, True), (62.1, False)])
def test_laser_delay_has_a_tolerance(delay, reached):
    spread = Spread(min=delay, p50=delay, p99=delay, max=delay)
    run = figures(
        configuration=Configuration(mode="photoacoustic"), simulated=Simulated(trigger_to_first_sample_ns=spread)
    )
    assert row("laser_delay", run).reached is reached


def test_host_figures():
    host = Host(registration_ms=1.8, registration_small_pages_ms=14.5, cpu_percent=6.0, cq_poll_us=0.3)
    run = figures(host=host)
    assert row("registration", run).own == "14.5 → 1.8"
    assert row("cpu", run).reached is False
    assert row("kernel_bypass", run).reached is True
