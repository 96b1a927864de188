"""An alarm waits until its evidence has doubled, and is withdrawn in words."""

from __future__ import annotations

import numpy as np

from bedside.finding import Finding, Severity
from bedside.monitor.alarms import Alarms, alarm_line, withdrawal_line
from bedside.monitor.held_back import HeldBack
from bedside.testing import a_run


def found(code="GRD105", first=0, severity=Severity.WARNING, **rest):
    return Finding(code, "a-name", severity, rest.pop("message", "It is so."), 0.9, first, first + 10, **rest)


def begun(waiting, findings, step, **rest):
    return [each.code for each in waiting.news(findings, step, **rest).begun]


def test_an_alarm_waits_until_as_many_steps_have_gone_by_again():
    waiting = HeldBack()
    assert begun(waiting, [found(first=100)], 130) == []
    assert begun(waiting, [found(first=100)], 159) == []
    assert begun(waiting, [found(first=100)], 160) == ["GRD105"]
    assert begun(waiting, [found(first=100)], 200) == []  # said once


def test_one_that_goes_away_while_it_waits_is_never_said_and_waits_anew():
    waiting = HeldBack()
    assert begun(waiting, [found()], 20) == []
    news = waiting.news([], 40)
    assert (news.begun, news.overturned) == ((), ())
    assert begun(waiting, [found()], 60) == []
    assert begun(waiting, [found()], 120) == ["GRD105"]


def test_an_onset_that_moves_on_with_the_run_waits_anew():
    """ "Constant for the last third" is true again and again of a loss that falls slowly, each time of other steps."""
    waiting = HeldBack()
    assert begun(waiting, [found(first=40)], 60) == []
    assert begun(waiting, [found(first=53)], 80) == []  # of the 20 steps that were seen, 13 no longer count
    assert begun(waiting, [found(first=53)], 100) == []
    assert begun(waiting, [found(first=60)], 107) == ["GRD105"]  # of the 27 steps, 7


def test_what_no_step_can_make_good_is_said_at_once():
    assert begun(HeldBack(), [found("NUM101")], 20) == ["NUM101"]


def test_the_last_look_waits_no_longer():
    assert begun(HeldBack(), [found()], 20, final=True) == ["GRD105"]


def test_an_alarm_that_was_said_and_no_longer_holds_is_overturned_once():
    waiting = HeldBack()
    waiting.news([found()], 20)
    waiting.news([found()], 40)
    [gone] = waiting.news([found(severity=Severity.NOTE)], 80).overturned
    assert gone.code == "GRD105"
    assert waiting.news([], 90).overturned == ()


def test_worse_than_said_is_news_at_once():
    waiting = HeldBack()
    waiting.news([found()], 20)
    waiting.news([found()], 40)
    assert begun(waiting, [found(severity=Severity.ERROR)], 41) == ["GRD105"]


def test_notes_and_previews_are_no_alarms():
    waiting = HeldBack()
    findings = [found(severity=Severity.NOTE), found("LOS101", preview=True)]
    assert begun(waiting, findings, 20, final=True) == []


def test_the_line_gives_the_onset_once():
    assert alarm_line(found(first=1530)) == "bedside: since step 1,530: GRD105 a-name: It is so."
    named = found(first=153, message="It leapt at step 156.")
    assert alarm_line(named) == "bedside: GRD105 a-name: It leapt at step 156."


def test_a_withdrawal_is_said_in_words():
    said, taken_back = [], []
    losses = list(np.linspace(2, 1, 50))
    runs = iter([a_run(loss=[*losses, np.nan]), a_run(loss=losses * 4)])
    alarms = Alarms(lambda: next(runs), said.append, withdraw=lambda each, step: taken_back.append((each.code, step)))
    alarms.due(51, np.asarray([np.nan]))
    alarms.look()
    assert "NUM101" in [each.code for each in said]
    alarms.due(200, np.asarray([1.0]))
    alarms.look()
    assert ("NUM101", 200) in taken_back
    assert withdrawal_line(found(), 200) == "bedside: at step 200 GRD105 a-name is withdrawn: it no longer holds."


def test_a_line_stands_on_its_own_beside_a_progress_bar(capsys):
    import sys

    from tqdm import tqdm

    from bedside.stderr import say

    with tqdm(total=10, file=sys.stderr, mininterval=0) as bar:
        bar.update(3)
        say("bedside: a line")
        bar.update(1)
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    assert "bedside: a line" in [line.strip() for line in lines]


def test_a_share_of_the_steps_is_known_at_the_end():
    waiting = HeldBack()
    assert begun(waiting, [found("GRD103")], 40) == []
    assert begun(waiting, [found("GRD103")], 400) == []
    assert begun(waiting, [found("GRD103")], 500, final=True) == ["GRD103"]


def test_a_leap_waits_until_the_run_is_twice_as_long():
    """Large against what the loss had won by then, it is small against what it wins later."""
    waiting = HeldBack()
    assert begun(waiting, [found("LOS107", first=148)], 150) == []
    assert begun(waiting, [found("LOS107", first=148)], 200) == []
    assert begun(waiting, [found("LOS107", first=148)], 296) == ["LOS107"]
    assert begun(HeldBack(), [found("LOS107", first=148)], 170, final=True) == ["LOS107"]
