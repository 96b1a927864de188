"""How large the weights are, and how far one step moves them."""

from __future__ import annotations

from bedside.record.run import Run
from bedside.report.instruments.loss_curves import level_now, smoothing
from bedside.report.instruments.panel import Line, Panel, Range
from bedside.wording import number

USUAL = Range(1e-4, 1e-2, "usual for most models")  # healthy runs of the zoo and of published recipes lie here


def relative_update(run: Run) -> Panel | None:
    series = run.series("relative_update_norm")
    if not series:
        return None
    return Panel(
        "relative_update",
        "updates",
        "Update over weight",
        say=f"A step changes the weights by {number(level_now(series))} of their norm now.",
        lines=[Line(series.key, "update norm over weight norm", "training", smooth=smoothing(series))],
        ranges=[USUAL],
        log=True,
        series=[series],
    )


def weight_norm(run: Run) -> Panel | None:
    series = run.series("param_norm")
    if not series:
        return None
    first = series.finite().values[0] if series.finite() else float("nan")
    return Panel(
        "weight_norm",
        "updates",
        "Weight norm",
        say=f"From {number(first)} to {number(level_now(series))}.",
        lines=[Line(series.key, "weight norm", "training")],
        series=[series],
    )


def effective_rate(run: Run) -> Panel | None:
    """What the optimizer makes of the learning rate: above it it amplifies gradients, below it it dampens them."""
    ratio, rate = run.series("effective_lr_ratio"), run.series("lr")
    if not ratio:
        return None
    lines, shown = [Line(ratio.key, "update norm over gradient norm", "training", smooth=smoothing(ratio))], [ratio]
    said = f"{number(level_now(ratio))} now"
    if rate:
        lines.append(Line(rate.key, "learning rate", "limit"))
        shown.append(rate)
        said += f", with a learning rate of {number(rate.last)}"
    return Panel(
        "effective_rate",
        "updates",
        "Effective learning rate",
        say=f"{said}. Above the learning rate the optimizer amplifies gradients, below it dampens them.",
        lines=lines,
        log=True,
        series=shown,
    )
