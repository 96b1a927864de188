"""Losses that a run implies but did not log: the mean of its evaluation sets, the logarithm of a perplexity.

Rules ask for one `val/loss`; a run that logged a loss per evaluation set, or perplexities alone, has it all the same.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from bedside.record.metric_direction import has_code_book
from bedside.record.run import Run
from bedside.record.series import Series

MAX_NAMES = 8  # evaluation sets that the note lists
PERPLEXITIES = (("val/loss", "val/perplexity"), ("loss", "train/perplexity"))


def with_implied_losses(run: Run) -> Run:
    """The run with these losses added, each with a note; the run itself where there is nothing to add."""
    added: list[Series] = []
    notes: list[str] = []
    if not run.has("val/loss") and (sets := run.of("val/loss")):
        if len(mean := _mean(sets)):
            added.append(mean)
        if len(sets) > 1 and len(mean):
            names = ", ".join(each.owner for each in sets[:MAX_NAMES])
            notes.append(f"val/loss is the mean of {len(sets)} evaluation sets: {names}.")
    for loss, perplexity in PERPLEXITIES:
        if loss in run.vitals or not run.has(perplexity) or has_code_book(run.vitals):
            continue
        series = run.series(perplexity)
        if (series.finite().values >= 1).all():  # a perplexity below one is something else
            added.append(Series(loss, "", series.steps, np.log(series.values)))
            notes.append(f"{loss} is the logarithm of {perplexity}.")
    return run.with_series(added, notes) if added else run


def _mean(sets: list[Series]) -> Series:
    """Over the sets, at the steps at which all of them were evaluated."""
    steps = reduce(np.intersect1d, [each.steps for each in sets])
    values = [each.values[np.searchsorted(each.steps, steps)] for each in sets]
    return Series("val/loss", "", steps, np.mean(values, axis=0))
