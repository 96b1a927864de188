"""The instruments of a run as matplotlib figures, for papers and slides: `bedside report RUN --png DIR`.

The same instruments with the same words as the page; needs the extra `plots`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bedside.errors import BedsideError, install_extra
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.report.instruments import instruments
from bedside.report.instruments.panel import Mark, Panel
from bedside.report.plots.smoothing import moving_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRAINING, VALIDATION, LIMIT, ALARM, USUAL = "#2563c9", "#c25700", "#6b7280", "#c8252c", "#2e8b57"
OTHERS = ("#1a7f4b", "#a21caf", "#0e7490", "#b4233c", "#6d5bd0", "#5f6b1a", "#2563c9", "#c25700")
WIDTH, HEIGHT, DOTS = 6.4, 3.2, 200  # inches and dots per inch: a column of a paper
POINTS = 4000  # of a curve; more than a printer shows


def write_figures(run: Run, folder: Path, *, marks: Sequence[Mark] = ()) -> list[Path]:
    """Every instrument that is not folded away as a PNG file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for each in instruments(run):
        panel = None if each.folded else each.read(run)
        if panel is None or panel.kind == "histograms":
            continue
        path = folder / (re.sub(r"[^A-Za-z0-9_.-]+", "-", each.id).strip("-.") + ".png")
        draw(panel, axis=run.axis, marks=marks).savefig(path, dpi=DOTS)
        written.append(path)
    return written


def draw(panel: Panel, *, axis: str = "step", marks: Sequence[Mark] = ()) -> Figure:
    """A panel as a figure that belongs to nobody: no window opens, and no global state of pyplot changes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BedsideError(
            "Drawing figures needs matplotlib, which is not installed.",
            expected="the extra `plots`; the HTML report needs nothing",
            try_=install_extra("plots"),
        ) from None
    made = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = made.add_subplot()
    axes.set_title(panel.title, loc="left", fontsize=10, fontweight="bold")
    if panel.kind == "layers":
        _map(axes, panel, axis)
    else:
        _lines(axes, panel, axis, [*panel.marks, *marks])
    return made


def _lines(axes: Axes, panel: Panel, axis: str, marks: Sequence[Mark]) -> None:
    by_key = {each.key: each for each in panel.series}
    colours = iter(OTHERS * (1 + len(panel.lines) // len(OTHERS)))
    for line in panel.lines:
        series = by_key[line.key]
        named = {"training": TRAINING, "validation": VALIDATION, "limit": LIMIT}
        colour = named.get(line.role) or next(colours)
        thin = series.thinned(POINTS)
        shown = np.where(np.isfinite(thin.values), thin.values, np.nan)
        style: dict[str, Any] = {"color": colour, "linestyle": "--" if line.role == "limit" else "-"}
        if line.smooth:
            axes.plot(thin.steps, shown, linewidth=0.6, alpha=0.4, label=f"{line.label}, raw", **style)
            means = moving_mean(series.values, line.smooth)
            axes.plot(series.steps, means, linewidth=1.5, label=f"mean of {line.smooth}", **style)
        else:
            axes.plot(thin.steps, shown, linewidth=1.5, label=line.label, **style)
    lost = [int(each.steps[~np.isfinite(each.values)][0]) for each in panel.series if len(each.finite()) < len(each)]
    if lost:
        axes.axvline(min(lost), color=ALARM, linewidth=0.8)
        top = axes.get_xaxis_transform()
        axes.text(min(lost), 1, " not finite", transform=top, color=ALARM, fontsize=7, va="top")
    for level in panel.levels:
        axes.axhline(level.value, color=LIMIT, linewidth=0.8, linestyle="--", label=level.label)
    for each in panel.ranges:
        axes.axhspan(each.low, each.high, color=USUAL, alpha=0.12, label=each.label)
    for mark in marks:
        axes.axvline(mark.step, color=ALARM, linewidth=0.8, linestyle="--", label=mark.label or None)
    if panel.log and any((each.finite().values > 0).any() for each in panel.series):
        axes.set_yscale("log", nonpositive="mask")
    else:
        _keep_flat_flat(axes)
    _fill_gap(axes, panel, by_key)
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.legend(fontsize=7, frameon=False)


def _fill_gap(axes: Axes, panel: Panel, by_key: dict[str, Series]) -> None:
    if len(panel.gap) == 2:
        training, held_out = (by_key[key].finite() for key in panel.gap)
        smooth = max((line.smooth for line in panel.lines if line.key == panel.gap[0]), default=0)
        if training and held_out:
            level = moving_mean(training.values, smooth) if smooth else training.values
            between = np.interp(held_out.steps, training.steps, level)
            axes.fill_between(held_out.steps, between, held_out.values, color="#ce3d5c", alpha=0.15, linewidth=0)


def _keep_flat_flat(axes: Axes) -> None:
    """A curve that moves by less than a third of its level is drawn as the nearly flat line it is."""
    low, high = axes.get_ylim()
    least = 0.3 * max(abs(low), abs(high))
    if high - low < least:
        axes.set_ylim((low + high - least) / 2, (low + high + least) / 2)


def _map(axes: Axes, panel: Panel, axis: str) -> None:
    """Layer by step, the first layer on top."""
    from matplotlib.colors import LogNorm, Normalize

    rows = list(_rows(panel.series))
    values = np.array(rows)
    finite = values[np.isfinite(values) & ((values > 0) | (not panel.log))]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.1, 1.0)
    scale = LogNorm(low, max(high, low * 1.01)) if panel.log else Normalize(0.0, max(high, 1e-12))
    last = max(each.last_step for each in panel.series)
    image = axes.imshow(
        np.ma.masked_invalid(values),
        aspect="auto",
        norm=scale,
        cmap="viridis",
        interpolation="nearest",
        extent=(0, last, len(rows) - 0.5, -0.5),
    )
    every = max(1, math.ceil(len(rows) / 16))
    axes.set_yticks(range(0, len(rows), every), [each.owner for each in panel.series][::every], fontsize=7)
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(labelsize=7)
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes).ax.tick_params(labelsize=7)


def _rows(every: Sequence[Series]) -> Iterator[list[float]]:
    """Each layer at the same two hundred steps: the newest reading at or before each."""
    last = max(each.last_step for each in every)
    steps = np.linspace(0, last, 200)
    for each in every:
        at = np.searchsorted(each.steps, steps, "right") - 1
        yield np.where(at >= 0, each.values[np.maximum(at, 0)], np.nan).tolist()
