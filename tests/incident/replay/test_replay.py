"""The kept step fails again, bit for bit, and what made it fail is named."""

from __future__ import annotations

import json
import math

import pytest
import torch
from tests.incident.kept_steps import NONFINITE, WithLog, a_batch, keep
from torch import nn
from torch.nn import functional as F

from bedside.incident.capture.capture import Trigger
from bedside.incident.replay.matching import CannotReplay


def spike(limit: float, series: str = "loss") -> Trigger:
    return Trigger("spike", "the loss is high.", {"series": series, "value": 9.0, "usual": 1.0, "limit": limit})


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return WithLog()


def test_the_step_fails_again_with_the_same_bits(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[5])], F.cross_entropy)
    again = incident.replay(WithLog(), F.cross_entropy)  # other weights: the kept ones are what counts
    assert again.reproduced
    assert again.exact, again.differences
    assert math.isnan(again.losses[0])


def test_dropout_is_the_same_one(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch()], F.cross_entropy, trigger=spike(0.0))
    torch.manual_seed(99)
    again = incident.replay(WithLog(), F.cross_entropy)
    assert again.exact, again.differences
    assert again.losses[0] == incident.micro_batches[0].loss


def test_operation_module_line_and_samples_are_named(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[5])], F.cross_entropy, indices=list(range(100, 108)))
    again = incident.replay(WithLog(), F.cross_entropy)
    text = str(again)
    assert again.culprit.operator == "aten.log"
    assert "scale = (x[:, :1] + 3).log()" in again.culprit.line
    assert again.experiment.rows == (5,)
    assert again.experiment.decides
    assert "The cause is row 5 (index 105 of the data set)" in text
    assert "Step 12 fails again" in text
    json.dumps(again.to_json(), allow_nan=False)


def test_two_micro_batches_and_the_second_is_bad(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(), a_batch(bad=[1, 2], seed=2)], F.cross_entropy)
    again = incident.replay(WithLog(), F.cross_entropy)
    assert again.reproduced
    assert again.exact, again.differences
    assert again.experiment.rows == (1, 2)


def test_a_bad_gradient_under_a_sound_loss(tmp_path):
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            return self.layer(x) + self.layer(x * 0).sub(self.layer.bias).sum(1, keepdim=True).sqrt()

    torch.manual_seed(0)
    incident = keep(tmp_path, Root(), [a_batch()], F.cross_entropy)
    again = incident.replay(Root(), F.cross_entropy)
    assert again.reproduced
    assert again.culprit.moment == "backward"
    assert "sqrt" in again.culprit.line


def test_a_step_that_does_not_fail_again_is_said_to_be_so(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch()], F.cross_entropy)  # nothing is wrong with it
    again = incident.replay(WithLog(), F.cross_entropy)
    assert not again
    assert "does not fail again" in str(again)
    assert "non-determinism or hardware" in str(again)


def test_a_spike_is_attributed_with_exact_shares(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    y[7] = 80.0
    incident = keep(tmp_path, model, [(x, y)], F.mse_loss, trigger=spike(20.0))
    again = incident.replay(nn.Linear(4, 1), F.mse_loss)
    assert again.reproduced
    assert again.samples[0].row == 7
    assert sum(each.loss_share for each in again.samples) == pytest.approx(1.0, abs=1e-5)
    assert sum(each.gradient_share for each in again.samples) == pytest.approx(1.0, abs=1e-5)
    assert again.experiment.decides
    assert again.experiment.without < 20 < again.experiment.with_them
    assert "The cause is row 7" in str(again)


def test_shares_by_a_slower_route(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    x, y = a_batch(6)
    incident = keep(tmp_path, model, [(x, y)], F.cross_entropy, trigger=spike(0.0))
    again = incident.replay(nn.Linear(4, 3), F.cross_entropy)
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    whole = torch.cat([p.grad.flatten() for p in model.parameters()]).double()
    for sample in again.samples:
        model.zero_grad()
        own = F.cross_entropy(model(x[sample.row : sample.row + 1]), y[sample.row : sample.row + 1])
        own.backward()
        part = torch.cat([p.grad.flatten() for p in model.parameters()]).double() / 6
        assert sample.gradient_share == pytest.approx(float(part @ whole / (whole @ whole)), rel=1e-4)
        assert sample.loss == pytest.approx(own.item(), rel=1e-5)


def test_no_cause_is_claimed_where_leaving_the_samples_out_changes_nothing(tmp_path):
    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.full((16, 1), 80.0)  # all of them are far off
    incident = keep(tmp_path, nn.Linear(4, 1), [(x, y)], F.mse_loss, trigger=spike(20.0))
    text = str(incident.replay(nn.Linear(4, 1), F.mse_loss))
    assert "Suspected" in text
    assert "cause" not in text


def test_the_model_is_left_as_it_was(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    torch.manual_seed(3)
    other = WithLog().eval()
    before = {name: each.clone() for name, each in other.state_dict().items()}
    random_before, threads = torch.get_rng_state(), torch.get_num_threads()
    incident.replay(other, F.cross_entropy)
    assert all(torch.equal(each, before[name]) for name, each in other.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random_before)
    assert not other.training
    assert torch.get_num_threads() == threads
    assert all(each.grad is None for each in other.parameters())


def test_another_model_is_refused_in_three_lines(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    with pytest.raises(CannotReplay) as raised:
        incident.replay(nn.Linear(4, 3), F.cross_entropy)
    assert "The model is not the one of the incident" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 3
    with pytest.raises(CannotReplay, match="float64"):
        incident.replay(WithLog().double(), F.cross_entropy)


@pytest.mark.parametrize("name", ["torch", "device", "processor"])
def test_another_version_or_device_is_refused_and_named(tmp_path, model, name):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    incident.facts["numerics"][name] = "something else"
    with pytest.raises(CannotReplay, match="something else"):
        incident.replay(WithLog(), F.cross_entropy)
    again = incident.replay(WithLog(), F.cross_entropy, anyway=True)
    assert again.reproduced
    assert "Not bit for bit" in str(again)


def test_settings_of_then_hold_during_the_replay_and_not_after(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    incident.facts["numerics"] |= {"deterministic": True, "matmul_precision": "medium"}
    seen = []

    def loss_fn(output, target):
        seen.append((torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()))
        return F.cross_entropy(output, target)

    incident.replay(WithLog(), loss_fn)
    assert set(seen) == {(True, "medium")}
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_float32_matmul_precision() == "highest"


def test_without_a_loss_function_that_of_then_is_used(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    assert incident.replay(WithLog()).exact


def test_a_loss_function_may_ask_for_the_batch(tmp_path, model):
    incident = keep(tmp_path, model, [a_batch(bad=[0])], F.cross_entropy)
    assert incident.replay(WithLog(), lambda output, batch: F.cross_entropy(output, batch[1])).exact


def test_weights_that_were_bad_before_are_said_to_be(tmp_path, model):
    with torch.no_grad():
        model.last.bias[1] = float("nan")
    incident = keep(tmp_path, model, [a_batch()], F.cross_entropy, trigger=NONFINITE)
    assert "last.bias" in str(incident.replay(WithLog(), F.cross_entropy))
    assert "weights were not finite before this step" in str(incident.replay(WithLog(), F.cross_entropy))


def test_a_batch_norm_spoils_all_rows_and_the_one_is_still_found(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    x, y = a_batch()
    x[3, 1] = float("inf")
    incident = keep(tmp_path, model, [(x, y)], F.cross_entropy)
    again = incident.replay(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)), F.cross_entropy)
    assert again.culprit.moment == "input"
    assert again.experiment.rows == (3,)


@pytest.mark.parametrize("bad", [[3], [0, 7], [1, 2, 6]])
def test_rows_that_batch_norm_mixes_are_found_by_halving(tmp_path, bad):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))

        def forward(self, x):
            return self.body(torch.cat([(x[:, :1] + 3).log(), x[:, 1:]], 1))

    torch.manual_seed(0)
    incident = keep(tmp_path, Model(), [a_batch(bad=bad)], F.cross_entropy)
    again = incident.replay(Model(), F.cross_entropy)
    assert again.experiment.rows == tuple(bad)
    assert again.experiment.decides
