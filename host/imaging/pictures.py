"""Draw images and raw channel data with axes in physical units; matplotlib without its global state."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from host.imaging.beamform import Path
from host.imaging.bmode import BMode

_INK = "#d8dde3"
_PAPER = "#0b0d10"


def draw_bmode(axes: Axes, image: BMode) -> Any:
    """Draw ``image`` to scale on ``axes`` with a scale bar; return the artist that a colour bar belongs to."""
    x, z = image.lateral_mm, image.depth_mm
    half_x = (x[1] - x[0]) / 2 if x.size > 1 else 0.5
    half_z = (z[1] - z[0]) / 2
    extent = (x[0] - half_x, x[-1] + half_x, z[-1] + half_z, z[0] - half_z)
    colours = "gray" if image.path is Path.PLANE_WAVE else "inferno"
    artist = axes.imshow(
        image.db,
        cmap=colours,
        vmin=-image.dynamic_range_db,
        vmax=0,
        extent=extent,
        interpolation="bilinear",
        interpolation_stage="data",
        aspect="equal",
    )
    axes.set_xlabel("lateral (mm)")
    axes.set_ylabel("depth (mm)")
    width, height = extent[1] - extent[0], extent[2] - extent[3]
    bar = max((length for length in (10.0, 5.0, 1.0, 0.5) if length < width / 3), default=0.1)
    right, low = extent[1] - 0.04 * width, extent[2] - 0.05 * height
    axes.plot([right - bar, right], [low, low], color="white", linewidth=2, solid_capstyle="butt")
    axes.text(right - bar / 2, low - 0.02 * height, f"{bar:g} mm", color="white", ha="center", va="bottom", fontsize=8)
    return artist


def draw_raw(axes: Axes, samples: NDArray[np.int16], sample_rate_hz: float) -> Any:
    """Draw channel data ``[sample, channel]``, time downwards; return the artist that a colour bar belongs to."""
    count, channels = samples.shape
    rows = max(1, count // 1024)
    usable = count - count % rows
    # Of each group of samples show the one with the largest magnitude: averaging would hide the echoes.
    groups = samples[:usable].reshape(-1, rows, channels).astype(np.int32)
    largest = np.abs(groups).argmax(axis=1)
    shown = np.take_along_axis(groups, largest[:, None], axis=1)[:, 0]
    limit = max(1.0, float(np.percentile(np.abs(shown), 99.0)))
    artist = axes.imshow(
        shown,
        cmap="gray",
        vmin=-limit,
        vmax=limit,
        extent=(-0.5, channels - 0.5, usable / sample_rate_hz * 1e6, 0.0),
        interpolation="nearest",
        aspect="auto",
    )
    axes.set_xlabel("channel")
    axes.set_ylabel("time (µs)")
    return artist


def bmode_png(image: BMode, path: FilePath, title: str = "") -> None:
    """Write ``image`` to ``path`` as a PNG with axes, scale bar and colour bar."""
    aspect = np.ptp(image.depth_mm) / max(1e-9, np.ptp(image.lateral_mm))
    figure = Figure(
        figsize=(8.0, float(np.clip(8.0 * 0.78 * aspect + 0.9, 3.0, 11.0))), facecolor=_PAPER, layout="compressed"
    )
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor="black")
    artist = draw_bmode(axes, image)
    bar = figure.colorbar(artist, ax=axes, pad=0.02, aspect=35)
    bar.set_label("dB", color=_INK)
    axes.set_title(title, color=_INK, fontsize=11, loc="left")
    for part in (axes, bar.ax):
        part.tick_params(colors=_INK, labelsize=9)
        part.xaxis.label.set_color(_INK)
        part.yaxis.label.set_color(_INK)
        for spine in part.spines.values():
            spine.set_edgecolor("#4a525c")
    figure.savefig(path, dpi=150, metadata={"Software": None})
