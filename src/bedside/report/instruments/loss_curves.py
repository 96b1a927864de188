"""The loss: training and validation on the same axes, the gap between them, and the level of a blind guess."""

from __future__ import annotations

import math

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.report.instruments.panel import Level, Line, Panel
from bedside.wording import number, plural

SMOOTH = 0.02  # of the readings are averaged for the smoothed line: the trend, and a spike still shows as a bump
MAX_SMOOTHED = 200  # readings: more would lag behind the run
MIN_TO_SMOOTH = 60  # readings: a shorter curve is read as it is
DECADES_FOR_LOG = 2.0  # a loss that spans more is unreadable on a linear axis
AT_THE_END = 0.02  # of the readings stand for "now"


def loss(run: Run) -> Panel | None:
    """Training and validation loss; logs that have one of them show that one."""
    training, epochs, held_out = run.series("loss"), run.series("loss_epoch"), held_out_losses(run)
    if not training:
        training, epochs = epochs, Series("loss_epoch")
    if not training and not held_out:
        return None
    lines, shown = [], []
    if training:
        lines.append(Line(training.key, "training loss", "training", smooth=smoothing(training)))
        shown.append(training)
    for series in held_out:
        lines.append(Line(series.key, _label(series), "validation" if series.vital == "val/loss" else "other"))
        shown.append(series)
    if epochs and 2 * len(epochs) <= len(training):  # with a step or two per epoch it is the same curve again
        lines.append(Line(epochs.key, "training loss, mean of the epoch"))
        shown.append(epochs)
    both = bool(training and held_out)
    return Panel(
        "loss",
        "loss",
        "Training and validation loss" if both else "Loss",
        say=_said(training, held_out[0] if held_out else None),
        lines=lines,
        levels=_chance(run, shown),
        gap=(training.key, held_out[0].key) if both else (),
        log=_spans_decades(shown),
        series=shown,
    )


def categories(run: Run) -> Panel | None:
    """The loss of every category, the worst named."""
    every = run.of("loss_by_category")
    if not every:
        return None
    now = {each.owner: level_now(each) for each in every}
    worst, best = max(now, key=lambda name: now[name]), min(now, key=lambda name: now[name])
    return Panel(
        "categories",
        "loss",
        "Loss by category",
        say=f"Highest now: {worst}, {number(now[worst])}; lowest: {best}, {number(now[best])}.",
        lines=[Line(each.key, each.owner) for each in every],
        series=every,
    )


def learning_rate(run: Run) -> Panel | None:
    rates = [each for each in (run.series("lr"), *run.of("lr")) if each]
    if not rates:
        return None
    first = rates[0].finite()
    said = f"{number(first.last)} at the end" if first else ""
    if first and np.ptp(first.values) == 0:
        said = f"{number(first.last)}, constant"
    elif first:
        said += f", {number(float(first.values.max()))} at its highest"
    return Panel(
        "lr",
        "loss",
        "Learning rate",
        say=said + "." if said else "",
        lines=[Line(each.key, f"group {each.owner}" if each.owner else "learning rate") for each in rates],
        slim=True,
        series=rates,
    )


def held_out_losses(run: Run) -> list[Series]:
    """Validation first, then test and whatever else was evaluated."""
    losses = [vital for vital, owner in run.series_keys if vital.endswith("/loss") and not owner]
    keys = [vital for vital in losses if not vital.startswith("train")]
    keys.sort(key=lambda vital: vital != "val/loss")
    return [series for key in keys if (series := run.series(key))]


def smoothing(series: Series) -> int:
    """Readings that the smoothed line averages over; 0 where the raw curve reads well enough."""
    if len(series) < MIN_TO_SMOOTH:
        return 0
    return int(min(MAX_SMOOTHED, max(5, round(SMOOTH * len(series)))))


def level_now(series: Series) -> float:
    """The mean of the last readings; one batch alone is noise."""
    values = series.finite().values
    return float(values[-max(1, round(AT_THE_END * len(values))) :].mean()) if len(values) else math.nan


def _said(training: Series, held_out: Series | None) -> str:
    parts = []
    now = level_now(training) if training else math.nan
    if training and not math.isfinite(training.last):
        parts.append(f"training {number(training.last)} at the end")
    elif training:
        parts.append(f"training {number(now)}")
    if held_out:
        last = held_out.finite().last if held_out.finite() else held_out.last
        parts.append(f"validation {number(last)}")
        if math.isfinite(now) and math.isfinite(last) and math.isfinite(training.last):
            parts.append(f"gap {number(last - now)}")
    return " · ".join(parts)


def _label(series: Series) -> str:
    name = {"val/loss": "validation loss", "test/loss": "test loss"}.get(series.vital, series.vital)
    return f"{name}, {plural(len(series), 'evaluation')}"


def _chance(run: Run, shown: list[Series]) -> list[Level]:
    """Where the curves come near it: a level far above them would squeeze them."""
    chance = known_chance(run.config)
    highest = max((float(each.finite().values.max()) for each in shown if each.finite()), default=0.0)
    if chance is None or not 0 < chance.level <= 1.5 * highest:
        return []
    return [Level(chance.level, f"blind guess, {chance}")]


def _spans_decades(shown: list[Series]) -> bool:
    values = np.concatenate([each.finite().values for each in shown])
    if not len(values) or values.min() <= 0:
        return False
    return bool(math.log10(values.max()) - math.log10(values.min()) >= DECADES_FOR_LOG)
