import numpy as np

from bedside.finding import Severity
from bedside.rules.repeated_batches import repeated_batches
from bedside.testing import a_run

random = np.random.default_rng(0)


def check(marks):
    return repeated_batches.check(a_run(loss=1.0, batch_fingerprint=np.asarray(marks, float)))


def test_notes_that_every_step_sees_the_same_batch():
    [found] = check([7.5] * 60)
    assert (found.severity, found.message) == (Severity.NOTE, "Every step sees the same batch.")


def test_notes_that_every_batch_comes_as_often_as_there_are_workers():
    [found] = check(np.repeat(random.random(20), 4))
    assert found.message == "Every batch comes 4 times in a row."


def test_notes_that_the_order_is_the_same_in_every_epoch():
    [found] = check(np.tile(random.random(25), 4))
    assert found.evidence["batches_per_epoch"] == 25


def test_stays_silent_when_batches_are_shuffled_anew():
    assert not check(np.concatenate([random.permutation(25) for _ in range(4)]))


def test_stays_silent_when_no_batch_ever_comes_again():
    assert not check(random.random(200))


def test_stays_silent_on_a_short_run():
    assert not check([7.5] * 10)
