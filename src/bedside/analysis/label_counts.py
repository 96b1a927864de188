"""How often each class occurs among the labels of training and of evaluations, where both were counted."""

from __future__ import annotations

import numpy as np

from bedside.record.run import Run
from bedside.record.series import Values

KEY = "each_label"  # a fact of the run for training, and of each evaluation's answers


def training_labels(run: Run) -> Values | None:
    """Counts by class over the training batches that were looked at."""
    return _counts(run.config.get(KEY))


def evaluation_labels(run: Run) -> Values | None:
    """Counts by class of the last evaluation that was computed by one of torch's loss functions."""
    looks = [each for each in run.events_of("evaluation_answers") if each.data.get("kind") == "classes"]
    return _counts(looks[-1].data.get(KEY)) if looks else None


def _counts(value: object) -> Values | None:
    if not isinstance(value, (list, tuple)) or not value:
        return None
    counts = np.asarray(value, dtype=np.float64)
    return counts if counts.sum() > 0 else None
