"""What the lab found during a run is on its page, and nothing that a stranger's record could smuggle in with it."""

from __future__ import annotations

import base64

import pytest

from bedside.record.run import Event
from bedside.report.lab_results import KIND, MAX_CHARACTERS, MAX_SHOWN, PNG, experiments
from bedside.testing import a_run

A_PICTURE = base64.b64encode(PNG + b"the rest").decode()


def an_experiment(**data: object) -> list[Event]:
    return [Event(41, KIND, {"experiment": "lr_range", "text": "Use 0.01.", **data})]


def test_an_experiment_is_shown_with_its_step_words_and_picture():
    (shown,) = experiments(a_run(loss=1.0, events=an_experiment(picture=A_PICTURE)))
    assert shown == {"title": "lr_range", "when": "at step 41", "text": "Use 0.01.", "picture": A_PICTURE}


@pytest.mark.parametrize(
    "picture", [None, 7, "no base64!", base64.b64encode(b"<svg onload=alert(1)>").decode(), A_PICTURE * 100_000]
)
def test_what_is_no_png_is_no_picture(picture):
    (shown,) = experiments(a_run(loss=1.0, events=an_experiment(picture=picture)))
    assert shown["picture"] is None


def test_long_answers_are_cut_and_escapes_struck_out():
    (shown,) = experiments(a_run(loss=1.0, events=an_experiment(text="\x1b[31mred\n" + "x" * 9999)))
    assert "\x1b" not in shown["text"]
    assert len(shown["text"]) < MAX_CHARACTERS + 10
    assert shown["text"].endswith("…")


def test_of_many_the_latest_are_shown():
    many = [Event(step, KIND, {"experiment": "rerun", "text": str(step)}) for step in range(MAX_SHOWN + 5)]
    shown = experiments(a_run(loss=1.0, events=many))
    assert [each["text"] for each in shown] == [str(step) for step in range(5, MAX_SHOWN + 5)]
