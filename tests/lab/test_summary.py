"""`monitor.summary()`: a run in a few numbers, the same that its record holds."""

from __future__ import annotations

import pytest
import torch
from tests.training.models import Net, cross_entropy, loader

import bedside


def test_the_summary_has_what_the_loop_did(tmp_path):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None) as monitor:
        for batch in loader():
            optimizer.zero_grad()
            loss = cross_entropy(model(batch[0]), batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
            losses.append(float(loss.detach()))
        found = monitor.summary()
    assert found["steps"] == len(losses)
    assert found["last_loss"] == pytest.approx(losses[-1])
    assert found["best_loss"] == pytest.approx(min(losses))
    assert found["best_step"] == losses.index(min(losses))
    assert found["clip_frequency"] == 1.0
    assert found["mean_grad_norm"] > 1e-3
    assert found["nonfinite_losses"] == found["skipped_steps"] == 0
