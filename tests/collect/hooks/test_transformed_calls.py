"""A model that is called within `torch.func.grad` or `vmap` is no training forward: its tensors hold no numbers."""

from __future__ import annotations

import torch
from tests.collect.models import CASES, mlp
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

import bedside


def test_transformed_calls_are_left_alone_at_every_stage(tmp_path):
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of_one(parameters, inputs, target):
        return F.cross_entropy(functional_call(model, parameters, (inputs[None],)), target[None])

    per_sample = vmap(grad(loss_of_one), in_dims=(None, 0, 0), randomness="different")
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        for step in range(120):
            inputs, targets = CASES["mlp"].batch()
            if step % 7 == 0:
                per_sample({name: p.detach() for name, p in model.named_parameters()}, inputs, targets)
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    run = bedside.load(tmp_path / "run")
    assert len(run.loss) == run.steps == 120
    assert not run.events_of("switched_off")
