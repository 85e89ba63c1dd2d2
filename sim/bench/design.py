"""What has to be compiled to use the bench: sources, C++ bodies, and the signals that Python must reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from sim.build import Design
from sim.sources import sources

HERE = Path(__file__).resolve().parent


class Body(StrEnum):
    """Which bodies the players have."""

    DPI = "dpi"
    """C++ memory; Verilator only, and fast."""
    VPI = "vpi"
    """HDL arrays; any simulator."""


PUBLIC = (
    "bench_clocks.link_half_fs",
    "bench_clocks.CORE_HALF_FS",
    "bench_clocks.LINK_HALF_FS",
    "mac_port.rate",
    "mac_port.events",
    "mac_port.errors",
    "lane_player.LANES",
    "lane_player.CHUNK_BEATS",
    "lane_player.started",
    "lane_player.start_sync_n",
    "lane_player.underrun",
    "axi_memory.BASE",
    "axi_memory.BYTES",
    "axi_memory.events",
    "axi_memory.errors",
    "axi_memory.written",
    "sync_reader.reports",
    "probe.flush",
)
PUBLIC_VPI = (
    *(f"mac_port_vpi.{name}" for name in ("SLOTS", "WORDS", "tx_words", "tx_records", "tx_count", "tx_taken")),
    *(f"mac_port_vpi.{name}" for name in ("rx_words", "rx_orders", "rx_queued", "rx_started", "rx_played")),
    *(f"lane_player_vpi.{name}" for name in ("words", "beats", "supplied", "played", "stop")),
    "axi_memory_vpi.words",
)
FOREIGN = tuple(HERE / f"{name}.cpp" for name in ("mac_port", "lane_player", "axi_memory"))


def design(
    top: Path,
    body: Body,
    parameters: Mapping[str, int] | None = None,
    *,
    public: Iterable[str] = (),
    top_public: tuple[str, ...] = ("*",),
    defines: Mapping[str, str] | None = None,
    waves: bool = False,
) -> Design:
    """Return the build of ``top``, a ``.f`` list or ``.v`` file that uses bench modules.

    Everything that the classes here need is public, and ``public`` and ``top_public`` as in :class:`sim.build.Design`.
    """
    files = sources(top)
    return Design(
        top=top.stem,
        sources=tuple(files),
        parameters=dict(parameters or {}),
        defines={**(defines or {}), **({"EB_DPI": "1"} if body is Body.DPI else {})},
        foreign=FOREIGN if body is Body.DPI else (),
        waves=waves,
        timing=True,
        fast=True,
        public=(*PUBLIC, *(PUBLIC_VPI if body is Body.VPI else ()), *public),
        top_public=top_public,
    )
