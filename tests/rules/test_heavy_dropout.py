from __future__ import annotations

import numpy as np
import torch
from tests.collect.watched import watched
from torch import nn

from bedside.finding import Severity
from bedside.rules.heavy_dropout import heavy_dropout
from bedside.testing import a_run

SLOW, QUICK = 2.3 - 0.001 * np.arange(200), 2.3 * 0.98 ** np.arange(200)


def found(loss, **rates):
    return heavy_dropout.check(a_run(loss=loss, config={"dropout": rates}))


def test_names_the_module_whose_rate_leaves_hardly_anything():
    [finding] = found(SLOW, first=0.1, second=0.9)
    assert (finding.severity, finding.where) == (Severity.WARNING, ("second",))
    assert "drops 90 % of the units" in finding.message
    assert "keep, to 0.1" in finding.try_[0]


def test_stays_silent_when_the_run_learns_or_the_rate_is_usual():
    assert not found(QUICK, drop=0.9)
    assert not found(SLOW, drop=0.5)
    assert not heavy_dropout.check(a_run(loss=SLOW))


def test_the_rates_of_a_watched_model_are_in_its_config(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.2), nn.Linear(4, 4), nn.Dropout(0.9), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()

    assert watched(model, optimizer, tmp_path, body, 3).config["dropout"] == {"3": 0.9, "1": 0.2}
