"""The numbers of experiments by a slower, obvious route."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.training.models import Pair, cross_entropy, examples, loader
from torch import nn
from torch.nn import functional as F

from bedside import lab
from bedside.errors import BadModel, BadOption
from bedside.lab import schedules
from bedside.lab.experiments.gradient_noise import noise_scale
from bedside.testing import a_run


def small(width: int = 5) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 3))


# Curvature.


def dense_hessian(model, batches):
    names = [name for name, _ in model.named_parameters()]
    flat = torch.cat([each.detach().flatten() for each in model.parameters()]).double()
    shapes = [each.shape for each in model.parameters()]
    model = model.double()

    def loss(vector):
        parts = vector.split([math.prod(shape) for shape in shapes])
        values = {name: part.view(shape) for name, part, shape in zip(names, parts, shapes, strict=True)}
        each = [F.cross_entropy(torch.func.functional_call(model, values, (x.double(),)), y) for x, y in batches]
        return sum(each) / len(each)

    return torch.autograd.functional.hessian(loss, flat)


def test_eigenvalues_are_those_of_the_whole_hessian():
    batches = list(loader(shuffle=False))[:4]
    found = lab.sharpness(small(), batches, cross_entropy, eigenvalues=3, perturbations=2)
    expected = torch.linalg.eigvalsh(dense_hessian(small(), batches)).flip(0)[:3]
    assert found.eigenvalues == pytest.approx(expected.tolist(), rel=1e-3)


@pytest.mark.filterwarnings("ignore")  # its own, and torch.jit's
def test_eigenvalues_agree_with_curvlinops():
    curvlinops = pytest.importorskip("curvlinops", reason="not a dependency: it brings torchvision")
    from scipy.sparse.linalg import eigsh

    model, batches = small(), list(loader(shuffle=False))[:4]
    found = lab.sharpness(model, batches, cross_entropy, eigenvalues=1, perturbations=2)
    operator = curvlinops.HessianLinearOperator(model, nn.CrossEntropyLoss(), list(model.parameters()), batches)
    [largest] = eigsh(operator.to_scipy(), k=1, which="LA", return_eigenvectors=False)
    assert found.eigenvalues[0] == pytest.approx(float(largest), rel=1e-3)


def test_an_attention_model_has_curvature_too():
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Unflatten(1, (1, 8)), encoder, nn.Flatten(), nn.Linear(8, 3))
    assert lab.sharpness(model, loader(), cross_entropy, eigenvalues=1, perturbations=2).eigenvalues[0] > 0


def test_a_quadratic_bowl_rises_as_computed_by_hand():
    """Loss = |w|²: noise of 5 % of the norm raises it by 0.05², whatever its direction, up to the cross term."""
    model = nn.Linear(4, 1, bias=False)
    found = lab.sharpness(model, [(torch.ones(1, 4),)], lambda o, b: model.weight.square().sum(), perturbations=400)
    assert found.ratio == pytest.approx(0.05**2, abs=4 * found.spread / 20)
    assert found.worst / found.loss == pytest.approx(1.05**2, rel=1e-4)
    assert found.eigenvalues == pytest.approx([2.0, 2.0, 2.0], rel=1e-3)
    assert not found.sharp


def test_the_landscape_passes_through_the_weights_and_biases_stay():
    found = lab.landscape(small(), loader(shuffle=False), cross_entropy, points=5, dimensions=2)
    middle = found.losses[2][2]
    assert middle == pytest.approx(found.loss)
    assert np.asarray(found.losses).shape == (5, 5)
    assert min(map(min, found.losses)) < max(map(max, found.losses))


# Gradients.


def test_the_summary_has_the_norms_that_a_backward_gives():
    model, batches = small(), loader(shuffle=False)
    found = lab.gradient_summary(model, batches, cross_entropy)
    cross_entropy(model((batch := next(iter(batches)))[0]), batch).backward()
    for layer in found.layers:
        module = model.get_submodule(layer.name)
        assert layer.norm == pytest.approx(math.hypot(module.weight.grad.norm(), module.bias.grad.norm()), rel=1e-5)
    assert sum(layer.share for layer in found.layers) == pytest.approx(1)
    on_cpu = lab.gradient_summary(model)
    assert [layer.norm for layer in on_cpu.layers] == pytest.approx([layer.norm for layer in found.layers])


def test_ten_sigmoid_layers_vanish_and_a_residual_net_does_not():
    torch.manual_seed(0)
    deep = nn.Sequential(*[each for _ in range(10) for each in (nn.Linear(8, 8), nn.Sigmoid())], nn.Linear(8, 3))
    found = lab.gradient_summary(deep, loader(), cross_entropy)
    assert found.verdict == "vanishing"
    assert found.ratio < 1e-3
    assert found.layers[0].status == "vanishing"
    assert lab.gradient_summary(small(), loader(), cross_entropy).healthy


def test_a_recorded_run_gives_the_same_table():
    run = a_run(grad_norm={"body": 0.5, "body.0": [0.3] * 10 + [0.4] * 90, "head": 2.0}, loss=1.0)
    found = lab.gradient_summary(run)
    assert [layer.name for layer in found.layers] == ["body.0", "head"]
    assert found.ratio == pytest.approx(0.2)
    flow = lab.gradient_flow(run)
    assert flow.curves["body.0"][0] == pytest.approx(0.3)
    assert flow.curves["body.0"][-1] == pytest.approx(0.4)


def test_a_layer_that_is_cut_off_has_no_gradient():
    model = small()
    model[0].requires_grad_(True)
    loss = cross_entropy(model[2](model[1](model[0](examples(8)[0])).detach()), (None, examples(8)[1]))
    loss.backward()
    assert {layer.name: layer.status for layer in lab.gradient_summary(model).layers}["0"] == "no gradient"


def test_a_model_without_gradients_says_what_to_do():
    with pytest.raises(BadModel, match="has no gradients now"):
        lab.gradient_summary(small())
    with pytest.raises(BadOption, match="A int is neither a model nor a run"):
        lab.gradient_flow(3)


def test_the_noise_scale_is_found_where_it_is_known():
    """Gradients are x - w for x of variance σ² per coordinate: noise 50 σ², signal |μ|²."""
    torch.manual_seed(0)
    mean, sigma = torch.full((50,), 0.3), 2.0
    data = mean + sigma * torch.randn(64 * 64, 50)
    model = nn.Linear(50, 1, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    batches = [(each,) for each in data.split(64)]

    def loss(output, batch):
        return 0.5 * (batch[0] - model.weight).square().sum(1).mean()

    found = lab.gradient_noise(model, batches, loss, batches=64)
    expected = 50 * sigma**2 / float(mean.square().sum())
    assert found.interval[0] < expected < found.interval[1]
    assert found.noise_scale == pytest.approx(expected, rel=0.35)


def test_pure_noise_is_said_to_be_so():
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(4, 4000))
    gradients -= gradients.mean(0)
    scale, _ = noise_scale(gradients @ gradients.T, 16)
    assert math.isnan(scale)


# Dead units.


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 3)
        with torch.no_grad():
            self.a.bias[3:9] = -100

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


def test_dead_units_are_listed_by_index_also_of_a_function():
    found = lab.dead_units(Functional(), loader())
    [layer] = found.layers
    assert (layer.name, layer.dead, layer.fed_by) == ("relu", tuple(range(3, 9)), "a")
    with torch.no_grad():
        x = torch.cat([batch[0] for batch in loader(shuffle=False)])
        model = Functional()
        torch.manual_seed(0)
        assert (F.relu(model.a(x)) > 0).float().mean(0)[3:9].tolist() == [0.0] * 6


def test_dead_channels_of_images_and_saturated_units():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 6), nn.Tanh(), nn.Linear(6, 3))
    with torch.no_grad():
        model[0].bias[2] = -100
        model[3].bias[1] = 100
    images = [(torch.randn(16, 1, 8, 8), torch.zeros(16, dtype=torch.long))]
    relu, tanh = lab.dead_units(model, images).layers
    assert relu.dead == (2,)
    assert tanh.saturated == (1,)


def test_a_model_without_such_units_is_refused():
    with pytest.raises(BadOption, match="calls no non-linearity"):
        lab.dead_units(nn.Linear(8, 3), loader())


# Batches and parameters.


def test_a_batch_of_any_shape_is_checked():
    x, y = examples(6)
    assert lab.validate_batch(Pair(x, y), classes=3)
    bad = x.clone()
    bad[2, 1], bad[4, 0] = float("nan"), float("inf")
    found = lab.validate_batch({"inputs": bad, "labels": y + 1}, classes=3)
    assert [problem.rows for problem in found.problems[:2]] == [(2,), (4,)]
    assert "labels from" in str(found)
    assert not lab.validate_batch({"nothing": "here"})
    assert "empty" in str(lab.validate_batch(torch.zeros(0, 3)))
    assert lab.validate_batch((x, torch.full((6,), -100)), classes=3)  # labels that losses leave out


def test_bad_parameters_and_buffers_are_found_by_name():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert not lab.find_nan(model)
    with torch.no_grad():
        model[0].weight[1, 2] = float("inf")
        model[1].running_var[0] = float("nan")
    found = lab.find_nan(model)
    assert found.names == ["0.weight", "1.running_var"]
    assert found.tensors[0].first == (1, 2)


# Schedules.


def test_warmup_cosine_rises_falls_and_stays_at_its_floor():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2)
    found = schedules.preview(schedules.warmup_cosine(optimizer, 10, 100, floor=0.1), 120)
    rates = found.first_group
    assert rates[0] == pytest.approx(0.02)
    assert rates[9] == pytest.approx(0.2)
    assert rates[99] == pytest.approx(0.02)
    assert rates[119] == pytest.approx(0.02)
    assert rates[10:100] == sorted(rates[10:100], reverse=True)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.02)


def test_one_cycle_is_torchs_own_and_its_end_is_seen():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2, momentum=0.9)
    scheduler = schedules.one_cycle(optimizer, 0.5, 50)
    assert isinstance(scheduler, torch.optim.lr_scheduler.OneCycleLR)
    found = schedules.preview(scheduler, 80)
    assert max(found.first_group) == pytest.approx(0.5)
    assert found.ended_at == 51
    assert "It ends at step" in str(found)


def test_a_schedule_that_cannot_be_is_refused():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2)
    with pytest.raises(BadOption, match="warmup=100, total=50"):
        schedules.warmup_cosine(optimizer, 100, 50)


# Rerun.


def test_a_step_with_state_outside_the_model_does_not_repeat():
    counter = []

    def loss(output, batch):
        counter.append(1)
        return cross_entropy(output * (1 + len(counter)), batch)

    found = lab.rerun(small(), loader(), loss)
    assert not found.same
    assert len(set(found.losses)) == 3
    assert found.different
    assert "outside the model" in str(found)
