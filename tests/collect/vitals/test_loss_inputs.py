"""What the loss function was given."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.loss_inputs import divided_by_scores, exponential_twice, maker

LABELS = torch.tensor([0, 2, 1, 0, 2])
BITS = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])
SPREAD = torch.full((5, 3), 1 / 3)


def ctc(frames, symbols=((1, 2),)):
    """The five rows of a batch as five frames of one utterance that says two symbols."""
    return F.ctc_loss(frames.unsqueeze(1), torch.tensor(symbols), torch.tensor([5]), torch.tensor([2]))


def by_hand(dim):
    """A likelihood that picks each label's probability, of those that add up over a dimension."""
    return lambda scores: -torch.log(scores.softmax(dim)[torch.arange(5), LABELS] + 1e-9).mean()


def seen(loss, tmp_path, outputs=3):
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, outputs))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        loss(model(torch.randn(5, 6))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=5)
    return [tuple(event.data.values()) for event in run.events_of("loss_input")]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda scores: F.cross_entropy(scores.softmax(1), LABELS), ("cross_entropy", "softmax")),
        (lambda scores: nn.CrossEntropyLoss()(torch.sigmoid(scores), LABELS), ("cross_entropy", "sigmoid")),
        (lambda scores: F.cross_entropy(F.relu(scores), LABELS), ("cross_entropy", "ReLU")),
        (lambda scores: F.nll_loss(scores.softmax(1).log_softmax(1), LABELS), ("log_softmax", "softmax")),
        (lambda scores: F.nll_loss(F.relu(scores).log_softmax(1), LABELS), ("log_softmax", "ReLU")),
        (lambda scores: F.nll_loss(scores, LABELS), ("nll_loss", "linear layer")),
        (lambda scores: F.nll_loss(scores.softmax(1), LABELS), ("nll_loss", "softmax")),
        (lambda scores: F.nll_loss(scores.log_softmax(0), LABELS), ("nll_loss", "log_softmax over dimension 0")),
        (lambda scores: ctc(scores.log_softmax(1), [[0, 2]]), ("ctc_targets", "blank (0)")),
        (lambda scores: F.kl_div(scores.softmax(1), SPREAD, reduction="batchmean"), ("kl_div", "softmax")),
        (lambda scores: F.cross_entropy(scores, torch.ones(5, 3)), ("class_targets", "several classes")),
        (by_hand(0), ("probabilities", "softmax over dimension 0")),
        (ctc, ("ctc_loss", "linear layer")),
        (lambda scores: ctc(scores.softmax(1)), ("ctc_loss", "softmax")),
        (
            lambda scores: F.binary_cross_entropy_with_logits(torch.sigmoid(scores)[:, :1].squeeze(1), BITS),
            ("binary_cross_entropy_with_logits", "sigmoid"),
        ),
    ],
)
def test_what_a_loss_function_should_not_be_given_is_told_once(loss, expected, tmp_path):
    assert seen(loss, tmp_path) == [expected]


@pytest.mark.parametrize(
    "loss",
    [
        lambda scores: F.cross_entropy(scores, LABELS),
        lambda scores: F.cross_entropy(scores.log_softmax(1), LABELS),  # once more changes nothing
        lambda scores: F.nll_loss(scores.log_softmax(1), LABELS),
        lambda scores: F.nll_loss(torch.log(scores.softmax(1)), LABELS),
        lambda scores: F.kl_div(scores.log_softmax(1), SPREAD, reduction="batchmean"),
        lambda scores: ctc(scores.log_softmax(1)),
        lambda scores: F.binary_cross_entropy(torch.sigmoid(scores[:, 0]), BITS),
        lambda scores: F.binary_cross_entropy_with_logits(scores[:, 0], BITS),
        lambda scores: F.cross_entropy(2 * scores.softmax(1).mean(1, keepdim=True) * scores, LABELS),
    ],
)
def test_what_it_takes_is_not_worth_a_word(loss, tmp_path):
    assert seen(loss, tmp_path) == []


@pytest.mark.parametrize(
    ("loss", "twice"),
    [
        (lambda rate, count: F.poisson_nll_loss(rate.unsqueeze(1), count.unsqueeze(1)), True),
        (lambda rate, count: F.poisson_nll_loss(rate, count, log_input=False), False),
        (lambda rate, count: F.poisson_nll_loss(rate.log(), count), False),
        (lambda rate, count: (1 - (-rate).exp() + 1e-6).log().mean(), False),  # complementary log-log
    ],
)
def test_an_exponential_upon_an_exponential_is_seen(loss, twice):
    rate = torch.zeros(4, requires_grad=True).exp()
    assert exponential_twice(loss(rate, torch.ones(4))) is twice


def overlap(p, mask):
    return 1 - ((2 * (p * mask).sum(1) + 1) / (p.sum(1) + mask.sum(1) + 1)).mean()


def test_an_overlap_of_bare_scores_is_seen_as_a_division_by_them(tmp_path):
    assert seen(lambda scores: overlap(scores, torch.ones(5, 3)), tmp_path) == [("division", "linear layer")]


@pytest.mark.parametrize(
    "loss",
    [
        lambda scores: overlap(scores.sigmoid(), torch.ones_like(scores)),
        lambda scores: overlap(scores.softmax(1), torch.ones_like(scores)),
        lambda scores: overlap(scores.relu(), torch.ones_like(scores)),
        lambda scores: (scores.square().sum(1) / (scores.square().sum(1) + 1)).mean(),
        lambda scores: (scores / scores.norm(dim=1, keepdim=True)).mean(),
        lambda scores: scores.square().sum() / len(scores),
        lambda scores: (scores.exp() / scores.exp().sum(1, keepdim=True)).mean(),
    ],
)
def test_a_division_by_what_is_never_negative_is_not_worth_a_word(loss):
    assert divided_by_scores(loss(torch.nn.Linear(3, 4)(torch.randn(5, 3)))) == ""


def test_a_linear_layer_is_known_by_its_bias_where_its_input_is_not_contiguous():
    layer, turned = nn.Linear(6, 3), torch.randn(4, 5, 6).transpose(0, 1)
    assert maker(layer(turned)) in ("Mm", "Addmm", "Linear")
    assert maker(layer(turned).softmax(-1) + layer.bias) == "Add"


def test_a_table_of_similarities_may_be_normalised_both_ways(tmp_path):
    square = lambda table: -torch.log(table.softmax(0)[torch.arange(5), LABELS]).mean()  # noqa: E731
    assert seen(by_hand(1), tmp_path) == []
    assert seen(square, tmp_path / "square", outputs=5) == []


@pytest.mark.parametrize("gradients", [True, False])
def test_a_loss_that_only_the_log_is_made_of_is_nobodys_fault(tmp_path, gradients):
    def logged_beside(scores):
        with torch.set_grad_enabled(gradients):
            F.nll_loss(scores, LABELS)
        return F.mse_loss(scores, SPREAD)

    assert seen(logged_beside, tmp_path) == []


def test_a_loss_whose_parts_are_added_up_is_judged_by_each(tmp_path):
    both = seen(lambda scores: F.mse_loss(scores, SPREAD) + 0.1 * F.nll_loss(scores, LABELS), tmp_path)
    assert both == [("nll_loss", "linear layer")]
