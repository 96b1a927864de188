"""Numbers as people write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bedside import wording


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3e-4, "3e-4"),
        (0.01234, "0.0123"),
        (2.3099, "2.31"),
        (9.996, "10"),
        (123.4, "123"),
        (1200.0, "1,200"),
        (123456.7, "123,457"),
        (999999.9, "1e6"),
        (8.12e26, "8.12e26"),
        (0.00099996, "0.001"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_a_number_is_written_as_people_write_it(value, written):
    assert wording.number(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_written_number_is_within_its_rounding_of_the_true_one(value):
    written = float(wording.number(value).replace(",", ""))
    assert written == pytest.approx(value, rel=0.0051, abs=1e-307)


def test_a_percentage_never_claims_what_is_only_nearly_so():
    assert [wording.percent(x) for x in (0, 0.001, 0.93, 0.999, 1)] == ["0 %", "< 1 %", "93 %", "> 99 %", "100 %"]


def test_steps_and_spans_are_sentences():
    assert wording.since(1500) == "since step 1,500"
    assert wording.span(150, 600) == "steps 150-600"
    assert wording.span(7, 7) == "step 7"
    assert wording.since(3, "epoch") == "since epoch 3"
    assert wording.steps(1) == "1 step"
    assert wording.steps(1200) == "1,200 steps"
    assert wording.steps(40, "epoch") == "40 epochs"


def test_long_lists_say_how_many_were_left_out():
    assert wording.listed("abc") == "a, b, c"
    assert wording.listed("abcdefgh", most=3) == "a, b and 6 more"


def test_counts_leave_out_what_there_is_none_of():
    assert wording.counted({"error": 1, "warning": 0, "note": 2}) == "1 error, 2 notes"


def test_evidence_of_any_kind_becomes_words():
    assert wording.value(np.float32(0.5)) == "0.5"
    assert wording.value(np.int64(1200)) == "1,200"
    assert wording.value(True) == "yes"
    assert wording.value([1, 2.5]) == "1, 2.5"
    assert wording.value({"head": 0.1}) == "(head 0.1)"
    assert wording.value(None) == "None"


def test_control_characters_never_reach_a_terminal():
    assert "\x1b" not in wording.printable("a\x1b[31mb\nc")
