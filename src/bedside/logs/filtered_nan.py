"""NaN losses that the tool wrote as 0.0: the HF Trainer's `logging_nan_inf_filter`, in its state and on its console.

A loss of exactly zero beside a gradient norm that is NaN was NaN, and so are the zeros right after it. Without a
gradient norm it was NaN if it fell there from a usual value in one record: no training does that.
"""

from __future__ import annotations

import math
from statistics import median

from bedside.logs.log import Column, Log

CLIFF = 0.05  # the Trainer rounds below 5e-5 to 0.0; no training loss falls a thousandfold between two records


def recover_filtered(log: Log) -> None:
    loss, norm = log.columns.get("loss"), log.columns.get("grad_norm")
    if loss is None or 0.0 not in loss.values:
        return
    norms = dict(zip(norm.steps, norm.values, strict=True)) if norm else {}
    beside = 0
    proven = False
    for i, value in enumerate(loss.values):
        its_norm = norms.get(loss.steps[i])
        if value != 0.0 or (its_norm is not None and math.isfinite(its_norm) and its_norm > 0.0):
            proven = False
            continue
        proven = proven or (its_norm is not None and not math.isfinite(its_norm))
        if proven:
            loss.values[i] = math.nan
            beside += 1
    if beside:
        log.note(f"{beside} losses of 0.0 beside a NaN gradient norm were read as NaN: the Trainer filters NaN.")
    _cliff_to_zero(log, loss, {step for step, value in norms.items() if value == 0.0})


def _cliff_to_zero(log: Log, loss: Column, still: set[float]) -> None:
    """A loss that drops to exactly zero in one record and stays there was NaN, unless the gradient is zero too."""
    values, end = loss.values, len(loss)
    while end and values[end - 1] == 0.0 and loss.steps[end - 1] not in still:
        end -= 1
    zeros = len(values) - end
    before = [v for v in values[max(0, end - 5) : end] if math.isfinite(v)]
    if zeros >= 2 and before and min(before[-1], median(before)) > CLIFF:
        for i in range(end, len(values)):
            values[i] = math.nan
        log.note(
            f"The last {zeros} losses are exactly 0.0 after {before[-1]:g}: read as NaN, which the Trainer filters."
        )
