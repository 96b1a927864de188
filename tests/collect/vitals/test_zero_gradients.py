"""Single parameters whose gradient is always zero."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, carries):
        super().__init__()
        self.cell, self.carries = nn.GRUCell(3, 5), carries

    def forward(self, x):
        h = zeros = x.new_zeros(len(x), 5)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h if self.carries else zeros)
        return h


def recorded(tmp_path, model, steps=24):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(4, 6, 3)).pow(2).mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data for event in run.events_of("zero_gradients")]


def test_recurrent_weights_of_a_state_that_is_never_carried_on_are_named(tmp_path):
    assert recorded(tmp_path, Recurrent(carries=False)) == [{"names": ["cell.weight_hh"], "looks": 20}]


def test_recurrent_weights_at_work_are_not(tmp_path):
    assert not recorded(tmp_path, Recurrent(carries=True))


def test_a_module_that_is_dead_as_a_whole_is_left_to_other_rules(tmp_path):
    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            self.alive, self.dead = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            return self.alive(x) + 0 * self.dead(x)

    assert not recorded(tmp_path, Dead())


def test_a_bias_that_cancels_is_not_named(tmp_path):
    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(3, 1)

        def forward(self, x):
            real, fake = self.last(x[:2]), self.last(x[2:])
            return (fake.mean() - real.mean() + 2).sqrt()

    assert not recorded(tmp_path, Critic())
