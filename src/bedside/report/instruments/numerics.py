"""Loss scale, time per step, and the inputs as the model sees them."""

from __future__ import annotations

import numpy as np

from bedside.record.run import Run
from bedside.report.instruments.loss_curves import smoothing
from bedside.report.instruments.panel import Line, Panel
from bedside.wording import count, number, percent


def loss_scale(run: Run) -> Panel | None:
    scale, skipped = run.series("loss_scale"), run.series("skipped").finite()
    if not scale:
        return None
    said = f"{number(scale.last)} now"
    if skipped:
        said += f", {count(int(skipped.values.sum()))} of {count(len(skipped))} steps skipped"
    return Panel(
        "loss_scale",
        "numerics",
        "Loss scale",
        say=said + ".",
        lines=[Line(scale.key, "loss scale", "training")],
        log=True,
        series=[scale],
    )


def timing(run: Run) -> Panel | None:
    """Seconds per step, and how much of that was waiting for data."""
    step, wait = run.series("step_time"), run.series("data_wait")
    if not step:
        return None
    usual = step.median()
    said = f"A step takes {seconds(usual)}"
    lines, shown = [Line(step.key, "time per step", "training", smooth=smoothing(step))], [step]
    if wait:
        lines.append(Line(wait.key, "waiting for data", "validation", smooth=smoothing(wait)))
        shown.append(wait)
        if usual > 0:
            said += f", {percent(min(1.0, wait.median() / usual))} of it waiting for data"
    return Panel("timing", "numerics", "Time per step", say=said + ".", lines=lines, log=True, slim=True, series=shown)


def inputs(run: Run) -> Panel | None:
    """Mean, spread and largest value of the inputs: what a broken pipeline changes first."""
    names = {"input_mean": "mean", "input_std": "standard deviation", "input_max": "largest absolute value"}
    shown = [run.series(vital) for vital in names if run.has(vital)]
    if not shown:
        return None
    said = " · ".join(f"{names[each.vital]} {number(each.median())}" for each in shown)
    lines = [Line(each.key, names[each.vital]) for each in shown]
    return Panel("inputs", "numerics", "Inputs", say=said, lines=lines, slim=True, series=shown)


def seconds(value: float) -> str:
    """`12 ms`, `3.4 s`."""
    if not np.isfinite(value):
        return "an unknown time"
    unit, size = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{number(value * size)} {unit}"
