"""Whether dropout is at work in evaluations."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.fc, self.head, self.drop = nn.Linear(6, 8), nn.Linear(8, 2), drop

    def forward(self, x):
        return self.head(self.drop(self, F.relu(self.fc(x))))


def recorded(drop, tmp_path, evaluate=True, steps=6):
    model = Net(drop)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        model.train()
        F.cross_entropy(model(torch.randn(4, 6)), torch.randint(2, (4,))).backward()
        optimizer.step()
        optimizer.zero_grad()
        if evaluate:
            model.eval()
            with torch.no_grad():
                model(torch.randn(4, 6))

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data for event in run.events_of("evaluation_dropout")]


def test_dropout_that_does_not_ask_for_the_mode_is_told_once(tmp_path):
    assert recorded(lambda self, x: F.dropout(x, 0.3), tmp_path) == [
        {"where": [""], "function": "dropout", "rate": 0.3}
    ]


def test_attention_that_drops_is_told(tmp_path):
    def attend(self, x):
        return F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.2)[0]

    [event] = recorded(attend, tmp_path)
    assert (event["function"], event["rate"]) == ("scaled_dot_product_attention", 0.2)


def test_dropout_that_follows_the_mode_is_not_told(tmp_path):
    assert not recorded(lambda self, x: F.dropout(x, 0.3, training=self.training), tmp_path)
    assert not recorded(lambda self, x: F.dropout(x, 0.0, True), tmp_path / "zero")


def test_dropout_in_training_is_not_told(tmp_path):
    assert not recorded(lambda self, x: F.dropout(x, 0.3), tmp_path, evaluate=False)


def test_the_functions_are_put_back_when_an_evaluation_fails(tmp_path):
    before = F.dropout
    model = Net(lambda self, x: F.dropout(x, 0.3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        model.train()
        F.cross_entropy(model(torch.randn(4, 6)), torch.randint(2, (4,))).backward()
        optimizer.step()
        model.eval()
        try:
            with torch.no_grad():
                model(torch.randn(4, 5))
        except RuntimeError:
            assert F.dropout is before

    watched(model, optimizer, tmp_path, body, steps=3)
    assert F.dropout is before
