from bedside.finding import Severity
from bedside.record.series import Series
from bedside.rules.lopsided_labels import lopsided_labels
from bedside.testing import a_run


def check(share, entropy, classes=10):
    return lopsided_labels.check(
        a_run(loss=1.0, label_share_max=share, config={"classes": classes, "label_entropy": entropy})
    )


def test_warns_when_mixed_labels_come_sorted():
    [found] = check(0.97, 2.2)
    assert found.severity == Severity.WARNING
    assert found.try_[0].startswith("Shuffle")


def test_warns_when_there_is_one_label_only():
    [found] = check(1.0, 0.0)
    assert found.severity == Severity.WARNING


def test_is_a_note_when_the_whole_data_set_is_lopsided():
    [found] = check(0.97, 0.15, classes=2)
    assert found.severity == Severity.NOTE


def test_stays_silent_when_classes_are_balanced():
    assert not check(0.14, 2.3)


def test_stays_silent_when_one_class_has_most_but_not_nearly_all():
    assert not check(0.7, 0.9)


def in_stretches(entropy, cosine, **vitals):
    return lopsided_labels.check(
        a_run(
            steps=200,
            loss=1.0,
            label_share_max=0.33,
            label_entropy=entropy,
            gradient_cosine=cosine,
            config={"classes": 10, "label_entropy": 2.3},
            **vitals,
        )
    )


def test_warns_when_each_class_lasts_for_a_few_batches():
    [found] = in_stretches(1.8, cosine=0.99)
    assert found.severity == Severity.WARNING
    assert in_stretches(1.7, cosine=0.1)


def test_stays_silent_on_small_batches_that_are_drawn_at_random():
    assert not in_stretches(2.07, cosine=0.0)  # batches of one
    assert not in_stretches(2.29, cosine=0.99)  # batches of everything


def test_stays_silent_on_stretches_when_batches_were_not_neighbours():
    assert not in_stretches(Series("label_entropy", "", range(0, 2000, 10), [1.8] * 200), cosine=0.99)
