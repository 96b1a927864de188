"""How several possible causes are weighed: by what the run's own vitals say for and against each of them.

A sign is a sentence with its numbers and the odds it gives a cause, as a logarithm. The odds of a cause's signs are
added up, and the weights of all causes are in proportion to them. No cause has a weight of its own beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bedside.diagnosis.experiments import EXPERIMENTS
from bedside.finding import Finding, Hypothesis

# Odds at which evidence is worth a mention, strong, and very strong: Kass and Raftery (1995), Bayes factors.
HINT, STRONG, DECISIVE = math.log(3), math.log(20), math.log(150)


@dataclass(frozen=True)
class Limits:
    shared: float = 0.5  # signs of one run are not independent witnesses: each counts half of what it would alone
    answered: float = 0.4  # of the causes have a sign, for or against: with fewer, the record does not say
    named: float = 4 * DECISIVE  # a rule that names the cause has weighed more than any sum of signs here


LIMITS = Limits()

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Sign:
    """One thing that the run shows, and how much it speaks for a cause (against it, if negative)."""

    text: str
    odds: float


@dataclass(frozen=True)
class Cause(Generic[Facts]):
    """A cause that may be behind a symptom: `signs` reads what speaks for and against it off the facts."""

    name: str
    title: str
    signs: Callable[[Facts], Iterator[Sign]]
    test: str = ""  # name of the test that would confirm it; "" for the harmless explanation
    named_by: tuple[str, ...] = ()  # rules whose finding is this cause


def weighed(causes: Sequence[Cause[Facts]], facts: Facts, found: Sequence[Finding] = ()) -> tuple[Hypothesis, ...]:
    """Every cause with its weight, heaviest first; empty if the run says too little to weigh them.

    A cause that a rule has found is the heaviest, whatever the signs: findings and hypotheses are one judgement.
    """
    seen = [list(cause.signs(facts)) for cause in causes]
    first = next((each for each in found if any(each.name in cause.named_by for cause in causes)), None)
    for cause, signs in zip(causes, seen, strict=True):
        if first is not None and first.name in cause.named_by:
            signs.insert(0, Sign(f"{first.name} was found", LIMITS.named))
    odds = [LIMITS.shared * sum(sign.odds for sign in signs) for signs in seen]
    shares = [math.exp(each - max(odds)) for each in odds]
    every = [
        Hypothesis(
            cause.name,
            cause.title,
            share / sum(shares),
            tuple(sign.text for sign in _strongest_first(signs) if sign.odds > 0),
            tuple(sign.text for sign in _strongest_first(signs) if sign.odds < 0),
            EXPERIMENTS[cause.test] if cause.test else None,
        )
        for cause, signs, share in zip(causes, seen, shares, strict=True)
    ]
    every.sort(key=lambda each: -each.weight)
    answered = sum(bool(each) for each in seen) >= LIMITS.answered * len(causes)
    return tuple(every) if answered and every[0].speaks_for else ()


def _strongest_first(signs: Sequence[Sign]) -> list[Sign]:
    return sorted(signs, key=lambda sign: -abs(sign.odds))
