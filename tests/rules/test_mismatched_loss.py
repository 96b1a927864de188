import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.mismatched_loss import mismatched_loss
from bedside.testing import a_run


def seen(**given):
    return a_run(loss=[2.0] * 50, events=[Event(0, "coverage"), Event(0, "loss_input", given)])


def test_says_that_a_second_sigmoid_leaves_a_floor():
    [found] = mismatched_loss.check(seen(function="binary_cross_entropy_with_logits", made_by="sigmoid"))
    assert "0.693" in found.message
    assert found.try_ == (
        "Drop the sigmoid in front of binary_cross_entropy_with_logits; apply it only where probabilities are needed.",
    )


def test_says_that_bare_scores_have_no_lower_end():
    [found] = mismatched_loss.check(seen(function="nll_loss", made_by="linear layer"))
    assert "below zero" in found.message
    assert "cross_entropy" in found.try_[0]


def test_is_silent_where_the_loss_got_what_it_takes():
    assert mismatched_loss.check(a_run(loss=[2.0] * 50, events=[Event(0, "coverage")])) == []


def test_cannot_tell_from_a_log():
    assert isinstance(mismatched_loss.examine(a_run(loss=[2.0] * 50)), NotExamined)


def test_says_that_an_exponential_is_taken_twice():
    [found] = mismatched_loss.check(seen(function="exp", made_by="exp"))
    assert "given the output of another exp" in found.message
    assert "log_input=False" in found.try_[0]


def test_says_that_a_loss_divides_by_bare_scores():
    [found] = mismatched_loss.check(seen(function="division", made_by="convolution"))
    assert "a sum of what is never negative and is given the output of a convolution" in found.message
    assert "sigmoid" in found.try_[0]


def test_says_what_a_ctc_loss_takes():
    [found] = mismatched_loss.check(seen(function="ctc_loss", made_by="linear layer"))
    assert "ctc_loss takes logarithms of probabilities" in found.message
    assert "log_softmax" in found.try_[0]


def test_says_that_a_blank_is_among_the_targets():
    [found] = mismatched_loss.check(seen(function="ctc_targets", made_by="blank (0)"))
    assert found.message.startswith("ctc_loss takes targets without the blank and is given the blank (0) among them")
    assert "from 1" in found.try_[0]


def test_names_the_dimension_that_logarithms_were_taken_over():
    [found] = mismatched_loss.check(seen(function="nll_loss", made_by="log_softmax over dimension 0"))
    assert "the output of a log_softmax over dimension 0" in found.message
    assert "dim=1" in found.try_[0]


def test_says_what_a_rectifier_does_to_scores():
    [found] = mismatched_loss.check(seen(function="cross_entropy", made_by="ReLU"))
    assert "takes scores and is given the output of a ReLU" in found.message
    assert "no gradient" in found.message
    assert found.try_[0].startswith("Drop the ReLU in front of cross_entropy")


def test_a_softmax_before_log_softmax_leaves_the_floor_of_cross_entropy():
    [found] = mismatched_loss.check(seen(function="log_softmax", made_by="softmax"))
    assert found.message.startswith("log_softmax takes scores and is given the output of a softmax")


def test_speaks_of_an_advantage_that_still_hangs_on_the_value_network():
    seen = {"function": "policy_gradient", "made_by": "value network"}
    [finding] = mismatched_loss.check(a_run(loss=1.0, events=[Event(0, "coverage"), Event(0, "loss_input", seen)]))
    assert "advantage without a gradient" in finding.message
    assert "detach" in finding.try_[0]


def test_says_that_probabilities_over_the_batch_are_no_answers():
    [found] = mismatched_loss.check(seen(function="probabilities", made_by="softmax over dimension 0"))
    assert "a sample's answer depends on the others of its batch" in found.message
    assert "dim=1" in found.try_[0]


def test_several_classes_at_once_are_a_warning():
    [found] = mismatched_loss.check(seen(function="class_targets", made_by="several classes"))
    assert found.severity == Severity.WARNING
    assert "cross_entropy takes one class for each sample" in found.message
    assert "binary_cross_entropy_with_logits" in found.try_[0]


def test_says_what_a_loss_of_margins_takes():
    [found] = mismatched_loss.check(seen(function="margins", made_by="labels of 0 and 1"))
    assert found.message == (
        "The margin in the loss takes labels of -1 and +1 and is given labels of 0 and 1: an example whose label is 0 "
        "has the same loss whatever its score, and teaches nothing."
    )
    assert found.try_[0].startswith("Give it 2 * labels - 1")


@pytest.mark.parametrize(
    ("function", "made_by", "said", "advice"),
    [
        ("entropy", "plus sign", "paid for being certain", "policy_loss - 0.01"),
        ("log_prob", "sample", "drawn anew", "policy.log_prob(action)"),
        ("decoder", "sample", "one of .sample(), which cuts it off", "rsample"),
    ],
)
def test_says_what_is_wrong_with_what_was_drawn_at_random(function, made_by, said, advice):
    [found] = mismatched_loss.check(seen(function=function, made_by=made_by))
    assert said in found.message
    assert advice in found.try_[0]
