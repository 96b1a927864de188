"""When shuffled-training speaks and when it stays silent."""

from __future__ import annotations

import torch

from bedside.finding import NotExamined, Severity
from bedside.preflight.base import Passed
from bedside.preflight.checks.shuffled_training import shuffled_training
from bedside.preflight.testing import examined, examples


def test_speaks_when_the_same_batch_comes_again():
    x, y = examples(16)
    found = examined(shuffled_training, train_loader=[(x, y)] * 8)
    assert found.message == "Every batch is the same one."


def test_reading_from_front_to_back_is_a_note():
    assert examined(shuffled_training, shuffle=False).severity is Severity.NOTE


def test_stays_silent_when_the_loader_shuffles():
    found = examined(shuffled_training)
    assert isinstance(found, Passed)
    assert found.message == "a random sampler; 6 batches alike"


def test_a_single_batch_is_not_examined():
    x, y = examples(16)
    assert isinstance(examined(shuffled_training, train_loader=[(x, y)]), NotExamined)
    assert torch.is_tensor(x)
