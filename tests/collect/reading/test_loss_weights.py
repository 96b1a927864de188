"""How much one element of a part of the loss counts, against the derivative by that very element."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence
from torch.nn import functional as F

from bedside.collect.reading.loss_weights import divergence, operation, parts_of, stretching

torch.manual_seed(0)
ENCODER, DECODER, X = torch.nn.Linear(6, 8), torch.nn.Linear(4, 6), torch.rand(10, 6)


def by_spread(mean, spread):
    return 0.5 * (spread**2 + mean**2 - 1) - torch.log(spread)


def by_variance(mean, spread):
    return 0.5 * (spread**2 + mean**2 - 1 - torch.log(spread**2))


DIVERGENCES = {
    "log-variance": lambda m, v: -0.5 * (1 + v - m.pow(2) - v.exp()),
    "standard deviation": lambda m, v: by_spread(m, (v / 2).exp()),
    "variance": lambda m, v: by_variance(m, (v / 2).exp()),
    "distributions": lambda m, v: kl_divergence(Normal(m, F.softplus(v)), Normal(0.0, 1.0)),
    "independent": lambda m, v: kl_divergence(
        Independent(Normal(m, F.softplus(v)), 1), Independent(Normal(torch.zeros(4), torch.ones(4)), 1)
    )[:, None],
}
ERRORS = {
    "logits": lambda out: F.binary_cross_entropy_with_logits(out, X, reduction="none").sum(1).mean(),
    "squares": lambda out: F.mse_loss(out, X, reduction="sum") / len(X),
    "by hand": lambda out: ((out - X) ** 2).sum(1).mean(),
    "likelihood": lambda out: -Bernoulli(logits=out).log_prob(X.round()).sum(1).mean(),
}


def code():
    mean, log_variance = ENCODER(X).chunk(2, 1)
    return mean, log_variance, DECODER(mean + torch.randn_like(mean) * (log_variance / 2).exp())


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_divergence_is_known_however_it_is_written(kind, error):
    mean, log_variance, out = code()
    kl = DIVERGENCES[kind](mean, log_variance)
    weight, squared = divergence(ERRORS[error](out) + 20 * kl.sum(1).mean())
    assert weight == pytest.approx(20)
    assert torch.equal(squared._saved_self, mean)
    assert stretching(ERRORS[error](out) + kl.sum(1).mean()) is None


def test_a_mean_over_the_dimensions_counts_that_much_less():
    mean, log_variance, out = code()
    kl = DIVERGENCES["log-variance"](mean, log_variance)
    assert divergence(ERRORS["logits"](out) + kl.mean())[0] == pytest.approx(1 / 4)
    assert divergence(F.mse_loss(out, X) + kl.sum())[0] == pytest.approx(X.numel())


def test_an_autoencoder_without_a_random_code_has_none():
    mean, _, out = code()
    assert divergence(ERRORS["logits"](out) + mean.square().mean()) is None


def test_the_weight_of_a_part_is_the_derivative_by_one_of_its_elements():
    x = torch.randn(4, 6, requires_grad=True)
    square, wave = x.square(), x.sin()
    for each in (square, wave):
        each.retain_grad()
    loss = (square.mean(1) / 3 - 2 * wave.sum(1)).mean() + 5 * wave[:, :3].mean()
    loss.backward(retain_graph=True)
    found = {}
    for part in parts_of(loss):
        found[operation(part.node)] = found.get(operation(part.node), 0.0) + part.weight
    assert found["Pow"] == pytest.approx(float(square.grad[0, 0]))
    assert found["Sin"] == pytest.approx(float(wave.grad[0, 0]))


def flow(x, layers=3):
    total = 0.0
    for _ in range(layers):
        scale, shift = LAYER(x[:, :3]).chunk(2, 1)
        scale = 2 * torch.tanh(scale / 2)
        x = torch.cat([x[:, 3:] * scale.exp() + shift, x[:, :3]], 1)
        total = total + scale.sum(1)
    return x, total


LAYER = torch.nn.Linear(3, 6)


@pytest.mark.parametrize(
    ("density", "ratio"),
    [
        (lambda z: Normal(0, 1).log_prob(z).sum(1), 1),
        (lambda z: Independent(Normal(torch.zeros(6), torch.ones(6)), 1).log_prob(z), None),
        (lambda z: -0.5 * (z**2).sum(1), 1),
        (lambda z: Normal(0, 1).log_prob(z).mean(1), 6),
        (lambda z: -0.5 * z.pow(2).mean(1), 6),
    ],
)
def test_a_flow_whose_density_and_determinant_belong_together(density, ratio):
    z, log_det = flow(X)
    found = stretching(-(density(z) + log_det).mean())
    assert found in (None, (1.0, 6)) if ratio is None else found == (ratio, 6)
    halves = stretching(-((density(z) + log_det) / 6).mean())  # bits per number: all alike
    assert halves == found


def test_a_determinant_that_is_averaged_counts_too_little():
    z, log_det = flow(X)
    weight, numbers = stretching(-(Normal(0, 1).log_prob(z).sum(1) + log_det / 6).mean())
    assert weight * numbers == pytest.approx(1, rel=1e-4)


def test_a_likelihood_with_its_own_spread_is_a_density():
    mean, log_spread = torch.nn.Linear(6, 6)(X).chunk(2, 1)
    apart = (X[:, :3] - mean) * torch.exp(-log_spread)
    assert stretching((0.5 * apart.square() + log_spread).mean()) == (1.0, 3)
