"""How a network does beside the plainest models, on the run's own examples.

A watched run knows what a linear model and a look-up of the nearest neighbours make of a few hundred training examples,
and of as many held-out ones: each is tried on examples that it was not fitted to. A network that is clearly worse than
that has not found what is there for the finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import FIT_ERROR, HELD_OUT_ERROR
from bedside.wording import number, percent

TRAINING, HELD_OUT = "simple_models", "held_out_models"
WORTH = 0.3  # of a blind guess's error: a simple model that wins less has learned nothing either
LATE = 0.67  # of the run: what a network still wins in the rest shows whether it has settled
NAMES = {
    "linear": "a linear model",
    "neighbours": "a look-up of the nearest neighbours",
    "codes": "a linear model with a weight for every code",
}


@dataclass(frozen=True)
class Beside:
    """The error of a network, of the better simple model, and of a blind guess, in one unit."""

    network: float
    simple: float
    guess: float
    name: str  # of the simple model
    counted: bool  # shares of wrong answers; squared errors otherwise
    examples: int  # that the simple model was tried on
    errors: Values  # the readings of the network's that count
    answers: int  # of the network, in all of these

    @property
    def worth(self) -> float:
        """What the simple model won of the blind guess's error."""
        return (self.guess - self.simple) / self.guess if self.guess > 0 else 0.0

    @property
    def share(self) -> float:
        """What the network won, of what the simple model did."""
        return (self.guess - self.network) / max(self.guess - self.simple, 1e-12)

    def share_of(self, other: Beside) -> float:
        """What this simple model won, of what another one did."""
        return (self.guess - self.simple) / max(other.guess - other.simple, 1e-12)

    @property
    def apart(self) -> float:
        """By how much of the blind guess's error the network is behind."""
        return (self.network - self.simple) / self.guess if self.guess > 0 else 0.0

    def words(self, error: float) -> str:
        return f"{percent(error)} wrong" if self.counted else f"off by {number(error)} (squared)"


def of_training(run: Run, only: str = "") -> Beside | None:
    """On training examples, whatever the network does there."""
    facts = _facts(run, TRAINING)
    return None if facts is None else _beside(float("nan"), facts, "", run.series(FIT_ERROR.name), only)


def on_training(run: Run, since: float, only: str = "") -> Beside | None:
    """On training examples: the network's mean error over the readings from a share of the run on."""
    errors = run.series(FIT_ERROR.name).finite().since(int(since * run.steps))
    facts = _facts(run, TRAINING)
    if facts is None or not errors:
        return None
    return _beside(float(np.mean(errors.values)), facts, "", errors, only)


def on_held_out(run: Run, carried: bool, only: str = "") -> Beside | None:
    """On held-out examples: the network's best evaluation beside a simple model that was fitted to others of them, or
    to training examples (`carried`)."""
    errors, facts = run.series(HELD_OUT_ERROR.name).finite(), _facts(run, HELD_OUT)
    if facts is None or not errors:
        return None
    best = float(errors.values.min())
    return _beside(best, facts, "carried_" if carried else "", errors.since(int(LATE * run.steps)), only)


def by_accuracy(run: Run, only: str = "") -> Beside | None:
    """By the best held-out accuracy that was logged, beside what a simple model has on training examples: where the
    held-out answers themselves were not seen."""
    facts, logged = _facts(run, TRAINING), [each for each in accuracies(run) if each]
    if facts is None or not facts["classes"] or not logged:
        return None
    best = max(logged, key=lambda each: float(each.values.max()))
    return _beside(1 - float(best.values.max()), facts, "", best, only)


def behind(run: Run, apart: float, share: float = 1.0, answers: int = 100) -> Beside | None:
    """Where the network is behind by `apart` of a blind guess's error and has won `share` at most: on held-out examples
    if these are known, and else on those that it trains on."""
    beside = on_held_out(run, carried=True) or by_accuracy(run)
    if beside is None:
        beside = on_training(run, LATE)
        if beside is not None and beside.answers < answers:
            return None
    if beside is None or beside.examples < answers or beside.worth < WORTH:
        return None
    return beside if beside.apart >= apart and beside.share <= share else None


def coded_columns(run: Run) -> list[int]:
    """How many different codes each of the columns has that hold codes."""
    facts = _facts(run, TRAINING)
    return [] if facts is None else [int(each) for each in facts.get("coded_columns", [])]


def _facts(run: Run, name: str) -> Mapping[str, Any] | None:
    facts = run.config.get(name)
    return facts if isinstance(facts, Mapping) else None


def _beside(network: float, facts: Mapping[str, Any], prefix: str, errors: Series, only: str = "") -> Beside:
    names = [only] if only else [each for each in NAMES if prefix + each in facts]
    name = min(names, key=lambda each: float(facts[prefix + each]))
    return Beside(
        network,
        float(facts[prefix + name]),
        float(facts["guess"]),
        NAMES[name],
        counted=bool(facts["classes"]) or bool(facts.get("bits")),
        examples=int(facts["examples"]),
        errors=errors.values,
        answers=len(errors) * int(facts.get("asked", 0)),
    )
