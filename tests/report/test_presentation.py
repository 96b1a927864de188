from dataclasses import replace

from bedside.finding import Severity
from bedside.report.presentation import brought_about_by, headline, story, unexamined, when


def test_consequences_of_consequences_are_folded_in_order_of_onset(sick):
    first, second, third, note = sick.findings
    late = third.with_(causes=(second.code,), first_step=200)
    [chapter] = story(replace(sick, findings=(first, second, late))).chapters
    assert [each.code for each in chapter.consequences] == [late.code, second.code]
    assert note.severity == Severity.NOTE


def test_every_finding_is_told_exactly_once(sick, previews, hostile):
    for each in (sick, previews, hostile):
        whole = story(each)
        result = [f for c in whole.chapters for f in (c.finding, *c.consequences)] + list(whole.notes)
        assert sorted(map(str, result)) == sorted(map(str, each.findings))


def test_a_note_that_follows_from_a_finding_is_told_beneath_it(sick):
    first, *_, note = sick.findings
    follows = note.with_(causes=(first.code,))
    for order in ((first, follows), (follows, first)):
        whole = story(replace(sick, findings=order))
        assert whole.notes == ()
        assert whole.chapters[0].consequences == (follows,)


def test_findings_that_name_each_other_are_still_told_once(sick):
    first, second, *_ = sick.findings
    circle = (first.with_(causes=(second.code,)), second)
    assert len(story(replace(sick, findings=circle)).chapters) == 1


def test_a_preview_that_explains_a_stable_finding_is_named_there(sick):
    first, second, *_ = sick.findings
    cause = first.with_(preview=True, primary=False)
    both = replace(sick, findings=(second.with_(primary=True), cause))
    assert brought_about_by(both.findings[0], both) == [cause]
    assert len(story(both).chapters) == 2


def test_a_verdict_is_put_in_words(sick, healthy, previews):
    assert headline(sick) == "sick: 1 error, 2 warnings, 1 preview finding"
    assert headline(healthy) == "healthy"
    assert headline(previews) == "healthy by the stable rules; 2 preview findings"


def test_when_says_whether_it_lasted(sick):
    finding = sick.findings[0]
    assert when(finding, sick) == "since step 150, still so at the end"
    assert when(finding.with_(last_step=600), sick) == "steps 150-600"
    assert when(finding.with_(last_step=150), sick) == "at step 150"


def test_wants_are_grouped_the_commonest_first(sick):
    assert [(group.needs, group.codes) for group in unexamined(sick)] == [
        ("dead_fraction per module", ("ACT101", "ACT102")),
        ("nonfinite_params", ("NUM103",)),
    ]
