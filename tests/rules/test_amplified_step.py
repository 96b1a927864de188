from bedside.finding import NotExamined
from bedside.rules.amplified_step import amplified_step
from bedside.testing import a_run


def run(ratio, optimizer="SGD", momentum=0.0):
    config = {"optimizers": [{"name": optimizer, "momentum": momentum}]}
    return a_run(loss=[2.0] * 100, lr=0.1, effective_lr_ratio=ratio, config=config)


def test_notes_a_step_far_longer_than_sgd_should_take():
    assert amplified_step.check(run(4.0))


def test_notes_a_step_far_shorter_than_sgd_should_take():
    assert amplified_step.check(run(0.001))


def test_stays_silent_when_step_and_gradient_agree():
    assert not amplified_step.check(run(0.1))


def test_allows_for_momentum():
    assert not amplified_step.check(run(0.9, momentum=0.9))


def test_says_so_when_the_optimizer_chooses_its_own_length():
    assert isinstance(amplified_step.examine(run(4.0, optimizer="AdamW")), NotExamined)
