import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.rules.category_gap import category_gap
from bedside.testing import a_run

USUAL = {f"genre {i}": 0.4 + 0.01 * i for i in range(8)}


def check(vital="loss_by_category", **categories):
    named = {**USUAL, **categories}
    return category_gap.check(a_run(loss=0.5, steps=50, **{vital: named}))


def test_speaks_when_one_category_is_far_harder():
    [found] = check(polka=2.2)
    assert found.where == ("polka",)
    assert "5 times the usual" in found.message


def test_names_all_of_them_worst_first():
    [found] = check(polka=2.2, drone=3.0)
    assert found.where == ("drone", "polka")


def test_judges_the_validation_where_there_is_one():
    [found] = check(vital="val_loss_by_category", polka=2.2)
    assert found.series == ("val/loss_by_category/polka",)


def test_stays_silent_when_it_is_twice_as_hard():
    assert not check(polka=0.85)


def test_stays_silent_when_categories_differ_widely_anyway():
    wide = {f"kind {i}": 0.1 * 2**i for i in range(9)}
    assert not category_gap.check(a_run(loss=0.5, steps=50, loss_by_category=wide))


def test_says_what_it_needs():
    answer = category_gap.examine(a_run(loss=0.5))
    assert isinstance(answer, NotExamined)
    assert "monitor.categories" in answer.needs[0]


def test_two_categories_far_apart_are_a_gap_too():
    [found] = category_gap.check(a_run(loss=1.0, loss_by_category={"short": 0.45, "long": 13.0}))
    assert found.where == ("long",)
    assert "lengths=" in found.could_also_be[0]
    assert not category_gap.check(a_run(loss=1.0, loss_by_category={"easy": 0.4, "hard": 1.4}))


def test_a_category_that_is_coming_down_is_given_time():
    late = np.linspace(6.0, 2.4, 100)
    assert not category_gap.check(a_run(loss=1.0, loss_by_category={"early": 0.4, "late": late}))


def test_sums_over_samples_are_told_from_losses_like_that_of_the_training():
    """Thirteen where the training loss is 0.45: nobody divided by the lengths."""
    run = a_run(loss=[0.45] * 300, loss_by_category={"short": [6.0] * 5, "middle": [13.0] * 5, "long": [40.0] * 5})
    [found] = category_gap.check(run)
    assert found.severity == Severity.NOTE
    assert "even `short` has 6, 13.3 times the training loss of 0.45" in found.message
    assert "lengths=" in found.try_[0]


def test_losses_like_that_of_the_training_are_compared_with_each_other():
    run = a_run(loss=[0.45] * 300, loss_by_category={"a": [0.3] * 5, "b": [0.5] * 5, "c": [0.6] * 5})
    assert not category_gap.check(run)
