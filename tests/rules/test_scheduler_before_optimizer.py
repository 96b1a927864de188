from bedside.record.run import Event
from bedside.rules.scheduler_before_optimizer import scheduler_before_optimizer
from bedside.testing import a_run

WATCHED = Event(0, "coverage")
EARLY = Event(0, "scheduler_before_optimizer", {"scheduler": "StepLR"})


def test_speaks_when_the_scheduler_came_first():
    [found] = scheduler_before_optimizer.check(a_run(loss=1.0, lr=0.1, events=[WATCHED, EARLY]))
    assert "StepLR" in found.message


def test_stays_silent_when_a_scaler_skipped_the_first_step():
    run = a_run(loss=1.0, lr=0.1, skipped=[1.0] + [0.0] * 9, events=[WATCHED, EARLY])
    assert not scheduler_before_optimizer.check(run)


def test_stays_silent_when_the_order_is_right():
    assert not scheduler_before_optimizer.check(a_run(loss=1.0, lr=0.1, events=[WATCHED]))


def test_leaves_a_scheduler_that_is_called_per_micro_batch_to_another_rule():
    made = {"name": "LambdaLR", "total": 1600, "stepped": 1600, "optimizer_steps": 400}
    events = [Event(0, "coverage"), Event(0, "scheduler_before_optimizer", {"scheduler": "LambdaLR"})]
    run = a_run(loss=[1.0] * 400, lr=0.1, micro_batches=4.0, events=events, config={"schedulers": [made]})
    assert not scheduler_before_optimizer.check(run)
