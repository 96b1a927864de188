"""A question that the record leaves open, in every format."""

import json

import pytest

from bedside.diagnosis.experiments import EXPERIMENTS
from bedside.finding import Differential, Hypothesis
from bedside.report.html import diagnosis_to_html
from bedside.report.markdown import diagnosis_to_markdown


def asked(first="rate", evil=""):
    answers = {
        "harmless": Hypothesis("fine", "normal convergence", 0.2, (f"accuracy is 0.97{evil}",), (), None),
        "rate": Hypothesis(
            "rate", "a rate too small", 0.5, ("the rate is 1e-9",), ("steps move",), EXPERIMENTS["fresh-learning-rate"]
        ),
        "unlikely": Hypothesis(
            "data", "other data", 0.01, (), ("no gap", "one more"), EXPERIMENTS["overfit-one-batch"]
        ),
    }
    order = sorted(answers, key=lambda name: (name != first, name))
    return Differential("Why is it flat?", 400, tuple(answers[name] for name in order), about="GEN104")


@pytest.fixture
def open_question(sick):
    from dataclasses import replace

    return lambda *questions: replace(sick, differential=questions)


def test_text_lists_the_answers_with_their_weight_and_signs_and_the_test(open_question):
    text = open_question(asked()).to_text(verbose=True)
    assert "QUESTION  Why is it flat?" in text
    assert "50 %  A rate too small" in text
    assert "+ the rate is 1e-9" in text
    assert "- steps move" in text
    assert "1 %  Other data  - no gap" in text
    assert "To decide: fresh-learning-rate (a few hundred steps)." in text
    assert "If training and validation loss fall again:" in text


def test_a_harmless_answer_is_told_first_and_the_test_rules_out_the_likeliest_other(open_question):
    text = open_question(asked("harmless")).to_text(verbose=True)
    assert text.index("Normal convergence") < text.index("A rate too small")
    assert "    - steps move" not in text
    assert "To decide: fresh-learning-rate" in text


def test_json_has_it_at_the_end_with_the_test_as_data(open_question):
    answer = open_question(asked()).to_json()
    assert list(answer)[11] == "differential"
    [question] = json.loads(json.dumps(answer))["differential"]
    assert question["about"] == "GEN104"
    assert [each["name"] for each in question["hypotheses"]] == ["rate", "fine", "data"]
    assert question["hypotheses"][0]["for"] == ["the rate is 1e-9"]
    assert question["hypotheses"][1]["test"] is None
    assert question["test"]["name"] == "fresh-learning-rate"
    assert question["test"]["outcomes"][0].keys() == {"if", "then"}


def test_html_and_markdown_escape_what_comes_from_the_log(open_question):
    evil = "<script>alert(1)</script>"
    result = open_question(asked(evil=evil))
    assert evil not in diagnosis_to_html(result)
    assert evil not in diagnosis_to_markdown(result)
    assert "&lt;script&gt;" in diagnosis_to_html(result)


def test_html_is_open_for_a_problem_and_folded_when_all_is_well(open_question):
    assert "<details open>" in diagnosis_to_html(open_question(asked()))
    assert "<details open>" not in diagnosis_to_html(open_question(asked("harmless")))


def test_what_happened_around_the_onset_is_one_line(sick):
    from dataclasses import replace

    first, *rest = sick.findings
    result = replace(sick, findings=(first.with_(around=("warm-up ended (lr 0.003)", "epoch 2 began")), *rest))
    assert "Around step 150: warm-up ended (lr 0.003), epoch 2 began." in str(result)
    assert "around step 150: warm-up ended (lr 0.003), epoch 2 began" in result.to_text(verbose=True)
    assert "around step 150: warm-up ended (lr 0.003), epoch 2 began" in diagnosis_to_html(result)
    assert result.to_json()["findings"][0]["around"] == ["warm-up ended (lr 0.003)", "epoch 2 began"]
