from bedside.finding import NotExamined, Severity
from bedside.rules.dead_units import dead_units
from bedside.testing import a_run


def check(**shares):
    return dead_units.check(a_run(loss=2.0, lr=0.1, dead_fraction={k.replace("_", "."): v for k, v in shares.items()}))


def test_warns_when_most_units_of_a_layer_are_dead():
    [found] = check(front=0.1, back=0.9)
    assert (found.severity, found.where) == (Severity.WARNING, ("back",))


def test_is_an_error_when_not_one_is_alive():
    [found] = check(front=0.1, back=1.0)
    assert found.severity == Severity.ERROR
    assert found.message.startswith("All units of `back` are dead")


def test_is_a_note_when_more_than_half_are():
    [found] = check(front=0.1, back=0.6)
    assert found.severity == Severity.NOTE


def test_is_dated_when_they_died_for_good():
    [found] = check(front=[0.1] * 30 + [0.9] * 10 + [0.2] * 10 + [0.95] * 50)
    assert found.first_step == 50


def test_stays_silent_when_a_wide_layer_leaves_some_unused():
    assert not check(front=0.05, back=0.45)


def test_stays_silent_on_a_handful_of_units():
    run = a_run(loss=2.0, dead_fraction={"gate": 0.75}, dead_units={"gate": 3.0})
    assert not dead_units.check(run)


def test_is_a_note_when_a_small_layer_went_beyond_a_half_by_chance():
    [found] = dead_units.check(a_run(loss=2.0, dead_fraction={"code": 0.8125}, dead_units={"code": 13.0}))
    assert found.severity == Severity.NOTE
    [found] = dead_units.check(a_run(loss=2.0, dead_fraction={"code": 0.8125}, dead_units={"code": 52.0}))
    assert found.severity == Severity.WARNING


def test_says_what_it_needs():
    assert isinstance(dead_units.examine(a_run(loss=2.0)), NotExamined)


def test_only_units_that_were_born_dead_are_told_to_start_in_another_way():
    [born], [died] = check(back=0.9), check(back=[0.1] * 50 + [0.9] * 50)
    assert any("He initialisation" in each for each in born.try_)
    assert not any("He initialisation" in each for each in died.try_)
    assert any("Lower the learning rate" in each for each in died.try_)
