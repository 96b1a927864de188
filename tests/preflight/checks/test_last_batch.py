"""When last-batch speaks and when it stays silent."""

from __future__ import annotations

from torch.utils.data import DataLoader, TensorDataset

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.last_batch import last_batch
from bedside.preflight.example_setup import examined, examples


def test_speaks_in_a_note_when_the_last_batch_is_tiny():
    x, y = examples(33)
    found = examined(last_batch, x=x, y=y)
    assert found.severity is Severity.NOTE
    assert found.evidence == {"usual": 16, "last": 1}


def test_stays_silent_when_it_is_full_or_dropped():
    assert isinstance(examined(last_batch), Passed)
    dropped = DataLoader(TensorDataset(*examples(33)), 16, drop_last=True)
    assert isinstance(examined(last_batch, train_loader=dropped), Passed)


def test_a_list_of_batches_is_not_examined():
    assert isinstance(examined(last_batch, train_loader=[examples(16)] * 3), NotExamined)
