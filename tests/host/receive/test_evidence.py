"""Every way in which a stream can be empty has its sentence."""

from __future__ import annotations

import pytest

from host.receive.evidence import Evidence, Occupancy, explain

QUIET = Evidence(
    active=True, network_frames=100, hardware={"rcvd_pkts": 50, "out_of_seq_request": 2, "send_rnr_err": 1}
)
FREE = Occupancy(held=1, slots=4)


def moved(frames: int, **hardware: int) -> Evidence:
    return Evidence(
        active=True,
        network_frames=QUIET.network_frames + frames,
        hardware={name: value + hardware.get(name, 0) for name, value in QUIET.hardware.items()},
    )


@pytest.mark.parametrize(
    ("now", "occupancy", "text"),
    [
        (moved(9, rcvd_pkts=9), Occupancy(4, 4), "all 4 slots hold frames that the application has not released"),
        (Evidence(active=False, network_frames=100), FREE, "the port of rxe0 is not active: is eth0 up"),
        (QUIET, FREE, "not one frame has come to eth0"),
        (moved(7), FREE, "7 frames have come to eth0, and rxe0 took none"),
        (moved(7, rcvd_pkts=6, out_of_seq_request=3), FREE, "6 RDMA packets have come and 3 were out of sequence"),
        (moved(7, rcvd_pkts=6, send_rnr_err=3), FREE, "6 RDMA packets have come and found no receive posted"),
        (moved(7, rcvd_pkts=6), FREE, "6 RDMA packets have come, and no frame was completed"),
    ],
)
def test_sentence(now: Evidence, occupancy: Occupancy, text: str):
    assert explain(QUIET, now, occupancy, "rxe0", "eth0").startswith(text)


def test_a_device_that_counts_otherwise():
    before = Evidence(active=True, network_frames=5, hardware={"rx_write_requests": 1})
    now = Evidence(active=True, network_frames=9, hardware={"rx_write_requests": 4})
    assert explain(before, now, FREE, "mlx5_0", "ens1").startswith("3 RDMA packets have come, and no frame")


def test_a_device_that_counts_nothing():
    now = Evidence(active=True, network_frames=9)
    assert explain(Evidence(active=True, network_frames=5), now, FREE, "x", "ens1").startswith(
        "4 frames have come, and"
    )
