import math

import bedside
from bedside.diagnosis.engine import PICTURE_POINTS, examine
from bedside.record.run import Event
from bedside.rules import find_rule
from bedside.testing import a_run


def test_a_run_that_no_rule_could_examine_is_unclear():
    run = a_run(val_loss=[1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
    assert examine(run, [find_rule("vanishing-gradient")]).verdict == "unclear"


def test_a_few_steps_are_too_few_for_a_verdict():
    assert bedside.diagnose(a_run(loss=[3.0, 2.0, 1.0])).verdict == "unclear"


def test_pictures_are_thin_and_keep_the_spike():
    losses = [1.0] * 20_000
    losses[12_345] = 99.0
    picture = bedside.diagnose(a_run(loss=losses)).pictures["loss"]
    assert len(picture) <= PICTURE_POINTS + 2
    assert (12_345, 99.0) in picture


def test_a_log_of_evaluations_alone_still_has_a_picture():
    assert "val/accuracy" in bedside.diagnose(a_run(val_accuracy=[0.1, 0.2, 0.3])).pictures


def test_of_a_log_of_many_metrics_and_no_loss_two_are_drawn():
    scores = {f"val_score_{i}": [0.1, 0.2, 0.3] for i in range(5)}
    assert len(bedside.diagnose(a_run(**scores)).pictures) == 2
    assert list(bedside.diagnose(a_run(val_loss=[0.3, 0.2], **scores)).pictures) == ["val/loss"]


def test_a_monitor_that_stopped_listening_says_when_and_why():
    def notes(**data):
        return bedside.diagnose(a_run(loss=[1.0] * 30, events=[Event(7, "switched_off", data)])).notes

    assert "bedside stopped listening at step 7 (KeyError: 'x'); please report it." in notes(
        all=True, error="KeyError: 'x'"
    )
    assert "bedside was interrupted at step 7; what followed was not watched." in notes(all=True)
    assert not [each for each in notes(error="one collector alone") if "step 7" in each]


def test_a_nan_loss_is_the_primary_finding_and_prints_as_a_report():
    answer = bedside.diagnose(a_run(loss=[3.0 - i / 100 for i in range(100)] + [math.nan] * 50))
    assert answer.verdict == "sick"
    assert answer.primary.name == "nonfinite-loss"
    assert "since step 100" in str(answer)
