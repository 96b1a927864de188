import numpy as np
import pytest

from bedside.finding import Severity
from bedside.record.run import Event
from bedside.record.series import Series
from bedside.rules.repeated_batches import repeated_batches
from bedside.testing import a_run

random = np.random.default_rng(0)


def check(marks, *events):
    return repeated_batches.check(a_run(loss=1.0, batch_fingerprint=np.asarray(marks, float), events=events))


def test_notes_that_every_step_sees_the_same_batch():
    [found] = check([7.5] * 60)
    assert (found.severity, found.message) == (Severity.NOTE, "Every step sees the same batch.")


RESTARTED = Event(14, "restarted_loader", {"batches": 23, "starts": 10, "forwards": 10})


def test_warns_at_once_when_the_loop_starts_its_loader_anew_at_every_step():
    [found] = check([7.5] * 20, RESTARTED)
    assert found.severity is Severity.WARNING
    assert "the other 22 never come" in found.message


def test_a_loader_that_is_started_anew_and_shuffles_is_not_worth_a_word():
    assert not check(random.random(60), RESTARTED)


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


def test_keeps_its_finding_when_only_some_batches_of_a_long_run_are_looked_at():
    steps = np.r_[np.arange(100), np.arange(100, 2000, 7)]
    marks = Series("batch_fingerprint", "", steps, (steps % 24).astype(float))
    [found] = repeated_batches.check(a_run(loss=[1.0] * 2000, batch_fingerprint=marks))
    assert found.evidence["batches_per_epoch"] == 24
    other = np.random.default_rng(0).integers(0, 24, len(steps)).astype(float)
    shuffled = Series("batch_fingerprint", "", steps, other)
    assert repeated_batches.check(a_run(loss=[1.0] * 2000, batch_fingerprint=shuffled)) == []


def test_one_batch_stays_one_batch_beside_a_few_others():
    marks = np.zeros(300)
    marks[[100, 200]] = 1.0
    [found] = repeated_batches.check(a_run(loss=[1.0] * 300, batch_fingerprint=marks))
    assert found.message == "Every step sees the same batch."


def of_few(different=64, network=0.18, kept=512, held_out=400, steps=400, places=False):
    training = {"linear": 0.1, "neighbours": 0.1, "guess": 0.9, "examples": different, "kept": kept, "asked": 32}
    other = {"linear": 0.1, "neighbours": 0.1, "guess": 0.9, "examples": held_out, "classes": 10}
    config = {"simple_models": training | {"classes": 10, "places": places}, "held_out_models": other}
    marks = random.normal(size=steps)
    return repeated_batches.check(
        a_run(loss=1.0, batch_fingerprint=marks, held_out_error=[0.9, network, network], config=config)
    )


def test_warns_when_there_are_a_handful_of_examples_and_many_more_are_held_out():
    [found] = of_few()
    assert found.severity is Severity.WARNING
    assert found.message.startswith("There are only 64 different training examples, each of which came about 200 times")


@pytest.mark.parametrize(
    "other",
    [
        {"network": 0.1},  # they are enough
        {"held_out": 120},  # and most of what there is
        {"different": 129},  # not all have come yet
        {"steps": 99},  # and not often
        {"places": True},
    ],
)
def test_few_examples_are_meant_where_they_suffice_or_are_most_of_the_data(other):
    assert of_few(**other) == []
