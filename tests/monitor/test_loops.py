"""The loops people really write: accumulation, scalers, closures, GANs, frozen and odd parameters, wrappers."""

from __future__ import annotations

import copy
import math
from contextlib import suppress

import numpy as np
import pytest
import torch
from tests.collect.models import CASES, BareScale
from tests.collect.slow_reference import norm
from tests.collect.watched import recorded
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.record.sqlite.reader import open_run


def loop(model, optimizer, tmp_path, body, steps=6):
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    for step in range(steps):
        body(step)
    monitor.close()
    return open_run(tmp_path / "run")


@pytest.mark.parametrize("divide", ["/", "*", "not at all"])
def test_accumulation_gives_the_steps_loss_whether_or_not_the_user_divided(divide, tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    means = []

    def body(step):
        losses = []
        for _ in range(4):
            inputs, targets = case.batch()
            loss = F.cross_entropy(model(inputs), targets)
            losses.append(loss.item())
            {"/": loss / 4, "*": loss * 0.25, "not at all": loss}[divide].backward()
        means.append(sum(losses) / 4)
        optimizer.step()
        optimizer.zero_grad()

    run = loop(model, optimizer, tmp_path, body)
    np.testing.assert_allclose(run.loss.values, means, rtol=1e-6)
    assert set(run.series("micro_batches").values) == {4.0}
    assert run.events_of("accumulation")[-1].data == {"divided": divide != "not at all"}


@pytest.mark.parametrize("steps", [12, 130])  # all listened to, and with fast-path steps
def test_a_batch_that_the_loop_discards_is_not_a_micro_batch_of_the_next(steps, tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    taken = []

    def body(step):
        for spoilt in (step % 3 == 1, False):  # its gradient is too large, say: cleared, and the next batch is taken
            inputs, targets = case.batch()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets) * (1000 if spoilt else 1)
            loss.backward()
            if not spoilt:
                taken.append(loss.item())
                optimizer.step()
                return

    run = loop(model, optimizer, tmp_path, body, steps=steps)
    np.testing.assert_allclose(run.loss.values, taken, rtol=1e-6)
    assert set(run.series("micro_batches").values) == {1.0}


def test_the_last_incomplete_window_is_still_divided_by_the_full_number(tmp_path):
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    last = []

    def body(step):
        last.clear()
        for _ in range(4 if step < 5 else 3):
            inputs, targets = case.batch()
            loss = F.cross_entropy(model(inputs), targets)
            last.append(loss.item())
            (loss / 4).backward()
        optimizer.step()
        optimizer.zero_grad()

    run = loop(model, optimizer, tmp_path, body)
    assert run.loss.last == pytest.approx(sum(last) / 3, rel=1e-6)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("unscale", [False, True])
def test_a_grad_scaler_is_seen_through(fused, unscale, tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    losses, norms = [], []

    def body(step):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        if step == 3:
            loss = loss * float("inf")  # the scaler must skip this one
        losses.append(loss.item())
        scaler.scale(loss).backward()
        norms.append(norm([p.grad for p in model.parameters()]) / scaler.get_scale())
        if unscale:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()

    run = loop(model, optimizer, tmp_path, body)
    assert run.loss.values.tolist() == pytest.approx(losses, rel=1e-6)
    assert run.series("skipped").values.tolist() == [0, 0, 0, 1, 0, 0]
    assert run.series("loss_scale").values.tolist() == [1024, 1024, 1024, 1024, 512, 512]
    kept = [0, 1, 2, 4, 5]
    assert run.series("grad_norm").steps.tolist() == kept
    np.testing.assert_allclose(run.series("grad_norm").values, [norms[i] for i in kept], rtol=1e-5)
    assert run.series("nonfinite_grads").values.max() == 0


def test_a_closure_gives_the_loss_of_its_first_evaluation(tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    model.eval()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    inputs, targets = case.batch()
    first = []

    def body(step):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            return loss

        first.append(optimizer.step(closure).item())

    run = loop(model, optimizer, tmp_path, body)
    np.testing.assert_allclose(run.loss.values, first, rtol=1e-6)
    assert run.series("grad_norm").values.min() > 0
    assert run.series("update_norm").values.min() > 0
    assert set(run.series("micro_batches").values) == {1.0}


def test_two_optimizers_on_one_model_step_in_rounds(tmp_path):
    torch.manual_seed(0)
    model = nn.ModuleDict({"g": nn.Linear(4, 4), "d": nn.Linear(4, 1)})
    opt_g = torch.optim.Adam(model["g"].parameters(), lr=1e-3)
    opt_d = torch.optim.SGD(model["d"].parameters(), lr=1e-2)
    seen = []

    def body(step):
        noise = torch.randn(8, 4)
        opt_d.zero_grad()
        loss_d = model["d"](model["g"](noise).detach()).mean()
        loss_d.backward()
        grad_d = norm([p.grad for p in model["d"].parameters()])
        opt_d.step()
        opt_g.zero_grad()
        loss_g = -model["d"](model["g"](noise)).mean()
        loss_g.backward()
        seen.append((loss_d.item(), loss_g.item(), grad_d, norm([p.grad for p in model["g"].parameters()])))
        opt_g.step()

    run = loop(model, [opt_d, opt_g], tmp_path, body)
    assert run.steps == 6
    np.testing.assert_allclose(run.series("loss", "optimizer_0").values, [h[0] for h in seen], rtol=1e-6)
    np.testing.assert_allclose(run.series("loss", "optimizer_1").values, [h[1] for h in seen], rtol=1e-6)
    np.testing.assert_allclose(run.series("grad_norm", "d").values, [h[2] for h in seen], rtol=1e-5)
    np.testing.assert_allclose(run.series("grad_norm", "g").values, [h[3] for h in seen], rtol=1e-5)
    assert run.series("lr").last == 1e-2
    assert run.series("lr", "group_1").last == 1e-3


def test_frozen_parameters_are_left_out_and_come_in_when_they_thaw(tmp_path):
    model = CASES["mlp"].model()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step):
        if step == 25:
            model[0].requires_grad_(True)
        inputs, targets = CASES["mlp"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body, steps=80)
    assert run.series("grad_norm", "3").steps.tolist() == list(range(80))
    assert 25 <= run.series("grad_norm", "0").first_step <= 45  # noticed with the next flush


def test_sparse_complex_half_and_empty_parameters(tmp_path):
    torch.manual_seed(0)

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(50, 8, sparse=True)
            self.phase = nn.Parameter(torch.randn(8, dtype=torch.complex64))
            self.lower = nn.Linear(8, 8).to(torch.bfloat16)
            self.nothing = nn.Parameter(torch.empty(0))

        def forward(self, tokens):
            x = self.embed(tokens) * self.phase.abs()
            return self.lower(x.to(torch.bfloat16)).float().pow(2).mean() + self.nothing.sum()

    model = Odd()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    expected = {"embed": [], "phase": [], "lower": []}

    def body(step):
        optimizer.zero_grad()
        model(torch.randint(50, (16,))).backward()
        expected["embed"].append(norm([model.embed.weight.grad.coalesce().values()]))
        expected["phase"].append(norm([torch.view_as_real(model.phase.grad)]))
        expected["lower"].append(norm([p.grad for p in model.lower.parameters()]))
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    for owner, values in expected.items():
        np.testing.assert_allclose(run.series("grad_norm", owner).values, values, rtol=1e-5)


def test_half_precision_norms_do_not_overflow(tmp_path):
    class Big(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.full((100_000,), 300.0, dtype=torch.float16))

        def forward(self):
            return (self.w * 0.01).float().mean()

    model = Big()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def body(step):
        optimizer.zero_grad()
        model().backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body, steps=2)
    assert run.series("param_norm").last == pytest.approx(300 * math.sqrt(100_000), rel=1e-5)


def test_forgotten_zero_grad_is_seen(tmp_path):
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step):
        inputs, targets = case.batch()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    assert run.series("grads_not_zeroed").values.tolist() == [1.0] * 5  # nothing to compare with at the first


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
def test_cleared_gradients_are_seen_as_cleared(set_to_none, when, tmp_path):
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def body(step):
        inputs, targets = case.batch()
        if when == "before":
            optimizer.zero_grad(set_to_none=set_to_none)
        for _ in range(2):
            (F.cross_entropy(model(inputs), targets) / 2).backward()
        optimizer.step()
        if when == "after":
            model.zero_grad(set_to_none=set_to_none)

    run = loop(model, optimizer, tmp_path, body)
    assert run.series("grads_not_zeroed").values.tolist() == [0.0] * 5


def test_another_models_backward_is_not_ours(tmp_path):
    case = CASES["mlp"]
    model, stranger = case.model(), case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []

    def body(step):
        inputs, targets = case.batch()
        F.cross_entropy(stranger(inputs), targets).backward()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    np.testing.assert_allclose(run.loss.values, losses, rtol=1e-6)


def test_a_step_that_calls_its_parents_step_is_one_step(tmp_path):
    class Scaled(torch.optim.SGD):
        fails = False

        def step(self, closure=None):
            if self.fails:
                raise OverflowError
            return super().step(closure)

    torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)  # from now on torch tells of the parent's steps as well
    model = nn.Linear(4, 1)
    optimizer = Scaled(model.parameters(), lr=0.01)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, vitals=["loss"])
    quiet = []
    for step in range(700):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        quiet.append(monitor.dispatcher.fast_path.active)
        optimizer.fails = step == 650
        with suppress(OverflowError):
            optimizer.step()
    run = recorded(monitor)
    assert any(quiet)
    assert run.series("loss").steps.tolist() == list(range(699))


def test_names_are_free_of_wrappers(tmp_path):
    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, x):
            return self.module(x)

    inner = BareScale()
    model = torch.compile(Wrapper(inner), backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step):
        inputs, targets = CASES["bare"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    assert run.owners("grad_norm") == ["scale", "front", "head"]
    assert {p.name for p in run.parameters} == {"scale", "front.weight", "front.bias", "head.weight", "head.bias"}


def test_owners_stand_in_the_order_the_signal_passes_them(tmp_path):
    class BackToFront(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(16, 10)
            self.body = nn.Linear(16, 16)
            self.gain = nn.Parameter(torch.ones(16))
            self.front = nn.Linear(20, 16)

        def forward(self, x):
            return self.head(torch.tanh(self.body(self.gain * self.front(x))))

    model = BackToFront()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step):
        inputs, targets = CASES["bare"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    assert run.owners("grad_norm") == ["front", "gain", "body", "head"]


def test_coverage_is_recorded_at_step_zero_and_training_goes_on(tmp_path):
    model = CASES["mlp"].model()
    old = copy.deepcopy(model)
    optimizer = torch.optim.SGD(old.parameters(), lr=0.1)  # holds tensors of a copy

    def body(step):
        inputs, targets = CASES["mlp"].batch()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    event = run.events_of("coverage")[0]
    assert event.step == 0
    assert event.data["covered"] == 0
    assert event.data["stale"] == 6
    assert event.data["uncovered"][:2] == ["0.weight", "0.bias"]
    assert all(p.gradient_steps == 6 and not p.in_optimizer for p in run.parameters)


def test_the_rate_of_a_tensor_valued_learning_rate_is_the_one_used(tmp_path):
    model = CASES["mlp"].model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(0.1), foreach=False)

    def body(step):
        inputs, targets = CASES["mlp"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"].mul_(0.5)

    run = loop(model, optimizer, tmp_path, body)
    assert run.series("lr").values.tolist() == pytest.approx([0.1 * 0.5**i for i in range(6)])


def test_norms_are_exact_at_any_size():
    from bedside.collect.reading.squared_norms import SquaredNorms

    torch.manual_seed(0)
    tensors = [torch.randn(20_000_000), torch.randn(3)]
    measured = SquaredNorms(tensors).squares(tensors)
    for tensor, square in zip(tensors, measured.tolist(), strict=True):
        assert square == pytest.approx(float((tensor.double() ** 2).sum()), rel=1e-6)


def test_clipping_imported_early_does_not_escape(tmp_path):
    from torch.nn.utils import clip_grad_norm_  # as scripts do, before watch()

    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        clip_grad_norm_(list(model.parameters())[:2], 1e-3)  # one layer only
        optimizer.step()

    run = loop(model, optimizer, tmp_path, body)
    assert set(run.series("clip_active").values) == {1.0}
    np.testing.assert_allclose(run.series("grad_norm_clipped", "0").values, 1e-3, rtol=1e-3)
    assert (run.series("grad_norm", "0").values > 1e-2).all()
    np.testing.assert_allclose(run.series("grad_norm", "3").values, run.series("grad_norm_clipped", "3").values)
