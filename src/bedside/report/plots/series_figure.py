"""Series of a run as a matplotlib figure, for notebooks and papers: `run.plot("loss", "grad_norm/*")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bedside.errors import BadOption, install_extra
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.series_names import name_of
from bedside.report.plots.smoothing import moving_mean
from bedside.report.sparkline import needs_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_POINTS = 4000  # of one line: more than a printed figure has dots across
PANEL = (7.0, 2.6)  # inches


def run_figure(run: Run, series: Sequence[Series], *, log: bool | None = None, smooth: int | None = None) -> Figure:
    """One panel for each vital, training and validation losses together; the raw readings are always shown."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise BadOption(
            "matplotlib is not installed.",
            expected="matplotlib, which draws the figure",
            try_=f"{install_extra('plots')}, or run.to_dict() for the numbers",
        ) from None
    panels: dict[str, list[Series]] = {}
    for each in series:
        panels.setdefault("loss" if each.vital in ("loss", "val/loss", "test/loss") else each.vital, []).append(each)
    figure = Figure(figsize=(PANEL[0], PANEL[1] * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (vital, lines) in zip(axes, panels.items(), strict=True):
        _draw(axis, vital, lines, log, smooth)
    axes[-1].set_xlabel(run.axis)
    axes[0].set_title(run.name, loc="left", fontsize="medium")
    return figure


def _draw(axis: Any, vital: str, lines: Sequence[Series], log: bool | None, smooth: int | None) -> None:
    for each in lines:
        shown = each.thinned(MAX_POINTS)
        name = name_of((each.vital, each.owner))
        (line,) = axis.plot(shown.steps, shown.values, label=name, linewidth=1.2, alpha=0.35 if smooth else 1.0)
        if smooth:
            axis.plot(each.steps, moving_mean(each.values, smooth), color=line.get_color(), label=f"{name}, smoothed")
    every = np.concatenate([each.finite().values for each in lines]) if lines else np.empty(0)
    if log if log is not None else needs_log(vital, every.tolist()):
        axis.set_yscale("log")
    axis.set_ylabel(vital)
    axis.grid(alpha=0.3)
    if len(lines) <= 12:
        axis.legend(fontsize="small", frameon=False)
