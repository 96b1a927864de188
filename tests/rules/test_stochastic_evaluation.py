from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.stochastic_evaluation import stochastic_evaluation
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def found(**facts):
    return stochastic_evaluation.check(a_run(loss=1.0, events=[WATCHED, Event(7, "evaluation_dropout", facts)]))


def test_speaks_when_dropout_drops_in_evaluation():
    [finding] = found(where=["head"], function="dropout", rate=0.5)
    assert finding.where == ("head",)
    assert "training=self.training" in finding.try_[0]


def test_speaks_of_attention_in_its_own_words():
    [finding] = found(where=[""], function="scaled_dot_product_attention", rate=0.1)
    assert finding.message.startswith("In evaluation mode, the model still drops 10 %")
    assert finding.try_ == ("dropout_p=0.1 if self.training else 0.0",)


def test_stays_silent_when_nothing_drops():
    assert not stochastic_evaluation.check(a_run(loss=1.0, events=[WATCHED]))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(stochastic_evaluation.examine(a_run(loss=1.0)), NotExamined)
