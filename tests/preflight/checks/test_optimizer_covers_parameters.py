"""When optimizer-covers-parameters speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.optimizer_covers_parameters import optimizer_covers_parameters
from bedside.preflight.example_setup import a_model, examined, seeded


class InAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def test_speaks_when_the_head_was_replaced_after_the_optimizer():
    def replaced(model):
        optimizer = torch.optim.Adam(model.parameters())
        model[2] = nn.Linear(32, 3)
        return optimizer

    found = examined(optimizer_covers_parameters, seeded(a_model), optimizer=replaced)
    assert isinstance(found, Finding)
    assert found.where == ("2.weight", "2.bias")
    assert "The optimizer holds 2 tensors that the model no longer has." in found.message


def test_speaks_when_layers_are_kept_in_a_list():
    found = examined(optimizer_covers_parameters, InAList)
    assert found.where == ("layers[0].weight", "layers[0].bias", "layers[1].weight", "layers[1].bias")


def test_speaks_when_the_optimizer_is_of_another_model():
    strangers = lambda model: torch.optim.SGD(a_model().parameters(), lr=0.1)  # noqa: E731
    assert "are in no optimizer" in examined(optimizer_covers_parameters, optimizer=strangers).message


def test_stays_silent_with_several_groups_and_optimizers():
    two = lambda m: [torch.optim.SGD(m[0].parameters(), lr=0.1), torch.optim.Adam(m[2].parameters())]  # noqa: E731
    assert isinstance(examined(optimizer_covers_parameters, optimizer=two), Passed)


def test_stays_silent_when_the_loss_has_parameters_of_its_own():
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, output, target):
            return self.scale.exp() * nn.functional.cross_entropy(output, target)

    loss = Weighted()
    both = lambda m: torch.optim.Adam([*m.parameters(), *loss.parameters()])  # noqa: E731
    assert isinstance(examined(optimizer_covers_parameters, loss_fn=loss, optimizer=both), Passed)


def test_stays_silent_about_a_teacher_that_nobody_trains():
    class WithTeacher(nn.Module):
        def __init__(self):
            super().__init__()
            self.student, self.teacher = nn.Linear(8, 3), nn.Linear(8, 3)

        def forward(self, x):
            with torch.no_grad():
                self.teacher(x)
            return self.student(x)

    own = lambda m: torch.optim.SGD(m.student.parameters(), lr=0.1)  # noqa: E731
    assert isinstance(examined(optimizer_covers_parameters, WithTeacher, optimizer=own), Passed)
