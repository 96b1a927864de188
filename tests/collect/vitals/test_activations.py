"""Activation statistics, against the whole output, element by element, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import bedside
from bedside.collect.hooks.function_calls import FULL_FORWARDS, FULL_INTERVAL
from bedside.collect.reading.subsample import ELEMENTS, Cut, coprime_stride, sample


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.act = nn.ReLU(inplace=True)
        self.gate = nn.Linear(8, 16)
        self.head = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 10))

    def forward(self, x):
        x = self.act(self.norm(self.conv(x))).mean((2, 3))
        return self.head(torch.sigmoid(20 * self.gate(x)))


def slow(tensor):
    values = tensor.detach().double().reshape(-1)
    return {
        "activation_mean": float(values.mean()),
        "activation_rms": float(values.square().mean().sqrt()),
        "activation_max": float(values.abs().max()),
        "zero_fraction": float((values == 0).double().mean()),
        "nonfinite_activations": float((~values.isfinite()).double().mean()),
        **variations(tensor.detach().double()),
    }


def variations(tensor):
    """Of the whole output as (samples, units), by the definition: spread around the other direction's means."""
    grid = tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() < 4 else tensor.reshape(len(tensor), -1)
    rms = grid.square().mean().sqrt()
    return {
        "batch_variation": float(grid.var(0, correction=0).mean().sqrt() / rms),
        "unit_variation": float(grid.var(1, correction=0).mean().sqrt() / rms),
    }


def train(model, tmp_path, batch, steps=3, forward=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        (forward or model)(batch(step)).square().mean().backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps)


def recorded(model, names):
    """What modules returned, copied at once."""
    seen = {name: [] for name in names}
    for name in names:
        model.get_submodule(name).register_forward_hook(lambda m, a, out, name=name: seen[name].append(out.clone()))
    return seen


def test_statistics_of_small_outputs_are_exact(tmp_path):
    torch.manual_seed(0)
    model = Net()
    seen = recorded(model, ["conv", "gate", "head.0", "head.2"])
    run = train(model, tmp_path, lambda step: torch.randn(4, 1, 8, 8))
    for name, outputs in seen.items():
        for vital, value in slow(outputs[-1]).items():
            assert run.series(vital, name).last == pytest.approx(value, rel=1e-5, abs=1e-7), (name, vital)


def test_large_outputs_are_sampled_and_close(tmp_path):
    torch.manual_seed(0)
    model = Net()
    seen = recorded(model, ["conv"])
    run = train(model, tmp_path, lambda step: torch.randn(32, 1, 32, 32), steps=10)
    expected = slow(torch.cat(seen["conv"]))
    assert float(np.mean(run.series("activation_rms", "conv").values)) == pytest.approx(
        expected["activation_rms"], rel=0.02
    )


def test_an_output_that_is_overwritten_in_place_is_read_before_that(tmp_path):
    torch.manual_seed(0)
    model = Net()
    seen = recorded(model, ["norm"])
    run = train(model, tmp_path, lambda step: torch.randn(4, 1, 8, 8))
    norm = run.series("activation_mean", "norm")
    assert norm.steps.tolist() == [1, 2]  # the first one was found to be overwritten, and dropped
    assert norm.last == pytest.approx(slow(seen["norm"][-1])["activation_mean"], abs=1e-6)
    assert run.series("zero_fraction", "norm").last < 0.01
    assert run.series("zero_fraction", "act").last == pytest.approx(0.5, abs=0.15)


def test_saturation_is_where_the_slope_is_under_a_hundredth_of_the_steepest(tmp_path):
    torch.manual_seed(0)
    model = Net()
    seen = recorded(model, ["gate"])
    run = train(model, tmp_path, lambda step: torch.randn(4, 1, 8, 8))
    s = torch.sigmoid(20 * seen["gate"][-1].double())
    assert run.series("saturated_fraction", "sigmoid").last == pytest.approx(
        float((s * (1 - s) < 0.01 / 4).double().mean()), abs=0.02
    )
    assert run.series("saturated_fraction", "head.1").last == 0
    assert "saturated_fraction" not in [vital for vital, owner in run.series_keys if owner == "conv"]


def test_a_container_that_hands_on_its_last_child_is_not_counted_again(tmp_path):
    run = train(Net(), tmp_path, lambda step: torch.randn(4, 1, 8, 8))
    owners = run.owners("activation_rms")
    assert owners == ["conv", "norm", "act", "gate", "sigmoid", "head.0", "head.1", "head.2"]


def test_a_container_whose_hook_changes_what_its_last_child_returned_is_read(tmp_path):
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4)))
    model[1].register_forward_hook(lambda module, args, output: output.detach() * 0 + 3)
    head = nn.Linear(4, 1)
    run = train(model, tmp_path, lambda step: torch.randn(16, 8), forward=lambda x: head(model(x)))
    assert run.series("activation_mean", "1").values[-1] == pytest.approx(3)


def test_checkpointing_does_not_count_twice(tmp_path):
    class Checkpointed(Net):
        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    plain = train(Net(), tmp_path / "a", lambda step: torch.ones(4, 1, 8, 8))
    again = train(Checkpointed(), tmp_path / "b", lambda step: torch.ones(4, 1, 8, 8))
    for run in (plain, again):
        assert run.series("activation_rms", "conv").steps.tolist() == [0, 1, 2]
        assert not [owner for owner in run.owners("activation_rms") if "#" in owner]


def test_nan_in_an_output_is_counted(tmp_path):
    class Bad(nn.Module):
        def forward(self, x):
            return torch.where(x > 0, x, x * float("nan"))

    model = nn.Sequential(nn.Linear(8, 8), Bad(), nn.Linear(8, 2))
    run = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=1)
    assert run.series("nonfinite_activations", "0").last == 0
    assert run.series("nonfinite_activations", "1").last == pytest.approx(0.5, abs=0.1)
    assert run.series("nonfinite_activations", "2").last == 1


@pytest.mark.parametrize("shape", [(5,), (64, 784), (8, 256, 96), (3, 7, 31, 33)])
def test_a_sample_is_spread_evenly_and_has_one_length_per_size(shape):
    tensor = torch.arange(float(np.prod(shape))).reshape(shape)
    views = [sample(tensor, turn) for turn in range(7)]
    assert len({len(view) for view in views}) == 1
    assert len(views[0]) <= ELEMENTS
    for view in views:
        assert view.unique().numel() == len(view)
        if tensor.numel() > ELEMENTS:
            assert float(view.mean()) == pytest.approx(float(tensor.mean()), rel=0.02)


@pytest.mark.parametrize("how", ["transposed", "channels last", "with gaps", "expanded"])
def test_any_memory_layout_can_be_sampled(how):
    tensor = torch.randn(32, 16, 24, 24)
    tensor = {
        "transposed": tensor.transpose(0, 2),
        "channels last": tensor.to(memory_format=torch.channels_last),
        "with gaps": tensor[:, ::2],
        "expanded": tensor[:1].expand(32, 16, 24, 24),
    }[how]
    view = sample(tensor, turn=3)
    assert len(view) <= ELEMENTS
    assert set(view.tolist()) <= set(tensor.reshape(-1).tolist())


@pytest.mark.parametrize("shape", [(5,), (64, 784), (8, 256, 96), (32, 16, 24, 24), (2, 100_000)])
def test_a_table_is_spread_over_samples_and_units(shape):
    tensor = torch.randn(shape)
    for features_last in (True, False):
        cut = Cut.for_shape(tensor.shape, features_last)
        views = [cut.of(tensor, turn) for turn in range(5)]
        assert len({view.shape for view in views}) == 1
        assert views[0].numel() <= ELEMENTS
        assert views[0].dim() == 2


def test_a_layer_whose_units_are_all_alike_has_no_unit_variation(tmp_path):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 6))
    nn.init.constant_(model[0].weight, 0.1)
    nn.init.constant_(model[0].bias, 0.0)
    run = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=1)
    assert run.series("unit_variation", "0").last < 1e-6
    assert run.series("batch_variation", "0").last > 0.5
    assert run.series("unit_variation", "2").last > 0.1


def test_an_output_that_does_not_depend_on_the_input_has_no_batch_variation(tmp_path):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    nn.init.zeros_(model[0].weight)
    run = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=1)
    assert run.series("batch_variation", "1").last < 1e-6
    assert run.series("unit_variation", "1").last > 0.5


def test_the_kinds_of_non_linearities_are_told(tmp_path):
    run = train(Net(), tmp_path, lambda step: torch.randn(4, 1, 8, 8))
    [event] = run.events_of("nonlinearities")
    assert event.data == {"act": "relu", "sigmoid": "sigmoid", "head.1": "tanh"}


def test_the_stride_has_no_factor_in_common_with_the_size():
    for count in (50_000, 1 << 20, 8 * 256 * 384, 99_991):
        assert np.gcd(coprime_stride(count, ELEMENTS), count) == 1


def test_functions_are_heard_by_the_module_that_called_them(tmp_path):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            return F.relu(self.linear(F.relu(x)))

    model = nn.Sequential(Block(), Block(), nn.Softmax(-1))
    owners = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=1).owners("zero_fraction")
    assert owners == ["0.relu", "0.linear", "0.relu#2", "1.relu", "1.linear", "1.relu#2", "2"]


def test_when_shapes_or_calls_change_the_plan_is_made_anew(tmp_path):
    torch.manual_seed(0)
    model = Net()
    seen = recorded(model, ["gate", "head.0"])
    run = train(model, tmp_path, lambda step: torch.randn(4 + step % 3, 1, 8, 8), steps=9)
    for name, outputs in seen.items():
        rms = [slow(each)["activation_rms"] for each in outputs]
        assert run.series("activation_rms", name).values == pytest.approx(rms, rel=1e-5)


def test_a_function_that_is_called_late_is_found(tmp_path):
    steps = FULL_FORWARDS + 2 * FULL_INTERVAL

    class Late(nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return torch.tanh(x) if self.calls > FULL_FORWARDS + 5 else x + 0

    model = nn.Sequential(nn.Linear(8, 8), Late(), nn.Linear(8, 2))
    run = train(model, tmp_path, lambda step: torch.randn(16, 8), steps=steps)
    noted = run.series("saturated_fraction", "1.tanh").steps
    assert noted[0] <= FULL_FORWARDS + FULL_INTERVAL
    assert noted.tolist() == list(range(noted[0], steps))


def test_relu6_is_saturated_at_six(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU6(), nn.Linear(8, 2))
    nn.init.constant_(model[0].bias, 3.0)  # above one, below six
    run = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=2)
    assert run.series("saturated_fraction", "1").last == 0
    [event] = run.events_of("nonlinearities")
    assert event.data == {"1": "relu6"}


def test_a_subclass_of_a_non_linearity_is_heard_by_its_function(tmp_path):
    class Twice(nn.ReLU):
        def forward(self, x):
            return super().forward(x) * 2

    model = nn.Sequential(nn.Linear(8, 8), Twice(), nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
    run = train(model, tmp_path, lambda step: torch.randn(64, 8), steps=3)
    assert run.owners("zero_fraction") == ["0", "1.relu", "1", "2", "3", "4"]
    assert run.series("zero_fraction", "3").last > 0.2


@pytest.mark.filterwarnings("error")
def test_batches_of_another_form_with_as_many_numbers_are_read_as_they_are(way, tmp_path):
    class Elementwise(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.first, self.second = nn.ReLU(), nn.Tanh()

        def forward(self, x):
            return self.second(self.first(x * self.scale))

    model = Elementwise()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None):
        for step in range(12):
            x = torch.arange(8.0).repeat(16, 1)
            optimizer.zero_grad()
            model(x if step % 2 else x.t().contiguous()).mean().backward()
            optimizer.step()
    found = bedside.load(tmp_path / "run").series("batch_variation", "first").values
    assert found[1::2].tolist() == pytest.approx([0.0] * 6, abs=1e-6)  # all samples are alike
    assert (found[0::2] > 0.1).all()
