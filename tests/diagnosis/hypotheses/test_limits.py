"""Each limit of the hypotheses decides: a sign is there on one side of it and not on the other."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.diagnosis.hypotheses import differential
from bedside.finding import Finding, Severity
from bedside.testing import a_run

NOISE = np.random.default_rng(0)
FLAT = 2.303 + 0.01 * NOISE.standard_normal(400)
SPIKES = np.r_[1.0 + 0.02 * NOISE.standard_normal(200), np.exp(np.linspace(0, 9, 200))]


def signs(name, first, **vitals):
    """What speaks for and against the causes of a symptom, in a run with these vitals."""
    found = Finding("XXX101", name, Severity.WARNING, "It is so.", 0.9, first, 399, primary=True)
    questions = differential(a_run(**vitals), [found])
    every = [each for question in questions for each in question.hypotheses]
    return " | ".join(sign for each in every for sign in (*each.speaks_for, *each.speaks_against))


def stuck(**vitals):
    return signs("stuck-from-start", 0, **{"loss": FLAT, **vitals})


def unstable(**vitals):
    grows = SPIKES * np.linspace(1, 3, 400)  # some cause must be there for a question to be asked
    return signs("diverging-loss", 200, **{"loss": SPIKES, "grad_norm": grows, **vitals})


def two_layers(share):
    return {"grad_norm": {"a": share, "b": share, "c": 1.0}}


def rose_to(times):
    return {"loss": np.r_[2.3, 2.3 * times, FLAT[2:]]}


def won(share):
    return {"loss": np.r_[np.linspace(2.3, 2.3 * (1 - share), 100), 2.3 * (1 - share) + 0.01 * FLAT[100:] - 0.023]}


# A sign, the vitals on the side of the limit where it is there, and on the other.
STUCK = {
    "tiny steps": (
        "a step changes the weights by 5e-7",
        {"relative_update_norm": 5e-7},
        {"relative_update_norm": 3e-6},
    ),
    "steps long enough": ("which is enough", {"relative_update_norm": 2e-5}, {"relative_update_norm": 6e-6}),
    "a tiny rate": ("the learning rate is 9e-8", {"lr": 9e-8}, {"lr": 3e-7}),
    "a usual rate": ("within the usual range", {"lr": 2e-4}, {"lr": 6e-5}),
    "a wrecking step": ("an early step changed", {"relative_update_norm": 0.2}, {"relative_update_norm": 0.07}),
    "no large step": ("no early step changed", {"relative_update_norm": 6e-3}, {"relative_update_norm": 0.02}),
    "a silent part": ("of the largest module's gradient", two_layers(6e-5), two_layers(3e-4)),
    "dead units": ("of the units of relu", {"dead_fraction": {"relu": 0.6}}, {"dead_fraction": {"relu": 0.4}}),
    "a loss that leapt": ("the loss leapt from", rose_to(2.0), rose_to(1.3)),
    "something was won": ("there is something to learn", won(0.35), won(0.12)),
}
UNSTABLE = {
    "large steps": (
        "steps changed the weights by 2 % each",
        {"relative_update_norm": 0.02},
        {"relative_update_norm": 6e-3},
    ),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_sign_of_a_stuck_loss_depends_on_its_limit(name):
    phrase, there, absent = STUCK[name]
    assert phrase in stuck(**there)
    assert phrase not in stuck(**absent)


@pytest.mark.parametrize("name", UNSTABLE)
def test_a_sign_of_an_unstable_loss_depends_on_its_limit(name):
    phrase, there, absent = UNSTABLE[name]
    assert phrase in unstable(**there)
    assert phrase not in unstable(**absent)
