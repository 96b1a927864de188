"""One story: what is linked to what, and which finding comes first."""

from __future__ import annotations

import random

import torch
from torch.nn import functional as F

import bedside
from bedside.diagnosis.causal_links import LINKS, Link
from bedside.diagnosis.story import link_into_story, linked
from bedside.finding import Finding, Severity
from bedside.report.presentation import story

TABLE = (
    Link("rate", "gradient", "why"),
    Link("gradient", "loss", "why"),
    Link("loss", "nan", "why"),
    Link("nan", "gradient", "why"),  # a circle
)


def finding(name, first, severity=Severity.WARNING, **rest):
    return Finding(name.upper(), name, severity, f"{name}.", rest.pop("confidence", 0.9), first, 999, **rest)


def in_story(*found, steps=1000):
    return link_into_story(found, steps, TABLE)


def primary(*found):
    return next((each.name for each in in_story(*found) if each.primary), None)


def test_a_chain_has_its_first_cause_as_primary_and_names_the_others():
    first, *rest = in_story(finding("nan", 300, Severity.ERROR), finding("loss", 200), finding("rate", 100))
    assert (first.name, first.primary, first.causes) == ("loss", True, ())  # nothing links the rate to the loss itself
    assert {each.name: each.causes for each in rest} == {"nan": ("LOSS",), "rate": ()}


def test_a_warning_that_explains_an_error_comes_before_an_error_that_explains_nothing():
    assert primary(
        finding("other", 0, Severity.ERROR), finding("gradient", 10), finding("loss", 20, Severity.ERROR)
    ) == ("gradient")


def test_a_cause_may_not_begin_after_its_effect():
    assert in_story(finding("gradient", 100), finding("rate", 300))[1].causes == ()


def test_rules_may_date_the_same_event_a_little_apart():
    found = [finding("gradient", 100), finding("rate", 115)]
    assert linked(found, 1000, TABLE) == {0: {1}, 1: set()}


def test_what_is_so_from_the_start_may_have_a_cause_of_the_first_steps():
    assert linked([finding("gradient", 0), finding("rate", 80)], 1000, TABLE)[0] == {1}
    assert linked([finding("gradient", 0), finding("rate", 180)], 1000, TABLE)[0] == set()


def test_what_comes_on_by_degrees_may_be_dated_after_its_effects():
    found = [finding("stalled", 300), finding("vanished", 380)]
    assert linked(found, 1000, [Link("vanished", "stalled", "why")])[0] == set()
    assert linked(found, 1000, [Link("vanished", "stalled", "why", gradual=True)])[0] == {1}


def test_a_circle_is_cut_where_time_says():
    assert primary(finding("gradient", 50), finding("loss", 51), finding("nan", 45, Severity.ERROR)) == "nan"
    causes = linked([finding("gradient", 50), finding("loss", 50), finding("nan", 50)], 1000, TABLE)
    assert sum(map(len, causes.values())) == 2


def test_several_causes_are_all_named():
    found = in_story(finding("gradient", 50), finding("rate", 10), finding("nan", 20))
    assert next(each for each in found if each.name == "gradient").causes == ("NAN", "RATE")


def test_a_note_is_neither_primary_nor_a_cause():
    found = in_story(finding("rate", 0, Severity.NOTE), finding("gradient", 10))
    assert [(each.name, each.primary, each.causes) for each in found] == [("gradient", True, ()), ("rate", False, ())]
    assert primary(finding("rate", 0, Severity.NOTE)) is None


def test_a_preview_is_never_primary_and_explains_no_alarm_away():
    assert primary(finding("rate", 0, Severity.ERROR, preview=True), finding("gradient", 10)) == "gradient"
    assert primary(finding("rate", 0, preview=True)) is None


def test_a_preview_may_explain_a_preview_but_no_stable_finding():
    link = [Link("rate", "gradient", "why")]
    previews = [finding("rate", 0, preview=True), finding("gradient", 10, preview=True)]
    assert linked(previews, 1000, link)[1] == {0}
    assert linked([previews[0], finding("gradient", 10)], 1000, link)[1] == set()


def test_of_equals_that_are_equally_sure_the_first_of_the_catalogue_is_primary():
    assert primary(finding("a", 100), finding("b", 100)) == "a"


def test_of_equals_at_the_same_time_the_surest_is_primary():
    assert primary(finding("a", 100, confidence=0.5), finding("b", 110, confidence=0.8)) == "b"
    assert primary(finding("a", 100, confidence=0.5), finding("b", 400, confidence=0.8)) == "a"


def test_the_real_table_never_makes_a_finding_its_own_cause():
    names = sorted({link.cause for link in LINKS} | {link.effect for link in LINKS})
    chance = random.Random(0)
    for _ in range(20):
        found = [finding(name, chance.randrange(0, 40)) for name in chance.sample(names, 25)]
        causes = linked(found, 1000)
        waiting = set(causes)
        while ready := {i for i in waiting if not causes[i] & waiting}:
            waiting -= ready
        assert not waiting


def test_a_learning_rate_of_one_is_one_story_and_not_fourteen(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU())
    model.append(torch.nn.Linear(64, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    labels = torch.nn.Linear(20, 5)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for _ in range(300):
            x = torch.randn(32, 20)
            optimizer.zero_grad()
            F.cross_entropy(model(x), labels(x).argmax(1)).backward()
            optimizer.step()
        answer = monitor.diagnose()
    assert answer.primary is not None
    assert answer.primary.name == "oversized-update"
    [chapter] = story(answer).chapters
    assert chapter.consequences
