"""Several backward passes before one step: parts of one loss are added up, micro-batches are averaged."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.one, self.two = nn.Linear(12, 16), nn.Linear(16, 5), nn.Linear(16, 5)

    def forward(self, x):
        h = self.body(x).relu()
        return self.one(h), self.two(h)


def train(tmp_path, parts, steps=30, micro=1, divide=False):
    """`parts(outputs, labels)` gives the losses of one forward, each with a backward of its own."""
    torch.manual_seed(0)
    model = TwoHeads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    truth = []

    def body(step, monitor):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(micro):
            losses = parts(model(torch.randn(8, 12)), torch.randint(5, (8,)))
            for number, loss in enumerate(losses):
                (loss / micro if divide else loss).backward(retain_graph=number + 1 < len(losses))
                total += loss.item() / micro
        truth.append(total)
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps), np.asarray(truth)


def main_and_auxiliary(outputs, labels):
    return F.cross_entropy(outputs[0], labels), 0.1 * outputs[1].square().mean()


def two_alike(outputs, labels):
    return F.cross_entropy(outputs[0], labels), F.cross_entropy(outputs[1], labels)


def one(outputs, labels):
    return (F.cross_entropy(outputs[0], labels) + F.cross_entropy(outputs[1], labels),)


@pytest.mark.parametrize("divide", [False, True])
@pytest.mark.parametrize("micro", [1, 4])
@pytest.mark.parametrize("parts", [main_and_auxiliary, two_alike, one])
def test_parts_are_summed_and_micro_batches_averaged(parts, micro, divide, tmp_path):
    run, truth = train(tmp_path, parts, micro=micro, divide=divide)
    np.testing.assert_allclose(run.series("loss").values, truth, rtol=1e-5)
    assert set(run.series("micro_batches").values) == {micro}


def test_micro_batches_divided_by_the_samples_of_all_are_shares_of_one_loss(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(12, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    truth = []

    def body(step, monitor):
        optimizer.zero_grad()
        inputs, labels = torch.randn(24, 12), torch.randint(5, (24,))
        labels[:3] = -100
        truth.append(F.cross_entropy(model(inputs), labels).item())
        for part in (slice(0, 4), slice(4, 12), slice(12, 24)):
            (F.cross_entropy(model(inputs[part]), labels[part], reduction="sum") / 21).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 30)
    np.testing.assert_allclose(run.series("loss").values, truth, rtol=1e-5)
    assert not [event for event in run.events_of("accumulation") if event.data["divided"] is False]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_loss_per_sample_whose_backward_is_given_one_weight_is_their_weighted_sum(sign, tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(12, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    truth = []

    def body(step, monitor):
        optimizer.zero_grad()
        losses = F.cross_entropy(model(torch.randn(8, 12)), torch.randint(5, (8,)), reduction="none")
        losses.backward(torch.full_like(losses, sign / 8))
        truth.append(sign * losses.mean().item())
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 30)
    np.testing.assert_allclose(run.series("loss").values, truth, rtol=1e-5)


def test_a_gradient_given_in_the_middle_of_a_graph_is_no_loss(tmp_path):
    model = nn.Linear(12, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(8, 12)).backward(torch.randn(8, 5))
        optimizer.step()

    assert not len(watched(model, optimizer, tmp_path, body, 30).series("loss").values)


def test_two_backwards_of_one_forward_are_no_unscaled_accumulation(tmp_path):
    run, _ = train(tmp_path, main_and_auxiliary)
    assert not [event for event in run.events_of("accumulation") if event.data["divided"] is False]


LOSSES = {
    "bce": (
        lambda out: F.binary_cross_entropy_with_logits(out, torch.ones_like(out)),
        lambda out: F.binary_cross_entropy_with_logits(out, torch.zeros_like(out)),
    ),
    "sigmoid and bce": (
        lambda out: F.binary_cross_entropy(out.sigmoid(), torch.full_like(out, 0.9)),
        lambda out: F.binary_cross_entropy(out.sigmoid(), torch.zeros_like(out)),
    ),
    "least squares": (
        lambda out: F.mse_loss(out, torch.ones_like(out)),
        lambda out: F.mse_loss(out, torch.zeros_like(out)),
    ),
    "hinge": (lambda out: (1 - out).relu().mean(), lambda out: (1 + out).relu().mean()),
    "wasserstein": (lambda out: -out.mean(), lambda out: out.mean()),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_a_critics_loss_of_real_and_made_up_samples_is_their_sum(kind, tmp_path):
    torch.manual_seed(0)
    real_loss, fake_loss = LOSSES[kind]
    maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    model = nn.ModuleDict({"maker": maker, "critic": critic})
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.01)
    truth = []

    def body(step, monitor):
        of_critic.zero_grad()
        on_real = real_loss(critic(torch.randn(8, 2) + 2))
        on_real.backward()
        fake = maker(torch.randn(8, 4))
        on_fake = fake_loss(critic(fake.detach()))
        on_fake.backward()
        of_critic.step()
        of_maker.zero_grad()
        fooled = real_loss(critic(fake))
        fooled.backward()
        of_maker.step()
        truth.append((on_real.item() + on_fake.item(), fooled.item()))

    run = watched(model, [of_critic, of_maker], tmp_path, body, 30)
    critics, makers = np.asarray(truth).T
    np.testing.assert_allclose(run.series("loss", "optimizer_0").values, critics, rtol=1e-5)
    np.testing.assert_allclose(run.series("loss", "optimizer_1").values, makers, rtol=1e-5)


def test_micro_batches_of_changing_kind_are_still_averaged(tmp_path):
    """A loss that is now and then made another way (mixup, a penalty) is not a part of another."""
    torch.manual_seed(0)
    made = iter(torch.rand(400).tolist())

    def sometimes(outputs, labels):
        plain = F.cross_entropy(outputs[0], labels)
        return ((plain * 0.5 + F.cross_entropy(outputs[1], labels) * 0.5) if next(made) < 0.2 else plain,)

    run, truth = train(tmp_path, sometimes, micro=4, steps=60)
    off = np.abs(run.series("loss").values / truth - 1) > 1e-4
    assert off.mean() < 0.1


@pytest.mark.parametrize("set_to_none", [True, False])
def test_backwards_that_attack_a_batch_before_gradients_are_cleared_are_no_micro_batches(set_to_none, tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(12, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    truth = []

    def body(step, monitor):
        inputs, labels = torch.randn(8, 12, requires_grad=True), torch.randint(5, (8,))
        for _ in range(2):
            F.cross_entropy(model(inputs), labels).backward()
        attacked = (inputs + 0.1 * inputs.grad.sign()).detach()
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = F.cross_entropy(model(attacked), labels)
        loss.backward()
        truth.append(loss.item())
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 30)
    np.testing.assert_allclose(run.series("loss").values, truth, rtol=1e-5)
    assert set(run.series("micro_batches").values) == {1}
    assert not run.series("grads_not_zeroed").values.any()
