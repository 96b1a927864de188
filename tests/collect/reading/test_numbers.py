"""Every vital equals a slow, obvious recomputation to 1e-5, on five kinds of model and many optimizers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import Obvious
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.record.sqlite.reader import open_run

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3, foreach=False),
    "adamw-foreach": lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=True),
    "adamw-fused": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
}


def watched(case, make_optimizer, tmp_path, *, steps=25, clip=0.5):
    torch.manual_seed(0)
    model = case.model()
    optimizer = make_optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 / (1 + s))
    obvious = Obvious(model)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        for _ in range(steps):
            inputs, targets = case.batch()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            obvious.before_clip()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            obvious.after_clip()
            obvious.numbers[("loss", "")].append(loss.item())
            obvious.numbers[("lr", "")].append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            obvious.after_step()
            schedule.step()
    return obvious.numbers, open_run(tmp_path / "run")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", CASES)
def test_every_vital_equals_the_obvious_recomputation(kind, optimizer, tmp_path):
    expected, run = watched(CASES[kind], OPTIMIZERS[optimizer], tmp_path)
    for (vital, owner), values in expected.items():
        series = run.series(vital, owner)
        kept = [(i, v) for i, v in enumerate(values) if not math.isnan(v)]
        assert series.steps.tolist() == [i for i, _ in kept], (vital, owner)
        # 1e-7: a zero-initialised bias moves by differences of rounding in float32
        np.testing.assert_allclose(
            series.values, [v for _, v in kept], rtol=1e-5, atol=1e-7, err_msg=f"{vital} {owner}"
        )
    assert {owner for _, owner in run.series_keys if _ == "grad_norm"} == {o for v, o in expected if v == "grad_norm"}


def test_clipping_is_known_from_the_clip_call(tmp_path):
    expected, run = watched(CASES["mlp"], OPTIMIZERS["sgd"], tmp_path, clip=0.5)
    before = np.asarray(expected[("grad_norm", "")])
    assert set(run.series("clip_threshold").values) == {0.5}
    np.testing.assert_allclose(run.series("grad_clip_ratio").values, before / 0.5, rtol=1e-5)
    assert run.series("clip_active").values.tolist() == [float(norm > 0.5) for norm in before]
    assert sum(run.series("clip_active").values) > 0
