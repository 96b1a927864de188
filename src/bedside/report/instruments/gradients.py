"""The gradient of the whole model: before and after clipping, the threshold, and how it agrees with the one before."""

from __future__ import annotations

import numpy as np

from bedside.record.run import Run
from bedside.report.instruments.loss_curves import level_now, smoothing
from bedside.report.instruments.panel import Line, Panel
from bedside.wording import number, percent


def gradient_norm(run: Run) -> Panel | None:
    """Norms before and after the clip call, on a logarithmic axis: gradients differ by factors, not by amounts."""
    before, after = run.series("grad_norm"), run.series("grad_norm_clipped")
    threshold, active = run.series("clip_threshold"), run.series("clip_active").finite()
    if not before and not after:
        return None
    lines, shown = [], []
    if before:
        name = "gradient norm before clipping" if threshold else "gradient norm"
        lines.append(Line(before.key, name, "training", smooth=smoothing(before)))
        shown.append(before)
    if after and (threshold or not before):
        lines.append(Line(after.key, "after clipping", "validation"))
        shown.append(after)
    if threshold:
        lines.append(Line(threshold.key, "threshold", "limit"))
        shown.append(threshold)
    said = [f"{number(level_now(shown[0]))} now"]
    if active:
        said.append(f"clipped at {percent(float(np.mean(active.values > 0)))} of the steps")
        said.append(f"threshold {number(threshold.last)}" if threshold else "")
    elif threshold:
        said.append(f"threshold {number(threshold.last)}")
    return Panel(
        "gradient",
        "gradients",
        "Gradient norm",
        say=" · ".join(filter(None, said)),
        lines=lines,
        log=True,
        series=shown,
    )


def gradient_agreement(run: Run) -> Panel | None:
    """The angle between consecutive gradients: near 1 they agree, below 0 the run bounces from wall to wall."""
    cosine = run.series("gradient_cosine")
    if not cosine:
        return None
    return Panel(
        "gradient_cosine",
        "gradients",
        "Agreement with the gradient before",
        say=f"Cosine {number(level_now(cosine))} now; steadily below 0 means that steps undo each other.",
        lines=[Line(cosine.key, "cosine", "training", smooth=smoothing(cosine))],
        slim=True,
        series=[cosine],
    )
