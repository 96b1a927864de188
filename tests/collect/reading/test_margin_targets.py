"""Zeros where a loss of margins wants signs."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from bedside.collect.vitals.loss_inputs import _near_the_end, zeros_among_signs

BITS = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
PAIRS = torch.randn(10, 3)


def cosine(scores, labels):
    return F.cosine_embedding_loss(scores[:, None] * PAIRS, PAIRS.flip(1), labels)


LOSSES = {
    "hinge": lambda scores, labels: torch.clamp(1 - labels * scores, min=0).mean(),
    "hinge of a view": lambda scores, labels: F.relu(1 - scores.view(2, 5) * labels.view(2, 5)).sum(),
    "squared hinge": lambda scores, labels: (1 - labels * scores).clamp(min=0).pow(2).mean(),
    "maximum": lambda scores, labels: torch.maximum(torch.zeros(10), 1 - scores * labels).mean(),
    "softplus": lambda scores, labels: F.softplus(-labels * scores).mean(),
    "log1p": lambda scores, labels: torch.log1p(torch.exp(-labels * scores)).mean(),
    "log": lambda scores, labels: torch.log(1 + torch.exp(-(labels * scores))).mean(),
    "soft margin": F.soft_margin_loss,
    "hinge embedding": F.hinge_embedding_loss,
    "ranking": lambda scores, labels: F.margin_ranking_loss(scores, scores.flip(0), labels, margin=0.5),
    "cosine embedding": cosine,
}


def told(loss, labels):
    scores = torch.linspace(-1, 1, 10, requires_grad=True) * 2
    return zeros_among_signs(list(_near_the_end(loss(scores, labels))))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_labels_of_zero_and_one_are_seen_and_signs_are_fine(loss):
    assert told(loss, BITS) == "labels of 0 and 1"
    assert told(loss, 2 * BITS - 1) == ""


@pytest.mark.parametrize(
    "loss",
    [
        lambda scores, labels: F.relu(1 - (2 * labels.flip(0) - 1) * scores * labels).mean(),  # a mask upon signs
        lambda scores, labels: (labels * F.relu(1 - scores)).mean(),  # of the loss itself
        lambda scores, labels: (labels * scores**2 + (1 - labels) * F.relu(1 - scores) ** 2).mean(),  # pairs
        lambda scores, labels: (F.softplus(scores) - labels * scores).mean(),  # a cross-entropy written out
        lambda scores, labels: F.relu(labels * scores).mean(),  # no margin: nothing above zero is asked for
        lambda scores, labels: F.relu(0.3 + scores - scores.flip(0) * labels).mean(),  # two scores are compared
        lambda scores, labels: F.binary_cross_entropy_with_logits(scores, labels),
    ],
)
def test_a_mask_is_no_label(loss):
    assert told(loss, BITS) == ""


def test_a_few_examples_that_are_left_out_are_no_labels():
    assert told(LOSSES["hinge"], torch.tensor([0.0, *[1.0] * 9])) == ""
    assert told(LOSSES["hinge"], torch.tensor([0.0, *[1.0, -1.0] * 4, 0.0])) == ""
