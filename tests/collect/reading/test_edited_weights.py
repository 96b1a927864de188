"""What somebody else does to one layer between two steps is not an update of the next one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import Obvious
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.reading.native import sums as native


def tracked(layer):
    with torch.no_grad():
        layer.weight.add_(1.0)


def untracked(layer):
    layer.weight.data.mul_(3.0)


def replaced(layer):
    layer.weight.data = layer.weight.data.clone() * 3


def initialised(layer):
    nn.init.normal_(layer.weight, std=2.0)


def loaded(layer):
    layer.load_state_dict({name: value + 1 for name, value in layer.state_dict().items()})


@pytest.fixture(params=["native", "plain"])
def way(request, monkeypatch):
    if request.param == "native" and not native.load():
        pytest.skip("numba is not installed")
    if request.param == "plain":
        monkeypatch.setattr(native, "_kernels", None)


@pytest.mark.parametrize("layer", ["0", "3", "5"])
@pytest.mark.parametrize("edit", [tracked, untracked, replaced, initialised, loaded])
def test_an_edited_layer_is_no_update(edit, layer, way, tmp_path):
    torch.manual_seed(0)
    model = CASES["mlp"].model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    obvious = Obvious(model)

    def body(step, monitor):
        inputs, targets = CASES["mlp"].batch()
        if step in (10, 17, 23):
            edit(model.get_submodule(layer))
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        obvious.after_clip()
        optimizer.step()
        obvious.after_step()

    run = watched(model, optimizer, tmp_path, body, 30)
    for vital in ("update_norm", "param_norm"):
        for owner in ("", layer):
            values = run.series(vital, owner).values
            np.testing.assert_allclose(values, obvious.numbers[(vital, owner)], rtol=1e-4, err_msg=f"{vital} {owner}")


def test_a_layer_that_is_clamped_after_every_step_is_no_update_from_the_first_step_on(way, tmp_path):
    torch.manual_seed(0)
    model = CASES["mlp"].model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    obvious = Obvious(model)

    def body(step, monitor):
        inputs, targets = CASES["mlp"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        obvious.after_clip()
        optimizer.step()
        obvious.after_step()
        model.get_submodule("3").weight.data.clamp_(-0.1, 0.1)

    run = watched(model, optimizer, tmp_path, body, 30)
    for owner in ("", "3"):
        values = run.series("update_norm", owner).values
        np.testing.assert_allclose(values, obvious.numbers[("update_norm", owner)], rtol=1e-4)
