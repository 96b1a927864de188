"""A sum is added to a mean: one part of the loss drowns the other.

## What it sees
A loss that adds a part summed over the batch to one that is averaged over it, and outputs that no longer depend on the
input.

## Why it matters
One element of the sum counts as much as thousands of the mean. The optimizer sees to the sum first, and where that asks
for a code that says nothing (the KL of a variational autoencoder), nothing is left to reconstruct from.

## How it decides
The graph of the loss says how each part is reduced, over how many elements, and with which constant weight. One element
of the heaviest part counts `heavier` times as much as one of the lightest, and the reconstruction has collapsed.

## When it is wrong
A penalty that is meant to win.

## What to try
1. Reduce both parts alike: `reduction="sum"` for both, divided by the number of samples.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> error = {"made_by": "MseLoss", "reduction": "mean", "elements": 4096, "weight": 1.0, "per_element": 1 / 4096}
>>> kl = {"made_by": "Mul", "reduction": "sum", "elements": 384, "weight": 1.0, "per_element": 1.0}
>>> parts = Event(0, "loss_terms", {"terms": [error, kl]})
>>> print(*unbalanced_loss_parts.check(a_run(loss=0.07, reconstruction_variation=0.02, events=[parts])))
LOS115 unbalanced-loss-parts: The loss adds a sum over 384 elements to a mean over 4,096: one element of the sum counts 4,096 times as much, and reconstructions are all alike.

## References
- Kingma and Welling (2014), Auto-encoding variational Bayes: both terms are sums over the same samples.
"""  # noqa: E501 (the example is what it prints)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.reconstruction import collapsed_reconstruction_series
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, RECONSTRUCTION_VARIATION
from bedside.rules.base import rule
from bedside.wording import count, number


@dataclass(frozen=True)
class Limits:
    heavier: float = 30.0  # times per element: recipes that weigh the KL by hand stay within 10 either way


@rule("LOS115", severity=Severity.WARNING, needs=[RECONSTRUCTION_VARIATION], limits=Limits())
def unbalanced_loss_parts(run: Run, limits: Limits) -> Iterator[Finding]:
    events = run.events_of("loss_terms")
    if not events:
        return
    terms = sorted(events[-1].data["terms"], key=lambda term: term["per_element"])
    light, heavy = terms[0], terms[-1]
    if not light["per_element"] > 0 or heavy["per_element"] < limits.heavier * light["per_element"]:
        return
    if collapsed_reconstruction_series(run) is None:
        return
    times = heavy["per_element"] / light["per_element"]
    yield unbalanced_loss_parts.finding(
        f"The loss adds a {_said(heavy)} elements to a {_said(light)}: one element of the {heavy['reduction']} counts "
        f"{count(round(times))} times as much, and reconstructions are all alike.",
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.9,
        evidence={"parts": [{name: term[name] for name in ("reduction", "elements", "weight")} for term in terms]},
        series=[LOSS.name, RECONSTRUCTION_VARIATION.name],
        could_also_be=("A penalty that is meant to win.",),
        try_=(
            'Reduce both parts alike: reduction="sum" for both, and divide the loss by the number of samples.',
            f"Or multiply the {heavy['reduction']} over {count(heavy['elements'])} elements by {number(1 / times, 1)}.",
        ),
    )


def _said(term: dict[str, object]) -> str:
    return f"{term['reduction']} over {count(int(str(term['elements'])))}"
