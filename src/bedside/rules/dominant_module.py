"""A few modules dominate the gradient norm, and clipping shrinks the gradients of all the others with it.

## What it sees
While clipping is active, either a few modules carry nearly all of the squared gradient norm, so that the rest alone
would not have been clipped at all; or a parameter at the front of the network towers over all others in gradient per
number, although it is small.

## Why it matters
Clipping by the global norm scales every gradient by the same factor. When one unstable parameter sets that factor, the
direction of the step is that parameter's, and everything else gets a part of the step it asked for. The overall norm
hides it: it only says that the gradient is large. The gradient of a factor is as large as what it multiplies, so a
learnable scale on raw inputs is the classic case: layers behind it look wild, and it looks harmless for its size.

## How it decides
By medians after the first tenth of the run. Carrying: the norm is cut at least `cut`-fold, and at most a `few` of the
leaves make `share` of its square and leave a rest that is below the threshold on its own.
Towering: in the first quarter of the model a leaf whose numbers are of order one, or a bare parameter (a factor, not a
matrix), has more gradient per number than any other: `towers` times the usual while clipping is active at `often` of
the steps, or `alone` times with `part` of the norm in it, however often the run clips. With Adam and its like only the
former counts. Embeddings and heads that carry most of a norm which is hardly ever clipped are healthy.

## When it is wrong
Adam divides by the gradient's own size, so that a steady factor is harmless there; only its ups and downs are felt.

## What to try
1. Scale what the named parameter multiplies to a standard deviation of 1, and start a learnable scale at 1 (a shift
   at 0) instead of at random.
2. Clip the named parameter by itself, in a group of its own with a smaller learning rate.

## Example
>>> from bedside.testing import a_run
>>> norms = {"": 40.0, "mel_scale": 39.9, "body.0": 0.4, "body.1": 0.3, "body.2": 0.3, "head": 0.5}
>>> print(*dominant_module.check(a_run(loss=2.0, steps=100, grad_norm=norms, clip_threshold=1.0)))
GRD105 dominant-module: `mel_scale`, at the front of the network, makes > 99 % of the squared gradient; clipping at 1 \
leaves the rest 0.025 of its own.

## References
- Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks: clipping by norm.
- Brock et al. (2021), High-performance large-scale image recognition without normalization: clipping per unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.clipping_by_value import clips_by_value
from bedside.analysis.leaf_modules import leaves, owner_sizes
from bedside.analysis.optimizers import is_scale_free
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import CLIP_RATIO, CLIP_THRESHOLD, GRAD_NORM, LOSS, PARAM_NORM
from bedside.rules.base import rule
from bedside.rules.what_was_seen import inputs_not_normalised
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.9  # of the squared norm: what is left over is a third of the norm
    few: float = 0.34  # of the leaves: with more of them it is no longer the few against the rest
    cut: float = 5.0  # times: healthy nets are cut up to 5-fold for good
    often: float = 0.8  # of the steps, as in gradient-always-clipped
    towers: float = 4.0  # times the median gradient per number; factors at the front of 96 healthy nets: at most 2.1
    alone: float = 30.0  # times the median: the front of 98 healthy nets reaches 14, random factors on raw inputs 48
    part: float = 1 / 3  # of the norm: what has less of it moves little
    factor: float = 0.5  # typical size of a parameter's numbers: factors start near 1, matrices near 0.1, codes near 0
    numbers: int = 8  # of a factor: the gradient of a scalar (a temperature) is a sum over everything, and large
    start: float = 0.1  # of the run, left out: gradients settle
    leaves: int = 4  # fewer have no rest
    readings: int = 20  # a median of 20 is good to a quarter of its spread


@rule("GRD105", severity=Severity.WARNING, needs=[GRAD_NORM.per_owner, CLIP_THRESHOLD], limits=Limits())
def dominant_module(run: Run, limits: Limits) -> Iterator[Finding]:
    modules = leaves(run, GRAD_NORM)
    if len(modules) < limits.leaves or clips_by_value(run):  # where one module's size costs no other anything
        return
    if len(modules[0]) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm per module, has {len(modules[0])}")
    norms = np.array([_usual(series, limits) for series in modules])
    threshold = run.series(CLIP_THRESHOLD.name).median()
    found = _carrying(run, modules, norms, threshold, limits) or _towering(run, modules, norms, threshold, limits)
    if found:
        yield found


def _carrying(run: Run, modules: Sequence[Series], norms: Values, threshold: float, limits: Limits) -> Finding | None:
    """A few leaves make nearly all of a norm that is cut many times; without them nothing would be cut."""
    squares = norms**2
    total = float(squares.sum())
    if not total > (limits.cut * threshold) ** 2:
        return None
    order = np.argsort(-squares)
    carried_by = np.cumsum(squares[order])
    enough = (carried_by >= limits.share * total) & (total - carried_by <= threshold**2)
    needed = int(np.argmax(enough)) + 1 if enough.any() else len(modules)
    if needed > max(1, limits.few * len(modules)):
        return None
    loud = sorted(int(index) for index in order[:needed])
    carried = float(squares[loud].sum())
    rest = math.sqrt(max(0.0, total - carried))
    front = max(loud) < len(modules) / 2
    where = [modules[index].owner for index in (_steepest_first(run, modules, norms, loud) if front else loud)]
    left = threshold / math.sqrt(total)
    place = ", at the front of the network," if front else ""
    message = (
        f"{listed((f'`{owner}`' for owner in where), 4)}{place} {'makes' if len(where) == 1 else 'make'} "
        f"{percent(carried / total)} of the squared gradient; clipping at {number(threshold)} leaves the rest "
        f"{number(left, 2)} of its own."
    )
    evidence = {"share": carried / total, "kept": left, "norm_of_the_rest": rest}
    first = _onset(modules, loud, threshold * limits.cut)
    return _finding(run, message, where, modules, norms, threshold, evidence, first, left)


def _towering(run: Run, modules: Sequence[Series], norms: Values, threshold: float, limits: Limits) -> Finding | None:
    """A factor at the front whose gradient per number is far above everybody's, while clipping never rests."""
    overall = run.series(GRAD_NORM.name).finite()
    later = spread_evenly(overall, limits.start).values
    if not len(later):
        return None
    clipped = min(float((part > threshold).mean()) for part in (later, later[len(later) // 2 :]))
    steepness = _per_number(run, modules, norms)
    if steepness is None:
        return None
    sizes = owner_sizes(run)
    vectors = np.array([sizes[series.owner] >= limits.numbers for series in modules])
    usual, top = float(np.median(steepness)), int(np.argmax(np.where(vectors, steepness, 0.0)))
    owner = modules[top].owner
    weights = run.series(PARAM_NORM.name, owner).finite()
    size = weights.median() / math.sqrt(sizes[owner]) if weights else 0.0
    times = float(steepness[top] / usual) if usual > 0 else math.inf
    bare = any(each.name == owner for each in run.parameters)
    if top >= max(1, len(modules) // 4) or not (size >= limits.factor or bare):
        return None
    always = clipped >= limits.often and times >= limits.towers and size >= limits.factor
    part = float(norms[top] / math.sqrt(float((norms**2).sum())))
    if not always and (times < limits.alone or part < limits.part or is_scale_free(run)):
        return None
    where = [owner]
    loudest = int(np.argmax(norms))
    if loudest != top and loudest < len(modules) / 2:
        where.append(modules[loudest].owner)
    grows = " and the norm is largest next to it" if len(where) > 1 else ""
    message = (
        f"`{owner}`, at the front of the network, has {number(times, 2)} times the usual gradient per number{grows}; "
        f"{percent(float((later > threshold).mean()))} of the steps are clipped at {number(threshold)}."
    )
    evidence = {"times_the_usual": times, "clipped": clipped, "typical_number": size}
    left = threshold / float(np.median(later))
    return _finding(run, message, where, modules, norms, threshold, evidence, _clipped_since(overall, threshold), left)


def _finding(
    run: Run,
    message: str,
    where: list[str],
    modules: Sequence[Series],
    norms: Values,
    threshold: float,
    evidence: Mapping[str, object],
    first: int,
    left: float,
) -> Finding:
    return dominant_module.finding(
        message,
        first_step=first,
        last_step=modules[0].last_step,
        confidence=0.75 if is_scale_free(run) else 0.9,
        where=where,
        evidence={
            **evidence,
            "threshold": threshold,
            "norms": {series.owner: float(norm) for series, norm in zip(modules, norms, strict=True)},
        },
        series=[f"{GRAD_NORM.name}/{where[0]}", GRAD_NORM.name, CLIP_RATIO.name, LOSS.name],
        could_also_be=(inputs_not_normalised(run),),
        try_=(
            f"Scale what `{where[0]}` multiplies to a standard deviation of 1; start a learnable scale "
            "at 1, a shift at 0.",
            f"Give `{where[0]}` a parameter group of its own with a learning rate "
            f"{number(max(10.0, 1 / left), 1)} times smaller, and clip it by itself.",
        ),
    )


def _usual(series: Series, limits: Limits) -> float:
    later = spread_evenly(series.finite(), limits.start)
    return later.median() if later else 0.0


def _per_number(run: Run, modules: Sequence[Series], norms: Values) -> Values | None:
    """Gradient norms as if every leaf held one number; None when the sizes are not known."""
    sizes = owner_sizes(run)
    if not all(sizes.get(series.owner) for series in modules):
        return None
    return norms / np.sqrt([sizes[series.owner] for series in modules])


def _steepest_first(run: Run, modules: Sequence[Series], norms: Values, loud: Sequence[int]) -> list[int]:
    """The loud ones, led by any leaf at or before them whose gradient per number is about as large as theirs."""
    steepness = _per_number(run, modules, norms)
    if steepness is None:
        return list(loud)
    steepest = max(steepness[index] for index in loud)
    candidates = [index for index in range(max(loud) + 1) if steepness[index] >= 0.5 * steepest]
    return sorted({*candidates, *loud}, key=lambda index: -steepness[index])


def _onset(modules: Sequence[Series], loud: Sequence[int], level: float) -> int:
    """The first step at which the loud ones alone are above the level, but for single readings."""
    norms = np.sqrt(np.sum([modules[index].values ** 2 for index in loud], axis=0))
    return _clipped_since(Series(GRAD_NORM.name, "", modules[0].steps, norms), level)


def _clipped_since(norms: Series, level: float) -> int:
    """The first step around which nearly all readings are above the level."""
    mostly = np.flatnonzero(np.convolve(norms.values > level, np.ones(5), "same") >= 4)
    return int(norms.steps[int(mostly[0]) if len(mostly) else 0])
