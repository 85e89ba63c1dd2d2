"""The formulas against the project's table of facts, made by hand for a link of 95.6 Gb/s and rows of 512 bytes."""

import pytest

from host.plan import formulas
from sim.scenario import model

GOODPUT = 95.6e9 / 8
ROW = 512
PRF = 5000.0
RING = 4 << 20
MIB = 1 << 20
MSPS_80, MSPS_125 = 80e6, 125e6

# samples, frame MiB, window us, depth mm, peak MiB, link time us, Gb/s at 5 kHz, use %
TABLE = [
    (1024, 0.5, 12.8, 9.9, 0.35, 43.9, 21.0, 22.0),
    (2048, 1.0, 25.6, 19.7, 0.71, 87.7, 41.9, 44.0),
    (3072, 1.5, 38.4, 29.6, 1.06, 131.6, 62.9, 66.0),
    (4096, 2.0, 51.2, 39.4, 1.42, 175.5, 83.9, 87.7),
    (4667, 2.28, 58.3, 44.9, 1.61, 200.0, 95.6, 100.0),
]


@pytest.mark.parametrize(("samples", "frame", "window", "depth", "peak", "link", "gbps", "use"), TABLE)
def test_table(samples, frame, window, depth, peak, link, gbps, use):
    size, burst = samples * ROW, formulas.burst_rate(256, MSPS_80)
    assert size / MIB == pytest.approx(frame, abs=0.005)
    assert size / burst * 1e6 == pytest.approx(window, abs=0.05)
    assert formulas.depth_m(samples, MSPS_80, one_way=False) * 1e3 == pytest.approx(depth, abs=0.05)
    assert formulas.cut_through_peak(size, burst, GOODPUT) / MIB == pytest.approx(peak, abs=0.006)
    assert size / GOODPUT * 1e6 == pytest.approx(link, abs=0.15)
    assert size * 8 * PRF / 1e9 == pytest.approx(gbps, abs=0.05)
    assert size / GOODPUT * PRF * 100 == pytest.approx(use, abs=0.5)


@pytest.mark.parametrize(("rate", "gbps", "factor"), [(MSPS_80, 327.68, 0.708), (MSPS_125, 512.0, 0.813)])
def test_burst_and_what_of_it_the_ring_takes(rate, gbps, factor):
    burst = formulas.burst_rate(256, rate)
    assert burst * 8 / 1e9 == pytest.approx(gbps)
    assert formulas.cut_through_peak(1.0, burst, GOODPUT) == pytest.approx(factor, abs=0.0006)


@pytest.mark.parametrize(("prf", "samples"), [(1e3, 23_339), (2e3, 11_669), (5e3, 4_667), (10e3, 2_333), (20e3, 1_167)])
def test_sustained_samples(prf, samples):
    assert formulas.sustained_samples(GOODPUT, ROW, prf) == pytest.approx(samples, abs=1)


@pytest.mark.parametrize(("gbps", "samples"), [(80, 3906), (60, 2929), (40, 1953)])
def test_a_slower_link(gbps, samples):
    assert formulas.sustained_samples(gbps * 1e9 / 8, ROW, PRF) == samples


@pytest.mark.parametrize(("samples", "depth", "peak"), [(2048, 25.2, 0.81), (4096, 50.5, 1.63), (8192, 101.0, 3.25)])
def test_photoacoustic_sound_travels_one_way(samples, depth, peak):
    assert formulas.depth_m(samples, MSPS_125, one_way=True) * 1e3 == pytest.approx(depth, abs=0.1)
    burst = formulas.burst_rate(256, MSPS_125)
    assert formulas.cut_through_peak(samples * ROW, burst, GOODPUT) / MIB == pytest.approx(peak, abs=0.006)


@pytest.mark.parametrize(("samples", "stall_us"), [(2048, 711), (3072, 355), (4096, 223), (4500, 164)])
def test_longest_harmless_stall_of_the_fluid_model(samples, stall_us):
    # The table was found by trying whole microseconds; the formula is exact, and a little above.
    found = formulas.longest_stall_s(samples * ROW, RING, 1 / PRF, GOODPUT) * 1e6
    assert stall_us <= found < stall_us + 2


def test_a_frame_that_the_ring_never_holds_has_no_harmless_stall():
    assert formulas.longest_stall_s(RING + 1, RING, 1.0, GOODPUT) == 0.0


def test_packets():
    assert formulas.packets_of(4096 * ROW + 128, 4096, 262_144) == 513
    assert formulas.packets_of(262_144 + 5000, 4096, 262_144) == 64 + 2
    assert formulas.packets_of(12_288 + 100, 8192, 12_288) == 2 + 1, "a block begins a packet"


def test_a_datagram_carries_more_beside_and_no_address():
    size, packets = 4096 * ROW + 128, 513
    extra = formulas.wire_octets_of(size, 4096, 262_144, datagrams=True) - size
    assert extra == packets * (82 + 12)
    assert formulas.wire_octets_of(size, 4096, 262_144, datagrams=False) - size == packets * 82 + 9 * 16 + 4


def test_the_first_of_three_causes_begins_the_service():
    def start(**change):
        given = {"block_bytes": 1000, "threshold": 8, "timeout_s": 100.0, "response_s": 0.5} | change
        return formulas.service_start_s(10.0, 1000.0, **given)

    assert start() == 8.5
    assert start(threshold=100) == 10.5
    assert start(timeout_s=3.0) == 4.5
    assert start(threshold=100, timeout_s=0.0) == 10.5


def test_what_is_left_when_the_next_frame_comes():
    assert formulas.backlog_at_next(1000.0, 1.0, 900.0) == pytest.approx(100.0)
    assert formulas.backlog_at_next(1000.0, 1.0, 900.0, start_s=0.5) == pytest.approx(550.0)
    assert formulas.backlog_at_next(1000.0, 2.0, 900.0) == 0.0


def test_host_and_simulation_mean_the_same_sizes():
    assert formulas.GRANULE_BYTES == model.GRANULE_BYTES
    assert formulas.PACKET_OVERHEAD_OCTETS == model.HEADER_OCTETS_A_PACKET
    assert formulas.DATAGRAM_OCTETS == model.DATAGRAM_OCTETS
