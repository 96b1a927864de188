"""Most units of a layer sit where their non-linearity is flat.

## What it sees
Outputs of sigmoid, tanh and their hard variants at values where the slope is under a hundredth of the steepest.

## Why it matters
A gradient is multiplied by that slope, so next to nothing of it passes a saturated layer: what lies in front of it
learns a hundred times more slowly. Typical: weights that start too large, inputs that are not normalised, a learning
rate that drove the weights up.

## How it decides
The median share over the run is above `most` in a layer that is not the last non-linearity. While the loss has come
down well nevertheless (`progress` of where it began, or of chance where that is lower) it is a note; if the layer was
saturated from its first readings on, which is a fault of the initialisation or of the inputs, only when the loss has
all but gone (`solved`). The last non-linearity may well be sure of its answers: it counts when it is `entirely`
saturated for the whole last quarter and the gradient is gone (`faded` of what it was), though the loss is not.

## When it is wrong
Gates, which are meant to be open or shut; codes that are meant to be binary.

## What to try
1. Glorot initialisation: `nn.init.xavier_uniform_(layer.weight)`.
2. Normalise the inputs, or put a normalisation layer in front of the non-linearity.
3. ReLU or GELU in place of sigmoid and tanh.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> kinds = Event(0, "nonlinearities", {"front.act": "tanh", "back.act": "tanh"})
>>> run = a_run(loss=2.3, saturated_fraction={"front.act": 0.81, "back.act": 0.1}, events=[kinds])
>>> print(*saturated_units.check(run))
ACT102 saturated-units: 81 % of the outputs of `front.act` (tanh) are saturated: hardly any gradient passes.

## References
- Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.progress import share_of_loss_won
from bedside.analysis.statistics import how_sure
from bedside.analysis.windows import spread_evenly
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, SATURATED_FRACTION
from bedside.rules.base import rule
from bedside.wording import listed, percent

SATURATING = ("sigmoid", "tanh", "hardsigmoid", "hardtanh")


@dataclass(frozen=True)
class Limits:
    most: float = 0.65  # a net that learnt raw pixels well had 0.53, the same net with weights of unit size 0.69 to 0.8
    progress: float = 0.8  # of the first loss: what has been won, saturation did not prevent
    solved: float = 0.95  # of the first loss: nothing that matters is left to win
    entirely: float = 0.99  # of the answers of a head: more than any healthy one with a loss left to win
    faded: float = 1e-3  # of the early gradient norm, as in faded-gradient
    fewest: int = 5  # readings


@rule("ACT102", severity=Severity.WARNING, needs=[SATURATED_FRACTION.per_owner], limits=Limits())
def saturated_units(run: Run, limits: Limits) -> Iterator[Finding]:
    kinds = {owner: kind for event in run.events_of("nonlinearities") for owner, kind in event.data.items()}
    bounded = [s for s in run.of(SATURATED_FRACTION.name) if kinds.get(s.owner) in SATURATING]
    layers = [s for s in bounded if len(s) >= limits.fewest]
    won = share_of_loss_won(run)
    hidden = {s.owner: s.median() for s in layers if s is not bounded[-1]}
    affected = {owner: share for owner, share in hidden.items() if share > limits.most}
    if not affected and layers and layers[-1] is bounded[-1] and _stuck_head(run, layers[-1], won, limits):
        affected = {layers[-1].owner: layers[-1].median()}
    if not affected:
        return
    worst = max(affected, key=lambda owner: affected[owner])
    series = run.series(SATURATED_FRACTION.name, worst)
    at_first = float(np.median(series.values[: limits.fewest])) > limits.most
    learnt = won >= (limits.solved if at_first else limits.progress)
    others = f" and more than {percent(limits.most)} of {listed(f'`{o}`' for o in affected if o != worst)}"
    yield saturated_units.finding(
        f"{percent(affected[worst])} of the outputs of `{worst}` ({kinds[worst]}){others if len(affected) > 1 else ''} "
        "are saturated: hardly any gradient passes.",
        severity=Severity.NOTE if learnt else None,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=how_sure(affected[worst], limits.most / 2, most=0.9),
        where=list(affected),
        evidence={"saturated_share": affected},
        series=[series.key],
        could_also_be=("Gates or codes that are meant to be open or shut.",),
        try_=(
            "Initialise with Glorot's rule: nn.init.xavier_uniform_(layer.weight), biases at zero.",
            "Normalise the inputs, or put nn.LayerNorm in front of the non-linearity.",
        ),
    )


def _stuck_head(run: Run, head: Series, won: float, limits: Limits) -> bool:
    """Whether the last non-linearity has shut itself off: wrong answers at its ends, and no gradient to tell it so."""
    if not won < limits.progress or float(np.median(spread_evenly(head, 0.75).values)) < limits.entirely:
        return False
    norms = run.series(GRAD_NORM.name).finite()
    if len(norms) < 2 * limits.fewest:
        return False
    early = float(np.max(norms.values[: limits.fewest]))  # it may shut within the first steps
    return spread_evenly(norms, 0.75).median() < limits.faded * early
