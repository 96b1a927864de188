"""When state-survives-saving speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.state_survives_saving import state_survives_saving
from bedside.preflight.example_setup import a_model, examined, seeded


class Forgetful(torch.optim.SGD):
    """Keeps its momentum where nobody saves it."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1)
        self.steps = 0

    def step(self, closure=None):
        self.steps += 1
        for group in self.param_groups:
            group["lr"] = 0.1 / self.steps
        return super().step(closure)


def test_speaks_when_an_optimizer_keeps_state_to_itself():
    found = examined(state_survives_saving, optimizer=lambda model: Forgetful(model.parameters()))
    assert isinstance(found, Finding)
    assert "training goes on differently" in found.message


def test_stays_silent_with_torchs_own():
    model = seeded(a_model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for scheduler in (None, CosineAnnealingLR(optimizer, 10), ReduceLROnPlateau(optimizer, patience=0)):
        found = examined(state_survives_saving, model, optimizer=lambda _: optimizer, scheduler=scheduler)
        assert isinstance(found, Passed), found


def test_an_optimizer_with_a_closure_is_not_examined():
    found = examined(state_survives_saving, optimizer=lambda model: torch.optim.LBFGS(model.parameters()))
    assert isinstance(found, NotExamined)


def test_stays_silent_when_the_loss_looks_at_the_model_itself():
    model = seeded(a_model)

    def with_penalty(output, target):
        return torch.nn.functional.cross_entropy(output, target) + model[0].weight.square().mean()

    assert isinstance(examined(state_survives_saving, model, loss_fn=with_penalty), Passed)
