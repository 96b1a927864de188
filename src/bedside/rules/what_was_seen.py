"""What the record says about another explanation: bedside looks itself, and says what it saw.

Each function is one explanation that a finding may have beside its own. Where the run holds the number that decides,
the function looks: it returns the explanation with that number if it holds, and nothing if it does not. Only where
nobody recorded the number does it say what to look at.

>>> from bedside.testing import a_run
>>> inputs_not_normalised(a_run(loss=1.0, input_mean=120.0, input_std=60.0))
'Inputs that are not normalised: their mean is 120 and their standard deviation 60.'
>>> inputs_not_normalised(a_run(loss=1.0, input_mean=0.1, input_std=1.0))
''
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.analysis.leaf_modules import leaves
from bedside.analysis.losses import training_loss
from bedside.analysis.optimizers import weight_decay
from bedside.finding import Advice
from bedside.record.run import Run
from bedside.record.vocabulary import (
    ACTIVATION_MAX,
    ACTIVATION_RMS,
    BATCH_VARIATION,
    DEAD_FRACTION,
    GRAD_NORM,
    GRAD_NORM_CLIPPED,
    INPUT_MAX,
    INPUT_MEAN,
    INPUT_RMS,
    INPUT_STD,
    LR,
    MICRO_BATCHES,
    PARAM_NORM,
    SATURATED_FRACTION,
)
from bedside.rules.advice import WEIGHT_DECAY
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    mean: float = 1.0  # of a batch that was normalised, give or take
    least_std: float = 0.3  # of the same
    most_std: float = 3.0  # of the same
    first_loss: float = 2.0  # times a blind guess: an untrained head is off by a tenth
    gone: float = 0.5  # of the first norm, as in shrinking-weights
    grew: float = 2.0  # times the first norm: healthy weights grow by less
    whole: float = 0.9  # of the squared norm, as in dominant-module
    flat: float = 0.5  # of a layer's outputs, as in saturated-units and dead-units
    peak: float = 0.9  # of the highest rate
    leap: float = 5.0  # times the output of the module in front
    front: float = 1e-4  # of the gradient of the last layer, as in vanishing-gradient
    alike: float = 0.01  # between samples, as in collapsed-activations
    last: int = 20  # readings that make "now"
    unusual: float = 3.0  # times the usual input: an ordinary batch stays below
    far: float = 256.0  # an output: the product of two such is as much as float16 can hold
    longest: float = 65_504.0  # the largest number that float16 has
    turns: float = 2.0  # times the spread of either kind: batches that take turns differ by more
    pairs: int = 10  # batches of each kind that are compared


LIMITS = Limits()


def inputs_not_normalised(run: Run) -> str:
    mean, spread = run.series(INPUT_MEAN.name).median(), run.series(INPUT_STD.name).median()
    if not math.isfinite(mean) or not math.isfinite(spread):
        return "Inputs that are not normalised: print their mean and standard deviation."
    if abs(mean) <= LIMITS.mean and LIMITS.least_std <= spread <= LIMITS.most_std:
        return ""
    return (
        f"Inputs that are not normalised: their mean is {number(mean)} and their standard deviation {number(spread)}."
    )


def first_loss_too_high(run: Run) -> str:
    loss, chance = training_loss(run).finite(), known_chance(run.config)
    if not loss or chance is None or chance.level <= 0:
        return "An initialisation far too large: the loss of the very first batch should be near that of a blind guess."
    first = float(loss.values[0])
    if first <= LIMITS.first_loss * chance.level:
        return ""
    return f"An initialisation far too large: the first loss was {number(first)}, where a blind guess has {chance}."


def gradients_summed(run: Run) -> str:
    parts = run.series(MICRO_BATCHES.name).median()
    if not math.isfinite(parts):
        return "Gradients summed over micro-batches instead of averaged: divide the loss by their number."
    if parts <= 1:
        return ""
    return f"Gradients summed over {number(parts)} micro-batches instead of averaged: divide the loss by their number."


def weights_decayed(run: Run) -> str:
    norms = run.series(PARAM_NORM.name).finite()
    if len(norms) < 2:
        return "Weights that decayed to nothing."
    first = float(norms.values[0])
    if norms.last >= LIMITS.gone * first:
        return ""
    return f"Weights that decayed: their norm fell from {number(first)} to {number(norms.last)}."


def weights_had_grown(run: Run, step: int) -> str:
    norms = run.series(PARAM_NORM.name).finite().before(step + 1)
    if len(norms) < 2:
        return "Weights that had grown until they overflowed."
    first = float(norms.values[0])
    if norms.last <= LIMITS.grew * first:
        return ""
    return f"Weights that had grown: their norm went from {number(first)} to {number(norms.last)} before that step."


def one_module_makes_the_norm(run: Run) -> str:
    norms = {series.owner: series.finite().median() for series in leaves(run, GRAD_NORM) if series.finite()}
    if len(norms) < 2:
        return "One module that makes the whole norm: record grad_norm per module (bedside.watch)."
    loudest = max(norms, key=lambda owner: norms[owner])
    share = norms[loudest] ** 2 / max(math.fsum(norm**2 for norm in norms.values()), 1e-300)
    if share < LIMITS.whole:
        return ""
    return f"One module makes the whole norm: {percent(share)} of its square is `{loudest}`'s."


def units_at_their_ends(run: Run) -> str:
    """Saturated or dead units, the worst layer first."""
    for vital, what in ((SATURATED_FRACTION, "sit where their slope is all but zero"), (DEAD_FRACTION, "are dead")):
        shares = {series.owner: series.finite().median(LIMITS.last) for series in run.of(vital.name) if series.finite()}
        worst = max(shares, key=lambda owner: shares[owner], default="")
        if worst and shares[worst] > LIMITS.flat:
            return f"Units without a slope: {percent(shares[worst])} of those of `{worst}` {what}."
    if run.has(SATURATED_FRACTION.name, per_owner=True) or run.has(DEAD_FRACTION.name, per_owner=True):
        return ""
    return "Saturated or dead units: record the activations (bedside.watch)."


def rate_was_at_its_peak(run: Run, step: int) -> str:
    rates = run.series(LR.name).finite()
    if not rates:
        return "The peak of the learning-rate schedule, if it was reached at that step."
    now, highest, lowest = rates.before(step + 1).tail(1), float(rates.values.max()), float(rates.values.min())
    if not now or now.last < LIMITS.peak * highest or lowest >= LIMITS.peak * highest:
        return ""
    return f"The peak of the schedule: the learning rate was {number(now.last)} then, its highest is {number(highest)}."


def outputs_leap(run: Run) -> str:
    """Where the size of the outputs leaps from one module to the next."""
    sizes = [(s.owner, float(s.finite().values[0])) for s in leaves(run, ACTIVATION_RMS) if s.finite()]
    if len(sizes) < 2:
        return "Find the module at which the size of the outputs leaps: the fault is there."
    pairs = list(pairwise(sizes))
    (before, small), (after, large) = max(pairs, key=lambda pair: pair[1][1] / max(pair[0][1], 1e-30))
    if large < LIMITS.leap * small:
        return ""
    return f"Outputs leap from {number(small)} at `{before}` to {number(large)} at `{after}`: the fault is there."


def gradient_fades_towards_the_front(run: Run) -> str:
    layers = [series for series in leaves(run, GRAD_NORM) if series.finite()]
    if len(layers) < 2:
        return "Gradients that do not reach the front of the network: record grad_norm per module (bedside.watch)."
    front, back = layers[0].median(LIMITS.last), layers[-1].median(LIMITS.last)
    if not front < LIMITS.front * back:
        return ""
    return (
        f"Gradients that do not reach the front: `{layers[0].owner}` has {number(front, 2)}, `{layers[-1].owner}` "
        f"{number(back, 2)}."
    )


def outputs_do_not_depend_on_the_input(run: Run) -> str:
    layers = [series for series in leaves(run, BATCH_VARIATION) if series.finite()]
    if not layers:
        return "A network whose output no longer depends on its input: compare its predictions for two inputs."
    now = layers[-1].finite().median(LIMITS.last)
    if now >= LIMITS.alike:
        return ""
    return (
        f"A network whose output no longer depends on its input: at `{layers[-1].owner}` samples differ by "
        f"{percent(now)} of the output."
    )


def largest_activation(run: Run, step: int) -> str:
    largest = {s.owner: near.last for s in leaves(run, ACTIVATION_MAX) if (near := s.before(step + 1).finite())}
    if not largest:
        return f"Find the overflow: the layer with the largest output at step {step}."
    worst = max(largest, key=lambda owner: largest[owner])
    if largest[worst] < LIMITS.far:
        return ""
    wider = "keep it in float32, or " if largest[worst] <= LIMITS.longest else ""  # beyond that it is wider already
    return f"The largest output was that of `{worst}`, {number(largest[worst])}: {wider}scale it down."


def batch_was_unusual(run: Run, step: int, otherwise: str) -> str:
    """A bad batch at a step, with what its inputs were; nothing where they were ordinary."""
    largest = run.series(INPUT_MAX.name).finite()
    usual, there = largest.median(), largest.since(step).before(step + 1)
    if not there or not usual > 0:
        return otherwise
    if there.last < LIMITS.unusual * usual:
        return ""
    return f"A bad batch: its largest input was {number(there.last)}, usually {number(usual)}."


def batches_take_turns(run: Run) -> str:
    """Whether inputs of even and of odd steps are of two kinds."""
    sizes = run.series(INPUT_RMS.name).finite()
    even, odd = (sizes.values[sizes.steps % 2 == turn][-LIMITS.last :] for turn in (0, 1))
    if min(len(even), len(odd)) < LIMITS.pairs:
        return "Two kinds of batches that take turns: print what the even and the odd batches hold."
    ours, theirs = float(np.median(even)), float(np.median(odd))
    spread = max(float(np.median(np.abs(even - ours))), float(np.median(np.abs(odd - theirs))))
    if abs(ours - theirs) <= LIMITS.turns * spread:
        return ""
    return (
        f"Two kinds of batches take turns: inputs of even steps are {number(ours)} large, of odd ones {number(theirs)}."
    )


def decay_outweighs_the_gradient(run: Run) -> str:
    """What lengthens a step of SGD, as a thing to do."""
    decay, weights = weight_decay(run), run.series(PARAM_NORM.name).median()
    gradient = run.series(GRAD_NORM_CLIPPED.name).median()
    pull = decay * weights
    if not (math.isfinite(pull) and math.isfinite(gradient)):
        return "Compare weight decay times weight norm with the gradient norm: the larger one makes the step."
    if pull <= gradient:
        return ""
    text = (
        f"Lower the weight decay: {number(decay)} times weights of {number(weights)} makes {number(pull, 2)} of each "
        f"step, the gradient {number(gradient, 2)}."
    )
    return Advice(text, WEIGHT_DECAY, -1)
