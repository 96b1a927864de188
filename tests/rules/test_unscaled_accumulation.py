from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.unscaled_accumulation import unscaled_accumulation
from bedside.testing import a_run


def check(*, divided=False, backwards=4.0, forwards=4.0, optimizer="SGD"):
    return unscaled_accumulation.check(
        a_run(
            loss=1.0,
            lr=0.4,
            micro_batches=backwards,
            training_forwards=forwards,
            config={"optimizers": [{"name": optimizer}]},
            events=[Event(99, "accumulation", {"divided": divided})],
        )
    )


def test_speaks_when_four_micro_batches_are_added_up():
    [found] = check()
    assert found.severity == Severity.WARNING
    assert found.try_ == (
        "Divide each loss: (loss / 4).backward(), or lower the learning rate from 0.4 to 0.1.",
    )  # fmt: skip


def test_is_a_note_when_the_optimizer_hardly_notices():
    [found] = check(optimizer="AdamW")
    assert found.severity == Severity.NOTE


def test_stays_silent_when_the_losses_are_divided():
    assert not check(divided=True)


def test_stays_silent_when_one_forward_has_two_losses():
    assert not check(backwards=2.0, forwards=1.0)


def test_stays_silent_when_nothing_is_accumulated():
    assert not check(backwards=1.0, forwards=1.0)
