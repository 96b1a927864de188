"""Classes are inferred only where a loss and an accuracy say the same."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.accuracy_and_loss import accuracies, calibrated, guess_level, guessed_classes
from bedside.record.series import Series
from bedside.testing import a_run


def series(*values):
    return [Series("val/accuracy", "", np.arange(len(values)), values)]


@pytest.mark.parametrize("classes", [2, 7, 37, 196, 1000])
def test_infers_the_classes_of_a_guess(classes):
    assert guessed_classes(series(*[1 / classes] * 6), 1.005 * np.log(classes)) == pytest.approx(classes, rel=0.05)


def test_does_not_where_one_of_the_two_is_better():
    assert guessed_classes(series(*[0.1] * 6), 1.6) == 0
    assert guessed_classes(series(0.1, 0.1, 0.1, 0.1, 0.1, 0.3), np.log(10)) == 0
    assert guessed_classes(series(*[0.5] * 6), np.log(10)) == 0
    assert guessed_classes([], np.log(10)) == 0


def test_settings_come_before_what_is_inferred():
    run = a_run(loss=2.3, val_accuracy=[0.1] * 6, config={"classes": 100})
    assert guess_level(run, 2.3) is None
    level = guess_level(a_run(loss=2.3, val_accuracy=[0.1] * 6), 2.3)
    assert level is not None
    assert level.confirmed


def test_reads_accuracies_in_percent_and_of_either_split():
    run = a_run(loss=2.3, val_accuracy=[50.0, 60.0], **{"train/accuracy": [0.5, 0.7]})
    assert accuracies(run)[0].values.tolist() == [0.5, 0.6]
    assert accuracies(run, "train")[0].values.tolist() == [0.5, 0.7]


def test_a_calibrated_guess_has_the_entropy_of_a_guess():
    assert [calibrated(1 / k, k) for k in (2, 3, 10)] == pytest.approx([np.log(k) for k in (2, 3, 10)])
    assert calibrated(1.0, 10) == pytest.approx(0.0, abs=1e-6)
