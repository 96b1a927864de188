from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.frozen_untrained import frozen_untrained
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def found(*names):
    events = [Event(50 * at, "frozen_weights", {"names": each, "size": 512}) for at, each in enumerate(names, 1)]
    return frozen_untrained.check(a_run(loss=1.0, events=[WATCHED, *events]))


def test_speaks_when_a_frozen_layer_is_random():
    [finding] = found(["embed", "front"])
    assert "`embed`, `front` are frozen" in finding.message


def test_stays_silent_when_a_copy_has_followed_the_model_since():
    assert not found(["target.0"], [])


def test_stays_silent_when_nothing_is_frozen():
    assert not found()


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(frozen_untrained.examine(a_run(loss=1.0)), NotExamined)


def test_stays_silent_on_layers_that_are_trained_in_a_later_phase():
    seen = [WATCHED, Event(50, "frozen_weights", {"names": ["front", "embed"], "size": 512})]
    [finding] = frozen_untrained.check(
        a_run(loss=[1.0] * 200, grad_norm={"front": [0.0] * 100 + [0.3] * 100}, events=seen)
    )
    assert finding.where == ("embed",)
