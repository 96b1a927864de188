from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.padded_targets import padded_targets
from bedside.testing import a_run


def run(padded, *, same=0.9, kinds=8, count=3):
    seen = {"asked": 1000, "same": same, "kinds": kinds, "padded": padded}
    return a_run(loss=1.0, events=[Event(step, "answers_in_place", seen) for step in range(count)])


def test_speaks_when_most_targets_are_padding():
    [finding] = padded_targets.check(run(0.9))
    assert "90 % of the targets are padding" in finding.message


def test_stays_silent_when_a_third_is_padding():
    assert not padded_targets.check(run(0.3))


def test_stays_silent_when_every_target_is_its_own_token():
    assert not padded_targets.check(run(0.6, same=1.0))


def test_stays_silent_with_two_kinds_of_target():
    assert not padded_targets.check(run(0.9, kinds=2))


def test_says_so_when_there_were_no_tokens():
    assert isinstance(padded_targets.examine(a_run(loss=1.0)), NotExamined)
