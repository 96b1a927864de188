from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.unreachable_target import unreachable_target
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def looks(outside, made_by="sigmoid", high=1.0, function="mse_loss", count=5):
    seen = {"function": function, "made_by": made_by, "low": 0.0, "high": high, "least": -3.0, "most": 90.0}
    return [Event(step, "target_range", seen | {"outside": outside}) for step in range(count)]


def found(events):
    return unreachable_target.check(a_run(loss=1.0, events=[WATCHED, *events]))


def test_speaks_when_all_targets_are_above_a_sigmoid():
    [finding] = found(looks(1.0))
    assert finding.severity is Severity.ERROR
    assert "-3 to 90" in finding.message
    assert "sigmoid" in finding.try_[0]


def test_warns_when_a_part_of_the_targets_is_below_a_relu():
    [finding] = found(looks(0.3, "ReLU", None))
    assert finding.severity is Severity.WARNING
    assert "from 0 upwards" in finding.message


def test_speaks_of_the_loss_that_takes_the_sigmoid_itself():
    [finding] = found(looks(0.6, function="binary_cross_entropy_with_logits"))
    assert "nn.MSELoss" in finding.try_[0]


def test_stays_silent_about_a_few_outliers():
    assert not found(looks(0.05))


def test_stays_silent_when_one_batch_lies_inside():
    assert not found([*looks(1.0, count=4), *looks(0.0, count=1)])


def test_stays_silent_after_two_batches_only():
    assert not found(looks(1.0, count=2))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(unreachable_target.examine(a_run(loss=1.0)), NotExamined)
