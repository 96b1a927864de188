"""Settles what a diagnosis left open: runs the experiments that decide between its causes and weighs them anew.

A record alone often fits several causes (stuck: the learning rate, or dead units? flat validation: converged, stale,
decayed, or overfitting?). With the model, loader and optimizer, the experiments that decide take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.optim import Optimizer

from bedside.diagnosis.engine import examine
from bedside.errors import BedsideError
from bedside.lab.experiment_evidence import EXPERIMENTS, Bench, Evidence, Unavailable
from bedside.lab.experiment_result import Result
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.source import run_of
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import capital, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class WeighedCause:
    """One cause before and after the experiments."""

    name: str
    title: str
    before: float
    after: float
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """One question of the diagnosis, its causes by their new weight."""

    question: str
    causes: tuple[WeighedCause, ...]


@dataclass(frozen=True)
class DifferentialResult(Result):
    """Every open question with its updated answers, the experiments that were run and those that could not be."""

    experiment = "differential"
    questions: tuple[Question, ...]
    ran: tuple[str, ...]
    not_run: dict[str, str]  # and what each would have needed

    def lines(self) -> Iterator[str]:
        if not self.questions:
            yield "The diagnosis leaves no question open that an experiment could settle."
            return
        for question in self.questions:
            yield question.question
            for cause in question.causes:
                yield f"  {percent(cause.after):>6}  {capital(cause.title)} (was {percent(cause.before)})"
                yield from (f"          {each}" for each in cause.evidence)
        for name, needs in self.not_run.items():
            yield f"  Not run: {name}, which needs {needs}."

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        causes = [cause for question in self.questions for cause in question.causes][::-1]
        places = range(len(causes))
        ax.barh(
            [place + 0.2 for place in places], [cause.before for cause in causes], 0.35, label="before", color="#9ca3af"
        )
        ax.barh(
            [place - 0.2 for place in places], [cause.after for cause in causes], 0.35, label="after", color="#3b82f6"
        )
        ax.set_yticks(list(places), [cause.name for cause in causes])
        ax.set(xlabel="weight", title="Causes before and after the experiments")
        ax.legend()


@experiment
def differential(
    run_or_monitor: Any,
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    val_loader: Iterable[Any] | None = None,
    evaluate: Callable[[], float] | None = None,
    steps: int = 60,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> DifferentialResult:
    """Run the experiments that decide between the causes of a diagnosis.

    Args:
        run_or_monitor: The run in question: a Monitor, a Run or a path.
        evaluate: Your own validation code, as a function that returns its number: only with it can a stale or broken
            evaluation be judged.
        steps: Length of the forks that experiments take.
    """
    run = run_of(run_or_monitor)
    diagnosis = examine(run)
    wanted = {each.name for question in diagnosis.differential for each in question.hypotheses}
    bench = Bench(run, model, loader, loss_fn, optimizer, val_loader, evaluate, forward, loop, steps)
    names = [name for name, (_, causes) in EXPERIMENTS.items() if causes & wanted]
    evidence: list[Evidence] = []
    not_run: dict[str, str] = {}
    for name in shown(names, "experiments", show=progress):
        try:
            evidence += list(EXPERIMENTS[name][0](bench))
        except Unavailable as missing:
            not_run[name] = str(missing)
        except BedsideError as error:
            not_run[name] = error.expected
    questions = tuple(
        Question(each.question, weighed_anew([(h.name, h.title, h.weight) for h in each.hypotheses], evidence))
        for each in diagnosis.differential
    )
    return DifferentialResult(questions, tuple(name for name in names if name not in not_run), not_run)


def weighed_anew(causes: Sequence[tuple[str, str, float]], evidence: Sequence[Evidence]) -> tuple[WeighedCause, ...]:
    """Each weight times the odds of its evidence; together they are 1 again.

    >>> seen = [Evidence("trial", "rate", "a tenth helps", 3.0)]
    >>> [(each.name, round(each.after, 2)) for each in weighed_anew([("data", "", 0.7), ("rate", "", 0.3)], seen)]
    [('rate', 0.9), ('data', 0.1)]
    """
    raw = []
    for name, title, weight in causes:
        about = [each for each in evidence if each.cause == name]
        odds = sum(each.odds for each in about)
        signs = tuple(f"{'+' if each.odds > 0 else '−'} {each.seen}" for each in about)
        raw.append((name, title, weight, weight * math.exp(odds), signs))
    total = sum(each[3] for each in raw) or 1.0
    cause = [WeighedCause(name, title, before, after / total, signs) for name, title, before, after, signs in raw]
    return tuple(sorted(cause, key=lambda each: -each.after))
