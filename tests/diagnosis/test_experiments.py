from bedside.diagnosis.experiments import EXPERIMENTS
from bedside.diagnosis.hypotheses import flat_validation, stuck_loss, unstable_loss, worse_on_validation

ASKING = (flat_validation, stuck_loss, unstable_loss, worse_on_validation)


def test_a_test_says_what_to_do_what_it_costs_and_what_each_outcome_means():
    for name, test in EXPERIMENTS.items():
        assert test.name == name
        assert test.cost
        assert test.do.endswith(".")
        assert len(test.outcomes) >= 2
        assert all(outcome.seen and outcome.means for outcome in test.outcomes)


def test_the_tests_that_the_lab_will_run_are_there():
    assert {"overfit-one-batch", "lr-range-test", "sharpness", "repeat-validation", "fresh-learning-rate"} <= set(
        EXPERIMENTS
    )


def test_every_cause_that_is_not_harmless_has_a_test():
    import sys

    for asking in ASKING:
        for cause in sys.modules[asking.__module__].CAUSES:
            assert cause.test in EXPERIMENTS or cause.name == "normal-convergence"
