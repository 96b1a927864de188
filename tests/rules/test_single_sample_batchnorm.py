from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.single_sample_batchnorm import single_sample_batchnorm
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def found(count, forwards=100, evaluations=3):
    seen = {"count": count, "forwards": forwards, "evaluations": evaluations, "where": ["1", "4"], "first_step": 0}
    return single_sample_batchnorm.check(a_run(loss=1.0, events=[WATCHED, Event(99, "single_samples", seen)]))


def test_speaks_when_every_batch_holds_one_sample():
    [finding] = found(100)
    assert "`1`, `4` normalise batches of one sample, in 100 of 100" in finding.message


def test_stays_silent_about_the_last_batch_of_each_epoch():
    assert not found(8)


def test_stays_silent_without_an_evaluation_that_uses_the_averages():
    assert not found(100, evaluations=0)


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(single_sample_batchnorm.examine(a_run(loss=1.0)), NotExamined)


def test_two_rows_of_a_table_keep_nothing_but_their_order():
    seen = {"count": 100, "forwards": 100, "evaluations": 3, "where": ["0"], "first_step": 0, "rows": 2}
    [finding] = single_sample_batchnorm.check(a_run(loss=1.0, events=[WATCHED, Event(99, "single_samples", seen)]))
    assert "`0` normalises batches of two samples, which leaves 1 and -1 of anything, in 100 of 100" in finding.message
