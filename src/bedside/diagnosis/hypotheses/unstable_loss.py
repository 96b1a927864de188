"""The loss leaps, runs away or stops being a number. Steps, a batch, precision, a formula, or a bad start?

What tells them apart is what the steps before the onset looked like: large steps announce themselves by growing
gradients, a bad batch comes out of the blue and shows in its inputs, an operation without a finite value (log 0, 0/0)
turns a calm run into NaN within one step, and a start at the wrong scale was wrong before the first step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import training_loss
from bedside.analysis.statistics import mad, trend
from bedside.diagnosis.hypotheses.evidence import Symptom, rate_share, shares, symptom
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import listed, number, percent

NOT_A_NUMBER = ("nonfinite-loss", "nonfinite-gradient", "nonfinite-weights", "nonfinite-activation")
SYMPTOMS = ("diverging-loss", "loss-spike", "oscillating-loss", "exploding-gradient", *NOT_A_NUMBER)


@dataclass(frozen=True)
class Limits:
    before: int = 50  # readings before the onset that show what led up to it
    readings: int = 8  # for a trend
    large: float = 1e-2  # of the weights per step: published guidance for too large
    small: float = 1e-4  # of the weights per step: published guidance for healthy
    grew: float = 0.5  # of the usual gradient: growth beneath it is what any stretch of a run shows
    high: float = 0.9  # of a learning rate's peak that was not always there
    low: float = 0.3  # of the learning rate's peak
    sudden: float = 5.0  # times the usual: out of the blue
    far: float = 8.0  # robust σ: an input unlike all before it
    least: float = 0.01  # of the level, for that σ: inputs that are clipped are nearly all equal, and one is not
    carries: float = 0.9  # of the squared gradient norm in one module: the others hardly matter
    shared: float = 0.5  # of it: no module stands out
    at_once: int = 3  # steps: what breaks this early never worked
    off_scale: float = 3.0  # times a blind guess's loss: heads that start well begin near it


LIMITS = Limits()


def unstable_loss(run: Run, found: Sequence[Finding]) -> Differential | None:
    sick = symptom(run, found, SYMPTOMS)
    if sick is None or "buffers" in sick.finding.evidence:  # with finite weights: a batch did it, as the finding says
        return None
    if not (hypotheses := weighed(CAUSES, sick, _named(sick))):
        return None
    what = "stop being a number" if sick.finding.name in NOT_A_NUMBER else "become unstable"
    return Differential(f"Why did it {what}?", sick.onset, hypotheses, about=sick.finding.code)


def _named(sick: Symptom) -> list[Finding]:
    """Findings that name the cause: others than the symptom, and the symptom if it says which module made the NaN."""
    born = sick.finding.evidence.get("kind") in ("module", "loss") and sick.finding.name == "nonfinite-activation"
    return [*([sick.finding] if born and not _overflowed(sick) else []), *sick.others]


def _lead_up(sick: Symptom, vital: str) -> Series:
    """The readings before the onset."""
    series = training_loss(sick.run) if vital == "loss" else sick.run.series(vital)
    return series.finite().before(sick.onset).tail(LIMITS.before)


def _grew(series: Series) -> float | None:
    """By how many times its usual level a curve grew, if it rose for good and by more than a little."""
    if len(series) < LIMITS.readings:
        return None
    slope, level = trend(series), abs(series.median())
    return slope.change / level if slope.rising and slope.change > LIMITS.grew * level > 0 else 0.0


def _steps_too_large(sick: Symptom) -> Iterator[Sign]:
    update = _lead_up(sick, "relative_update_norm").median()
    if update > LIMITS.large:
        yield Sign(f"steps changed the weights by {percent(update)} each", STRONG)
    elif update < LIMITS.small:
        yield Sign(f"steps changed the weights by only {number(update)} of their norm", -STRONG)
    rates = sick.run.series("lr").finite().before(sick.onset + 1)
    if (rate := rate_share(sick.run, sick.onset)) < LIMITS.low:
        yield Sign(f"the learning rate had come down to {percent(rate)} of its peak", -STRONG)
    elif rate >= LIMITS.high and rates.values.min() < LIMITS.low * rates.values.max():
        yield Sign("the learning rate had just come to its peak", HINT)
    grew = _grew(_lead_up(sick, "grad_norm"))
    if grew:
        yield Sign(f"gradients grew before it, by {number(grew)} times their usual norm", STRONG)
    elif grew is not None:
        yield Sign("gradients did not grow before it", -HINT)


def _bad_batch(sick: Symptom) -> Iterator[Sign]:
    odd: list[str] = []
    usual_ones: list[str] = []
    for vital in ("input_max", "input_rms", "input_mean"):
        series = sick.run.series(vital).finite()
        past, at = series.before(sick.onset), series.since(sick.onset).head(1)
        if len(past) < LIMITS.readings or not at:
            continue
        median = past.median()
        spread = max(mad(past.values), LIMITS.least * abs(median))
        farthest = float(np.abs(past.values - median).max())
        reading = f"{vital} {number(at.last)}, usually {number(median)}"
        (odd if abs(at.last - median) > max(LIMITS.far * spread, farthest) else usual_ones).append(reading)
    if odd:
        yield Sign(f"the batch was unlike those before it ({odd[0]})", DECISIVE)
    elif usual_ones:
        yield Sign(f"the batch looked like those before it ({usual_ones[0]})", -STRONG)
    if sick.finding.name == "loss-spike":
        yield Sign("the loss came back after it", HINT)
    before = _lead_up(sick, "grad_norm")
    jump = sick.run.series("grad_norm").finite().since(sick.onset).head(1).median() / before.median()
    if jump > LIMITS.sudden and not _grew(before):
        yield Sign(f"the gradient was {number(jump)} times the usual, out of the blue", HINT)


def _overflowed(sick: Symptom) -> bool:
    """Whether the NaN was made under autocast to float16, which ends at 65,504."""
    kinds = {kind for event in sick.run.events_of("origin") for kind in event.data.get("autocast", ())}
    return "float16" in kinds


def _precision(sick: Symptom) -> Iterator[Sign]:
    scale = sick.run.series("loss_scale").finite()
    kinds = {each.dtype for each in sick.run.parameters}
    if _overflowed(sick):
        yield Sign("it ran under autocast to float16, which ends at 65,504", DECISIVE)
    if scale:
        near = scale.since(max(0, sick.onset - LIMITS.before)).before(sick.onset + LIMITS.before)
        if near and near.values.min() < near.values[0]:
            yield Sign(f"the loss scale fell to {number(near.values.min())} around it", STRONG)
        else:
            yield Sign("the loss scale did not change around it", -STRONG)
    elif kinds & {"float16"}:
        yield Sign("the weights are float16, which ends at 65,504", STRONG)
    elif kinds == {"float32"} and not _overflowed(sick):
        yield Sign("the weights are float32, and neither autocast to float16 nor a scaler was seen", -STRONG)
    if sick.finding.name not in NOT_A_NUMBER:
        yield Sign("all numbers stayed finite", -HINT)


def _one_module(sick: Symptom) -> Iterator[Sign]:
    parts = shares(sick.run, max(0, sick.onset - LIMITS.before), sick.onset)
    if len(parts) < 2:
        return
    squares = {owner: share**2 for owner, share in parts.items()}
    largest = max(squares, key=lambda owner: squares[owner])
    carried = squares[largest] / sum(squares.values()) if sum(squares.values()) > 0 else math.nan
    if carried > LIMITS.carries:
        yield Sign(f"{largest} carried {percent(carried)} of the gradient", STRONG)
    elif carried < LIMITS.shared:
        yield Sign(f"no module carried more than {percent(carried)} of the gradient", -STRONG)


def _formula(sick: Symptom) -> Iterator[Sign]:
    if sick.finding.name not in NOT_A_NUMBER:
        yield Sign("all numbers stayed finite", -DECISIVE)
        return
    before = _lead_up(sick, "loss")
    if len(before) >= LIMITS.readings:
        if _grew(before) or before.last > LIMITS.sudden * before.median():
            yield Sign("the loss grew before it", -STRONG)
        else:
            yield Sign(f"the loss was stable until then ({number(before.median())})", STRONG)
    if sick.onset < LIMITS.at_once:
        yield Sign(f"it broke at step {sick.onset}: it never worked", HINT)
    at = training_loss(sick.run).since(sick.onset).head(1)
    if sick.finding.name == "nonfinite-gradient" and at and at.steps[0] == sick.onset and np.isfinite(at.last):
        yield Sign(f"the loss of that step was finite ({number(at.last)}): its slope was not", STRONG)
    if _grew(_lead_up(sick, "grad_norm")) == 0.0:
        yield Sign("gradients did not grow before it", HINT)


def _bad_start(sick: Symptom) -> Iterator[Sign]:
    if sick.onset >= LIMITS.at_once:
        yield Sign(f"the first {sick.onset} steps were normal", -DECISIVE)
        return
    losses, chance = training_loss(sick.run).finite(), known_chance(sick.run.config)
    if losses and chance is not None:
        first = float(losses.values[0])
        if first > LIMITS.off_scale * chance.level:
            yield Sign(f"the first loss was {number(first)}, where a blind guess has {number(chance.level)}", DECISIVE)
        else:
            what = f"{number(first)}, where a blind guess has {number(chance.level)}"
            yield Sign(f"the first loss was normal: {what}", -STRONG)


def _from_outside(sick: Symptom) -> Iterator[Sign]:
    jumps = sick.run.events_of("resume")
    near = [event.step for event in jumps if abs(event.step - sick.onset) <= LIMITS.at_once]
    if near:
        yield Sign(f"the run was resumed at step {listed(map(str, near))}", STRONG)
    else:
        yield Sign("nothing was loaded or resumed then", -STRONG)


CAUSES = (
    Cause(
        "steps-too-large",
        "steps too large",
        _steps_too_large,
        "tenth-learning-rate",
        ("oversized-update", "missing-warmup", "late-overshoot", "accumulating-gradient", "unscaled-accumulation"),
    ),
    Cause("bad-batch", "a bad batch", _bad_batch, "replay-batch", ("nonfinite-input", "extreme-input", "bad-batch")),
    Cause(
        "precision",
        "a number format with too small a range",
        _precision,
        "full-precision",
        ("loss-scale-collapse", "underflowing-second-moment", "swallowed-updates"),
    ),
    Cause(
        "one-module",
        "one module on another scale than the rest",
        _one_module,
        "tenth-learning-rate",
        ("dominant-module",),
    ),
    Cause("formula", "an operation without a finite value", _formula, "first-nonfinite", ("nonfinite-activation",)),
    Cause("bad-start", "weights or scales too large from the start", _bad_start, "lr-range-test"),
    Cause("from-outside", "weights that were changed from outside", _from_outside, "replay-batch", ("weight-jump",)),
)
