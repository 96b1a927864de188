"""When outputs-differ speaks and when it stays silent."""

from __future__ import annotations

from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.outputs_differ import outputs_differ
from bedside.preflight.example_setup import a_model, examined, examples, seeded


class Averaged(nn.Linear):
    def forward(self, x):
        return super().forward(x.mean(0, keepdim=True).expand_as(x))


def test_speaks_when_everybody_gets_the_average():
    assert isinstance(examined(outputs_differ, lambda: Averaged(8, 3)), Finding)


def test_stays_silent_when_the_last_layer_begins_at_zero():
    model = seeded(a_model)
    nn.init.zeros_(model[2].weight)
    nn.init.zeros_(model[2].bias)
    assert isinstance(examined(outputs_differ, model), Passed)


def test_equal_inputs_are_not_examined():
    x, y = examples()
    assert isinstance(examined(outputs_differ, x=x[:1].repeat(96, 1), y=y), NotExamined)
