"""Which number types a run computes in, as far as its record knows."""

from __future__ import annotations

from bedside.record.run import Run
from bedside.record.vocabulary import LOSS_SCALE


def half_without_scaling(run: Run) -> bool:
    """Whether gradients are made in float16 and nobody scales the loss: those below 6e-8 become zero.

    >>> from bedside.testing import a_run
    >>> half_without_scaling(a_run(loss=1.0, config={"autocast": "float16"}))
    True
    >>> half_without_scaling(a_run(loss=1.0, loss_scale=65536.0, config={"autocast": "float16"}))
    False
    """
    short = autocast_to_half(run) or any(each.dtype == "float16" for each in run.parameters)
    return short and not run.series(LOSS_SCALE.name)


def autocast_to_half(run: Run) -> bool:
    """Whether training forwards run under autocast to float16."""
    return run.config.get("autocast") == "float16"
