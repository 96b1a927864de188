import pytest

from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed


def cause(name, *odds, test=""):
    return Cause(name, name, lambda facts: iter([Sign(f"{name} {each:.1f}", each) for each in odds]), test)


def test_weights_add_up_and_the_best_supported_cause_comes_first():
    answers = weighed([cause("a", HINT), cause("b", STRONG, HINT), cause("c", -STRONG)], None)
    assert [each.name for each in answers] == ["b", "a", "c"]
    assert sum(each.weight for each in answers) == pytest.approx(1)


def test_signs_are_listed_for_and_against_strongest_first():
    [first, *_] = weighed([cause("a", HINT, DECISIVE, -HINT), cause("b", -HINT), cause("c")], None)
    assert first.speaks_for == ("a 5.0", "a 1.1")
    assert first.speaks_against == ("a -1.1",)


def test_a_record_that_says_too_little_weighs_nothing():
    assert weighed([cause("a"), cause("b")], None) == ()
    assert weighed([cause("a", HINT), cause("b"), cause("c")], None) == ()


def test_a_cause_that_only_wins_because_others_lose_is_not_told():
    assert weighed([cause("a"), cause("b", -STRONG), cause("c", -STRONG)], None) == ()


def test_one_decisive_sign_outweighs_two_hints():
    assert weighed([cause("a", HINT, HINT), cause("b", DECISIVE)], None)[0].name == "b"


def test_three_hints_weigh_more_than_one_strong_sign_and_less_than_a_decisive_one():
    assert weighed([cause("a", HINT, HINT, HINT), cause("b", STRONG)], None)[0].name == "a"
    assert weighed([cause("a", HINT, HINT, HINT), cause("b", DECISIVE)], None)[0].name == "b"


def test_one_hint_leaves_two_causes_open_and_a_decisive_sign_settles_them():
    assert weighed([cause("a", HINT), cause("b")], None)[0].weight < 0.75
    assert weighed([cause("a", DECISIVE), cause("b")], None)[0].weight > 0.9
