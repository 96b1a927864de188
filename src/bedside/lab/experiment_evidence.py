"""What experiments say about the causes that a diagnosis left open: each outcome as evidence for or against.

The names are those of `bedside.diagnosis.hypotheses`; the amounts are natural logarithms of odds, as there. An
experiment that cannot be run with what was given is left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG
from bedside.lab.experiments.dead_units import dead_units
from bedside.lab.experiments.nan_hunt import nan_hunt
from bedside.lab.experiments.overfit_batch import overfit_batch
from bedside.lab.experiments.trial import Trial, trial
from bedside.lab.fixed_loss import FixedLoss
from bedside.lab.session import session
from bedside.lab.treatments import Treatment, full_precision, learning_rate
from bedside.record.run import Run
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop, Training
from bedside.wording import number, percent

PROOF = math.log(1e6)  # what an experiment shows directly outweighs every sign in a record
MANY_DEAD = 0.4  # of a layer's units
SAME = 1e-12  # relative: two evaluations of different weights that differ by less are one number


@dataclass(frozen=True)
class Evidence:
    """One outcome: what was seen, and the odds by which it moves a cause."""

    experiment: str
    cause: str
    seen: str
    odds: float


class Unavailable(Exception):
    """An experiment needs something that was not given."""


@dataclass(frozen=True)
class Bench:
    """What the experiments may use."""

    run: Run
    model: nn.Module
    loader: Iterable[Any]
    loss_fn: LossFunction | None
    optimizer: Optimizer | None
    val_loader: Iterable[Any] | None
    evaluate: Callable[[], float] | None
    forward: Forward | None
    loop: Loop | None
    steps: int

    def tried(self, *treatments: Treatment) -> Trial:
        if self.optimizer is None:
            raise Unavailable("an optimizer")
        return trial(
            self.model,
            self.loader,
            self.loss_fn,
            self.optimizer,
            treatments,
            steps=self.steps,
            repeats=4,
            forward=self.forward,
            loop=self.loop,
            progress=False,
        )


def overfitting_one_batch(bench: Bench) -> Iterator[Evidence]:
    name = "overfit-one-batch"
    result = overfit_batch(bench.model, bench.loader, bench.loss_fn, forward=bench.forward, progress=False)
    if result.memorised:
        seen = f"one batch can be memorised (loss {number(result.first_loss)} → {number(result.final_loss)})"
        yield from (Evidence(name, cause, seen, -STRONG) for cause in ("not-connected", "no-gradient", "plateau"))
        return
    seen = f"one batch cannot be memorised: {result.verdict}"
    disconnected, dead = result.verdict == "disconnected graph", result.verdict == "dead units"
    yield Evidence(name, "not-connected", seen, DECISIVE if disconnected else -HINT)
    yield Evidence(name, "no-gradient", seen, DECISIVE if dead else HINT)
    yield Evidence(name, "plateau", seen, STRONG)


def counting_dead_units(bench: Bench) -> Iterator[Evidence]:
    found = dead_units(bench.model, bench.loader, batches=8, forward=bench.forward)
    worst = found.worst
    seen = f"{percent(worst.share)} of the units of {worst.name} are dead"
    yield Evidence("dead-units", "no-gradient", seen, STRONG if worst.share > MANY_DEAD else -HINT)


def other_rates(bench: Bench) -> Iterator[Evidence]:
    name = "tenth-learning-rate"
    result = bench.tried(*map(learning_rate, (0.1, 10.0, 100.0)))
    verdicts = {arm.name: arm for arm in result.arms}
    lower, raised = verdicts["LR ÷ 10"], [verdicts["LR × 10"], verdicts["LR × 100"]]
    if lower.verdict == "helps":
        seen = f"a tenth of the learning rate helps (won {lower.won} of {len(lower.losses)})"
        yield Evidence(name, "steps-too-large", seen, DECISIVE)
        yield Evidence(name, "steps-too-small", seen, -STRONG)
    else:
        yield Evidence(name, "steps-too-large", "a tenth of the learning rate does not help", -STRONG)
    best = min(raised, key=lambda arm: arm.loss)
    if best.verdict == "helps":
        seen = f"{best.name} helps (won {best.won} of {len(best.losses)})"
        yield Evidence(name, "steps-too-small", seen, DECISIVE)
        yield Evidence(name, "learning-rate-gone", seen, STRONG)
        yield Evidence(name, "normal-convergence", seen, -STRONG)
    else:
        yield Evidence(name, "steps-too-small", "a higher learning rate does not help", -STRONG)


def fresh_rate(bench: Bench) -> Iterator[Evidence]:
    rates = bench.run.series("lr").finite()
    if bench.optimizer is None or not len(rates):
        raise Unavailable("an optimizer and a recorded learning rate")
    now, peak = float(bench.optimizer.param_groups[0]["lr"]), float(rates.values.max())
    wanted = peak / 10

    def apply(training: Training) -> None:
        training.loop.scheduler = None
        optimizer = training.needed_optimizer()
        optimizer.state.clear()
        for group in optimizer.param_groups:
            group["lr"] = wanted

    if wanted <= now:
        yield Evidence("fresh-learning-rate", "learning-rate-gone", f"the rate is still {number(now)}", -STRONG)
        return
    result = bench.tried(Treatment(f"LR {number(wanted)}", apply))
    arm = result.arms[0]
    helped = arm.verdict == "helps"
    seen = f"a fresh learning rate of {number(wanted)} {'makes the loss fall again' if helped else 'does not help'}"
    yield Evidence("fresh-learning-rate", "learning-rate-gone", seen, DECISIVE if helped else -STRONG)
    yield Evidence("fresh-learning-rate", "normal-convergence", seen, -STRONG if helped else HINT)


def repeating_validation(bench: Bench) -> Iterator[Evidence]:
    """The user's own evaluation, once as it is and once with disturbed weights."""
    if bench.evaluate is None:
        raise Unavailable("evaluate=, your own function that evaluates the model and returns the number")
    with session(bench.model, bench.loader, bench.loss_fn, forward=bench.forward) as at:
        first = float(bench.evaluate())
        at.rewind()
        with torch.no_grad():
            for each in bench.model.parameters():
                each.add_(torch.randn_like(each) * 0.1 * each.std(correction=0))
        other = float(bench.evaluate())
    same = abs(first - other) <= SAME * max(abs(first), abs(other))
    seen = f"the evaluation gives {number(first, 6)}, and {number(other, 6)} with disturbed weights"
    yield Evidence("repeat-validation", "broken-evaluation", seen, PROOF if same else -PROOF)


def evaluating_training_data(bench: Bench) -> Iterator[Evidence]:
    if bench.val_loader is None:
        raise Unavailable("val_loader=")
    name = "evaluate-training-data"
    with session(bench.model, bench.loader, bench.loss_fn, forward=bench.forward) as at:
        trained = FixedLoss(at.training, 8)()
    with session(bench.model, bench.val_loader, bench.loss_fn, forward=bench.forward) as at:
        held_out = FixedLoss(at.training, 8)()
    losses = bench.run.series("loss").finite()
    during = float(losses.values[-20:].mean()) if len(losses) else math.nan
    seen = f"training data {number(trained)} and validation data {number(held_out)} in evaluation mode"
    seen += f", {number(during)} while training"
    if trained < 0.5 * held_out:
        for cause in ("silent-overfitting", "learned-by-heart"):
            yield Evidence(name, cause, seen, STRONG)
        yield Evidence(name, "evaluated-otherwise", seen, -STRONG)
        yield Evidence(name, "normal-convergence", seen, -HINT)
    else:
        for cause in ("silent-overfitting", "learned-by-heart"):
            yield Evidence(name, cause, seen, -STRONG)
        if trained > 1.5 * during:
            yield Evidence(name, "evaluated-otherwise", seen, STRONG)


def other_precision(bench: Bench) -> Iterator[Evidence]:
    arm = bench.tried(full_precision()).arms[0]
    helped = arm.verdict == "helps"
    seen = f"float32 {'helps' if helped else 'does not help'} (won {arm.won} of {len(arm.losses)})"
    yield Evidence("full-precision", "precision", seen, DECISIVE if helped else -STRONG)


def first_nonfinite(bench: Bench) -> Iterator[Evidence]:
    found = nan_hunt(
        bench.model,
        bench.loader,
        bench.loss_fn,
        bench.optimizer,
        steps=bench.steps,
        forward=bench.forward,
        loop=bench.loop,
        progress=False,
    )
    if not found:
        yield Evidence("first-nonfinite", "formula", f"all values are finite over {bench.steps} steps", -HINT)
    elif found.moment == "input":
        yield Evidence("first-nonfinite", "bad-batch", "a batch holds NaN or Inf", DECISIVE)
    elif found.source is not None and found.operator:
        yield Evidence("first-nonfinite", "formula", f"{found.operator}: {found.source.cause}", STRONG)


EXPERIMENTS: dict[str, tuple[Callable[[Bench], Iterator[Evidence]], frozenset[str]]] = {
    "overfit-one-batch": (overfitting_one_batch, frozenset({"not-connected", "no-gradient", "plateau"})),
    "dead-units": (counting_dead_units, frozenset({"no-gradient"})),
    "other-rates": (other_rates, frozenset({"steps-too-large", "steps-too-small"})),
    "fresh-learning-rate": (fresh_rate, frozenset({"learning-rate-gone"})),
    "repeat-validation": (repeating_validation, frozenset({"broken-evaluation"})),
    "evaluate-training-data": (
        evaluating_training_data, frozenset({"silent-overfitting", "learned-by-heart", "evaluated-otherwise"})
    ),
    "full-precision": (other_precision, frozenset({"precision"})),
    "first-nonfinite": (first_nonfinite, frozenset({"formula", "bad-batch"})),
}  # fmt: skip
