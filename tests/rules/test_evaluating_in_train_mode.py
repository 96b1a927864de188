from bedside.record.run import Event
from bedside.rules.evaluating_in_train_mode import evaluating_in_train_mode
from bedside.testing import a_run


def check(count=4, confirmed=4, passes=4, forwards=10, apart=50, affected=("Dropout",)):
    data = {
        "first_step": 50,
        "count": count,
        "confirmed": confirmed,
        "passes": passes,
        "forwards_per_pass": forwards,
        "steps_between": apart,
        "mode_dependent": list(affected),
    }
    recorded = Event(199, "validation_in_train_mode", data)
    return evaluating_in_train_mode.check(a_run(loss=1.0, steps=200, eval_mode=0.0, events=[recorded]))


def test_speaks_when_a_logged_evaluation_ran_in_train_mode():
    [found] = check(count=1, confirmed=1, passes=1)
    assert found.confidence > 0.9
    assert "Dropout" in found.message


def test_speaks_with_less_confidence_when_passes_without_gradients_only_look_like_evaluations():
    [found] = check(confirmed=0)
    assert found.confidence < 0.7


def test_stays_silent_when_the_model_has_nothing_that_depends_on_the_mode():
    assert not check(affected=())


def test_stays_silent_when_a_generator_runs_without_gradients_at_every_step():
    assert not check(count=200, confirmed=4, passes=200, forwards=1, apart=1)


def test_stays_silent_when_most_passes_ran_in_eval_mode():
    assert not check(count=3, confirmed=0, passes=20)


def test_stays_silent_when_no_pass_ran_in_train_mode():
    assert not evaluating_in_train_mode.check(a_run(loss=1.0, eval_mode=0.0))
