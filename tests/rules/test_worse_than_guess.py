from __future__ import annotations

import pytest

from bedside.rules.worse_than_guess import worse_than_guess
from bedside.testing import a_run

LOSS = [1.0, 0.8, 0.7] * 20


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("val_auc", [0.5, 0.45, 0.38, 0.3, 0.25, 0.22, 0.21]),
        ("val_c_index", [0.48, 0.4, 0.33, 0.3, 0.26, 0.25, 0.23]),
        ("val_spearman", [0.05, -0.1, -0.3, -0.5, -0.6, -0.62, -0.6]),
        ("val_r2", [-3.0, -2.5, -2.4, -2.4, -2.4, -2.4, -2.4]),
    ],
)
def test_speaks_when_a_score_is_on_the_wrong_side_of_a_guess(name, values):
    (finding,) = worse_than_guess.check(a_run(loss=LOSS, **{name: values}))
    assert "where a blind guess has" in finding.message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("val_auc", [0.5, 0.52, 0.47, 0.5, 0.49, 0.46, 0.48]),  # a guess
        ("val_auc", [0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9]),  # it began turned round and learned
        ("val_auc", [0.6, 0.75, 0.8, 0.4, 0.3, 0.3, 0.3]),  # lost-progress, and no sign the wrong way round
        ("val_r2", [-40.0, -9.0, -2.0, 0.1, 0.3, 0.35, 0.4]),
        ("val_spearman", [-0.05, 0.02, -0.1, 0.1, -0.08, 0.03, 0.01]),
    ],
)
def test_stays_silent_about_guesses_and_about_what_was_learned(name, values):
    assert worse_than_guess.check(a_run(loss=LOSS, **{name: values})) == []


def test_a_second_score_on_the_right_side_settles_it():
    scores = {"val_auc": [0.3] * 8, "val_spearman": [0.5] * 8}
    assert worse_than_guess.check(a_run(loss=LOSS, **scores)) == []
