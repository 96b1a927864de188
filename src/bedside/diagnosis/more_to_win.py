"""What a run left to be won, so that nobody calls it healthy: a simple model does better on its own examples, or it
ended in the midst of learning. Each tells the reason and what would settle it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.analysis.progress import learned_to_the_end
from bedside.analysis.simple_models import LATE, Beside, by_accuracy, on_held_out, on_training
from bedside.record.run import Run
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    worth: float = 0.3  # of a blind guess's error, as for underfitting: a simple model that wins less proves nothing
    beside: float = 0.85  # of what a simple model wins: healthy programs win 0.9 of it or more
    apart: float = 0.06  # of a blind guess's error: of a few hundred examples, less can be chance
    trained: int = 150  # steps, as for underfitting: a network in its first epochs is behind by right
    answers: int = 100  # of the network, and of the simple model: a share is known to 0.05 then
    steep: float = 0.15  # of all progress in the last quarter, as for still-falling


def behind_a_simple_model(run: Run, limits: Limits | None = None) -> tuple[str, str] | None:
    """A linear model, or a look-up of neighbours, does better on the run's own examples."""
    limits = limits or Limits()
    if run.steps < limits.trained:
        return None
    held_out = [on_held_out(run, carried=True), on_held_out(run, carried=False)]
    if held_out[0] is None:
        held_out = [by_accuracy(run)]
    behind = [each for each in held_out if each is not None and _is_behind(each, limits)]
    # What is noisy or mixed on purpose is hard in training alone.
    well = any(each is not None and each.apart < limits.apart for each in held_out)
    late = None if well else on_training(run, LATE)
    if late is not None and late.answers >= limits.answers and _is_behind(late, limits):
        behind.append(late)
    if not behind:
        return None
    worst = max(behind, key=lambda each: each.apart)
    where = "the examples that it trains on" if worst is late else "held-out examples, at best"
    return (
        f"The network is {worst.words(worst.network)} on {where}, and {worst.name} that was fitted to a few hundred "
        f"examples is {worst.words(worst.simple)} on others.",
        "Train on 32 examples until the loss is near zero; if that goes well, train for longer or at a higher rate.",
    )


def _is_behind(beside: Beside, limits: Limits) -> bool:
    known = beside.worth >= limits.worth and beside.examples >= limits.answers
    return known and beside.share <= limits.beside and beside.apart >= limits.apart


def ended_too_soon(run: Run, limits: Limits | None = None) -> tuple[str, str] | None:
    """It was learning at full speed when it ended."""
    limits = limits or Limits()
    if not run.finished or not learned_to_the_end(run, limits.steep):
        return None
    return (
        f"It ended in the midst of learning: {percent(limits.steep)} of all progress or more came in its last quarter.",
        "Look for what ended it, or train for longer.",
    )
