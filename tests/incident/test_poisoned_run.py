"""One poisoned batch in a hundred: guarded, the run ends where the clean one does; unguarded it is NaN."""

from __future__ import annotations

import math
import statistics

import pytest
from benchmarks.guard import MODELS, SigmaRule, train

SEEDS, STEPS = 3, 300


@pytest.mark.parametrize("kind", MODELS)
def test_a_guarded_run_ends_within_the_noise_of_the_clean_one_and_an_unguarded_one_is_nan(kind):
    clean = [train(kind, "clean", seed, STEPS)["loss"] for seed in range(SEEDS)]
    guarded = [train(kind, "bedside", seed, STEPS) for seed in range(SEEDS)]
    gaps = [run["loss"] - loss for run, loss in zip(guarded, clean, strict=True)]
    assert abs(statistics.median(gaps)) < max(statistics.stdev(clean), 0.02)
    assert {run["taken"] for run in guarded} == {STEPS - 3}, "all but the poisoned ones"
    assert math.isnan(train(kind, "none", 0, STEPS)["loss"])


def test_the_rule_by_standard_deviations_skips_on_once_a_nan_is_in_its_history():
    rule = SigmaRule()
    for step in range(100):
        assert rule.takes(loss=1.0 + 0.01 * (step % 7), norm=1.0 + 0.01 * (step % 5))
    assert not rule.takes(loss=math.nan, norm=math.nan)
    assert not rule.takes(loss=1.0, norm=1.0), "the mean and the spread of a history with NaN are NaN"
