from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.metric_loss_disagreement import metric_loss_disagreement
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


DOWN, UP = np.linspace(1, 0.4, 20), np.linspace(0.5, 0.9, 20)


@pytest.mark.parametrize(
    "metrics", [{"val_accuracy": UP[::-1]}, {"val_wer": UP}], ids=["accuracy falls", "errors rise"]
)
def test_speaks_when_the_loss_improves_and_the_metric_gets_worse(metrics):
    (finding,) = metric_loss_disagreement.check(a_run(loss=DOWN, val_loss=DOWN, **metrics))
    assert finding.evidence["metric_harm"] > 0.1


@pytest.mark.parametrize(
    "vitals",
    [
        {"val_loss": DOWN, "val_accuracy": UP},
        {"val_loss": DOWN[::-1], "val_accuracy": UP},
        {"val_loss": DOWN, "val_accuracy": 0.8 + 0.01 * RNG.normal(size=20)},
        {"val_loss": DOWN, "val_accuracy": UP[::-1], "val_f1": UP},
    ],
    ids=["they agree", "the loss rises under a better metric", "a flat metric", "another metric agrees"],
)
def test_stays_silent(vitals):
    assert metric_loss_disagreement.check(a_run(loss=DOWN, **vitals)) == []


def test_is_not_examined_without_a_metric():
    assert isinstance(metric_loss_disagreement.examine(a_run(loss=DOWN, val_loss=DOWN)), NotExamined)
