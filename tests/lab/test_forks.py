"""Experiments that train: which learning rate, which treatment, what is broken, what decides."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.training.models import cross_entropy, examples, loader
from torch import nn
from torch.nn import functional as F

import bedside
from bedside import lab
from bedside.errors import BadOption
from bedside.lab.lr_curve import has_diverged, read_curve, smoothed
from bedside.testing import a_run


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))


# Learning rates.


def test_smoothing_has_no_bias_at_the_start():
    assert smoothed(np.full(5, 2.0)).tolist() == pytest.approx([2.0] * 5)
    assert len(smoothed(np.asarray([1.0, 2.0, math.nan, 3.0]))) == 2


def test_a_sweep_ends_where_the_loss_is_lost():
    assert has_diverged([2.0, math.nan])
    assert has_diverged([2.0, 1.0, 1.0, 100.0])
    assert not has_diverged([2.0, 1.0, 2.5])


def test_a_flat_curve_and_one_that_disagrees_give_no_answer():
    rates = np.geomspace(1e-7, 10, 100)
    rng = np.random.default_rng(0)
    flat = 1.0 + 0.02 * rng.normal(size=(3, 100)) + (rates > 0.1) * rates
    assert "fine-tuning" in read_curve(rates, flat).reason
    falls = [2.0 - 1.5 / (1 + (at / rates) ** 2) for at in (1e-5, 1e-2)]
    assert "disagree" in read_curve(rates, np.stack(falls)).reason


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD])
def test_the_suggested_rate_is_near_the_best_of_a_grid(kind):
    model, batches = net(), loader(count=480)
    found = lab.lr_range(model, batches, cross_entropy, kind(model.parameters(), lr=1e-3), fork_steps=60)
    assert found.usable
    ends = {}
    for rate in np.geomspace(1e-5, 10, 13):
        model = net()
        optimizer = kind(model.parameters(), lr=rate)
        torch.manual_seed(0)
        for _ in range(5):
            for batch in batches:
                optimizer.zero_grad()
                loss = cross_entropy(model(batch[0]), batch)
                loss.backward()
                optimizer.step()
        x, y = examples(480)
        ends[rate] = float(F.cross_entropy(model(x), y).detach())
    best = min(ends, key=ends.get)
    assert best / 10 < found.suggestion < best * 10
    assert found.band[0] <= found.suggestion <= found.band[1]


def test_groups_keep_the_ratio_of_their_rates():
    model = net()
    optimizer = torch.optim.SGD(
        [{"params": model[0].parameters(), "lr": 0.01}, {"params": model[2].parameters(), "lr": 0.0}], lr=0.1
    )
    before = model[2].weight.clone()
    seen = []
    handle = optimizer.register_step_post_hook(lambda *args: seen.append(torch.equal(model[2].weight, before)))
    lab.lr_range(model, loader(), cross_entropy, optimizer, points=20, repeats=1, fork_steps=0)
    handle.remove()
    assert len(seen) >= 10
    assert all(seen)  # frozen by a rate of zero, and stays so


def test_sorted_data_is_warned_of():
    x, y = examples(480)
    order = y.argsort()
    batches = list(zip(x[order].split(16), y[order].split(16), strict=True))
    model = net()
    found = lab.lr_range(model, batches, cross_entropy, torch.optim.Adam(model.parameters()), points=40, fork_steps=20)
    assert any("sorted" in warning for warning in found.warnings)


def test_a_loss_that_nothing_changes_is_refused():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    noise = torch.Generator().manual_seed(0)

    def loss(output, batch):
        return output.sum() * 0 + torch.rand((), generator=noise)

    found = lab.lr_range(model, loader(), loss, optimizer, points=30, fork_steps=80)
    assert not found.usable
    assert str(found).startswith("Do not use this: ")


def test_bad_options_are_refused():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(BadOption, match=r"low=1\.0, high=0\.1"):
        lab.lr_range(model, loader(), cross_entropy, optimizer, low=1.0, high=0.1)
    with pytest.raises(BadOption, match="repeats=1"):
        lab.trial(model, loader(), cross_entropy, optimizer, repeats=1)


# Treatments.


def best_for(model, optimizer, **options):
    return lab.trial(model, loader(count=480), cross_entropy, optimizer, steps=40, repeats=4, **options)


def test_a_rate_too_high_is_cured_by_a_lower_one():
    model = net()
    found = best_for(model, torch.optim.Adam(model.parameters(), lr=1.0))
    assert found.best.name in ("LR ÷ 10", "LR ÷ 100")
    assert found.best.won == 4
    assert "won 4 of 4" in str(found).splitlines()[0]


def test_a_rate_too_low_is_cured_by_a_higher_one():
    model = net()
    assert best_for(model, torch.optim.Adam(model.parameters(), lr=1e-6)).best.name == "LR × 100"


def test_a_diverging_control_counts_as_lost():
    model = net()
    found = best_for(model, torch.optim.SGD(model.parameters(), lr=1e20))
    assert not any(map(math.isfinite, found.control))
    assert "control diverged" in str(found) or found.best is None


def test_a_healthy_training_gets_no_cure_that_does_not_help():
    model = net()
    found = best_for(model, torch.optim.Adam(model.parameters(), lr=2e-2))
    for arm in found.arms:
        low, high = arm.interval
        assert arm.verdict != "helps" or high < 0
        assert low <= arm.difference <= high or math.isnan(arm.difference)


def test_dead_units_are_revived():
    model = net()
    with torch.no_grad():
        model[0].bias[:] = -30
    found = best_for(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert found.best.name == "re-initialised dead units"


# One batch.


def verdict(model, loss=cross_entropy, **options):
    return lab.overfit_batch(model, loader(), loss, steps=150, **options)


def test_a_sound_model_memorises_a_batch_and_says_which_rows():
    found = verdict(net(), rows=[1, 4, 5])
    assert found
    assert found.rows == (1, 4, 5)
    assert found.accuracy == 1.0


def test_what_is_broken_is_told_apart():
    assert verdict(net(), lambda o, b: F.cross_entropy(o.detach(), b[1])).verdict == "disconnected graph"
    assert verdict(nn.Linear(8, 3), lambda o, b: F.cross_entropy(o.softmax(-1), b[1])).verdict == "loss"
    assert verdict(nn.Sequential(nn.Linear(8, 3), nn.Softmax(-1))).verdict == "capacity"
    assert verdict(net(), rates=(1e-7, 1e-2)).verdict == "learning rate"
    assert verdict(net(), lambda o, b: cross_entropy(o, b) / 0).verdict == "not finite"


def test_dropout_does_not_hinder_memorising():
    torch.manual_seed(0)
    assert verdict(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.9), nn.Linear(64, 3)))


# Open questions.

NOISE = np.random.default_rng(0).normal(size=(2, 300))


def stuck(rate):
    losses, norms = 1.1 + 0.02 * NOISE[0], 0.5 + 0.05 * NOISE[1]
    return a_run(loss=losses, lr=rate, grad_norm=norms, relative_update=rate / 1000, config={"classes": 3})


def settled(run, model, optimizer, **options):
    found = lab.differential(run, model, loader(count=480), cross_entropy, optimizer, steps=40, **options)
    return found, {cause.name: cause for question in found.questions for cause in question.causes}


def test_a_stuck_run_is_settled_between_rate_and_dead_units():
    model = net()
    _, causes = settled(stuck(1e-6), model, torch.optim.Adam(model.parameters(), lr=1e-6))
    assert max(causes.values(), key=lambda each: each.after).name == "steps-too-small"
    assert causes["steps-too-small"].after > causes["steps-too-small"].before
    dead = net()
    with torch.no_grad():
        dead[0].bias[:] = -1e4
        dead[0].weight.mul_(1e-3)
    _, causes = settled(stuck(1e-2), dead, torch.optim.Adam(dead.parameters(), lr=1e-4))
    assert causes["no-gradient"].after > causes["no-gradient"].before
    assert causes["no-gradient"].after > causes["steps-too-small"].after


def flat_validation():
    falling = np.concatenate([np.linspace(1.0, 0.5, 100), np.full(200, 0.5)]) + 0.005 * NOISE[0]
    return a_run(loss=falling, val_loss=[1.0, 0.8, *[0.6123] * 10], lr=1e-3, grad_norm=0.5)


def test_a_stale_evaluation_is_found_with_the_users_own_code():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    run = flat_validation()
    found, causes = settled(run, model, optimizer)
    if "broken-evaluation" not in causes:
        pytest.skip("the diagnosis leaves no such question open")
    assert "evaluate=" in found.not_run["repeat-validation"]
    _, stale = settled(run, model, optimizer, evaluate=lambda: 0.6123)
    x, y = examples(96)
    _, real = settled(run, model, optimizer, evaluate=lambda: float(F.cross_entropy(model(x), y).detach()))
    assert stale["broken-evaluation"].after > 0.5 > real["broken-evaluation"].after


def test_a_run_without_questions_says_so():
    found = lab.differential(a_run(loss=np.linspace(2, 0.1, 50)), net(), loader(), cross_entropy)
    assert found.questions == ()
    assert "no question open" in str(found)


def test_wrong_names_are_answered():
    with pytest.raises(AttributeError, match="has no attribute 'lr_rang'"):
        _ = lab.lr_rang
    assert bedside.lab is lab
    assert "lr_range" in dir(lab)
