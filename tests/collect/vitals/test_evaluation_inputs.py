"""The inputs of evaluations beside those of training."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def recorded(tmp_path, log, scale=5.0):
    model = nn.Linear(40, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(50, 40) * scale + 2

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(8, 40)).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            model(batch)
            model(batch[:3])
        if log:
            monitor.log({log: 1.0})

    run = watched(model, optimizer, tmp_path, body, steps=4)
    return batch, [event.data for event in run.events_of("evaluation_input")]


def test_the_first_batch_of_an_evaluation_is_read_as_it_is(tmp_path):
    batch, seen = recorded(tmp_path, "val_loss")
    assert len(seen) == 4
    assert seen[0]["size"] == 2000
    assert seen[0]["mean"] == pytest.approx(batch.mean().item(), rel=1e-5)
    assert seen[0]["std"] == pytest.approx(batch.std(correction=0).item(), rel=1e-5)
    assert seen[0]["max"] == pytest.approx(batch.abs().max().item(), rel=1e-6)


@pytest.mark.parametrize("log", ["", "reward"])
def test_forwards_that_no_validation_metric_follows_do_not_count(log, tmp_path):
    assert not recorded(tmp_path, log)[1]


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_first_evaluation_is_told_whether_or_not_anything_is_logged(mode, tmp_path):
    model = nn.Linear(40, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(8, 40)).pow(2).mean().backward()
        optimizer.step()
        if step == 2:
            getattr(model, mode)()
            with torch.no_grad():
                model(torch.randn(50, 40))
            model.train()

    run = watched(model, optimizer, tmp_path, body, steps=5)
    assert run.config.get("first_evaluation") == (3 if mode == "eval" else None)  # a rollout is not an evaluation


def test_an_evaluation_of_another_network_than_training_begins_with_is_not_compared(tmp_path):
    model = nn.ModuleDict({"critic": nn.Linear(40, 1), "generator": nn.Linear(3, 40)})
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        (model["critic"](torch.randn(8, 40)) - model["critic"](model["generator"](torch.randn(8, 3)))).mean().backward()
        optimizer.step()
        with torch.no_grad():
            model["generator" if step < 2 else "critic"](torch.randn(50, 3 if step < 2 else 40))
        monitor.log(val_distance=1.0)

    run = watched(model, optimizer, tmp_path, body, steps=5)
    assert {event.data["size"] for event in run.events_of("evaluation_input")} == {50 * 40}
