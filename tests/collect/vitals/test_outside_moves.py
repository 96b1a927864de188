"""What moves the weights besides the optimizer, in loops that do so by right and by mistake."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.analysis.outside_moves import climbs, replacements


def trained(tmp_path, before=lambda *_: None, middle=lambda *_: None, after=lambda *_: None, *, steps=60, lr=0.1):
    """One loop with three places in which somebody may write to the weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    weights = list(model.parameters())
    seen = []

    def body(step, monitor):
        with torch.no_grad():
            before(step, weights)
        x = torch.randn(32, 6)

        def backward():
            optimizer.zero_grad()
            F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()

        backward()
        if middle is not nothing:
            middle(step, weights, backward)
        begun = nn.utils.parameters_to_vector(weights).detach().clone()
        optimizer.step()
        seen.append((begun, nn.utils.parameters_to_vector(weights).detach().clone()))
        with torch.no_grad():
            after(step, weights)

    return watched(model, optimizer, tmp_path, body, steps=steps), seen


def nothing(*_):
    """Somebody who writes to no weights."""


def climb(rho, back):
    def climbing(step, weights, backward):
        with torch.no_grad():
            norm = torch.stack([w.grad.norm() for w in weights]).norm()
            up = [rho * w.grad / norm for w in weights]
            for w, each in zip(weights, up, strict=True):
                w.add_(each)
        backward()
        if back:
            with torch.no_grad():
                for w, each in zip(weights, up, strict=True):
                    w.sub_(each)

    return climbing


def test_moves_are_what_weights_do_between_steps(tmp_path):
    run, seen = trained(tmp_path, middle=climb(0.3, back=False), steps=15)
    truth = [(float((now - left).norm()), float((after - now).norm())) for (_, left), (now, after) in pairwise(seen)]
    np.testing.assert_allclose(run.series("outside_move").values[-14:], [far for far, _ in truth], rtol=1e-3)
    np.testing.assert_allclose(run.series("own_move").values[-14:], [own for _, own in truth], rtol=1e-3)


def test_a_perturbation_that_stays_is_a_climb_and_one_that_is_taken_back_is_none(tmp_path):
    left, _ = trained(tmp_path / "left", middle=climb(0.3, back=False), lr=0.02)
    taken, _ = trained(tmp_path / "taken", middle=climb(0.3, back=True), lr=0.02)
    assert len(climbs(left)) >= 10
    assert not climbs(taken)
    assert not replacements(left)


def drawn_anew(step, weights):
    if step % 10 == 9:
        for weight in weights:
            nn.init.normal_(weight, std=0.3)


def clipped(step, weights):
    for weight in weights:
        weight.clamp_(-0.05, 0.05)


def unit_rows(step, weights):
    weights[0].div_(weights[0].norm(dim=1, keepdim=True))


def decayed(step, weights):
    for weight in weights:
        weight.mul_(0.95)


def shaken(step, weights):
    for weight in weights:
        weight.add_(0.05 * torch.randn_like(weight))


class SlowWeights:
    """Lookahead: half the way back to where the weights were five steps ago."""

    def __init__(self):
        self.slow = None

    def __call__(self, step, weights):
        self.slow = self.slow or [weight.clone() for weight in weights]
        if step % 5 == 4:
            for slow, weight in zip(self.slow, weights, strict=True):
                slow.add_(0.5 * (weight - slow))
                weight.copy_(slow)


def test_new_random_numbers_at_every_epoch_are_replacements(tmp_path):
    run, _ = trained(tmp_path, after=drawn_anew)
    assert len(replacements(run)) >= 4


@pytest.mark.parametrize("writes", [nothing, clipped, unit_rows, decayed, shaken, SlowWeights()])
def test_what_loops_do_to_weights_by_right_is_neither(writes, tmp_path):
    run, _ = trained(tmp_path, after=writes, lr=0.3)
    assert len(climbs(run)) <= 1  # the first one may bring them to where they are kept
    assert not replacements(run)


def test_weights_that_are_not_finite_switch_nothing_off(tmp_path):
    """Warnings are errors here: what overflows, or was never kept, may not be subtracted with one."""

    def overflow(step, weights):
        for weight in weights:
            weight.fill_(float("inf"))

    run, _ = trained(tmp_path, after=overflow)
    assert not run.events_of("switched_off")
