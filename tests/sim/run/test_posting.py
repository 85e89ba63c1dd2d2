"""Who posts: the control software, or the front end's poster without a processor on the way."""

from __future__ import annotations

import pytest

from host.frame_layout import FrameShape
from sim.run.packet_log import read_packets
from tests.sim.run.scenario_runs import SMALL, run

FRAMES = 7
HARDWARE = {"acquisition": {"shots": FRAMES}, "rdma": {"posting": "hardware"}}
PROCESSOR = {"acquisition": {"shots": FRAMES}}
GOAL_US = 1.2
PERIOD_OF_A_LATE_HOST_HZ = 50_000.0


@pytest.fixture(scope="module")
def posted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("posting")
    return {name: run(folder / name, change) for name, change in (("hardware", HARDWARE), ("processor", PROCESSOR))}


def test_both_deliver_the_same_frames_to_the_same_places(posted):
    for name, outcome in posted.items():
        assert outcome.code == 0, outcome.report["reasons"]
        assert outcome.report["configuration"]["posting"] == name
        assert outcome.report["frames"]["received"] == FRAMES
        assert outcome.report["bit_exact"] is True
    one, other = (read_packets(posted[name].directory / "packets.bin") for name in ("hardware", "processor"))
    assert [(p.psn, p.payload_octets, p.ends_frame) for p in one] == [
        (p.psn, p.payload_octets, p.ends_frame) for p in other
    ]
    captures = [(outcome.directory / "capture.bin").stat().st_size for outcome in posted.values()]
    assert captures[0] == captures[1]


def test_hardware_needs_no_interrupt_of_the_ring_and_is_faster(posted):
    hardware, processor = posted["hardware"].simulated, posted["processor"].simulated
    assert hardware["interrupts"] == 0
    assert processor["interrupts"] == FRAMES
    blocks = -(-FrameShape(510, 64).frame_bytes // SMALL["rdma"]["block_bytes"])
    assert hardware["doorbells"] == hardware["blocks"] == FRAMES * blocks
    assert hardware["latency_us"]["max"] <= GOAL_US
    assert hardware["latency_us"]["max"] < processor["latency_us"]["min"]


def test_two_slots_and_a_short_queue_hold_it_back_and_nothing_is_overwritten(tmp_path):
    """Frames that come faster than slots and completions are given back, in blocks of one packet."""
    change = {
        "acquisition": {"shots": 12, "prf_hz": PERIOD_OF_A_LATE_HOST_HZ},
        "rdma": {"posting": "hardware", "sq_depth": 16, "block_bytes": 4096},
        "host": {"slots": 2, "software_delay_ns": 5000},
        "link": {"peer": "model", "rate_gbps": 50.0},
    }
    outcome = run(tmp_path, change)
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.report["frames"]["received"] == 12


@pytest.mark.parametrize("psn", [0, 7, 15, 16])
def test_what_is_lost_is_sent_again(tmp_path, psn):
    outcome = run(tmp_path, {**HARDWARE, "link": {"peer": "model", "faults": [{"action": "drop", "psn": psn}]}})
    assert outcome.code == 0, outcome.report["reasons"]
    assert outcome.simulated["retransmitted_packets"] > 0
