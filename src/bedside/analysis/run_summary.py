"""A run in a few numbers: last and best loss, its trend, gradients, clipping, and steps that were bad or skipped.

>>> from bedside.testing import a_run
>>> run = a_run(loss=[3.0, 2.0, 1.0, 1.5], grad_norm=2.0, clip_active=[1.0, 0.0, 0.0, 1.0])
>>> numbers = run_summary(run, window=4)
>>> numbers["last_loss"], numbers["best_loss"], numbers["best_step"], numbers["clip_frequency"]
(1.5, 1.0, 2, 0.5)
"""

from __future__ import annotations

import numpy as np

from bedside.record.run import Run

WINDOW = 200  # steps over which the trend is taken


def run_summary(run: Run, window: int = WINDOW) -> dict[str, float | int | None]:
    """The numbers by name; None where nothing was recorded."""
    losses, norms = run.series("loss"), run.series("grad_norm")
    finite = losses.finite()
    numbers: dict[str, float | int | None] = {
        "steps": run.steps,
        "last_loss": float(losses.values[-1]) if len(losses) else None,
        "best_loss": float(finite.values.min()) if len(finite) else None,
        "best_step": int(finite.steps[int(np.argmin(finite.values))]) if len(finite) else None,
        "loss_trend": _trend(finite.values[-window:]),
        "mean_grad_norm": _mean(norms.finite().values),
        "clip_frequency": _clip_frequency(run),
        "nonfinite_losses": len(losses) - len(finite),
        "nonfinite_gradients": len(norms) - len(norms.finite()),
        "skipped_steps": int(np.nansum(run.series("skipped").values > 0)) if run.has("skipped") else 0,
        "guarded_steps": sum(event.data.get("action") == "skip" for event in run.events_of("guard")),
        "bad_steps_in_a_row": _longest_row(losses.steps[~np.isfinite(losses.values)]),
    }
    return numbers


def _longest_row(steps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """The most steps that follow each other."""
    if not len(steps):
        return 0
    ends = np.flatnonzero(np.diff(steps) != 1)
    return int(np.diff([-1, *ends, len(steps) - 1]).max())


def _trend(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """Change of the loss over the window: the mean of its last fifth minus that of its first."""
    fifth = max(1, len(values) // 5)
    return float(values[-fifth:].mean() - values[:fifth].mean()) if len(values) >= 2 else None


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if len(values) else None


def _clip_frequency(run: Run) -> float | None:
    """Share of the steps at which clipping changed the gradient; None without clipping."""
    return _mean(run.series("clip_active").finite().values)
