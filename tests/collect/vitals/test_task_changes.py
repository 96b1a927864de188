"""When inputs of another shape come in, or another optimizer takes over."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


def recorded(tmp_path, length, steps=40):
    model = nn.GRU(2, 4, batch_first=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(3, length(step), 2))[0].pow(2).mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps, budget=None)
    return [(event.step, event.data["before"], event.data["after"]) for event in run.events_of("task_change")]


def test_longer_inputs_from_a_step_on_are_told_once(tmp_path):
    assert recorded(tmp_path, lambda step: 4 if step < 20 else 8) == [(20, "[4, 2]", "[8, 2]")]


def test_inputs_of_any_length_are_no_change(tmp_path):
    assert not recorded(tmp_path, lambda step: 3 + step % 5)


def test_a_single_shorter_batch_is_no_change(tmp_path):
    assert not recorded(tmp_path, lambda step: 2 if step == 20 else 6)


def test_an_optimizer_that_takes_over_is_told_and_one_that_takes_turns_is_not(tmp_path):
    def stepped(who, folder):
        model = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        optimizers = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in model]

        def body(step, monitor):
            for number in who(step):
                model[number](torch.randn(3, 2)).pow(2).mean().backward()
                optimizers[number].step()
                optimizers[number].zero_grad()

        run = watched(model, optimizers, folder, body, steps=40)
        return [event.data["what"] for event in run.events_of("task_change")]

    assert stepped(lambda step: [step // 20], tmp_path / "over") == ["optimizer"]
    assert not stepped(lambda step: [0, 1], tmp_path / "both")
    assert not stepped(lambda step: [0, 1] if step % 5 == 4 else [0], tmp_path / "turns")
