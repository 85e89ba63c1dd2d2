"""Processors by list, or those near the device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from host.receive.affinity import cpus_of, run_on


@pytest.mark.parametrize(("wish", "cpus"), [("3", {3}), ("0-2", {0, 1, 2}), ("0-1,8,10-11", {0, 1, 8, 10, 11})])
def test_lists(wish: str, cpus: set[int]):
    assert cpus_of(wish, "rxe0") == cpus


@pytest.mark.parametrize("wish", ["", "near", "1-", "-1", "1,,2", "2-1"])
def test_refused(wish: str):
    with pytest.raises(ValueError, match="affinity = "):
        cpus_of(wish, "rxe0")


def test_near_the_device(tmp_path: Path):
    device = tmp_path / "class/infiniband/mlx5_0/device"
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    node = tmp_path / "devices/system/node/node1"
    node.mkdir(parents=True)
    (node / "cpulist").write_text("8-9,12\n")
    assert cpus_of("device", "mlx5_0", tmp_path) == {8, 9, 12}
    (device / "numa_node").write_text("-1\n")
    assert cpus_of("device", "mlx5_0", tmp_path) == set(range(os.cpu_count() or 1))
    assert cpus_of("device", "rxe0", tmp_path) == set(range(os.cpu_count() or 1))


def test_processors_that_the_machine_has_not():
    with pytest.raises(ValueError, match=r"processors 1023 cannot be had .* allowed \d"):
        run_on(frozenset({1023}))
