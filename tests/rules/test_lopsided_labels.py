from bedside.finding import Severity
from bedside.record.run import Event
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


def batches_with(spread):
    config = {"classes": 10, "label_entropy": 2.3}
    return lopsided_labels.check(
        a_run(steps=200, loss=1.0, label_share_max=0.33, batch_label_spread=spread, config=config)
    )


def test_warns_when_each_batch_holds_one_class():
    [found] = batches_with([0.0, 0.0, 0.0, 0.3] * 50)
    assert found.severity == Severity.WARNING
    assert "sorted" in found.message


def test_stays_silent_on_batches_that_are_drawn_at_random():
    assert not batches_with(0.9)


def test_stays_silent_on_batches_of_eight_classes_out_of_a_hundred_as_metric_learning_draws_them():
    assert not batches_with(0.6)


def test_warns_when_held_out_examples_show_that_only_the_commonest_class_was_learned():
    facts = {"label_share_max": 0.95, "config": {"classes": 10, "label_entropy": 0.3}}
    [found] = lopsided_labels.check(a_run(loss=1.0, **facts, **{"val/accuracy": 0.1}))
    assert found.severity == Severity.WARNING
    [found] = lopsided_labels.check(a_run(loss=1.0, **facts, **{"val/accuracy": 0.96}))
    assert found.severity == Severity.NOTE


def two_evaluations(loss, accuracy):
    run = a_run(steps=30, loss=loss, label_share_max=0.97, val_accuracy=accuracy, config={"classes": 10})
    [found] = lopsided_labels.check(run)
    return found.severity


def test_two_evaluations_are_enough_once_the_commonest_class_is_learnt():
    assert two_evaluations(0.5, [0.1, 0.1]) == Severity.WARNING


def test_two_evaluations_are_a_note_of_an_untrained_network_or_of_one_that_knows_more():
    assert two_evaluations(2.0, [0.1, 0.1]) == Severity.NOTE
    assert two_evaluations(0.5, [0.1, 0.4]) == Severity.NOTE


def test_speaks_when_the_rare_class_is_never_found():
    run = a_run(loss=0.1, label_share_max=0.98, val_accuracy=[0.98] * 6, val_recall=[0.0] * 6, steps=300)
    (finding,) = lopsided_labels.check(run)
    assert finding.severity is Severity.WARNING
    assert "val/recall is still 0" in finding.message


def test_a_rare_class_that_is_found_now_and_then_is_a_note():
    run = a_run(
        loss=0.1, label_share_max=0.98, val_accuracy=[0.98] * 6, val_recall=[0.0, 0, 0.1, 0.2, 0.2, 0.3], steps=300
    )
    (finding,) = lopsided_labels.check(run)
    assert finding.severity is Severity.NOTE


def weighted(weights, counts):
    events = [Event(step, "class_weights", {"weights": weights, "counts": counts}) for step in range(5)]
    return lopsided_labels.check(a_run(loss=1.0, label_share_max=0.8, events=events))


def test_speaks_of_weights_that_are_upside_down():
    [found] = weighted([0.8, 0.15, 0.05], [48.0, 9.0, 3.0])
    assert found.severity == Severity.WARNING
    assert "class 0, 80 % of the labels, has the weight 0.8, and class 2, 5 % of them, 0.05" in found.message
    [found] = weighted([1.0, 0.1], [54.0, 6.0])
    assert "pos_weight = negatives / positives" in found.try_[0]


def test_weights_that_make_up_for_rarity_or_have_another_reason_are_fine():
    assert not weighted([1.25, 6.7, 20.0], [48.0, 9.0, 3.0])
    assert not weighted([1.0, 9.0], [54.0, 6.0])
    assert not weighted([1.0, 0.5], [54.0, 6.0])  # errors on the common class cost twice as much
    assert not weighted([0.55, 0.45], [33.0, 27.0])
    assert not weighted([0.8, 0.2], [8.0, 2.0])


def beside(trained, asked):
    look = Event(90, "evaluation_answers", {"kind": "classes", "each_label": asked, "examples": sum(asked)})
    config = {"classes": len(trained), "label_entropy": 1.0, "each_label": trained}
    return lopsided_labels.check(a_run(loss=1.0, label_share_max=0.5, config=config, events=[look]))


def test_speaks_of_a_held_out_part_of_one_class():
    [found] = beside([500, 500], [0, 40])
    assert found.message.startswith(
        "All 40 held-out labels are of class 1, and 50 % of the training labels are of others"
    )
    assert not beside([500, 500], [0, 20])  # twenty heads in a row are thrown once in a million times
    assert not beside([10, 990], [0, 400])  # one in a hundred is rare on both sides
    assert not beside([500, 500], [5, 35])


def test_speaks_of_training_labels_that_are_far_more_lopsided_than_those_of_evaluation():
    [found] = beside([850, 50, 50, 50], [25, 25, 25, 25])
    assert found.message.startswith("85 % of the training labels are of class 0, and 25 % of the held-out labels are")
    assert found.severity == Severity.WARNING
    assert not beside([750, 100, 75, 75], [25, 25, 25, 25])  # long-tailed
    assert not beside([850, 50, 50, 50], [60, 15, 15, 10])
    assert not beside([850, 50, 50, 50], [10, 10, 10, 10])
