from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.mixed_samples import mixed_samples
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def found(changed):
    seen = Event(10, "mixed_samples", {"samples": 64, "exchanged": 16, "changed": changed, "change": 0.03})
    return mixed_samples.check(a_run(loss=1.0, events=[WATCHED, seen]))


def test_speaks_when_answers_to_samples_that_stayed_change():
    [finding] = found(48)
    assert "48 of the 48 others" in finding.message


def test_stays_silent_when_a_full_expert_turned_a_few_away():
    assert not found(3)


def test_stays_silent_when_the_trial_changed_nothing():
    assert not mixed_samples.check(a_run(loss=1.0, events=[WATCHED]))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(mixed_samples.examine(a_run(loss=1.0)), NotExamined)
