"""It is 11 PM and validation has not moved for hours. Five real trainings in which that has five different reasons.

All learn scikit-learn's digits, watched by the one line a user writes. Nobody tells bedside which is which.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside


@pytest.fixture(scope="module")
def digits():
    """Training and validation halves: inputs around 0 to 1, labels of ten classes."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = torch.tensor(x, dtype=torch.float32)[order] / 16, torch.tensor(y)[order]
    return (x[:1200], y[:1200]), (x[1200:], y[1200:])


def network(hidden=32, layers=1, activation=nn.ReLU, dropout=0.0):
    torch.manual_seed(0)
    parts, width = [], 64
    for _ in range(layers):
        parts += [nn.Linear(width, hidden), activation(), *([nn.Dropout(dropout)] if dropout else [])]
        width = hidden
    return nn.Sequential(*parts, nn.Linear(width, 10))


def train(folder, data, model, optimizer, *, epochs=40, batch=64, scheduler=None, evaluated=lambda model, epoch: model):
    """A plain loop: shuffled batches, one evaluation an epoch. `evaluated` chooses the network that is evaluated."""
    (x, y), (x_val, y_val) = data
    order = torch.Generator().manual_seed(1)
    with bedside.watch(model, optimizer, run_dir=folder / "run", quiet=True, config={"classes": 10}) as monitor:
        for epoch in range(epochs):
            monitor.epoch()
            model.train()
            shuffled = torch.randperm(len(x), generator=order)
            for chosen in shuffled.split(batch):
                optimizer.zero_grad()
                F.cross_entropy(model(x[chosen]), y[chosen]).backward()
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
            judged = evaluated(model, epoch).eval()
            with torch.no_grad():
                answers = judged(x_val)
            right = (answers.argmax(1) == y_val).float().mean()
            monitor.log(val_loss=F.cross_entropy(answers, y_val), val_accuracy=right)
        return monitor.diagnose()


def answer(diagnosis):
    [question] = [each for each in diagnosis.differential if "has not improved" in each.question]
    return question


def test_normal_convergence(tmp_path, digits):
    model = network(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [15 * 19, 25 * 19], gamma=0.2)
    diagnosis = train(tmp_path, digits, model, optimizer, scheduler=schedule)
    assert diagnosis.verdict == "healthy"
    assert answer(diagnosis).heaviest.name == "normal-convergence"
    assert answer(diagnosis).test is not None  # what rules out the likeliest other


def test_a_plateau(tmp_path, digits):
    model = network(32, layers=6, activation=nn.Sigmoid)
    diagnosis = train(tmp_path, digits, model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert answer(diagnosis).heaviest.name == "plateau"
    assert answer(diagnosis).test.name == "overfit-one-batch"


def test_a_learning_rate_decayed_below_usefulness(tmp_path, digits):
    model = network(64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.96)  # stepped at every batch
    diagnosis = train(tmp_path, digits, model, optimizer, scheduler=schedule)
    assert answer(diagnosis).heaviest.name == "learning-rate-gone"
    assert answer(diagnosis).test.name == "fresh-learning-rate"


@pytest.mark.parametrize("copied_in", [3, 12])
def test_a_stale_checkpoint(tmp_path, digits, copied_in):
    model = network(64)
    kept = {}

    def checkpoint(trained, epoch):
        if epoch <= copied_in:
            kept["last"] = copy.deepcopy(trained)
        return kept["last"]

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    diagnosis = train(tmp_path, digits, model, optimizer, evaluated=checkpoint)
    assert answer(diagnosis).heaviest.name == "broken-evaluation"
    assert answer(diagnosis).test.name == "repeat-validation"


def test_silent_overfitting(tmp_path, digits):
    (x, y), held_out = digits
    model = network(128, layers=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    diagnosis = train(tmp_path, ((x[:100], y[:100]), held_out), model, optimizer, epochs=150, batch=25)
    assert answer(diagnosis).heaviest.name == "silent-overfitting"
    assert answer(diagnosis).test.name == "evaluate-training-data"
