"""An optimizer that evaluates its closure several times: loss and gradient are those of the same evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.slow_reference import norm
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("backwards", [1, 3])
def test_lbfgs_has_the_loss_and_the_gradient_of_its_first_evaluation(backwards, clip, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=6)
    inputs, labels = torch.randn(30, 10), torch.randint(4, (30,))
    truth = []

    def body(step, monitor):
        seen = []

        def closure():
            optimizer.zero_grad()
            total = 0.0
            for part in range(backwards):
                at = slice(part * 30 // backwards, (part + 1) * 30 // backwards)
                loss = F.cross_entropy(model(inputs[at]), labels[at]) / backwards
                loss.backward()
                total += loss.item()
            before = [norm([p.grad for p in layer.parameters()]) for layer in (model, model[0], model[2])]
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            after = [norm([p.grad for p in layer.parameters()]) for layer in (model, model[0], model[2])]
            seen.append((total, before, after))
            return torch.tensor(total)

        old = [p.detach().clone() for p in model.parameters()]
        optimizer.step(closure)
        moved = norm([a - b for a, b in zip(old, model.parameters(), strict=True)])
        truth.append((*seen[0], moved))
        assert len(seen) > 1

    run = watched(model, optimizer, tmp_path, body, 8)
    losses, before, after, moved = zip(*truth, strict=True)
    np.testing.assert_allclose(run.series("loss").values, losses, rtol=1e-5)
    for place, owner in enumerate(("", "0", "2")):
        np.testing.assert_allclose(run.series("grad_norm", owner).values, np.asarray(before)[:, place], rtol=1e-4)
        clipped = run.series("grad_norm_clipped", owner).values
        np.testing.assert_allclose(clipped, np.asarray(after)[:, place], rtol=1e-4)
    np.testing.assert_allclose(run.series("update_norm").values, moved, rtol=1e-4)


def test_a_closure_that_is_evaluated_once_is_read_as_any_other_step(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    truth = []

    def body(step, monitor):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(8, 10)), torch.randint(4, (8,)))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            truth.append((loss.item(), norm([p.grad for p in model.parameters()])))
            return loss

        optimizer.step(closure)

    run = watched(model, optimizer, tmp_path, body, 8)
    losses, norms = zip(*truth, strict=True)
    np.testing.assert_allclose(run.series("loss").values, losses, rtol=1e-5)
    np.testing.assert_allclose(run.series("grad_norm_clipped").values, norms, rtol=1e-5)
