"""Where several causes fit: which there are, what the run says for and against each, and the test that would decide.

One question per file; `weights.py` turns signs into weights, and `../experiments.py` holds the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bedside.diagnosis.hypotheses.flat_validation import flat_validation
from bedside.diagnosis.hypotheses.stuck_loss import stuck_loss
from bedside.diagnosis.hypotheses.unstable_loss import unstable_loss
from bedside.diagnosis.hypotheses.worse_on_validation import worse_on_validation
from bedside.finding import Differential, Finding
from bedside.record.run import Run

Question = Callable[[Run, Sequence[Finding]], Differential | None]

QUESTIONS: tuple[Question, ...] = (stuck_loss, unstable_loss, worse_on_validation, flat_validation)


def differential(run: Run, found: Sequence[Finding]) -> tuple[Differential, ...]:
    """The questions that this run leaves open, with their answers weighed."""
    return tuple(answer for question in QUESTIONS if (answer := question(run, found)) is not None)
