import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.leaked_answer import leaked_answer
from bedside.testing import a_run

LABEL = {"leak": True, "examples": 800, "classes": 10, "columns": 10, "first": 64, "of": 74}
FUTURE = {"position": 31, "length": 32, "changed": 31, "change": 0.2, "rounding": 1e-5}


def seen(*events):
    return a_run(loss=[0.1] * 50, events=[Event(0, "coverage"), *events])


def test_names_the_columns_that_are_the_label():
    [found] = leaked_answer.check(seen(Event(20, "label_in_input", LABEL)))
    assert found.severity is Severity.ERROR
    assert found.message == (
        "10 of the 74 inputs (from column 64) are the class in other words, in all of 800 examples."
    )


def test_says_which_answers_changed_with_a_later_token():
    [found] = leaked_answer.check(seen(Event(20, "future_seen", FUTURE)))
    assert "with token 31 changed, the answers at 31 of the 31 positions before it change" in found.message
    assert "causal mask" in found.try_[0]


def test_is_silent_when_the_proof_was_taken_back():
    events = [Event(20, "label_in_input", LABEL), Event(90, "label_in_input", {**LABEL, "leak": False})]
    assert leaked_answer.check(seen(*events)) == []


def test_is_silent_where_nothing_leaks():
    looked = a_run(loss=[0.1] * 50, events=[Event(0, "coverage")], config={"labels_compared": 400})
    assert leaked_answer.check(looked) == []


def test_is_not_examined_where_inputs_and_answers_could_not_be_compared():
    assert isinstance(leaked_answer.examine(seen()), NotExamined)


def test_cannot_tell_from_a_log():
    assert isinstance(leaked_answer.examine(a_run(loss=[0.1] * 50)), NotExamined)


def test_speaks_when_a_column_orders_the_targets():
    data = {"columns": 1, "first": 7, "of": 12, "examples": 256}
    run = a_run(loss=0.1, events=[Event(0, "coverage"), Event(3, "target_in_input", data)])
    [found] = leaked_answer.check(run)
    assert "Column 7 of the 12 inputs" in found.message


def in_place(same, asked=512, kinds=40):
    data = {"asked": asked, "same": same, "kinds": kinds, "padded": 0.0}
    looks = [Event(step, "answers_in_place", data) for step in range(3)]
    return leaked_answer.check(a_run(loss=0.1, events=[Event(0, "coverage"), *looks]))


def test_speaks_when_the_target_is_the_token_itself():
    [found] = in_place(1.0)
    assert "asked for the token that it is given" in found.message


def test_stays_silent_when_the_next_token_is_often_the_same():
    assert not in_place(0.6)


def test_stays_silent_when_a_handful_of_tokens_agree():
    assert not in_place(1.0, asked=10)
    assert not in_place(1.0, kinds=2)


def beside_a_source(loss):
    data = {"asked": 512, "same": 1.0, "kinds": 40, "padded": 0.0, "beside": True}
    looks = [Event(step, "answers_in_place", data) for step in range(3)]
    return leaked_answer.check(a_run(loss=loss, events=[Event(0, "coverage"), *looks]))


def test_speaks_when_a_decoder_copies_the_target_that_it_is_given_beside_the_source():
    assert beside_a_source([2.5 * 0.97**step for step in range(400)])


def test_stays_silent_on_teacher_forcing_that_moves_the_target_itself():
    assert not beside_a_source([0.6 + 1.9 * 0.99**step for step in range(450)])
    assert not beside_a_source([2.5 * 0.99**step for step in range(450)])  # learned in the end, and not at once


def test_speaks_of_a_place_that_sees_itself():
    seen = [Event(0, "coverage"), Event(12, "own_place_seen", {"place": 38, "change": 0.4})]
    [finding] = leaked_answer.check(a_run(loss=0.1, events=seen))
    assert "that very place" in finding.message
    assert "type A" in finding.try_[0]


@pytest.mark.parametrize(
    ("narrowest", "end", "speaks"), [(0, 0.01, True), (64, 0.01, True), (0, 0.03, False), (1, 0.01, False)]
)
def test_speaks_of_a_denoiser_that_hands_its_input_on(narrowest, end, speaks):
    seen = [Event(0, "coverage"), Event(0, "asked_for_its_input", {"columns": 2, "narrowest": narrowest})]
    found = leaked_answer.check(a_run(loss=[1.0] * 20 + [end] * 80, events=seen))
    assert [("the target is the input itself" in each.message) for each in found] == [True] * speaks
