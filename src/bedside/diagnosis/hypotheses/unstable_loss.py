"""The loss leaps, runs away or stops being a number. Steps too large, a bad batch, precision, one module, or a formula?

What tells them apart is what the steps before the onset looked like: large steps announce themselves by growing
gradients, a bad batch comes out of the blue and shows in its inputs, and an operation without a finite value (log 0,
0/0) turns a calm run into NaN within one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bedside.analysis.losses import training_loss
from bedside.analysis.statistics import mad, trend
from bedside.diagnosis.hypotheses.evidence import Symptom, rate_share, shares, symptom, usual
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import number, percent

NOT_A_NUMBER = ("nonfinite-loss", "nonfinite-gradient", "nonfinite-weights", "nonfinite-activation")
SYMPTOMS = ("diverging-loss", "loss-spike", "oscillating-loss", "exploding-gradient", *NOT_A_NUMBER)
BEFORE = 50  # readings before the onset that show what led up to it
FEWEST = 8  # readings for a trend
LARGE, SMALL = 1e-2, 1e-4  # of the weights per step: published guidance for too large, and for healthy
HIGH, LOW = 0.9, 0.3  # of the learning rate's peak
SUDDEN = 5.0  # times the usual: out of the blue
FAR = 8.0  # robust σ: an input unlike all before it
CARRIES, SHARED = 0.9, 0.5  # of the squared gradient norm in one module
AT_ONCE = 3  # steps: what breaks this early never worked


def unstable_loss(run: Run, found: Sequence[Finding]) -> Differential | None:
    sick = symptom(run, found, SYMPTOMS)
    if sick is None or not (hypotheses := weighed(CAUSES, sick)):
        return None
    what = "stop being a number" if sick.finding.name in NOT_A_NUMBER else "become unstable"
    return Differential(f"Why did it {what}?", sick.onset, hypotheses, about=sick.finding.code)


def _lead_up(sick: Symptom, vital: str) -> Series:
    """The readings before the onset."""
    series = training_loss(sick.run) if vital == "loss" else sick.run.series(vital)
    return series.finite().before(sick.onset).tail(BEFORE)


def _steps_too_large(sick: Symptom) -> Iterator[Sign]:
    update = _lead_up(sick, "relative_update_norm").median()
    if update > LARGE:
        yield Sign(f"steps changed the weights by {percent(update)} each", STRONG)
    elif update < SMALL:
        yield Sign(f"steps changed the weights by only {number(update)} of their norm", -HINT)
    if (rate := rate_share(sick.run, sick.onset)) >= HIGH:
        yield Sign("the learning rate was at its peak", HINT)
    elif rate < LOW:
        yield Sign(f"the learning rate had come down to {percent(rate)} of its peak", -STRONG)
    growing = _lead_up(sick, "grad_norm")
    if len(growing) >= FEWEST:
        slope = trend(growing)
        if slope.rising:
            yield Sign(f"gradients grew before it, by {number(slope.change)} over {len(growing)} readings", STRONG)
        else:
            yield Sign("gradients did not grow before it", -HINT)


def _bad_batch(sick: Symptom) -> Iterator[Sign]:
    odd: list[str] = []
    usual_ones: list[str] = []
    for vital in ("input_max", "input_rms", "input_mean"):
        series = sick.run.series(vital).finite()
        past, at = series.before(sick.onset), series.since(sick.onset).head(1)
        if len(past) < FEWEST or not at:
            continue
        spread = mad(past.values) or 1e-9 * max(1.0, float(np.abs(past.values).max()))
        distance = abs(at.last - past.median()) / spread
        (odd if distance > FAR else usual_ones).append(f"{vital} {number(at.last)}, usually {number(past.median())}")
    if odd:
        yield Sign(f"the batch was unlike those before it ({odd[0]})", DECISIVE)
    elif usual_ones:
        yield Sign(f"the batch looked like those before it ({usual_ones[0]})", -STRONG)
    if sick.alarm("nonfinite-input", "extreme-input", "bad-batch"):
        yield Sign("the data of the batch was found to be bad", DECISIVE)
    if sick.finding.name == "loss-spike":
        yield Sign("the loss came back after it", HINT)
    jump = (
        sick.run.series("grad_norm").finite().since(sick.onset).head(1).median() / _lead_up(sick, "grad_norm").median()
    )
    if jump > SUDDEN and not trend(_lead_up(sick, "grad_norm")).rising:
        yield Sign(f"the gradient was {number(jump)} times the usual, out of the blue", HINT)


def _precision(sick: Symptom) -> Iterator[Sign]:
    scale = sick.run.series("loss_scale").finite()
    kinds = {each.dtype for each in sick.run.parameters}
    if scale:
        near = scale.since(max(0, sick.onset - BEFORE)).before(sick.onset + BEFORE)
        if near and near.values.min() < near.values[0]:
            yield Sign(f"the loss scale fell to {number(near.values.min())} around it", STRONG)
        else:
            yield Sign("the loss scale did not change around it", -STRONG)
    elif kinds & {"float16"}:
        yield Sign("the weights are float16, which ends at 65,504", HINT)
    elif kinds == {"float32"}:
        yield Sign("the weights are float32, and no scaler was seen", -HINT)
    if sick.finding.name not in NOT_A_NUMBER:
        yield Sign("all numbers stayed finite", -HINT)


def _one_module(sick: Symptom) -> Iterator[Sign]:
    parts = shares(sick.run, max(0, sick.onset - BEFORE), sick.onset)
    if len(parts) < 2:
        return
    squares = {owner: share**2 for owner, share in parts.items()}
    largest = max(squares, key=lambda owner: squares[owner])
    carried = squares[largest] / sum(squares.values()) if sum(squares.values()) > 0 else math.nan
    if carried > CARRIES:
        yield Sign(f"{largest} carried {percent(carried)} of the gradient", STRONG)
    elif carried < SHARED:
        yield Sign(f"no module carried more than {percent(carried)} of the gradient", -HINT)


def _formula(sick: Symptom) -> Iterator[Sign]:
    if sick.finding.name not in NOT_A_NUMBER:
        yield Sign("all numbers stayed finite", -STRONG)
        return
    if sick.onset < AT_ONCE:
        yield Sign(f"it broke at step {sick.onset}: it never worked", STRONG)
    before = _lead_up(sick, "loss")
    if len(before) >= FEWEST:
        if trend(before).rising or before.last > SUDDEN * before.median():
            yield Sign("the loss grew before it", -STRONG)
        else:
            yield Sign(f"the loss was calm until then ({number(before.median())})", HINT)
    if born := sick.alarm("nonfinite-activation"):
        yield Sign(f"the first NaN was born in {', '.join(born.where) or 'one module'}", HINT)
    if usual(sick.run, "grad_norm", 0, sick.onset - 1) > 0 and not trend(_lead_up(sick, "grad_norm")).rising:
        yield Sign("gradients did not grow before it", HINT)


CAUSES = (
    Cause("steps-too-large", "steps too large", _steps_too_large, "tenth-learning-rate"),
    Cause("bad-batch", "a bad batch", _bad_batch, "replay-batch"),
    Cause("precision", "a number type too short", _precision, "full-precision"),
    Cause("one-module", "one module out of scale", _one_module, "tenth-learning-rate"),
    Cause("formula", "an operation without a finite value", _formula, "first-nonfinite"),
)
