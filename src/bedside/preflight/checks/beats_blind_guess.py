"""What is learned from some examples helps with others, beyond what needs no input: inputs and targets belong together.

## What it sees
A model that learns the examples it is trained on, while examples that it was not trained on are never answered better
than by a guess that looks at no input.

## Why it matters
Targets that were shuffled against their inputs, or joined on the wrong key, can still be memorised: the training loss
falls as if all were well. Nothing carries over, because there is nothing to carry over.

## How it decides
Some of the first batches are trained on for `epochs` passes, the others are held out. A guess knows the shares of the
classes, or the mean of the targets. It fails only if the training examples were learned (loss below `learned` of the
guess) and the held-out loss was never better than the guess by `better`. If neither was learned, it is not examined.

## When it is wrong
Tasks where a few hundred examples teach nothing about others: parity, hashing, grokking.

## What to try
1. Look at ten inputs beside their targets, as they come out of the loader.
2. Look for a shuffle, sort or filter that is applied to inputs and not to targets.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import a_setup, examined, examples
>>> x, y = examples(384)
>>> torn = y[torch.randperm(384, generator=torch.Generator().manual_seed(0))]
>>> wide = lambda: torch.nn.Sequential(torch.nn.Linear(8, 512), torch.nn.ReLU(), torch.nn.Linear(512, 3))
>>> print(examined(beats_blind_guess, wide, x=x, y=torn, depth="full"))
PRE108 beats-blind-guess: The training examples are learned (loss 0.619), but others are answered no better than by a \
blind guess (1.06 at best; the guess costs 1.03).

## References
- Zhang et al. (2017), Understanding deep learning requires rethinking generalization.
- Karpathy (2019), A recipe for training neural networks: input-independent baseline.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.chance import blind_loss
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.preflight.torch_calls import LOSSES, Call, FunctionCalls
from bedside.training.modes import without_dropout
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    batches: int = 24  # read in all
    held_out: float = 0.33  # of them are not trained on
    fewest: int = 100  # examples on each side: fewer say little about others
    epochs: int = 200  # passes over the training part at most: to learn random labels by heart takes many
    rate: float = 2e-3  # of Adam
    learned: float = 0.6  # of the guess: so much of the training part is known by heart
    better: float = 0.02  # of the guess: what counts as better than it
    seconds: float = 60.0  # that it may take


@check("PRE108", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT], depth="full")
def beats_blind_guess(setup: Setup, limits: Limits) -> Passed | Finding:
    if setup.loss_call is None:
        raise NotEnough("a loss that one call of a torch function computes (F.cross_entropy, F.mse_loss, …)")
    batches = [setup.placed(each) for each in setup.training.batches.first(limits.batches)]
    cut = len(batches) - int(limits.held_out * len(batches))
    train, others = batches[:cut], batches[cut:]
    if not others or min(len(train), len(others)) * setup.rows < limits.fewest:
        raise NotEnough(f"{limits.fewest} examples to train on and as many others")
    guess = blind_loss(_calls(setup, train), _calls(setup, others))
    if not guess > 0:
        raise NotEnough("targets that differ from each other")
    best, learned = math.inf, math.inf
    optimizer, began = setup.adam(limits.rate), time.perf_counter()
    for _ in range(limits.epochs):
        learned = _epoch(setup, train, optimizer)
        best = min(best, _evaluated(setup, others))
        if best < (1 - limits.better) * guess or learned < limits.learned * guess:
            break
        if time.perf_counter() - began > limits.seconds:
            break
    numbers = {"guess": guess, "training": learned, "others": best}
    if best < (1 - limits.better) * guess:
        gain = percent(1 - best / guess)
        return beats_blind_guess.passed(
            f"{number(best)} on other examples, a guess costs {number(guess)}: {gain} less", **numbers
        )
    if not learned < limits.learned * guess:
        raise NotEnough("more steps: too little was learned to tell")
    return beats_blind_guess.finding(
        f"The training examples are learned (loss {number(learned)}), but others are answered no better than by a "
        f"blind guess ({number(best)} at best; the guess costs {number(guess)}).",
        confidence=0.75,
        evidence=numbers,
        could_also_be=("A task of which a few hundred examples teach nothing about others.",),
        try_=(
            "Look at ten inputs beside their targets; look for a shuffle or filter that was applied to one of them.",
        ),
    )


def _calls(setup: Setup, batches: list[Any]) -> list[Call]:
    setup.model.eval()
    found: list[Call] = []
    for batch in batches:
        with FunctionCalls(LOSSES) as mode, torch.no_grad():
            setup.loss(batch)
        found += mode.calls[:1]
    return found


def _epoch(setup: Setup, batches: list[Any], optimizer: Any) -> float:
    without_dropout(setup.model)
    total = 0.0
    for batch in batches:
        optimizer.zero_grad()
        loss = setup.loss(batch)
        loss.backward()
        optimizer.step()
        total += float(loss.detach())
    return total / len(batches)


def _evaluated(setup: Setup, batches: list[Any]) -> float:
    setup.model.eval()
    with torch.no_grad():
        return sum(float(setup.loss(each)) for each in batches) / len(batches)
