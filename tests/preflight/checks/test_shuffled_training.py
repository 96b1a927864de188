"""When shuffled-training speaks and when it stays silent."""

from __future__ import annotations

from torch.utils.data import DataLoader, Sampler, TensorDataset

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.shuffled_training import shuffled_training
from bedside.preflight.example_setup import examined, examples


class Stuck(Sampler):
    """Sixteen examples of 128, again and again."""

    def __iter__(self):
        return iter(list(range(16)) * 8)

    def __len__(self):
        return 128


def test_speaks_when_the_same_batch_comes_again_though_there_is_more():
    stuck = DataLoader(TensorDataset(*examples(128)), 16, sampler=Stuck())
    found = examined(shuffled_training, train_loader=stuck)
    assert (found.message, found.severity) == ("Every batch is the same one.", Severity.WARNING)


def test_full_batches_and_reading_from_front_to_back_are_notes():
    assert examined(shuffled_training, train_loader=[examples(16)] * 8).severity is Severity.NOTE
    assert examined(shuffled_training, shuffle=False).severity is Severity.NOTE


def test_stays_silent_when_the_loader_shuffles():
    found = examined(shuffled_training)
    assert isinstance(found, Passed)
    assert found.message == "a random sampler; 6 batches alike"


def test_a_single_batch_is_not_examined():
    assert isinstance(examined(shuffled_training, train_loader=[examples(16)]), NotExamined)
