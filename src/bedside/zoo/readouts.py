"""The numbers beside a curve: training, validation, the gap between them, and the norm of the whole gradient."""

from __future__ import annotations

import math

from bedside.record.run import Run
from bedside.report.instruments.loss_curves import held_out_losses, level_now
from bedside.wording import number


def readouts(run: Run) -> list[tuple[str, str]]:
    """What a run ends with, in words: `[("training", "0.26"), ("validation", "0.37"), ("gap", "0.11"), …]`."""
    held_out = held_out_losses(run)
    training = level_now(run.loss) if math.isfinite(run.loss.last) else run.loss.last
    rows = [("training", training)]
    if held_out:
        rows += [("validation", held_out[0].last), ("gap", held_out[0].last - training)]
    if gradient := run.series("grad_norm"):
        rows.append(("gradient norm", level_now(gradient) if math.isfinite(gradient.last) else gradient.last))
    return [(name, number(value)) for name, value in rows]
